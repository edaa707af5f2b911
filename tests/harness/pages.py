"""README, docs/ and the other pages of the project: their blocks, and what is needed to run them.

A block's first line says what it is: a language, and after it `needs=WORD` where it cannot be run by the tests of tests/docs, and `in=FOLDER`
where it is typed in a copy of a folder of the repository (CONTRIBUTING.md says which words there are)."""

import dataclasses
import os
import re

from harness.lab import DOCKDIST, ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "src/README.md", "tests/README.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))

LANGUAGES = {"sh", "bash", "console", "yaml", "json", "dockerfile", "ini", "python", "text"}
# What the tests do not have, or do not take the time for. `lab`: run by integration/test_docs.py.
NEEDS = {"lab", "time", "gpus", "nccl", "rdma", "slurm", "kubernetes", "prometheus", "models", "jupyter", "data", "hosts", "home"}
OF = {"kubernetes", "prometheus", "others", "ci"}  # YAML that is no cluster.yaml


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    needs: str
    of: str
    folder: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"

    def commands(self):
        """The lines to type, with what goes on behind a backslash or in a here-document."""
        if self.language != "console":
            return self.text
        return "\n".join(command for command, _ in self.dialogue())

    def dialogue(self):
        """(command, what it prints) of a console."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found[-1][0].endswith("\\") and not found[-1][1]:
                found[-1] = (found[-1][0] + "\n" + line, [])
            else:
                found[-1][1].append(line)
        return found


FENCE = re.compile(r"^( *)```(\w*)((?: \w+=\S+)*) *\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)


def blocks(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, language, attributes, inside = found.groups()
        said = dict(word.split("=", 1) for word in attributes.split())
        inside = re.sub(f"^{indent}", "", inside, flags=re.MULTILINE)
        yield Block(str(page.relative_to(ROOT)), text.count("\n", 0, found.start()) + 1, language, said.pop("needs", ""), said.pop("of", ""), said.pop("in", ""),
                    inside)
        assert not said, f"{page}: {said}"


def all_blocks():
    return [block for page in PAGES for block in blocks(page)]


def without_blocks(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page):
    """As the forge makes them of headings."""
    found = set()
    for heading in HEADING.findall(without_blocks(page)):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found


BEGINS = re.compile(r"\s*([-*]|\d+\.) |\||#|> ")


def passages(page):
    """(line, words) of each paragraph, item of a list, row of a table and heading."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    found = []
    apart = True
    for number, line in enumerate(text.splitlines(), 1):
        words = line.replace("|", " ").split()
        if not words:
            apart = True
        elif apart or BEGINS.match(line):
            found.append((number, words))
            apart = False
        else:
            found[-1][1].extend(words)
    return found


# In place of a training, which integration/test_run.py does: what the pages are about is how one comes to it.
TRAIN = """import os, sys
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], *sys.argv[1:])
"""


def scene(folder, cluster_file):
    """A folder as the pages have it: a cluster.yaml, a train.py; and the environment in which `dockdist` is found."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "dockdist").symlink_to(DOCKDIST)
    work = folder / "work"
    work.mkdir()
    (work / "cluster.yaml").write_text(cluster_file, encoding="utf-8")
    (work / "train.py").write_text(TRAIN, encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    for name in ("DOCKDIST_FILE", "DOCKDIST_HOSTS"):
        environment.pop(name, None)
    return work, environment
