"""A dockdist that runs beside the test. Its output goes to files: nothing that it says is lost, and no pipe holds it up."""

import contextlib
import pathlib
import re
import signal
import subprocess
import tempfile

from harness.waiting import eventually


class Running:
    def __init__(self, c, *arguments, user=None, **environment):
        """As another user of this machine, where one is named: the client then needs no rights here."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="running-", dir=c.folder))
        if user:
            c.folder.chmod(0o755)
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(c.command(*arguments), env=c.environment(**environment), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=err, user=user)

    @property
    def out(self):
        return (self.folder / "out").read_text(errors="replace")

    @property
    def err(self):
        return (self.folder / "err").read_text(errors="replace")

    def until(self, pattern, stream="out", times=1, timeout=60):
        """The matches of a pattern, once there are so many."""
        def found():
            return list(re.finditer(pattern, getattr(self, stream), re.M))

        def is_there():
            matches = found()
            assert len(matches) >= times or self.process.poll() is None, (
                f"it ended with {self.process.returncode} before {pattern!r}\n--- stdout\n{self.out}--- stderr\n{self.err}")
            return len(matches) >= times

        with self.shown():
            eventually(is_there, f"{pattern!r} in its {stream}", timeout=timeout)
        return found()

    def until_err(self, pattern, times=1, timeout=60):
        return self.until(pattern, "err", times, timeout)

    def end(self, code, timeout=60):
        """(stdout, stderr) of one that ends by itself."""
        with self.shown():
            eventually(lambda: self.process.poll() is not None, "its end", timeout=timeout)
        assert self.process.returncode == code, f"{self.process.returncode}, not {code}\n--- stdout\n{self.out}--- stderr\n{self.err}"
        return self.out, self.err

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def shown(self):
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}\n--- stdout\n{self.out}--- stderr\n{self.err}") from error
