"""What docs/export-*.md show as an example is what the program prints of it."""

import re
import shlex
import subprocess

import pytest
from harness.command_tree import DOCKDIST
from harness.lab import ROOT

PAGES = sorted((ROOT / "docs").glob("export-*.md"))


def example_of(page):
    """Its cluster.yaml, its command line, and the blocks that show what comes out: stdout, and stderr where there is any."""
    text = page.read_text(encoding="utf-8").partition("\n## An example\n")[2].partition("\n## ")[0]
    file, *printed = re.findall(r"^```[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    line, = re.findall(r"^`dockdist (export [^`]+)` prints$", text, re.MULTILINE)
    return file, shlex.split(line), printed


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_example_of_a_page_is_what_the_program_prints(tmp_path, page):
    file, words, printed = example_of(page)
    (tmp_path / "cluster.yaml").write_text(file, encoding="utf-8")
    done = subprocess.run([DOCKDIST, *words], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == "".join(printed)
