#!/usr/bin/env python3
"""The page of `check --report` in headless Chromium, driven over WebDriver's own HTTP.

  page_test.py --tool PAGE_TOOL TEST            one of the tests below
  page_test.py --tool PAGE_TOOL screenshot PNG  what the README shows
"""

import argparse
import base64
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import threading
import urllib.request


class Browser:
    """One session of chromedriver: sizes in CSS pixels."""

    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"
        # As root Chromium starts only without its sandbox; what it loads is our own page.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--disable-background-networking", "--no-first-run"]
        options = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def do(self, what, body=None, method="POST"):
        return self.call(method, f"/session/{self.session}/{what}", body if method == "POST" else None)

    def resize(self, width, height):
        """The viewport itself: a window is never as narrow as a phone."""
        self.do("goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride",
                                     "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}})

    def scheme(self, name):
        self.do("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia",
                                     "params": {"features": [{"name": "prefers-color-scheme", "value": name}]}})

    def open(self, url):
        self.do("url", {"url": url})

    def ask(self, script):
        return self.do("execute/sync", {"script": "return " + script, "args": []})

    def screenshot(self):
        return base64.b64decode(self.do("screenshot", method="GET"))

    def pdf(self):
        return base64.b64decode(self.do("print", {"background": True}))

    def requests(self):
        """Addresses that the page asked for."""
        found = []
        for entry in self.do("se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def complaints(self):
        return [entry["message"] for entry in self.do("se/log", {"type": "browser"})]

    def close(self):
        self.call("DELETE", f"/session/{self.session}")


@contextlib.contextmanager
def browser():
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = None
        for line in driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = int(found[1])
                break
        assert port, "chromedriver did not start"
        drain = threading.Thread(target=driver.stdout.read, daemon=True)
        drain.start()
        session = Browser(port)
        try:
            yield session
        finally:
            session.close()
    finally:
        driver.terminate()
        driver.wait()


@contextlib.contextmanager
def page(tool, which):
    with tempfile.TemporaryDirectory(prefix="dockdist-page-") as folder:
        path = pathlib.Path(folder) / "report.html"
        path.write_bytes(subprocess.run([tool, which], check=True, capture_output=True).stdout)
        yield path


SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BOXES = """[...document.querySelectorAll('%s')].map(e => {
    const box = e.getBoundingClientRect(); return [box.left, box.right, box.width, box.height]; })"""


def test_phone(tool):
    """Nothing makes the page wider than a phone; wide tables move in frames of their own."""
    with browser() as b, page(tool, "deep") as path:
        b.resize(390, 844)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        assert b.ask("innerWidth") == 390
        for left, right, _, height in b.ask(BOXES % "table.rows td.found, h1, h2, figure svg"):
            assert left >= 0 and right <= 390 and height > 0, (left, right, height)
        size = b.ask("parseFloat(getComputedStyle(document.body).fontSize)")
        assert size >= 14, size


def test_desk(tool):
    """Every part is there and has a size; slow links are framed; dark and light have readable contrast."""
    with browser() as b, page(tool, "deep") as path:
        b.resize(1280, 900)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        titles = b.ask("[...document.querySelectorAll('h2')].map(e => e.textContent)")
        assert titles == ["What to do", "Engines", "Hosts", "Containers", "Network", "Collectives", "GPUs", "Between the nodes",
                          "NCCL bus bandwidth"], titles
        assert b.ask("document.querySelectorAll('table.map').length") == 3
        assert b.ask("document.querySelectorAll('td.slow').length") == 12
        assert b.ask("getComputedStyle(document.querySelector('td.slow')).outlineStyle") == "solid"
        charts = b.ask(BOXES % "figure svg")
        assert len(charts) == 2 and all(width > 300 and height > 150 for _, _, width, height in charts), charts
        assert b.ask("document.querySelector('td.found').innerHTML.includes('<script')") is False
        assert b.ask("document.body.textContent.includes('<script>alert(1)</script>')") is True
        for scheme in ("light", "dark"):
            b.scheme(scheme)
            for what in ("p.verdict", "td.state.pass", "td.state.warn", ".hint", "td.found"):
                assert contrast(b, what) >= 4.5, (scheme, what, contrast(b, what))


def contrast(b, selector):
    """WCAG's ratio between an element's text and the page behind it."""
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    text, back = (luminance(b.ask(f"getComputedStyle(document.querySelector('{which}')).{what}"))
                  for which, what in ((selector, "color"), ("body", "backgroundColor")))
    return (max(text, back) + 0.05) / (min(text, back) + 0.05)


def test_print(tool):
    """On paper: a few pages, with the heat maps' shades."""
    with browser() as b, page(tool, "deep") as path:
        b.open(path.as_uri())
        pdf = b.pdf()
        assert pdf.startswith(b"%PDF-")
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        assert 1 <= pages <= 6, pages
        b.do("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "print"}})
        assert b.ask("getComputedStyle(document.querySelector('table.map td[style]')).printColorAdjust") == "exact"
        assert b.ask("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"


def test_no_network(tool):
    """The page asks for nothing but itself, and has nothing to complain about."""
    for which in ("deep", "single"):
        with browser() as b, page(tool, which) as path:
            b.open(path.as_uri())
            asked = [url for url in b.requests() if not url.startswith(("data:", "chrome:"))]
            assert asked == [path.as_uri()], asked
            assert b.complaints() == [], b.complaints()


def test_many_nodes(tool):
    """64 nodes: the page stays as wide as the window, the map fits a desk."""
    with browser() as b, page(tool, "wide") as path:
        b.resize(390, 844)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        b.resize(1280, 900)
        assert b.ask("document.querySelectorAll('table.map.many td').length") == 2 * 64 * 64
        assert b.ask(SIDEWAYS) == 0


def screenshot(tool, target):
    with browser() as b, page(tool, "deep") as path:
        b.resize(1100, 900)
        b.scheme("light")
        b.open(path.as_uri())
        b.resize(1100, b.ask("document.documentElement.scrollHeight"))
        pathlib.Path(target).write_bytes(b.screenshot())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("test")
    parser.add_argument("target", nargs="?")
    arguments = parser.parse_args()
    if arguments.test == "screenshot":
        screenshot(arguments.tool, arguments.target)
    else:
        globals()[arguments.test](arguments.tool)


if __name__ == "__main__":
    main()
