#!/usr/bin/env python3
"""Makes the pictures that the pages show: screenshot.py PNG [PAGE.html]; without a page report.png, with the built page_tool as
DOCKDIST_PAGE_TOOL."""

import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from harness.browser import browser, page  # noqa: E402


def main():
    given = contextlib.nullcontext(pathlib.Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else page("deep")
    with browser() as b, given as path:
        b.resize(1100, 900)
        b.scheme("light")
        b.open(path.as_uri())
        b.resize(1100, b.ask("document.documentElement.scrollHeight"))
        pathlib.Path(sys.argv[1]).write_bytes(b.screenshot())


if __name__ == "__main__":
    main()
