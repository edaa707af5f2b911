"""templates/examples: each folder is whole, and its page says the same of it. They run in integration/test_docs.py."""

import json
import re
import subprocess

import pytest
import yaml

from harness.lab import DOCKDIST, ROOT
from harness.pages import blocks

FOLDERS = sorted((ROOT / "templates/examples").iterdir())
PAGE = ROOT / "docs/examples.md"
each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def command_of(folder):
    """What its cluster.yaml says to type, behind `dockdist up`."""
    found = re.match(r"# .+\n#     dockdist up\n#     (.+)\n", (folder / "cluster.yaml").read_text(encoding="utf-8"))
    assert found, f"{folder.name}/cluster.yaml begins with what it is, `dockdist up` and its command"
    return found[1]


def test_the_page_has_a_block_of_each():
    assert [block.folder for block in blocks(PAGE) if block.folder] and {block.folder for block in blocks(PAGE) if block.folder} == {
        str(folder.relative_to(ROOT)) for folder in FOLDERS}


@each_folder
def test_its_command_is_the_page_s(folder):
    block = next(block for block in blocks(PAGE) if block.folder == str(folder.relative_to(ROOT)))
    assert command_of(folder) in block.commands().splitlines()


@each_folder
def test_its_files_are_good(folder):
    assert len(list(folder.iterdir())) >= 2
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            compile(text, path.name, "exec")
        elif path.suffix == ".ipynb":
            for cell in json.loads(text)["cells"]:
                if cell["cell_type"] == "code":
                    compile("".join(cell["source"]), path.name, "exec")
        elif path.suffix == ".json":
            assert json.loads(text)
        elif path.suffix == ".sh":
            assert subprocess.run(["sh", "-n", path], capture_output=True, check=True).stderr == b""
        else:
            assert path.name == "cluster.yaml", path
    done = subprocess.run([DOCKDIST, "-f", folder / "cluster.yaml", "validate"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said = yaml.safe_load((folder / "cluster.yaml").read_text(encoding="utf-8"))
    assert (said["sync"], said["container"]["workdir"]) == ([".:/workspace"], "/workspace")
