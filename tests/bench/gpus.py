"""The measurements of scripts/bench that are about GPUs: what it costs to take them, and to wait for them."""

import os
import pathlib
import time

import harness
from harness.running import Running

TICK = os.sysconf("SC_CLK_TCK")


def reserving(lab, rounds):
    """Seconds of `run -- true` on two nodes: with their GPUs taken, and with --share, in turn."""
    measured = {"taken": [], "shared": []}
    with harness.cluster(lab, "bench-gpus") as c:
        c.write(gpus="all").up()
        for _ in range(rounds):
            for way, options in (("taken", ()), ("shared", ("--share",))):
                begin = time.perf_counter()
                c.run("run", *options, "--", "true")
                measured[way].append(time.perf_counter() - begin)
    return measured


def from_free_to_started(lab, rounds):
    """Seconds from the end of the last rank that had the GPUs to the first act of the first that has waited for them. All hosts
    of the lab have one clock."""
    taken = []
    with harness.cluster(lab, "bench-line") as c:
        c.write(gpus="all").up()
        for number in range(rounds):
            c.run("exec", "node-0", "--", "rm", "-f", "/tmp/go")
            c.run("exec", "node-1", "--", "rm", "-f", "/tmp/go")
            held = Running(c, "run", "--", "sh", "-c", "echo started; until [ -e /tmp/go ]; do sleep 0.01; done; echo at $(cat /proc/uptime)")
            held.until("started", times=2)
            waits = Running(c, "run", "--", "sh", "-c", "echo at $(cat /proc/uptime)")
            waits.until_err("waiting for")
            for node in (0, 1):
                c.run("exec", f"node-{node}", "--", "touch", "/tmp/go")
            times = [[float(match[1]) for match in job.until(r"at ([\d.]+) ", times=2)] for job in (held, waits)]
            taken.append(min(times[1]) - max(times[0]))
            held.end(0)
            waits.end(0)
    return taken


def cpu_of(programs):
    """Seconds of CPU that all running processes of these programs have had."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if os.readlink(stat.parent / "exe").rpartition("/")[2] in programs:
                ticks += sum(int(field) for field in stat.read_text().rpartition(")")[2].split()[11:13])
        except OSError:
            pass  # it has ended
    return ticks / TICK


def waiting(lab, count, seconds=10):
    """The share of one processor that so many waiters take, their clients and the nodes together; and without them, the job that they
    wait for runs alone."""
    with harness.cluster(lab, "bench-waiters") as c:
        c.write(gpus="all").up()

        def share():
            before = cpu_of({"dockdist", "dockdist-init"})
            time.sleep(seconds)
            return (cpu_of({"dockdist", "dockdist-init"}) - before) / seconds

        held = Running(c, "run", "--", "sh", "-c", "echo started; exec sleep 1000")
        held.until("started", times=2)
        alone = share()
        jobs = [Running(c, "run", "--", "true") for _ in range(count)]
        for job in jobs:
            job.until_err("place ", timeout=300)
        time.sleep(2)  # until the last of them has been told to all others
        together = share()
        for job in [*jobs, held]:
            job.interrupt()
        for job in [*jobs, held]:
            job.end(130, timeout=300)
        return together, alone
