"""dockdist-probe as a process, and some of them as the ranks of one world, carried as dockdist would carry them: the id
goes from rank 0's stdout to the others' stdin."""

import json
import os
import pathlib
import queue
import subprocess
import threading

try:
    from harness.patience import Watch
except ImportError:  # of scripts/gpu-day, for which the harness is no package
    from patience import Watch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DOCKDIST_PROBE", str(ROOT / "build/src/probe/dockdist-probe"))
STUBS = os.environ.get("DOCKDIST_PROBE_STUBS", str(ROOT / "build/tests/probe"))
CUDA = STUBS + "/cuda/libcuda.so.1"
NCCL = STUBS + "/nccl-22105/libnccl.so.2"
PATIENCE = 30  # seconds; a test that waits longer has failed


class Probe:
    """One process. Lines are read by a thread, so that no pipe fills up."""

    def __init__(self, *arguments, cuda=CUDA, nccl=NCCL, **environment):
        words = [PROGRAM, *arguments]
        for flag, path in (("--libcuda", cuda), ("--libnccl", nccl)):
            words += [flag, path] if path else []
        own = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "LD_LIBRARY", "DOCKDIST_STUB"))}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**own, **environment})
        self.lines = []
        self.new = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            told = json.loads(line)
            self.lines.append(told)
            self.new.put(told)
        self.new.put(None)

    def tell(self, **line):
        self.process.stdin.write((json.dumps(line) + "\n").encode())
        self.process.stdin.flush()

    def next(self, kind):
        """The next line of that type; None at the end of stdout."""
        while True:
            told = self.new.get(timeout=PATIENCE)
            if told is None or told["type"] == kind:
                return told

    def end(self):
        """The exit code, once it has ended by itself with stdin open."""
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        self.error_words = self.process.stderr.read().decode()
        self.process.stderr.close()
        self.process.stdin.close()
        self.process.stdout.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def result(self):
        assert self.lines and self.lines[-1]["type"] == "result", self.lines[-3:]
        assert [line["type"] for line in self.lines].count("result") == 1
        return self.lines[-1]

    def measurements(self):
        return [line for line in self.lines if line["type"] == "measurement"]


class World:
    """Some ranks that have their orders, and rank 0's id; `environments` and `orders`: {rank: what is its own}."""

    def __init__(self, cleanup, size, environments=None, environment=None, orders=None, cuda=CUDA, nccl=NCCL, **order):
        self.watch = Watch()
        self.ranks = []
        for rank in range(size):
            variables = {**(environment or {}), **(environments or {}).get(rank, {})}
            self.ranks.append(Probe(cuda=cuda, nccl=nccl, **variables))
            cleanup.callback(self.ranks[-1].kill)
        for rank, probe in enumerate(self.ranks):
            probe.tell(**{"rank": rank, "world_size": size, "device": rank, "deadline_ms": 25000, "iterations": 2, "warm_up": 1,
                          **order, **(orders or {}).get(rank, {})})
        told = self.ranks[0].next("id")
        if told:
            for probe in self.ranks[1:]:
                probe.tell(id=told["id"])

    def end(self):
        codes = [probe.end() for probe in self.ranks]
        self.watch.stop()
        return codes
