"""Waiting for what a program says or does, and never by hand."""

import contextlib
import pathlib
import subprocess
import threading
import time
from harness.patience import Watch, patient


class Client(subprocess.Popen):
    """A program whose output a test reads line by line, and at the end the rest of it."""

    def communicate(self, input=None, timeout=None):
        """The base's own leaves out what was read ahead of the lines that were taken."""
        assert input is None
        rest = {}
        readers = [threading.Thread(target=lambda name=name: rest.update({name: getattr(self, name).read()}), daemon=True)
                   for name in ("stdout", "stderr") if (stream := getattr(self, name)) and not stream.closed]
        deadline = time.monotonic() + patient(timeout) if timeout else None
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(deadline - time.monotonic(), 0) if deadline else None)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(max(deadline - time.monotonic(), 1) if deadline else None)
        return rest.get("stdout"), rest.get("stderr")


def read_until(client, text, times=1, timeout=60):
    """Reads the client's stdout until `times` lines hold `text`; returns all lines. A client that stays silent is killed."""
    watchdog = threading.Timer(patient(timeout), client.kill)
    watchdog.start()
    lines = []
    try:
        for line in client.stdout:
            lines.append(line)
            times -= text in line
            if times == 0:
                return lines
    finally:
        watchdog.cancel()
    raise AssertionError(f"no line with {text!r} in:\n{''.join(lines)}--- stderr\n{client.stderr.read()}")


def highest_memory(process):
    """In KiB, of a program that runs until its end; what it prints fits into a pipe. As the program itself has it: what wait4
    tells begins with its parent's."""
    highest = 0
    while process.poll() is None:
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as status:
            highest = max([highest, *(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))])
        time.sleep(0.01)
    return highest


def peak_memory(client):
    """In bytes, of a program that runs."""
    for line in pathlib.Path(f"/proc/{client.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmHWM")


def eventually(condition, what, timeout=20):
    """For what only the outside world can tell and that has no event of its own: asks until it holds. `timeout`: of an idle machine."""
    watch = Watch()
    while not condition():
        assert watch.within(timeout), f"still not so after {watch}: {what}"
        time.sleep(0.05)


def assert_in(part, whole):
    assert part in whole, f"{part!r} is not in:\n{whole}"
