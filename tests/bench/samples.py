"""The measurements of scripts/bench that are about samples: what `dockdist top` and a job's own record cost a node, and what comes to the client."""

import os
import pathlib
import time

import harness
from harness.gpus import added_gpus
from harness.running import Running

TICK = os.sysconf("SC_CLK_TCK")
GPUS = 8
EIGHT_RANKS = (f"i=0; while [ $i -lt {GPUS} ]; do RANK=$((NODE_RANK * {GPUS} + i)) LOCAL_RANK=$i LOCAL_WORLD_SIZE={GPUS} sleep 1000 & "
               "i=$((i + 1)); done; echo started; wait")


def seconds_of(*command):
    """{pid: seconds of CPU} of the nodes' `dockdist-init COMMAND`; their nvidia-smi, here a simulated one, is not among them."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"dockdist-init") and words[1:len(command) + 1] == [word.encode() for word in command]:
                ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
                found[process.name] = sum(int(field) for field in ticks) / TICK
        except OSError:
            pass  # it has ended
    return found


def shares(seconds, **commands):
    """The share of one processor that each of these takes: {name: processes of all nodes together}."""
    before = {name: seconds_of(*command) for name, command in commands.items()}
    time.sleep(seconds)
    after = {name: seconds_of(*command) for name, command in commands.items()}
    assert all(before[name] and before[name].keys() == after[name].keys() for name in commands), (before, after)
    return {name: sum(after[name][pid] - before[name][pid] for pid in after[name]) / seconds for name in commands}


def recording(lab, seconds=30):
    """The share of one processor that a node's part of a job takes while its eight ranks sleep: its supervisor, which records eight
    GPUs and them, and the process behind the client's stream. And that of an exec session, which has such a stream and records nothing."""
    assert not seconds_of("job", "start") and not seconds_of("with-environment"), "nodes of others are on this machine"
    with added_gpus(lab, 1, *range(2, GPUS)), harness.cluster(lab, "bench-record") as c:
        c.write(hosts=1, gpus="all").up()
        job = Running(c, "run", "--", "sh", "-c", EIGHT_RANKS)
        job.until("started")
        session = Running(c, "exec", "node-0", "--", "sh", "-c", "echo begun; exec sleep 1000")
        session.until("begun")
        taken = shares(seconds, job=("job", "start"), session=("with-environment",))
        session.interrupt()
        session.end(130)
        job.interrupt()
        job.end(130)
    return taken["job"], taken["session"]


def sampling(lab, seconds=60):
    """Two nodes of eight GPUs and eight ranks each, a sample a second: the share of one processor that a node's sampler takes, and
    the bytes a second that come from a node over the link, TCP and IP included."""
    received = pathlib.Path(f"/sys/class/net/{lab.link()}/statistics/rx_bytes")
    more = range(2, GPUS)
    with added_gpus(lab, 1, *more), added_gpus(lab, 2, *more), harness.cluster(lab, "bench-top") as c:
        c.write(gpus="all").up()
        job = Running(c, "run", "--", "sh", "-c", EIGHT_RANKS)
        job.until("started", times=2)
        top = Running(c, "top", "-o", "json")
        top.until(r'"cpus_busy":\d')
        before, bytes_before, begin = seconds_of("sample"), int(received.read_text()), time.monotonic()
        time.sleep(seconds)
        after, bytes_after, passed = seconds_of("sample"), int(received.read_text()), time.monotonic() - begin
        assert len(before) == 2 and before.keys() == after.keys(), (before, after)
        top.interrupt()
        top.end(0)
        job.interrupt()
        job.end(130)
    return sum(after[pid] - before[pid] for pid in after) / len(after) / passed, (bytes_after - bytes_before) / len(after) / passed
