"""dockdist-init with-environment --session: what `exec` and `ssh` start, at a terminal or not, and how it ends with its client."""

import contextlib
import json
import os
import re
import select
import signal
import struct
import subprocess
import time

import pytest

from harness.gpu_node import OnAHost
from harness.node_process import DEADLINE, PROGRAM, OnANode
from harness.patience import Watch

NEVER = 3_600_000  # a lease


def frame(kind, payload=b""):
    return struct.pack("<BI", ord(kind), len(payload)) + payload


class Session:
    """One that a client has started, and the client's side of its streams."""

    def __init__(self, node, *words, lease_ms=NEVER, terminal=None):
        ask = {"lease_ms": lease_ms, **({"terminal": {"rows": terminal[0], "columns": terminal[1]}} if terminal else {})}
        command = [PROGRAM, "with-environment", "--session", json.dumps(ask), *words]
        self.process = subprocess.Popen(command, env=node.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        self.out = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait(DEADLINE)

    def send(self, kind, payload=b""):
        self.process.stdin.write(frame(kind, payload))

    def type(self, text):
        self.send("I", text.encode())

    def until(self, pattern, keep=False):
        """The first match in what it wrote and no earlier call has passed; `keep`: nor does this one."""
        deadline = time.monotonic() + DEADLINE
        while not (found := re.search(pattern, self.out)):
            readable, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            piece = os.read(self.process.stdout.fileno(), 1 << 16) if readable else b""
            assert piece, f"no {pattern!r} in {self.out!r}"
            self.out += piece
        if not keep:
            self.out = self.out[found.end():]
        return found

    def end(self):
        """Exit code, rest of stdout, stderr; its stdin stays open meanwhile."""
        out = self.out + self.process.stdout.read()
        err = self.process.stderr.read().decode()
        return self.process.wait(DEADLINE), out, err


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until_gone(pid):
    watch = Watch()
    while runs(pid):
        assert watch.within(DEADLINE), f"{pid} has not ended: {watch}"
        time.sleep(0.02)


class TestStreams(OnANode):
    @pytest.fixture(autouse=True)
    def recorded(self, own_node):
        self.node.record(SHELL="/bin/sh")

    def session(self, *words, **how):
        return Session(self.node, *words, **how)

    def test_input_its_end_both_outputs_and_the_code_are_the_command_s_own(self):
        with self.session("--", "sh", "-c", "cat; echo error >&2; exit 7") as session:
            session.type("first ")
            session.until(b"first ")
            session.send("P")
            session.send("I", bytes(range(256)) * 200)
            session.send("E")
            assert session.end() == (7, bytes(range(256)) * 200, "error\n")

    def test_a_line_is_the_shell_s_and_words_are_nobody_s(self):
        with self.session("--line", "echo a; echo 'b  c' | tr b d") as session:
            assert session.end()[:2] == (0, b"a\nd  c\n")
        with self.session("--", "echo", "a; echo $HOME") as session:
            assert session.end()[:2] == (0, b"a; echo $HOME\n")
        with self.session("--", "no-such-program") as session:
            code, _, said = session.end()
            assert (code, "no-such-program" in said) == (127, True)

    def test_what_a_command_leaves_behind_when_it_ends_goes_on(self):
        with self.session("--", "sh", "-c", "sleep 4741 >/dev/null 2>&1 & echo $!") as session:
            code, out, _ = session.end()
            assert code == 0 and runs(int(out))
            os.kill(int(out), signal.SIGKILL)

    def test_a_command_that_takes_no_input_does_not_keep_the_client_from_speaking(self):
        with self.session("--", "sh", "-c", "echo $$; exec sleep 4742") as session:
            pid = int(session.until(rb"(\d+)\n")[1])
            for _ in range(128):
                session.send("I", b"x" * 65536)
            session.send("Q")
            session.end()
            assert not runs(pid)

    @pytest.mark.parametrize("end", ["closes its stream", "says quit", "falls silent", "says nonsense"])
    def test_a_client_s_end_ends_all_but_what_was_set_free(self, end):
        """What ignores TERM is killed; what is behind nohup, and a daemon, are as free as after a login."""
        stubborn = "trap '' TERM; " if end == "closes its stream" else ""  # takes the whole grace
        script = (f"trap 'echo ending; exit 3' TERM; ({stubborn}exec sleep 4743) & echo child $!; sh -c 'sleep 4744 & echo orphan $!'; "
                  "nohup sleep 4745 >/dev/null 2>&1 & echo nohup $!; setsid -f sh -c 'echo daemon $$; exec sleep 4746 >/dev/null 2>&1'; "
                  "while :; do sleep 0.05; done")
        with self.session("--", "sh", "-c", script, lease_ms=1500 if end == "falls silent" else NEVER) as session:
            pids = {name: int(session.until(rf"{name} (\d+)\n".encode(), keep=True)[1]) for name in ("child", "orphan", "nohup", "daemon")}
            wait_for_program(pids["nohup"], "sleep")
            watch = Watch()
            {"closes its stream": lambda: session.process.stdin.close(), "says quit": lambda: session.send("Q"),
             "falls silent": lambda: None, "says nonsense": lambda: session.process.stdin.write(b"ls -l\n")}[end]()
            session.until(b"ending\n")
            session.process.wait(DEADLINE)
            assert watch.seconds > 4 if stubborn else watch.within(4), watch
            said = session.process.stderr.read().decode()
            assert ("nothing was heard of the client for 1 s" in said) == (end == "falls silent"), said
            assert {name: runs(pid) for name, pid in pids.items()} == {"child": False, "orphan": False, "nohup": True, "daemon": True}
            for name in ("nohup", "daemon"):
                os.kill(pids[name], signal.SIGKILL)

    def test_without_a_lease_the_command_goes_on_without_its_client(self):
        with self.session("--", "sh", "-c", "echo $$; cat; echo late; exec sleep 4747", lease_ms=0) as session:
            pid = int(session.until(rb"(\d+)\n")[1])
            session.process.stdin.close()
            session.until(b"late\n")  # its input has ended
            assert runs(pid)
            os.kill(pid, signal.SIGKILL)
            session.process.wait(DEADLINE)


def wait_for_program(pid, name):
    watch = Watch()
    while open(f"/proc/{pid}/comm").read().strip() != name:
        assert watch.within(DEADLINE), watch
        time.sleep(0.02)


def wait_for_state(argument, state):
    """Of the process whose last word is `argument`."""
    watch = Watch()
    while True:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as words, open(f"/proc/{pid}/stat") as stat:
                if words.read().endswith(f"\0{argument}\0") and stat.read().rpartition(")")[2].split()[0] == state:
                    return
        assert watch.within(DEADLINE), watch
        time.sleep(0.02)


AWAIT_SIZE = ("import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH]); print(f\"waits-{1 + 1}\", flush=True);"
              " signal.sigwait([signal.SIGWINCH]); size = os.get_terminal_size(); print(size.lines, size.columns)")


class TestTerminals(OnANode):
    @pytest.fixture(autouse=True)
    def recorded(self, own_node):
        self.node.record(SHELL="/bin/bash", PS1="$ ")

    def session(self, *words, **how):
        return Session(self.node, *words, terminal=(24, 80), **how)

    def test_it_is_the_user_s_own_and_as_large_as_the_client_s(self):
        with self.session("--user", "nobody", "--line", "id -un; tty; stat -c %U:%a $(tty); stty size; read x; stty size") as session:
            name = session.until(rb"nobody\r\n(/dev/pts/\d+)\r\nnobody:620\r\n24 80\r\n")[1]
            session.send("W", struct.pack("<HH", 50, 200))
            session.type("\r")
            session.until(b"50 200\r\n")
            assert session.end()[0] == 0
            assert name != os.ttyname(0).encode() if os.isatty(0) else True

    def test_a_shell_has_job_control_and_control_keys_reach_what_is_in_front(self):
        with self.session() as session:
            # A control key throws away what was typed and not read yet: each line waits for its prompt.
            session.type("set +o history; PS1='ready'-'> '\r")
            session.until(b"ready-> ")
            session.type("sh -c 'echo front-$((1+1)); exec sleep 4750'\r")
            session.until(b"front-2\r\n")
            session.type("\x1a")  # Ctrl-Z
            session.until(rb"(?s)\[1\]\+ +Stopped .*ready-> ")
            session.type("fg\r")
            session.until(rb"exec sleep 4750'\r\n")
            wait_for_state("4750", "S")
            session.type("\x03")  # Ctrl-C
            session.until(b"ready-> ")
            session.type("echo code-$?\r")
            session.until(rb"code-130\r\n")
            # Not a trap of bash: a signal between two lines of it may be readline's alone.
            session.type(f"python3 -c '{AWAIT_SIZE}'\r")
            session.until(b"waits-2\r\n")
            session.send("W", struct.pack("<HH", 33, 77))
            session.until(b"33 77\r\n")
            session.type("exit 9\r")
            assert session.end()[0] == 9

    def test_a_program_that_takes_the_terminal_raw_gets_every_byte(self):
        script = "import sys,tty; tty.setraw(0); print('raw', end='', flush=True); print(sys.stdin.buffer.raw.read(3).hex(), end='')"
        with self.session("--", "python3", "-c", script) as session:
            session.until(b"raw")
            session.type("\x03\x1a\x04")
            session.until(b"031a04")
            assert session.end()[0] == 0

    def test_much_output_comes_whole(self):
        with self.session("--line", "stty -opost; seq 200000") as session:
            assert session.end()[1] == b"".join(b"%d\n" % i for i in range(1, 200001))
        with self.session("--line", "stty -opost; seq 50000") as session:  # a client that is slower than the command
            while piece := os.read(session.process.stdout.fileno(), 4096):
                session.out += piece
                time.sleep(0.002)
            assert session.out == b"".join(b"%d\n" % i for i in range(1, 50001))

    def test_a_client_that_is_gone_hangs_the_terminal_up(self):
        with self.session() as session:
            session.type("set +o history; echo shell-$$; sleep 4751 & echo job-$!; exec 3>&1; echo there-$((1+1))\r")
            shell, job = (int(session.until(rb"\n%s-(\d+)\r" % name)[1]) for name in (b"shell", b"job"))
            session.until(b"there-2\r\n")
            watch = Watch()
            session.process.stdin.close()
            session.process.wait(DEADLINE)
            wait_until_gone(shell)
            wait_until_gone(job)
            assert watch.within(4), watch  # an interactive shell ignores TERM, and a hangup it does not


class TestGpus(OnAHost):
    def test_a_session_whose_client_is_gone_gives_its_gpus_back_or_leaves_the_line(self):
        node = self.node(gpus=1)
        node.record()
        with Session(node, "--gpus", "1", "--", "sh", "-c", "trap '' TERM; echo $$ $CUDA_VISIBLE_DEVICES; while :; do sleep 0.05; done") as holds:
            pid = int(holds.until(rb"(\d+) GPU-0000\n")[1])
            with Session(node, "--gpus", "1", "--", "true", terminal=(24, 80)) as waits:
                assert b"waiting for 1 GPU" in waits.process.stderr.readline()
                waits.type("\x03")
                assert waits.end()[0] == 130
            assert len(self.entries()) == 1
            with Session(node, "--gpus", "1", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES") as next_one:
                assert b"waiting for 1 GPU" in next_one.process.stderr.readline()
                holds.send("Q")
                assert next_one.end()[:2] == (0, b"GPU-0000\n")
                assert not runs(pid)
        assert self.entries() == []
