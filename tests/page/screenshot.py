#!/usr/bin/env python3
"""Makes report.png, which the README shows: screenshot.py PNG, with the built page_tool as DOCKDIST_PAGE_TOOL."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from harness.browser import browser, page  # noqa: E402


def main():
    with browser() as b, page("deep") as path:
        b.resize(1100, 900)
        b.scheme("light")
        b.open(path.as_uri())
        b.resize(1100, b.ask("document.documentElement.scrollHeight"))
        pathlib.Path(sys.argv[1]).write_bytes(b.screenshot())


if __name__ == "__main__":
    main()
