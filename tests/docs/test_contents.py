"""The table of contents: every page stands in it once, shows what is printed, and has no passage that nobody reads to its end."""

import re

import pytest
import yaml

from harness.lab import ROOT
from harness.pages import PAGES, anchors, blocks, passages

LONGEST = 120  # words of a passage


def contents():
    """{part: names of its pages}, in the site's order."""
    text = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    return {part: [page for entry in entries for page in entry.values()]
            for each in yaml.safe_load(text)["nav"] for part, entries in each.items()}


def test_every_page_is_in_the_contents_once():
    named = [page for pages in contents().values() for page in pages]
    assert sorted(set(named)) == sorted(named)
    assert {page.name for page in (ROOT / "docs").glob("*.md")} == {page for page in named if (ROOT / "docs" / page).exists()}


def of_users():
    """Pages of the parts that are for users; what explains the inside or lists things is not."""
    return [ROOT / "docs" / page for part, pages in contents().items() if part not in ("Reference", "Inside") for page in pages if (ROOT / "docs" / page).exists()]


@pytest.mark.parametrize("page", [ROOT / "README.md", *of_users()], ids=lambda page: page.stem)
def test_a_page_shows_what_is_printed(page):
    shown = [block for block in blocks(page) if block.language == "text" or (block.language == "console" and any(said for _, said in block.dialogue()))
             or (block.language in ("yaml", "bash") and page.stem.startswith("export-"))]
    assert shown, f"{page.name} shows nothing that is printed"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_passage_is_long(page):
    assert [f"line {line}: {len(words)} words: {' '.join(words[:8])} …" for line, words in passages(page) if len(words) > LONGEST] == []


def test_a_long_passage_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n" + "word " * 60 + "\n" + "word " * 61 + "\n\n- " + "item " * 5 + "\n- b\n\n```sh\n" + "x " * 200 + "\n```\n| a | b |\n")
    assert [(line, len(words)) for line, words in passages(page)] == [(1, 2), (3, 121), (6, 6), (7, 2), (12, 2)]


def test_what_readme_begins_with_is_what_it_shows():
    short, shown = (next(block for block in blocks(ROOT / "README.md") if block.needs == "lab" and block.language == kind) for kind in ("sh", "console"))
    assert [line.split(" #")[0].strip() for line in short.text.splitlines()] == [command for command, _ in shown.dialogue()]


MENTION = re.compile(r"\bdocs/([a-z][a-z0-9-]*\.md)(?:#([\w-]+))?")


def test_pages_that_sources_and_messages_name_are_there():
    wrong, found = [], 0
    for folder in ("src", "scripts", "templates", "cmake", "docker", "compose", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if not path.is_file() or "unit" in path.parts or path.suffix in (".png", ".gz", ".pyc", ".md"):
                continue
            for page, anchor in MENTION.findall(path.read_text(encoding="utf-8", errors="replace")):
                found += 1
                there = ROOT / "docs" / page
                if not there.exists() or (anchor and anchor not in anchors(there)):
                    wrong.append(f"{path.relative_to(ROOT)}: docs/{page}{'#' + anchor if anchor else ''}")
    assert wrong == [] and found >= 10


KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]  # as keepachangelog.com has them


def test_the_changelog_is_in_the_form_that_people_know():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for release in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", release, re.MULTILINE)
        assert kinds and kinds == [kind for kind in KINDS if kind in kinds], release.splitlines()[0]
    assert [f"line {line}: {len(words)} words" for line, words in passages(ROOT / "CHANGELOG.md") if len(words) > LONGEST // 2] == []
