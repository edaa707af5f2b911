#!/usr/bin/env python3
"""`dockdist-init setup` itself: what a node remembers of the lines of `setup:`, and how nodes that share a folder take turns."""

import json
import os
import subprocess

import pytest

INIT = os.environ.get("DOCKDIST_INIT_UNDER_TEST", "build/src/node/dockdist-init-under-test")


@pytest.fixture
def node(tmp_path):
    (tmp_path / "root/var/lib/dockdist/setup").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    return tmp_path


def start(node, *words):
    return subprocess.Popen([INIT, "setup", *words], cwd=node / "work", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "DOCKDIST_TEST_ROOT": str(node / "root")})


def state(node, run, target=""):
    out, err = start(node, "state", json.dumps({"run": run, "target": str(target)})).communicate(timeout=30)
    digest, word = out.split()
    return digest, word


def do(node, run, target="", again=""):
    line = {"run": run, "target": str(target), "digest": state(node, run, target)[0], "again": again}
    return start(node, "run", json.dumps(line))


def test_a_line_is_remembered_until_it_or_a_file_that_it_names_changes(node):
    names = node / "work/names.txt"
    names.write_text("one\n")
    run = "cat names.txt; echo more >> log"
    before, word = state(node, run)
    assert word == "new"
    out, err = do(node, run).communicate(timeout=30)
    assert (out, err) == ("one\n", "")
    assert state(node, run)[1] == "done", "what it writes itself is no change"
    assert state(node, run + " ")[1] == "new"
    os.utime(names)
    assert state(node, run)[1] == "done", "another time is no other content"
    names.write_text("two\n")
    assert state(node, run)[1] == "new"
    do(node, run).communicate(timeout=30)
    names.write_text("one\n")
    assert state(node, run)[1] == "new", "what it was the last time counts"


def test_a_folder_is_what_its_project_files_say(node):
    package = node / "work/package"
    package.mkdir()
    (package / "pyproject.toml").write_text("[project]\n")
    run = "echo package >> log"
    before = state(node, run)[0]
    (package / "code.py").write_text("x = 1\n")
    assert state(node, run)[0] == before
    (package / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert state(node, run)[0] != before


def test_a_line_that_fails_is_not_remembered_and_its_code_is_told(node):
    failed = do(node, "exit 7")
    failed.communicate(timeout=30)
    assert failed.returncode == 7
    assert state(node, "exit 7")[1] == "new"


def test_a_line_that_makes_its_target_anew_is_remembered_there(node):
    target = node / "shared"
    run = f"rm -r {target}; mkdir {target}; echo ran >> log"
    made = do(node, run, target)
    assert made.communicate(timeout=30) == ("", "") and made.returncode == 0
    assert state(node, run, target)[1] == "done"


def test_nodes_that_share_a_target_run_a_line_once(node, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "root/var/lib/dockdist/setup").mkdir(parents=True)
    (other / "work").mkdir()
    target = node / "shared"
    target.mkdir()
    os.mkfifo(node / "go")
    run = f"cat {node}/go; echo ran >> {target}/log"
    first = do(node, run, target)
    with open(node / "go", "w", encoding="utf-8") as go:  # opens when the first one reads: it has the lock
        second = do(other, run, target)
        assert second.stdout.readline() == f"dockdist: another node is at {target}: waiting for it\n"
        go.write("go\n")
    assert first.communicate(timeout=30)[0] == "go\n" and first.returncode == 0
    assert second.communicate(timeout=30)[0] == f"dockdist: another node has set up {target}\n" and second.returncode == 0
    assert (target / "log").read_text() == "ran\n"
    assert state(other, run, target)[1] == "done"
    for place in (node, other):  # again, but once under one word
        with_word = do(place, f"echo ran >> {target}/log", target, again="a" * 64)
        with_word.communicate(timeout=30)
        assert with_word.returncode == 0
    assert (target / "log").read_text() == "ran\nran\n"


def test_what_cannot_be_is_said(node):
    no_line = start(node, "run", "{}")
    assert no_line.communicate(timeout=30)[1] and no_line.returncode != 0
    gone = do(node, "true", node / "missing/below")
    assert "cannot make" in gone.communicate(timeout=30)[1] and gone.returncode == 126
    (node / "shared").mkdir()
    (node / "shared/.dockdist-setup").symlink_to(node / "victim")
    linked = do(node, "true", node / "shared")
    assert "cannot open" in linked.communicate(timeout=30)[1] and linked.returncode == 126
    assert not (node / "victim").exists()
