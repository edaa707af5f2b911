"""The page of `check --report` in a real browser without a window."""

import re

from harness.browser import BOXES, SIDEWAYS, browser, contrast, page


def test_phone():
    """Nothing makes the page wider than a phone; wide tables move in frames of their own."""
    with browser() as b, page("deep") as path:
        b.resize(390, 844)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        assert b.ask("innerWidth") == 390
        for left, right, _, height in b.ask(BOXES % "table.rows td.found, h1, h2, figure svg"):
            assert left >= 0 and right <= 390 and height > 0, (left, right, height)
        size = b.ask("parseFloat(getComputedStyle(document.body).fontSize)")
        assert size >= 14, size


def test_desk():
    """Every part is there and has a size; slow links are framed; dark and light have readable contrast."""
    with browser() as b, page("deep") as path:
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


def test_print():
    """On paper: a few pages, with the heat maps' shades."""
    with browser() as b, page("deep") as path:
        b.open(path.as_uri())
        pdf = b.pdf()
        assert pdf.startswith(b"%PDF-")
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        assert 1 <= pages <= 6, pages
        b.do("goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "print"}})
        assert b.ask("getComputedStyle(document.querySelector('table.map td[style]')).printColorAdjust") == "exact"
        assert b.ask("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"


def test_no_network():
    """The page asks for nothing but itself, and has nothing to complain about."""
    for which in ("deep", "single"):
        with browser() as b, page(which) as path:
            b.open(path.as_uri())
            asked = [url for url in b.requests() if not url.startswith(("data:", "chrome:"))]
            assert asked == [path.as_uri()], asked
            assert b.complaints() == [], b.complaints()


def test_many_nodes():
    """64 nodes: the page stays as wide as the window, the map fits a desk."""
    with browser() as b, page("wide") as path:
        b.resize(390, 844)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        b.resize(1280, 900)
        assert b.ask("document.querySelectorAll('table.map.many td').length") == 2 * 64 * 64
        assert b.ask(SIDEWAYS) == 0
