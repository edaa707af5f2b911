"""What each fault is, what is true of it, and how one is brought about in a job and its verdict read."""

import contextlib
import dataclasses
import json
import random
import re
import shutil
import time

from harness.lab import ROOT

RANKS = 4  # two on each of two nodes
ERROR = re.compile(r"Error\b|exitcode|Signal \d")
ALARM = re.compile(r"the job (?:hangs|waits): (.*)")


@dataclasses.dataclass(frozen=True)
class Fault:
    number: str
    name: str
    causes: tuple = ()    # of a hang, any of which is right
    failure: str = ""     # of a crash: what its text matches; both empty: a control, of which nothing may be said
    names_rank: bool = True  # a network is no rank's
    brought_about: object = None  # (cluster, host of the rank): with it, from the injection on


def by_rule(rule):
    @contextlib.contextmanager
    def between_nodes(c, host):
        other = c.lab.addresses[2 - host]
        words = ["INPUT", "-i", "eth0", "-s", other, *rule.split()]
        c.lab.script("exec", str(host), "iptables", "-I", *words)
        try:
            yield
        finally:
            c.lab.script("exec", str(host), "iptables", "-D", *words)
    return between_nodes


@contextlib.contextmanager
def little_memory(c, host):
    """For the node, while what it has is not much more than torch takes."""
    engine, container = c.container(f"node-{host - 1}")

    def limit(size):
        status, data = engine.call("POST", f"/v1.40/containers/{container}/update", {"Memory": size, "MemorySwap": size})
        assert status == 200, data
    limit(3 << 29)
    try:
        yield
    finally:
        limit(1 << 40)


FAULTS = [
    Fault("1", "skipped-collective", ("other_collective",)),
    Fault("2", "early-exit", ("ended",), "had ended with exit code 0|ended early"),
    Fault("3", "wrong-order", ("other_collective",)),
    Fault("4", "wrong-shape", ("other_collective",), "shape|size"),
    Fault("5", "holds-gil", ("holds_gil",)),
    Fault("6", "stopped", ("stopped",)),
    Fault("7a", "loader-killed", (), "DataLoader worker .* killed by signal"),
    Fault("7b", "loader-stuck", ("data_loader",)),
    Fault("8", "storage-stall", ("stands", "kernel_wait")),
    Fault("9", "native-deadlock", ("lock",)),
    Fault("10", "native-spin", ("native_spin",)),
    Fault("11", "link-cut", ("network",), names_rank=False, brought_about=by_rule("-j DROP")),
    Fault("12", "packets-lost", brought_about=by_rule("-m statistic --mode random --probability 0.05 -j DROP")),
    Fault("13", "slow"),
    Fault("14", "disk-full", (), "No space left on device"),
    Fault("15", "out-of-memory", (), "out of memory", brought_about=little_memory),
    Fault("16", "shm-full", (), "[Bb]us error|shared memory"),
    Fault("17", "segfault", (), "signal 11"),
    Fault("18", "cuda-error", (), "exited with 1"),
    Fault("19", "killed", (), "signal 9"),
    Fault("21", "port-taken", (), "Address already in use"),
    Fault("22", "missing-at-rendezvous", ("never_joined",)),
    Fault("23", "versions-differ", (), "this rank has version"),
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


@contextlib.contextmanager
def around(c, fault, host, begun=True):
    """What the fault wants of the host, once the rank has said that it is there."""
    if not (fault.brought_about and begun):
        yield
        return
    mark = c.folder_in_nodes / "brought-about"
    with fault.brought_about(c, host):
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()


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
        with around(c, fault, rank // 2 + 1, begun):
            wait = limit if fault.causes or fault.failure else seconds + limit
            judged = heard.first(lambda line: ALARM.search(line), wait) if begun else None
        over = heard.ended_at
        if over is None:
            job = json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"][0]
            c.run("stop", name, "--grace", "0", code=None)
        client.wait(timeout=240)
        if over is not None:
            job = json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"][0]
    alarms = [ALARM.search(line)[1] for _, line in heard.lines if ALARM.search(line)]
    errors = "".join(line for _, line in heard.lines if line.startswith("error: "))
    return outcome(fault, rank, job, alarms, errors, begun, judged, over)


def alone(c, fault, limit, seed=None):
    """The same job on the same nodes, started by hand on each: the first line that looks like an error, and after how many seconds."""
    chance = random.Random(seed)
    rank, step, port = chance.randrange(RANKS), chance.randrange(3, 8), chance.randrange(18000, 19000)
    torchrun = ["python3", "-u", "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2", f"--master-addr={c.lab.addresses[0]}",
                f"--master-port={port}"]
    with contextlib.ExitStack() as running:
        heard = []
        for node in (0, 1):
            client = running.enter_context(c.start("exec", f"node-{node}", "--", *torchrun, f"--node-rank={node}", "faulty.py", fault.name,
                                                   str(rank), str(step), "0"))
            running.callback(client.terminate)
            heard.append(Heard(client))
        of_guilty = heard[rank // 2]
        begun = of_guilty.first(lambda line: "INJECTED" in line, limit)
        assert begun, "".join(line for each in heard for _, line in each.lines)
        with around(c, fault, rank // 2 + 1):
            of_guilty.first(lambda line: ERROR.search(line), limit)
        told = sorted((at, line) for each in heard for at, line in each.lines if at >= begun and ERROR.search(line))
    return (told[0][1].strip()[:70], told[0][0] - begun) if told else ("nothing", None)


def outcome(fault, rank, job, alarms, errors, begun, judged, over):
    node = f"node-{rank // 2}"
    hang, failure = job["hang"], job["first_failure"]
    if judged and hang:
        names = fault.names_rank
        return Outcome(fault, rank, alarms, hang["cause"], hang["cause"] in fault.causes, hang["rank"] == (rank if names else None),
                       hang["node"] == (node if names else None), judged - begun)
    if failure and begun and over and not alarms:
        text = " ".join(filter(None, (errors, failure.get("cause"), failure["tail"], signal_text(failure))))
        found = re.search(fault.failure, text) if fault.failure else None
        return Outcome(fault, rank, alarms, found[0] if found else signal_text(failure), bool(found), failure["rank"] == rank,
                       failure["node"] == node, over - begun)
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
