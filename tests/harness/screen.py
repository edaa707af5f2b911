"""What a person sees: the bytes that a program writes to a terminal of some width, turned into a screen."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pyte

from harness.lab import ROOT

GOLDEN = ROOT / "tests/golden"
ROWS = 300  # nothing scrolls away
UTF8 = {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": ""}
NO_COLOUR = {**UTF8, "NO_COLOR": "1"}
DUMB = {**UTF8, "TERM": "dumb"}
ASCII = {**UTF8, "LC_ALL": "C"}

SGR = re.compile(r"\x1b\[([0-9;]*)m")
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# The colours that are read on dark and on light: no white, no black, no backgrounds, nothing of a palette.
READABLE = {"", "0", "1", "2", "31", "32", "33", "36"}


class Screen:
    """A command on a terminal of its own, whose keys a test may press."""

    def __init__(self, argv, columns, env, rows=ROWS):
        self.columns = columns
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(str(argv[0]), [str(word) for word in argv], env)

    def read(self, timeout):
        """One piece of what it writes; False at its end."""
        readable, _, _ = select.select([self.fd], [], [], max(timeout, 0))
        assert readable, f"nothing comes any more: {self.text()}"
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # the terminal is gone with its last process
            piece = b""
        self.bytes += piece
        self.stream.feed(piece)
        return bool(piece)

    def until(self, wanted, timeout=30):
        """`wanted`: a text on the screen, or a function of the screen's text."""
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        deadline = time.monotonic() + timeout
        while not is_there(self.text()):
            assert self.read(deadline - time.monotonic()), f"it has ended: {self.text()}"
        return self

    def type(self, text):
        os.write(self.fd, text.encode())
        return self

    def end(self):
        """Its exit code."""
        while self.read(60):
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines()).rstrip("\n") + "\n"

    def marked(self):
        """The text with its colours: `{green:ready}`, `{bold:NODE}`."""
        shown = []
        for y in range(ROWS):
            line, style = "", ""
            for x in range(self.columns):
                cell = self.screen.buffer[y][x]
                now = "" if cell.data == " " else "-".join([cell.fg] * (cell.fg != "default") + ["bold"] * cell.bold)
                if now != style:
                    line += ("}" if style else "") + (f"{{{now}:" if now else "")
                    style = now
                line += cell.data
            shown.append((line + ("}" if style else "")).rstrip())
        return "\n".join(shown).rstrip("\n") + "\n"

    def is_coloured(self):
        return any(parameters not in ("", "0") for parameters in SGR.findall(self.bytes.decode()))


def screen_of(argv, columns, env, code=0):
    shown = Screen(argv, columns, env)
    ended = shown.end()
    assert ended == code, (argv, ended, shown.text())
    return shown


def assert_readable(shown, whole):
    """No line is wider than the terminal, and each word is one of `whole`, what a pipe gets: none is broken."""
    written = SEQUENCE.sub("", shown.bytes.decode()).replace("\r", "")
    for line in written.split("\n"):
        assert len(line) <= shown.columns, (shown.columns, line)
    known = {"\\", *numbered(whole).split()}  # where an example goes on in the next line
    for word in numbered(shown.text()).split():
        assert word in known or "…" in word or "..." in word, (shown.columns, word)
    for parameters in SGR.findall(shown.bytes.decode()):
        assert set(parameters.split(";")) <= READABLE, parameters


def numbered(text):
    """Times and rates differ from run to run, and how many digits they have."""
    return re.sub(r"[\d.]*\d", "#", text)


def assert_golden(name, text):
    path = GOLDEN / name
    if os.environ.get("DOCKDIST_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"differs from {path}:\n{text}"
