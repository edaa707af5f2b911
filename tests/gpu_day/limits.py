"""Runs a program for so long at most, and leaves nothing of it behind: neither what it has forked twice, nor what has a session of its own."""

import ctypes
import dataclasses
import os
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 5  # seconds, until what was killed is gone; a process in a call to a driver that hangs never goes


@dataclasses.dataclass
class Ended:
    code: int | None  # None: it was ended at its limit
    seconds: float
    left: list  # "PID NAME STATE" of those that KILL did not end

    @property
    def words(self):
        if self.left:
            return f"could not be ended: {', '.join(self.left)}"
        if self.code is None:
            return f"ended at its limit, after {self.seconds:.0f} s"
        return f"done in {self.seconds:.0f} s" if self.code == 0 else f"failed with code {self.code}"


def adopt_orphans():
    """Whatever loses its parent below this process becomes its child, and not init's."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below(root):
    """{pid: (name, state)} of all processes below this one; the dead that nobody has waited for are none."""
    parents, known = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        parents[int(pid)] = int(parent)
        known[int(pid)] = (name, state)
    found = {}
    for pid in parents:
        above = parents[pid]
        while above in parents and above != root:
            above = parents[above]
        if above == root and known[pid][1] not in "ZX":
            found[pid] = known[pid]
    return found


def end_all():
    """Ends every process below this one. Returns those that are there still."""
    deadline = time.monotonic() + PATIENCE
    while True:
        there = below(os.getpid())
        for pid in there:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        if not there or time.monotonic() > deadline:
            return [f"{pid} {name} {state}" for pid, (name, state) in below(os.getpid()).items()]
        time.sleep(0.02)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def run(argv, limit, log, **words):
    """Its output goes to `log`, a file. adopt_orphans() goes before it."""
    begun = time.monotonic()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **words)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        seconds = time.monotonic() - begun
        left = end_all()
    return Ended(code, seconds, left)
