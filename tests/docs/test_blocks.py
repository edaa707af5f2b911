"""What stands in blocks of the pages, and needs no engine: shell that runs, dialogues that go as they are shown, files that are right.
What is marked is read all the same: it parses, and its commands and options are the program's."""

import json
import re
import subprocess

import pytest
import yaml

from harness.lab import DOCKDIST, ROOT
from harness.pages import LANGUAGES, NEEDS, OF, PAGES, all_blocks, scene, without_blocks

BLOCKS = all_blocks()

FILE = """image: train:1
hosts:
  - ssh://ops@10.0.0.1
  - ssh://ops@10.0.0.2
"""


def those(language, needs=None):
    found = [block for block in BLOCKS if block.language == language and (needs is None or block.needs == needs)]
    return pytest.mark.parametrize("block", found, ids=str)


def shell(block):
    return pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in ("sh", "bash", "console")], ids=str)(block)


def test_every_block_says_what_it_is():
    wrong = [f"{block}: {block.language} {block.needs} {block.of}" for block in BLOCKS
             if block.language not in LANGUAGES or block.needs not in NEEDS | {""} or block.of not in OF | {""}
             or (block.of and block.language != "yaml")]
    assert wrong == []
    fences = sum(len(re.findall(r"^ *```", page.read_text(), re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(BLOCKS), "a fence is not closed, or its first line is not understood"


def test_the_convention_is_told():
    told = (ROOT / "CONTRIBUTING.md").read_text()
    assert [word for word in sorted(NEEDS) if f"`{word}`" not in told] == []


@shell
def test_shell_parses(block):
    done = subprocess.run(["bash", "-n"], input=block.commands(), text=True, capture_output=True, check=False)
    assert done.stderr == ""


@those("sh", "")
def test_shell_runs(tmp_path, block):
    work, environment = scene(tmp_path, FILE)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=work, env=environment, text=True, capture_output=True,
                          timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr


def pattern_of(lines):
    """`…` stands for whatever is there: alone on a line for lines, in a line for words."""
    return "\n".join("(.*\n)*?.*" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) for line in lines)


@those("console", "")
def test_a_dialogue_goes_as_it_is_shown(tmp_path, block):
    work, environment = scene(tmp_path, FILE)
    place = tmp_path / "place"
    for command, shown in block.dialogue():
        done = subprocess.run(["bash", "-c", f'{command}\nprintf %s "$PWD" >{place}'], cwd=work, env=environment, text=True, capture_output=True,
                              timeout=30, check=False, stdin=subprocess.DEVNULL)
        work = place.read_text()
        said = (done.stdout + done.stderr).rstrip("\n")
        assert re.fullmatch(pattern_of(shown), said), f"$ {command}\n{said}"


# What examples take from their folder, and from the environment.
LISTS = {"hostfile": "worker-1 slots=8\nworker-2 slots=8\n", "hosts.txt": "rack[1-2]-a\n", "inventory.ini": "[gpu]\nrack3-b\n", "who-is-up": "#!/bin/sh\necho rack4-c\n"}
VARIABLES = {"HF_TOKEN": "x", "DOCKER_CERT_PATH": "/certs"}


def whole(text):
    """A part of a cluster.yaml with what the rest of it has to say."""
    said = yaml.safe_load(text) or {}
    more = "" if "image" in said else "image: train:1\n"
    hosts = "".join(f"  - {{name: node-{i}, docker: 'ssh://ops@10.0.0.{i + 1}'}}\n" for i in range(4))
    return text + more + ("" if "hosts" in said else f"hosts:\n{hosts}")


@those("yaml")
def test_a_file_is_right(tmp_path, block):
    if block.of:
        assert list(yaml.safe_load_all(block.text))
        return
    work, environment = scene(tmp_path, whole(block.text))
    for name, text in LISTS.items():
        (work / name).write_text(text, encoding="utf-8")
        (work / name).chmod(0o755)
    done = subprocess.run([DOCKDIST, "validate"], cwd=work, env={**environment, **VARIABLES}, text=True, capture_output=True, check=False)
    errors = re.findall("^error: .*", done.stderr, re.MULTILINE)
    if block.needs == "slurm":
        assert errors and all("SLURM_JOB_ID is not set" in error for error in errors), done.stderr
    else:
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/first-cluster.md"])
def test_what_init_writes_is_the_file_that_is_shown(tmp_path, page):
    commands = "\n".join(block.commands() for block in BLOCKS if block.page == page)
    work, environment = scene(tmp_path, "")
    (work / "cluster.yaml").unlink()
    subprocess.run(["bash", "-c", re.search("^dockdist init .*", commands, re.MULTILINE)[0]], cwd=work, env=environment, check=True, capture_output=True)
    shown = next(block for block in BLOCKS if block.page == page and block.language == "yaml")
    assert yaml.safe_load((work / "cluster.yaml").read_text()) == yaml.safe_load(shown.text)


@those("json")
def test_json_is_json(block):
    assert json.loads(block.text) is not None


# Commands and options that the pages name.

def options_by_command():
    found = {}

    def note(command, above):
        own = {option["name"] for option in command["options"]} | {head for option in command["options"] for head in option["head"].split()[0:1]}
        name = tuple(command["command"].split()[1:])
        found[name] = {word.rstrip(",") for word in own | above} | {"--help", "-h"}
        for below in command["commands"]:
            note(below, above)

    top = json.loads(subprocess.run([DOCKDIST, "help", "-o", "json"], check=True, capture_output=True, text=True).stdout)
    everywhere = {option["name"] for option in top["options"]} | {"-f", "-o", "--version"}
    note(top, everywhere)
    return found


def named_commands():
    """(where, words behind `dockdist`) of each call in the pages' shell and in their text."""
    for block in BLOCKS:
        if block.language in ("sh", "bash", "console"):
            for line in re.sub(r"\\\n", " ", block.commands()).splitlines():
                for call in re.finditer(r"(?:^|[|;&(] *|\bexec |=\S* )dockdist ((?!-rc)[^|;&()>#]*)", line):
                    yield str(block), call[1].split()
    for page in PAGES:
        for call in re.finditer(r"`dockdist ([^`]+)`", without_blocks(page)):
            yield str(page.relative_to(ROOT)), re.split(r"[|;&>#]", call[1])[0].split()


def wrong_in(words, known):
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in ("-f", "-o", "--hosts", "--file", "--output") else 1:]
    if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
        return None
    command = (words[0],)
    if command not in known:
        return f"no command {words[0]}"
    if len(words) > 1 and (*command, words[1]) in known:
        command = (*command, words[1])
    end = words.index("--") if "--" in words else len(words)
    for word in words[len(command):end]:
        name = re.match(r"\[*(--?[a-z][\w-]*)", word)
        if name and not word.startswith("---") and name[1] not in known[command]:
            return f"{' '.join(command)} has no {name[1]}"
    return None


def test_commands_and_options_are_the_program_s():
    known = options_by_command()
    wrong = [f"{where}: {found}" for where, words in named_commands() if (found := wrong_in(words, known)) and "chekc" not in found]
    assert wrong == []
    assert sum(1 for _ in named_commands()) > 100
