"""A person's terminal."""

import os
import pty
import select
import time


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, argv, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)
        self.seen = ""

    def read_until(self, text, timeout=30):
        deadline = time.monotonic() + timeout
        while text not in self.seen:
            readable, _, _ = select.select([self.fd], [], [], max(deadline - time.monotonic(), 0))
            assert readable, f"{text!r} does not come: {self.seen}"
            try:
                self.seen += os.read(self.fd, 65536).decode()
            except OSError as error:  # it has ended
                raise AssertionError(f"{text!r} does not come: {self.seen}") from error

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Its exit code."""
        try:
            while piece := os.read(self.fd, 65536):
                self.seen += piece.decode()
        except OSError:  # the terminal is gone with its last process
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
