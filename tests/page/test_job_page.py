"""The page of `run --report` in a real browser without a window."""

from harness.browser import BOXES, SIDEWAYS, browser, contrast, page


def test_a_job_on_a_desk_and_on_a_phone():
    """Every part is there and has a size, in both schemes readable, and nothing is wider than a phone."""
    with browser() as b, page("job") as path:
        b.resize(1280, 900)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        titles = b.ask("[...document.querySelectorAll('h2')].map(e => e.textContent)")
        assert titles == ["What stands out", "The job", "What it used", "Over time", "Each node"], titles
        charts = b.ask(BOXES % "figure svg")
        assert len(charts) == 9 + 2 * 9 and all(width > 250 and height > 100 for _, _, width, height in charts), charts
        # Two GPUs, each with its curve, in two pieces: nothing was measured in between.
        load = "document.querySelector('details figure')"
        assert b.ask(f"{load}.querySelector('h3').textContent") == "GPU load, %"
        assert b.ask(f"[...{load}.querySelectorAll('.curve')].map(e => e.getAttribute('d').match(/M/g).length)") == [2, 2]
        assert b.ask(f"[...{load}.querySelectorAll('.legend span')].map(e => e.textContent)") == ["GPU 0", "GPU 1"]
        colours = b.ask(f"[...{load}.querySelectorAll('.curve')].map(e => getComputedStyle(e).stroke)")
        assert len(set(colours)) == 2, colours
        for scheme in ("light", "dark"):
            b.scheme(scheme)
            for what in ("p.verdict", "li", "p.hint", "pre", "td.found"):
                assert contrast(b, what) >= 4.5, (scheme, what, contrast(b, what))
        b.resize(390, 844)
        assert b.ask(SIDEWAYS) == 0
        for left, right, _, height in b.ask(BOXES % "h1, h2, figure svg, table.facts td"):
            assert left >= 0 and right <= 390 and height > 0, (left, right, height)
        asked = [url for url in b.requests() if not url.startswith(("data:", "chrome:"))]
        assert asked == [path.as_uri()], asked
        assert b.complaints() == [], b.complaints()


def test_a_job_on_many_nodes():
    """64 nodes: one range for all of them, each node's own charts folded away until they are asked for."""
    with browser() as b, page("job-wide") as path:
        b.resize(390, 844)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        assert b.ask("document.querySelectorAll('details').length") == 64
        assert b.ask("document.querySelectorAll('details[open]').length") == 0
        assert b.ask("document.querySelectorAll('.charts')[0].querySelectorAll('.band').length") >= 6
        b.ask("(document.querySelector('details').open = true, 0)")
        assert b.ask("document.querySelector('details figure svg').getBoundingClientRect().height") > 100
        assert b.ask(SIDEWAYS) == 0
