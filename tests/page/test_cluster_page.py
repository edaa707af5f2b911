"""The page that `dockdist page` serves, in a real browser without a window."""

from harness.browser import BOXES, SIDEWAYS, browser, contrast, page


def test_a_cluster_on_a_desk_and_on_a_phone():
    """All is there, what runs first, each job with its link; and what others have named does nothing."""
    with browser() as b, page("cluster") as path:
        b.resize(1280, 900)
        b.open(path.as_uri())
        assert b.ask(SIDEWAYS) == 0
        titles = b.ask("[...document.querySelectorAll('h2, h3')].map(e => e.textContent)")
        assert titles == ["What stands out", "Nodes", "GPUs", "Waiting", "Jobs"], titles
        assert b.ask("document.querySelector('.verdict').textContent") == "8 nodes, 1 job running, 1 waiting"
        assert b.ask("[...document.querySelectorAll('td a')].map(e => e.getAttribute('href'))") == ["job/night", "job/job-1a2b3c4d"]
        assert b.ask("document.querySelectorAll('script').length") == 0
        assert b.ask("document.body.textContent.includes('<script>alert(1)</script>')") is True
        assert b.ask("document.querySelector('meta[http-equiv=refresh]').content") == "5"
        for scheme in ("light", "dark"):
            b.scheme(scheme)
            for what in ("p.verdict", "li", "td", "th", "td a"):
                assert contrast(b, what) >= 4.5, (scheme, what, contrast(b, what))
        b.resize(390, 844)
        assert b.ask(SIDEWAYS) == 0
        for left, right, _, height in b.ask(BOXES % "h1, h2, li"):
            assert left >= 0 and right <= 390 and height > 0, (left, right, height)
        assert {url for url in b.requests() if not url.startswith(("data:", "chrome:"))} == {path.as_uri()}
        assert b.complaints() == [], b.complaints()
