"""dockdist, run against who means it ill, and what must hold of it then: it ends in time, by itself, with a code that is
written down; what reaches the terminal is text; nothing but what it was asked for has changed in the user's folders; it takes
no more memory than it may; and an error says where."""

import os
import pathlib
import re
import signal
import stat
import subprocess
import threading

from harness.lab import DOCKDIST
from harness.patience import patient
from harness.waiting import highest_memory

MOST_MEMORY = int(os.environ.get("DOCKDIST_HOSTILE_MEMORY", "200")) << 20  # bytes; under sanitizers it is more
DEADLINE = 60  # seconds
PATIENCE = 3  # seconds of an idle machine until the user of a command that may rightly take for ever presses Ctrl-C; once more after the same time
# C0 but for tab and line ends, DEL, C1, and the marks that turn text around.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def tree(folder, without=()):
    """What stands below a folder: path → what would tell a change, times of folders left out."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if any(name == place or name.startswith(place + "/") for place in without):
            continue
        state = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if stat.S_ISREG(state.st_mode) else b""
        found[name] = (stat.filemode(state.st_mode), state.st_uid, state.st_mtime_ns if stat.S_ISREG(state.st_mode) else 0, content)
    return found


class Victim:
    """A user: a home, a folder to work in, one for temporary files, all below `root`."""

    def __init__(self, root, file):
        self.root, self.file = pathlib.Path(root), file
        for name in ("home/.ssh", "work/.git/hooks", "work/out", "tmp"):
            (self.root / name).mkdir(parents=True)
        (self.root / "home/.bashrc").write_text("# mine\n")
        (self.root / "work/.git/hooks/sample").write_text("#!/bin/sh\n")
        (self.root / "secret").write_text("nobody's business\n")
        (self.root / "work/link").symlink_to("../home")
        self.memory = 0  # bytes that the latest took at most

    def run(self, words, written=(), waits=False, raw=(), input=b"", beside=None):
        """The exit code, and what is wrong, in words. `written`: places below work/ that the command may write to; `waits`: it
        waits for a node, which may take for ever, and then Ctrl-C ends it; `raw`: of stdout and stderr, what is another program's,
        byte by byte; `beside`: uses what runs and ends it, and returns what else is wrong."""
        before = tree(self.root, [f"work/{place}" for place in written])
        environment = {**os.environ, "DOCKDIST_FILE": str(self.file), "HOME": str(self.root / "home"), "TMPDIR": str(self.root / "tmp"),
                       "XDG_STATE_HOME": str(self.root / "work/state")}
        out, err = (open(self.root.parent / name, "w+b") for name in ("stdout", "stderr"))
        with out, err:
            client = subprocess.Popen([str(DOCKDIST), *words], env=environment, cwd=self.root / "work", stdin=subprocess.PIPE, stdout=out, stderr=err)
            late = threading.Event()
            watches = [threading.Timer(patient(DEADLINE), lambda: (late.set(), client.kill()))]
            watches += [threading.Timer(patient(PATIENCE) * times, client.send_signal, [signal.SIGINT]) for times in (1, 2) if waits]
            seen = []
            if beside:
                watches.append(threading.Thread(target=lambda: seen.extend(beside(client))))
            for watch in watches:
                watch.start()
            try:
                with client.stdin as stdin:
                    stdin.write(input)
            except BrokenPipeError:
                pass
            memory = highest_memory(client) << 10
            for watch in watches:
                watch.join() if beside and watch is watches[-1] else watch.cancel()
            code = client.returncode
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read(8 << 20).decode("utf-8", "replace"))
        return code, seen + self._judged(words, code, memory, texts, late.is_set(), raw, before, written)

    def _judged(self, words, code, memory, texts, late, raw, before, written):
        wrong = []
        if late:  # what it had in hand is still there
            return [f"has not ended within {DEADLINE} s; stderr: {texts[1][-600:]!r}"]
        if code < 0:
            wrong.append(f"was ended by signal {-code}")
        for name, text in zip(("stdout", "stderr"), texts):
            if name not in raw and (found := UNSEEN.search(text)):
                wrong.append(f"{name} holds {found.group()!r}: {text[max(0, found.start() - 80):found.end() + 20]!r}")
        self.memory = memory
        if memory > MOST_MEMORY:
            wrong.append(f"took {memory >> 20} MiB")
        if code in (1, 125) and "stderr" not in raw and not re.search(r"node-\d|127\.0\.0\.1|hosts? ", texts[0] + texts[1]):
            wrong.append("does not say where")
        after = tree(self.root, [f"work/{place}" for place in written])
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                wrong.append(f"{path} was {before.get(path, 'not there')} and is {after.get(path, 'not there')}"[:300])
        if wrong:
            wrong.append(f"(code {code}) stderr: {texts[1][-600:]!r}")
        return wrong
