"""Screens as people see them, at three widths and on four kinds of terminal: on stub engines, whose names and addresses are always the same."""

import re
import subprocess

import pytest

from harness import cluster
from harness.namespaces import NEEDED
from harness.patience import DURATION
from harness.screen import ASCII, DUMB, NO_COLOUR, UTF8, Screen, assert_golden, assert_readable, screen_of
from harness.stubs import IMAGE, stubs

pytestmark = NEEDED
WIDTHS = (120, 80, 40)
THE_SAME = "the same\n"


@pytest.fixture(scope="module")
def c():
    with stubs(2) as engines, cluster(engines, "screens") as made:
        made.write(hosts=2, image=IMAGE).up()
        for name, command in (("night", "true"), ("morning", "[ $RANK = 1 ] || exec sleep 4728; exit 7")):  # node-1 alone fails, and node-0 is ended
            run = made.command("run", "--name", name, "--", "sh", "-c", command)  # on a machine whose name is always the same
            subprocess.run(["unshare", "--uts", "sh", "-c", 'hostname desk; exec "$@"', "sh", *run], env=made.environment(USER="ada"),
                           capture_output=True, check=False, timeout=60)
        yield made


def same_each_time(text):
    text = re.sub(r"\b[0-9a-f]{12}\b", "0123456789ab", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2026-11-23 20:15:00", text)
    return re.sub(rf"\b{DURATION}\b", "0.01 s", text)


SCREENS = {
    "status": (["status"], 0),
    "image-ls": (["image", "ls"], 0),
    "jobs": (["jobs"], 0),
    "job": (["jobs", "morning"], 0),
    "gpus": (["gpus"], 0),
    "help": (["--help"], 0),
    "help-logs": (["help", "logs"], 0),
    "first-page": ([], 2),
    "error": (["logs", "nosuch"], 125),
    "mistyped": (["chekc"], 2),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits_every_terminal(c, name):
    words, code = SCREENS[name]
    command = c.command(*words)
    pipe = c.run(*words, code=code, LC_ALL="C.UTF-8")
    plain_pipe = c.run(*words, code=code, LC_ALL="C")
    text = ""
    for columns in WIDTHS:
        coloured = screen_of(command, columns, c.environment(**UTF8), code)
        ascii_only = screen_of(command, columns, c.environment(**ASCII), code)
        assert_readable(coloured, pipe.stdout + pipe.stderr)
        assert ascii_only.bytes.isascii(), ascii_only.bytes
        for kind in (NO_COLOUR, DUMB):
            bare = screen_of(command, columns, c.environment(**kind), code)
            assert same_each_time(bare.text()) == same_each_time(coloured.text()) and not bare.is_coloured()
            assert kind is not DUMB or b"\x1b" not in bare.bytes
        signs, letters = coloured.marked(), ascii_only.marked()
        text += f"--- {columns} columns\n{signs}--- {columns} columns, ASCII\n{letters if letters != signs else THE_SAME}"
    assert "\x1b" not in pipe.stdout + pipe.stderr + plain_pipe.stdout
    assert_golden(f"screens/{name}.txt", same_each_time(text))


def test_check_is_seen_at_work_and_fits_every_terminal(c):
    whole = c.run("check", code=None, LC_ALL="C.UTF-8")
    for columns in WIDTHS:
        shown = Screen(c.command("check"), columns, c.environment(**UTF8))
        shown.until(lambda text: "check" in text and "nodes" in text and "FOUND" not in text)  # long before its table
        code = shown.end()
        assert code == whole.returncode
        told = f"check {shown.text()} ✓ ✗ of"
        table = shown.text()[shown.text().index("WHERE"):]
        words = set(re.sub(r"[\d.]*\d", "#", whole.stdout).split())
        for word in re.sub(r"[\d.]*\d", "#", table).split():
            assert word in words or "…" in word, (columns, word, told)
        assert re.search(r"\x1b\[32mpass\x1b\[0m", shown.bytes.decode())
        for kind in (NO_COLOUR, DUMB):
            bare = screen_of(c.command("check"), columns, c.environment(**kind), code)
            assert_readable(bare, whole.stdout + whole.stderr + "✓ check # of # s")
            assert not bare.is_coloured()
        assert screen_of(c.command("check"), columns, c.environment(**ASCII), code).bytes.isascii()
