"""What each fault is, what is true of it, and how one is brought about in a job and its verdict read."""

import dataclasses
import json
import random
import re
import shutil
import time

from harness.lab import ROOT

RANKS = 4  # two on each of two nodes
ALARM = re.compile(r"the job (?:hangs|waits): (.*)")


@dataclasses.dataclass(frozen=True)
class Fault:
    number: str
    name: str
    causes: tuple = ()    # of a hang, any of which is right
    failure: str = ""     # of a crash: what its text matches; both empty: a control, of which nothing may be said
    any_rank: bool = False  # the first to fail is no particular one


FAULTS = [
    Fault("1", "skipped-collective", ("other_collective",)),
    Fault("2", "early-exit", ("ended",), "had ended with exit code 0|ended early"),
    Fault("3", "wrong-order", ("other_collective",)),
    Fault("4", "wrong-shape", ("other_collective",), "shape|size"),
    Fault("5", "holds-gil", ("holds_gil",)),
    Fault("6", "stopped", ("stopped",)),
    Fault("7a", "loader-killed", (), "DataLoader worker .* killed by signal"),
    Fault("7b", "loader-stuck", ("data_loader",)),
    Fault("9", "native-deadlock", ("lock",)),
    Fault("10", "native-spin", ("native_spin",)),
    Fault("13", "slow"),
    Fault("17", "segfault", (), "signal 11"),
    Fault("18", "cuda-error", (), "exited with 1"),
    Fault("19", "killed", (), "signal 9"),
    Fault("22", "missing-at-rendezvous", ("never_joined",)),
    Fault("N1", "long-checkpoint"),
    Fault("N2", "evaluates-alone"),
    Fault("N3", "compiles"),
    Fault("N5", "waits-for-input", ("input",)),
    Fault("N6", "all-rest"),
]


@dataclasses.dataclass
class Outcome:
    fault: Fault
    rank: int
    alarms: list          # what was said of a hang, in order
    said: str             # the cause that was told, or the failure's text
    right_cause: bool
    right_rank: bool
    right_node: bool
    seconds: float = None  # from the injection to the verdict, or to the end of the job; None: there was none


def install(folder):
    shutil.copy(ROOT / "tests/faults/faulty.py", folder)


def words(fault, name, rank, step, seconds, diagnose):
    return ["run", "--name", name, "--launcher", "torchrun", "--diagnose", diagnose, "--", "faulty.py", fault.name, str(rank), str(step),
            str(seconds)]


def inject(c, fault, seconds, limit, diagnose="30s", seed=None):
    """Runs a job with the fault on a cluster of two nodes with two slots; ends it once it has been judged, or at `limit` seconds."""
    chance = random.Random(seed)
    rank, step = chance.randrange(RANKS), chance.randrange(3, 8)
    name = f"fault-{fault.number.lower()}-{chance.randrange(1 << 30):x}"
    with c.start(*words(fault, name, rank, step, seconds, diagnose)) as client:
        heard = Heard(client)
        begun = heard.first(lambda line: "INJECTED" in line, limit)
        judged = heard.first(lambda line: ALARM.search(line), limit if fault.causes or fault.failure else seconds + limit) if begun else None
        over = heard.ended_at
        if over is None:
            job = json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"][0]
            c.run("stop", name, "--grace", "0", code=None)
        client.wait(timeout=240)
        if over is not None:
            job = json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"][0]
    alarms = [ALARM.search(line)[1] for _, line in heard.lines if ALARM.search(line)]
    return outcome(fault, rank, job, alarms, begun, judged, over)


def outcome(fault, rank, job, alarms, begun, judged, over):
    node = f"node-{rank // 2}"
    hang, failure = job["hang"], job["first_failure"]
    if judged and hang:
        return Outcome(fault, rank, alarms, hang["cause"], hang["cause"] in fault.causes, hang["rank"] == rank, hang["node"] == node,
                       judged - begun)
    if failure and begun and over and not alarms:
        text = " ".join(filter(None, (failure.get("finding"), failure.get("cause"), failure.get("tail"), signal_text(failure))))
        right = bool(fault.failure and re.search(fault.failure, text))
        return Outcome(fault, rank, alarms, signal_text(failure) if not failure.get("cause") else failure["cause"], right,
                       failure["rank"] == rank, failure["node"] == node, over - begun)
    quiet = not fault.causes and not fault.failure
    return Outcome(fault, rank, alarms, "nothing", quiet and not alarms, quiet, quiet)


def signal_text(failure):
    return f"signal {failure['signal']}" if failure["signal"] else f"exited with {failure['code']}"


class Heard:
    """What a client says, each line with the moment at which it came."""

    def __init__(self, client):
        import threading
        self.lines, self.ended_at, self.changed = [], None, threading.Condition()
        self.open = 2
        for stream in (client.stdout, client.stderr):
            threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            with self.changed:
                self.lines.append((time.monotonic(), line))
                self.changed.notify_all()
        with self.changed:
            self.open -= 1
            if self.open == 0:
                self.ended_at = time.monotonic()
            self.changed.notify_all()

    def first(self, wanted, limit):
        """When the first such line came; None: it did not, and the client has ended or `limit` seconds are over."""
        def found():
            return next((at for at, line in self.lines if wanted(line)), None)
        with self.changed:
            self.changed.wait_for(lambda: found() is not None or self.ended_at is not None, limit)
            return found()
