#!/usr/bin/env python3
"""What the parts of a GPU day have in common. `part.py NAME` runs one: parts/NAME.py, with the setting in GPU_DAY.

A part writes what it finds, line by line, and what it has recorded, file by file, into its folder of the day: one that is ended at its limit
has left what it had."""

import contextlib
import dataclasses
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import traceback

NOBODY = 65534


def as_account(uid):
    """Words for subprocess; None: as this process runs."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


@contextlib.contextmanager
def stands_in_nvidia_smi(stand_ins, pid, mib):
    """In a rehearsal the stand-in for nvidia-smi is told who has the memory."""
    if not stand_ins:
        yield
        return
    gpu = pathlib.Path(stand_ins) / "dev/nvidia0"
    before = gpu.read_text(encoding="utf-8")
    gpu.write_text(f"{before}process={pid} {mib} python3\n", encoding="utf-8")
    try:
        yield
    finally:
        gpu.write_text(before, encoding="utf-8")


@dataclasses.dataclass
class Answer:
    code: int  # -1: no answer in time; 126, 127: the program cannot be run, is not there
    output: str
    ms: float

    @property
    def good(self):
        return self.code == 0


class Part:
    def __init__(self, name, folder, programs, python, rehearsed=False, stand_ins=None):
        self.name, self.folder, self.programs, self.python, self.rehearsed = name, pathlib.Path(folder), programs, python, rehearsed
        self.stand_ins = stand_ins  # a folder, where this is a rehearsal
        self.recordings = self.folder / "recordings" / name
        self.recordings.mkdir(parents=True, exist_ok=True)
        self.scratch = self.folder / "scratch" / name
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.index = []
        self.begun = time.monotonic()

    # What is found: each a sentence about something that has a name.

    def say(self, kind, what, text, **values):
        with open(self.folder / "findings.jsonl", "a", encoding="utf-8") as file:
            at = round(time.monotonic() - self.begun, 1)
            file.write(json.dumps({"part": self.name, "kind": kind, "what": what, "text": text, "at_s": at, **values}) + "\n")

    def measured(self, what, text, **values):
        self.say("measured", what, text, **values)

    def wrong(self, what, text, **values):
        """Something is otherwise than dockdist takes it to be."""
        self.say("wrong", what, text, **values)

    def missing(self, what, why):
        self.say("not measured", what, why)

    def held(self, what, right, text, **values):
        (self.measured if right else self.wrong)(what, text, **values)

    @contextlib.contextmanager
    def section(self, what):
        """What goes wrong in it costs nothing but itself."""
        try:
            yield
        except Exception as error:
            self.missing(what, f"{type(error).__name__}: {error}")
            traceback.print_exc()

    # What is recorded.

    def record(self, name, content, **more):
        """A file of the recordings, with its line in their index."""
        path = self.recordings / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1) + "\n", encoding="utf-8")
        self.index.append({"file": name, **more})
        (self.recordings / "index.json").write_text(json.dumps(self.index, indent=1) + "\n", encoding="utf-8")

    def run(self, argv, limit=20, uid=None, env=None, given=b"", **words):
        begun = time.monotonic()
        try:
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False, env=env, input=given,
                                  **as_account(uid), **words)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            code, output = -1, error.stdout or b""
        except OSError as error:
            code, output = 127 if isinstance(error, FileNotFoundError) else 126, str(error).encode()
        return Answer(code, output.decode(errors="replace"), (time.monotonic() - begun) * 1000)

    def start(self, argv, uid=None, **words):
        return subprocess.Popen(argv, stderr=subprocess.STDOUT, text=True, errors="replace",
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **as_account(uid), **words})

    def for_everybody(self, path):
        """The path of a copy that every account can read and run."""
        copy = self.scratch / pathlib.Path(path).name
        if not copy.exists():
            shutil.copy(path, copy)
            copy.chmod(0o755)
        for folder in (self.folder, self.scratch.parent, self.scratch):
            folder.chmod(0o755)
        return str(copy)

    def ask(self, name, argv, **words):
        """The same, recorded."""
        answer = self.run(argv, **words)
        self.record(name, answer.output, argv=[str(word) for word in argv], code=answer.code, ms=round(answer.ms, 1),
                    **({"uid": words["uid"]} if words.get("uid") is not None else {}))
        return answer

    # What it works with.

    def program(self, name):
        """Its path; FileNotFoundError, which says what to do, where it was not brought along."""
        if not self.programs.get(name):
            raise FileNotFoundError(f"there is no {name}: scripts/gpu-day --pack brings it along")
        return self.programs[name]

    def questions(self):
        return json.loads(subprocess.run([self.program("gpu-answers"), "questions"], stdout=subprocess.PIPE, check=True, timeout=20).stdout)

    def seconds(self, real, rehearsed):
        return rehearsed if self.rehearsed else real

    @contextlib.contextmanager
    def held_memory(self, mib, uid=None):
        """A process of its own that has so much of the first GPU's memory. Gives its pid."""
        holder = [self.python, str(pathlib.Path(__file__).parent / "holder.py"), str(mib)]
        process = subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **as_account(uid))
        try:
            said = process.stdout.readline().strip()
            if said != "holds":
                raise RuntimeError(f"no GPU memory could be taken: {said or 'the program ended'}")
            with stands_in_nvidia_smi(self.stand_ins, process.pid, mib):
                yield process.pid
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            process.stdout.close()


def main():
    name = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    importlib.import_module(f"gpu_day.parts.{name}").run(Part(name, **json.loads(os.environ["GPU_DAY"])))


if __name__ == "__main__":
    main()
