"""The measurements of scripts/bench on stub engines: what N costs. Everything runs on this machine, the nodes' own work included, which on
real hosts is theirs: `client` is what dockdist itself takes."""

import contextlib
import dataclasses
import os
import resource
import subprocess
import threading
import time

import harness
from harness import stubs
from harness.lab import TOOLKIT_TAR
from harness.saved_image import NAME, save_image

ROUND_TRIP_MS = 20
RATE = 100_000_000 / 8  # bytes a second of a host's link


@dataclasses.dataclass
class Usage:
    seconds: float
    cpu: float
    memory: int  # KiB at most
    descriptors: int  # at most, as far as they were seen
    out: str = ""


def used(c, *arguments, code=0, timeout=560, **environment):
    """Runs dockdist to its end."""
    with (c.folder / "out").open("wb") as out, (c.folder / "err").open("wb") as err:
        begin = time.perf_counter()
        process = subprocess.Popen(c.command(*arguments), env=c.environment(**environment), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        usage = Usage(0, 0, 0, 0)
        killer = threading.Timer(timeout, process.kill)
        killer.start()
        while True:
            pid, status, spent = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            with contextlib.suppress(OSError):
                usage.descriptors = max(usage.descriptors, len(os.listdir(f"/proc/{process.pid}/fd")))
                usage.memory = max([usage.memory, *(int(line.split()[1]) for line in open(f"/proc/{process.pid}/status") if line.startswith("VmHWM:"))])
            time.sleep(0.01)
        killer.cancel()
        usage.seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    usage.cpu, usage.out = spent.ru_utime + spent.ru_stime, (c.folder / "out").read_text(errors="replace")
    assert process.returncode == code, f"{arguments}: {process.returncode}\n{(c.folder / 'err').read_text(errors='replace')[:4000]}"
    return usage


class Bench:
    """So many stub hosts, the toolkit on all of them."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.stubs = self.stack.enter_context(stubs.stubs(self.nodes))
        self.c = self.stack.enter_context(harness.cluster(self.stubs, "bench-scale"))
        self.write(1)
        self.c.run("up", "--no-check")
        self.c.run("down")
        self.stubs.share_toolkit()
        self.stubs.script(round_trip_ms=ROUND_TRIP_MS)
        return self

    def __exit__(self, *error):
        self.stubs.script()
        return self.stack.__exit__(*error)

    def write(self, nodes):
        self.c.write(hosts=nodes, image=stubs.IMAGE)

    def up(self, nodes):
        """And what it cost beside time."""
        self.write(nodes)
        self.stubs.reset_counters()
        before = self.stubs.counters()["node_connections"]
        usage = used(self.c, "up", "--no-check", "--ready-timeout", "10m")  # all nodes share the processors of this machine
        counted = self.stubs.counters()
        usage.connections = counted["most_open_of_a_host"]
        usage.sent, usage.node_connections = counted["bytes_in"], counted["node_connections"] - before
        return usage

    def down(self):
        self.c.run("down", timeout=560)


def scale(nodes, rounds):
    """Of each round: `up` of all, of 64 (or as many as there are), of one; `run -- true` on all; what members cost."""
    rows = {"up": [], "64": [], "1": [], "run": [], "again": []}
    few = min(64, nodes)
    with Bench(nodes) as bench:
        for _ in range(rounds):
            rows["1"].append(bench.up(1))
            bench.down()
            rows["64"].append(bench.up(few))
            bench.down()
            rows["up"].append(bench.up(nodes))
            rows["again"].append(used(bench.c, "up", "--no-check"))
            rows["run"].append(used(bench.c, "run", "--", "true"))
            bench.down()
    return rows


def placement(nodes, rounds):
    """`run --nodes 2 -- true`, which looks at the boards of all nodes and takes two that are free, and of the first two, which asks nobody else."""
    rows = {"any": [], "first": []}
    with Bench(nodes) as bench:
        bench.up(nodes)
        for _ in range(rounds):
            rows["any"].append(used(bench.c, "run", "--nodes", "2", "--", "true"))
            rows["first"].append(used(bench.c, "run", "--nodes", "first:2", "--", "true"))
        bench.down()
    return rows


def first(nodes, rounds):
    """The first `up` of hosts that have nothing of dockdist: what leaves the client, and the toolkit's size."""
    toolkit = TOOLKIT_TAR.stat().st_size
    rows = []
    with Bench(nodes) as bench:
        for _ in range(rounds):
            bench.write(nodes)
            bench.c.run("down", "--purge", timeout=560)
            rows.append(bench.up(nodes))
    return rows, toolkit


def members(nodes):
    """`up` of half as many and of all: bytes from the client and connections between nodes, for each node."""
    with Bench(nodes) as bench:
        found = []
        for count in (nodes // 2, nodes):
            usage = bench.up(count)
            found.append((count, usage.sent / count, usage.node_connections / count))
            bench.down()
    return found


def from_one_clock(c, script, code):
    """Seconds from the moment that one rank tells (its /proc/uptime, which is this machine's) to the client's end."""
    usage = used(c, "run", "--launcher", "plain", "--", "sh", "-c", script, code=code)
    end = time.clock_gettime(time.CLOCK_BOOTTIME)
    told = next(line for line in usage.out.splitlines() if " at " in line)
    return end - float(told.rsplit(" at ", 1)[1].split()[0])


def jobs(nodes, rounds, lines_a_second=100_000, seconds=5):
    """Start: until the last rank runs. Stop: from the first failure to the client's end, all others told. Lines: the client's share of a
    processor while it merges so many lines a second."""
    rows = {"start": [], "stop": [], "lines": []}
    with Bench(nodes) as bench:
        bench.up(nodes)
        count = max(lines_a_second // nodes, 1)
        for _ in range(rounds):
            begin = time.clock_gettime(time.CLOCK_BOOTTIME)
            usage = used(bench.c, "run", "--launcher", "plain", "--", "sh", "-c", "echo up at $(cat /proc/uptime)")
            moments = [float(line.rsplit(" at ", 1)[1].split()[0]) for line in usage.out.splitlines()]
            assert len(moments) == nodes
            rows["start"].append(max(moments) - begin)
            rows["stop"].append(from_one_clock(bench.c, "[ $RANK = 1 ] || exec sleep 1000; sleep 3; echo died at $(cat /proc/uptime); exit 7", 7))
            idle = used(bench.c, "run", "--launcher", "plain", "--", "sleep", str(seconds))
            usage = used(bench.c, "run", "--launcher", "plain", "--", "sh", "-c",
                         f"i=0; while [ $i -lt {seconds} ]; do seq {count}; sleep 1; i=$((i+1)); done")
            assert usage.out.count("\n") == count * nodes * seconds
            rows["lines"].append((usage.cpu - idle.cpu) / seconds)
        bench.down()
    return rows


def image(counts, rounds, size, rate=RATE):
    """Seconds of `image push` to so many hosts, for each count; no host has the image, and the layers are verified, not unpacked."""
    rows = {count: [] for count in counts}
    most = max(counts)
    for _ in range(rounds):
        for count in counts:
            with stubs.source_image(lambda folder: save_image(folder, size)) as path, \
                    stubs.stubs(most + 1, script={"bandwidth": int(rate), "near": [most]}, source=[(NAME, path)], node_bandwidth=rate) as made, \
                    harness.cluster(made, "bench-scale") as c:
                c.write(hosts=count, image=NAME)
                usage = used(c, "image", "push", "--from", "local", DOCKER_HOST=f"tcp://{made.addresses[most]}:2375")
                counted = made.counters()
                assert counted["pulled"] == count * (counted["pulled"] // count) >= count * size, counted["pulled"]
                usage.sent = sum(host["bytes_in"] for host in counted["hosts"][:count])
                rows[count].append(usage)
    return rows


def machine():
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} descriptors"
