"""Links between the pages, as they are read in the repository: each leads somewhere. And README fits a visit."""

import re

import pytest

from harness.lab import ROOT
from harness.pages import PAGES, anchors, without_blocks

ALL = [*PAGES, ROOT / "CHANGELOG.md"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    wrong = []
    for link in LINK.findall(without_blocks(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            wrong.append(f"{link}: there is no {path}")
        elif anchor and anchor not in anchors(there):
            wrong.append(f"{link}: no heading there is {anchor}")
    assert wrong == []


def test_each_page_of_docs_is_reached_from_another():
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in ALL for link in LINK.findall(without_blocks(page))}
    assert [page.name for page in (ROOT / "docs").glob("*.md") if page not in linked] == []


def test_readme_is_short_and_starts_with_what_to_do():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    first_screen = "\n".join(lines[:40])
    for needed in ("scripts/demo", "scripts/test", "dockdist up", "dockdist run --nodes 2", "dockdist check"):
        assert needed in first_screen, needed
