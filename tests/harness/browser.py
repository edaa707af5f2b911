"""Headless Chromium, driven over WebDriver's own HTTP; and the pages that it opens."""

import base64
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import urllib.request

from harness.lab import ROOT

PAGE_TOOL = os.environ.get("DOCKDIST_PAGE_TOOL", str(ROOT / "build/tests/page/page_tool"))


# What to ask a page for.
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BOXES = """[...document.querySelectorAll('%s')].map(e => {
    const box = e.getBoundingClientRect(); return [box.left, box.right, box.width, box.height]; })"""



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
def page(which):
    with tempfile.TemporaryDirectory(prefix="dockdist-page-") as folder:
        path = pathlib.Path(folder) / "report.html"
        path.write_bytes(subprocess.run([PAGE_TOOL, which], check=True, capture_output=True).stdout)
        yield path


def contrast(b, selector):
    """WCAG's ratio between an element's text and the page behind it."""
    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    text, back = (luminance(b.ask(f"getComputedStyle(document.querySelector('{which}')).{what}"))
                  for which, what in ((selector, "color"), ("body", "backgroundColor")))
    return (max(text, back) + 0.05) / (min(text, back) + 0.05)
