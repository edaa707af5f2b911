"""The site that scripts/docs makes is whole, loads nothing from elsewhere, and its reference and the man pages name all that there is.
The site wants PyPI once."""

import html
import json
import os
import re
import subprocess
import sys

import pytest

from harness.command_tree import commands
from harness.lab import DOCKDIST, ROOT

sys.path.insert(0, str(ROOT / "docs/site"))
import sources  # noqa: E402

DOCS = [str(ROOT / "scripts/docs"), "--program", str(DOCKDIST)]


def make(kind, folder, **environment):
    return subprocess.run([*DOCS, kind, str(folder)], capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, **environment})


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    assert make("reference", folder).returncode == 0
    return {page.stem: html.unescape(page.read_text(encoding="utf-8")) for page in folder.iterdir()}


def test_every_command_and_option_is_in_the_reference(reference):
    page = reference["commands"]
    found = 0
    for command, known in commands():
        assert f" {' '.join(('dockdist', *command))} " in page or not command
        for option in known["options"]:
            assert f"{option} " in page or f"{option}</code>" in page, f"{command} {option}"
            found += 1
    assert found > 150


def test_every_key_of_the_file_is_in_the_reference_with_its_type_and_its_words(reference):
    page = reference["cluster-yaml"]
    schema = sources.cluster_schema()
    for path, keys in sources.key_sections(schema):
        for name, key in keys.items():
            anchor = re.sub(r"[^a-z0-9]+", "-", f"{path}.{name}".lower().replace("*", "any")).strip("-")
            row = re.search(rf'^\| <span id="{anchor}-key"></span><code>{name}</code> \| (.*) \| (.*) \| (.*) \|$', page, re.MULTILINE)
            assert row, f"{path}.{name}"
            assert row[1].strip(), f"{path}.{name} has no type"
            assert row[2].strip() or row[3].strip(), f"{path}.{name} has no words in the schema"


def test_every_label_and_exit_code_of_the_source_is_in_the_reference_with_its_words(reference):
    used = set(re.findall(r'"(dockdist\.[a-z-]+)"', (ROOT / "src/client/plan/labels.hpp").read_text()))
    assert used and used == {name for name, _ in sources.labels()}
    numbers = set(re.findall(r"inline constexpr int \w+ =\s*(\d+);", (ROOT / "src/shared/core/exit_codes.hpp").read_text()))
    assert numbers and numbers < {code for code, _ in sources.exit_codes()}
    for page, rows in (("labels", sources.labels()), ("exit-codes", sources.exit_codes())):
        for name, said in rows:
            assert said, f"{name} has no comment"
            assert f"<code>{name}</code>" in reference[page]


def test_what_is_printed_as_json_is_in_the_reference(reference):
    for name in sources.output_schema()["properties"]:
        assert f"## {name} " in reference["json"]


@pytest.fixture(scope="module")
def man_pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    assert make("man", folder, SOURCE_DATE_EPOCH="86400").returncode == 0
    return sorted(folder.iterdir())


def test_there_is_a_man_page_of_each_command_and_of_the_file(man_pages):
    expected = {"-".join(("dockdist", *command)) + ".1" for command, _ in commands()}
    assert {page.name for page in man_pages} == expected | {"dockdist-cluster.yaml.5"}


def test_groff_has_nothing_to_say_of_the_man_pages(man_pages):
    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-Kutf8", "-z", *map(str, man_pages)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_man_pages_are_the_same_each_time(man_pages, tmp_path):
    assert make("man", tmp_path, SOURCE_DATE_EPOCH="86400").returncode == 0
    assert {page.name: page.read_bytes() for page in man_pages} == {page.name: page.read_bytes() for page in tmp_path.iterdir()}
    assert '"1970-01-02"' in man_pages[0].read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = make("build", folder)
    if "NewConnectionError" in done.stderr or "No matching distribution" in done.stderr:
        pytest.skip(f"PyPI is not to be had: {done.stderr.strip().splitlines()[-1:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} < {page.stem for page in pages}
    for page in pages:
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(\w+:)?//[^"]*"|<link\b(?![^>]*rel="(?:canonical|next|prev)")[^>]*href="(?:https?:)?//[^"]*"',
                            page.read_text(encoding="utf-8"))
        assert loaded == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name
    assert json.loads((site / "search/search_index.json").read_text())["docs"]
