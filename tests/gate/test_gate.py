"""A project of a few tests on a lab that is none, run as scripts/test runs ours: what of the lab fails is run once more, alone, at
the end; and who reads the end alone learns what failed, and how."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from harness import patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(tried LANGUAGES NONE)
enable_testing()
include({root}/cmake/lab.cmake)
foreach(name {names})
    dockdist_lab_test(${{name}} test_tried.py::${{name}})
endforeach()
add_test(NAME other/bad COMMAND sh -c "echo of another kind; exit {bad}")
"""
TESTS = """
import os, pathlib, time
FOLDER = pathlib.Path(os.environ["TRIED"])


def fails(name, times):
    with (FOLDER / name).open("a") as file:
        file.write("x")
    with (FOLDER / "order").open("a") as file:
        file.write(name + " ")
    print("\\n".join(f"line {i} of {name}" for i in range(100)))
    assert len((FOLDER / name).read_text()) > times
"""


class Project:
    def __init__(self, folder, bad=0, **times):
        """`times`: how often each test fails before it passes."""
        self.folder = folder
        self.build = folder / "build"
        (folder / "scripts").mkdir()
        (folder / "tests").mkdir()
        (folder / "scripts/lab").write_text("#!/bin/sh\necho lab $* >>$TRIED/order\n")
        (folder / "scripts/lab").chmod(0o755)
        for name in ("conftest.py", "pytest.ini", "gate", "harness"):
            (folder / "tests" / name).symlink_to(ROOT / "tests" / name)
        (folder / "tests/test_tried.py").write_text(
            TESTS + "".join(f"\n\ndef test_{name}():\n    fails('{name}', {number})\n" for name, number in times.items()))
        (folder / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT, names=" ".join(f"test_{name}" for name in times), bad=bad))
        configured = subprocess.run(["cmake", "-S", folder, "-B", self.build], check=False, capture_output=True, text=True)
        assert configured.returncode == 0, configured.stderr

    def run(self, *words, code):
        for file in self.folder.glob("[a-z]*"):
            if file.is_file() and file.name != "CMakeLists.txt":
                file.unlink()
        done = subprocess.run([sys.executable, ROOT / "tests/gate/closing.py", self.build, "ctest", "--test-dir", self.build, "--output-on-failure",
                               "--no-label-summary", "--parallel", "2", *words], check=False, capture_output=True, text=True,
                              env={**os.environ, "TRIED": str(self.folder)})
        assert done.returncode == code, done.stdout + done.stderr
        text = done.stdout
        begin = re.search(r"^\d+% tests passed, .*$", text, re.M)
        return text[:begin.start()], text[begin.start():]

    @property
    def order(self):
        return (self.folder / "order").read_text()


def test_what_passes_the_second_time_is_named_and_the_run_is_green(tmp_path):
    project = Project(tmp_path, good=0, flaky=1, other=0)
    before, closing = project.run(code=0)
    assert before.rstrip().splitlines()[-1] == f"flaky: lab/test_flaky (both logs in {project.build}/flaky/)"
    assert closing.startswith("100% tests passed, 0 tests failed out of 10")  # with up, down and second tries of two labs
    logs = {path.name: path.read_text() for path in (project.build / "flaky/lab-test_flaky").glob("*.log")}
    assert set(logs) == {"first.log", "second.log"} and "line 99 of flaky" in logs["first.log"] and "1 passed" in logs["second.log"]
    assert project.order.split().count("flaky") == 2 and project.order.split().count("good") == 1
    # Alone: after all others of its lab, and while that is still up.
    last = project.order.rindex("flaky")
    assert last > max(project.order.index(name) for name in ("good", "other")) and "lab down" in project.order[last:]
    assert "Test #" in before and re.search(r"lab/test_flaky \.*\*\*\*Skipped", before)
    again, _ = project.run("-R", "good", code=0)
    assert "flaky" not in again  # what another run has left does not count


def test_what_fails_twice_is_red_with_its_last_lines_and_what_is_not_of_the_lab_has_no_second_try(tmp_path):
    project = Project(tmp_path, bad=3, twice=2, good=0)
    before, closing = project.run(code=8)
    assert project.order.split().count("twice") == 2
    assert closing.startswith("78% tests passed, 2 tests failed out of 9")
    end = before[before.index("\n===== failed: other/bad\n"):]
    assert end.startswith("\n===== failed: other/bad\nof another kind\n")
    shown = end[end.index("===== failed: lab/test_twice\n"):]
    assert "AssertionError" in shown or "assert" in shown
    assert 30 <= len(shown.splitlines()) <= 40 + 6
    assert end.rstrip().endswith("2 failed:\n  other/bad\n  lab/test_twice")


def test_more_than_three_are_no_chance(tmp_path):
    project = Project(tmp_path, a=1, b=1, c=1, d=1, good=0)
    before, closing = project.run(code=8)
    assert "4 failed:" in before and "4 tests of the lab have failed: too many for a second try" in before
    for name in "abcd":
        assert project.order.split().count(name) == 1
        assert f"===== failed: lab/test_{name}\n" in before
    assert "second-try" in closing


def test_a_second_try_that_is_left_out_leaves_the_first_one_s_failure(tmp_path):
    project = Project(tmp_path, flaky=1)
    before, closing = project.run("-R", "flaky", "--fixture-exclude-cleanup", "tries", code=8)
    assert closing.startswith("100% tests passed")  # by ctest's count, as it has only skipped one
    assert before.rstrip().endswith("1 failed:\n  lab/test_flaky")


@pytest.mark.parametrize("log", ["", "1/1 Testing: a\n1/1 Test: a\nOutput:\n------\n"])
def test_a_log_that_breaks_off_is_no_trouble(log):
    sys.path.insert(0, str(ROOT / "tests/gate"))
    import closing
    assert closing.outputs(log.splitlines(keepends=True), {"a"}) == {}


@pytest.mark.parametrize("call", [
    lambda process: process.communicate(b"in", 30)[0],
    lambda process: process.communicate(input=b"in", timeout=30)[0],
    lambda process: process.communicate(b"in")[0],
    lambda process: (process.stdin.write(b"in"), process.stdin.close(), process.wait(30), process.stdout.read())[-1],
])
def test_what_waits_for_a_process_is_stretched_however_it_is_called(call):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert call(process) == b"in"
    with subprocess.Popen(["sleep", "1000"]) as late:
        watch = patience.Watch()
        with pytest.raises(subprocess.TimeoutExpired):
            late.wait(0.1)
        late.kill()
    assert watch.seconds >= 0.1 * patience.LEAST
