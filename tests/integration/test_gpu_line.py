"""The line for GPUs under load and under fire: nobody is overtaken, nothing idles, and what dies lets go."""

import contextlib
import json
import os
import random
import re
import shutil
import threading
import time

from harness import assert_in, cluster, eventually
from harness.gpus import entries, uuids
from harness.patience import lease
from harness.running import Running

JOBS = int(os.environ.get("DOCKDIST_GPU_JOBS", "200"))
SEED = int(os.environ.get("DOCKDIST_GPU_SEED", "14"))
HOLD = ("sh", "-c", 'echo "has $CUDA_VISIBLE_DEVICES"; exec sleep 4702')
LEASE = ("--lease", lease(2))
FREED = 2 + 8  # seconds: the lease, and what ending a job takes on a machine under load


# --- 200 jobs ---

# A job takes a folder for each of its GPUs: mkdir says whether somebody else is in it. All hosts of the lab have one clock.
TAKE_AND_LEAVE = """
at() { read up idle </proc/uptime; echo "$1 $up JOB $NODE_RANK $CUDA_VISIBLE_DEVICES" >>/shared/LEDGER/ledger; }
all=$(echo $CUDA_VISIBLE_DEVICES | tr , " ")
for gpu in $all; do mkdir /shared/LEDGER/$gpu || exit 66; done
at begin; sleep FOR; at end
for gpu in $all; do rmdir /shared/LEDGER/$gpu; done
"""


class Asked:
    """A job as its client has seen it; times are of the clock that the ledger has. Once its client says that it waits it has its
    number: whatever is spawned after that comes behind it."""

    def __init__(self, number, chance):
        self.name = f"job-{number}"
        self.nodes = chance.choice([(0,), (1,), (0, 1)])
        self.gpus = chance.choice([1, 1, 2])
        self.hold = chance.choice(["0", "0.1", "0.3"])
        self.spawned = self.waited = None

    def run(self, c):
        script = TAKE_AND_LEAVE.replace("LEDGER", c.ledger.name).replace("JOB", self.name).replace("FOR", self.hold)
        self.spawned = now()
        job = Running(c, "run", "--name", self.name, "--gpus", str(self.gpus), "--nodes", ",".join(f"node-{node}" for node in self.nodes),
                      "--", "sh", "-c", script)
        while job.process.poll() is None:
            if self.waited is None and "place " in job.err:
                self.waited = now()
            time.sleep(0.05)
        job.end(0)


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def run_all(clusters, asked):
    """Twelve clients at a time, half of them of each cluster."""
    left, failures = list(reversed(asked)), []

    def client(c):
        try:
            while left and not failures:
                left.pop().run(c)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=client, args=(clusters[i % len(clusters)],)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def read_ledger(folder, asked, own):
    """{(job, node): [begin, end, GPUs]}; and that each had as many as it asked for, of its host."""
    parts = {}
    for line in (folder / "ledger").read_text().splitlines():
        what, at, job, rank, gpus = line.split()
        job = asked[int(job.partition("-")[2])]
        part = parts.setdefault((job.name, job.nodes[int(rank)]), [None, None, gpus.split(",")])
        part[("begin", "end").index(what)] = float(at)
    assert set(parts) == {(job.name, node) for job in asked for node in job.nodes}
    for (name, node), (begin, end, gpus) in parts.items():
        assert begin is not None and end is not None, name
        assert len(set(gpus)) == asked[int(name.partition("-")[2])].gpus and set(gpus) <= set(own[node]), (name, node, gpus)
    return parts


def free_at(parts, node, at):
    """How many GPUs of a node no job is in, by the ledger."""
    return 2 - sum(len(gpus) for (_, where), (begin, end, gpus) in parts.items() if where == node and begin <= at < end)


def begun(parts, job):
    return min(parts[(job.name, node)][0] for node in job.nodes)


def overtaken(parts, asked):
    """Jobs that began although one that stood in line before them had a right to what they took."""
    for late in asked:
        began = begun(parts, late)
        earlier = [job for job in asked if job.waited and job.waited < late.spawned and begun(parts, job) > began]
        for node in late.nodes:
            kept = sum(job.gpus for job in earlier if node in job.nodes)
            if kept and free_at(parts, node, began - 0.01) - kept < late.gpus:
                yield late.name, node, [job.name for job in earlier]


def idle(parts, asked, longest):
    """Jobs that did not begin for so long although all that they asked for was free, and nobody before them wanted it."""
    moments = sorted({time for begin, end, _ in parts.values() for time in (begin, end)})
    for job in asked:
        began, since = begun(parts, job), None
        if job.waited is None:
            continue
        for moment in [job.waited, *(moment for moment in moments if job.waited < moment < began), began]:
            others = [other for other in asked if other is not job and other.spawned < job.waited and begun(parts, other) > moment]
            fits = all(free_at(parts, node, moment) - sum(other.gpus for other in others if node in other.nodes) >= job.gpus
                       for node in job.nodes)
            if since is not None and moment - since > longest:
                yield job.name, since, moment
            since = (since if since is not None else moment) if fits else None


def test_two_hundred_jobs_of_two_clusters_in_one_line(lab):
    chance = random.Random(SEED)
    asked = [Asked(number, chance) for number in range(JOBS)]
    folder = lab.shared / "t-line"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        with cluster(lab, "t-line-a") as a, cluster(lab, "t-line-b") as b:
            for c in (a, b):
                c.ledger = folder
                c.write(gpus="all", container="mounts: ['/shared:/shared']").up()
            begin = time.monotonic()
            run_all((a, b), asked)
            print(f"{JOBS} jobs in {time.monotonic() - begin:.1f} s, {sum(job.waited is not None for job in asked)} have waited")
            parts = read_ledger(folder, asked, {0: uuids(lab, 1), 1: uuids(lab, 2)})
            assert list(overtaken(parts, asked)) == []
            assert list(idle(parts, asked, 3)) == []
            assert sum(job.waited is not None for job in asked) > JOBS / 4, "there was a line"
            assert all(entries(lab, number) == {} for number in (1, 2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- any free nodes ---

def nodes_of(job):
    return sorted({match[1] for match in job.until(r"^\[(node-\d)[:\]]", times=2)})


def test_jobs_take_any_nodes_that_are_free_and_the_next_one_whichever_pair_is_free_first(lab):
    with cluster(lab, "t-any") as c:
        code = c.folder / "code"
        code.mkdir()
        (code / "hold.sh").write_text("echo held; exec sleep 4702\n")
        c.write(hosts=4, more="groups: {front: 'node-[0-1]', back: 'node-[2-3]'}\nsync: ['code:/code']").up()
        hold = ("--", "sh", "/code/hold.sh")
        first, second = (Running(c, "run", "--name", name, "--nodes", "2", *LEASE, *hold) for name in ("first", "second"))
        pairs = {name: nodes_of(job) for name, job in (("first", first), ("second", second))}
        assert sorted(pairs.values()) == [["node-0", "node-1"], ["node-2", "node-3"]], "each in a group, at once"
        front, back = sorted(pairs, key=pairs.get)
        first.until_err(r"each of 2 nodes: node-\[")

        third = Running(c, "run", "--name", "third", "--nodes", "2", "-o", "json", *LEASE, *hold)
        third.until(rf"waiting for 1 slot on any 2 of 4 nodes: node-0, node-1: slot 0 {front} \(.*; place 1 in line")
        told = c.run("run", "--no-wait", "--nodes", "1@back", "--", "true", code=75).stderr
        assert_in(f"1 slot on any 1 of 2 nodes not available now: node-2 slot 0 {back} (", told)
        assert_in(front, c.run("run", "--no-wait", "--nodes", "first:1", "--", "true", code=75).stderr)

        c.run("stop", back)  # not where the third one stands in line
        third.until("held", times=2)
        taken = next(json.loads(line) for line in third.out.splitlines() if json.loads(line)["type"] == "gpus")
        assert [node["node"] for node in taken["nodes"]] == ["node-2", "node-3"]
        c.run("stop", front)
        c.run("run", "--no-wait", "--nodes", "first:2", "--", "true")
        c.run("run", "--detach", "--name", "left", "--no-wait", "--nodes", "1", "--spares", "1", *hold)
        assert_in("left", c.run("run", "--no-wait", "--nodes", "first:1", "--", "true", code=75).stderr)
        c.run("stop", "left")
        c.run("stop", "third")


# --- what dies lets go ---


@contextlib.contextmanager
def neighbours(lab):
    """Two clusters on the same hosts: one whose jobs hold, one whose jobs wait for them."""
    with cluster(lab, "t-fire-a") as a, cluster(lab, "t-fire-b") as b:
        for c in (a, b):
            c.write(gpus="all").up()
        yield a, b


def holder(c, name, *options, nodes=2):
    job = Running(c, "run", "--name", name, *LEASE, *options, "--", *HOLD)
    job.until("has ", times=nodes)
    return job


def waiter(c, name, *options):
    job = Running(c, "run", "--name", name, *LEASE, *options, "--", *HOLD)
    job.until_err("waiting for")
    return job


def freed_within(seconds, job, nodes=2):
    begin = time.monotonic()
    job.until("has ", times=nodes, timeout=seconds)
    return time.monotonic() - begin


def kill_supervisor(c, node):
    """And the follower of its client."""
    c.run("exec", node, "--", "sh", "-c", "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */dockdist-init) "
          "[ $p = /proc/1 ] || [ $p = /proc/$PPID ] || kill -9 ${p#/proc/};; esac; done")


def kill_container(c, node):
    """With its PID 1."""
    engine, container = c.container(node)
    status, body = engine.call("POST", f"/v1.40/containers/{container}/kill")
    assert status == 204, body


def ranks_left(c):
    return [line for engine in c.lab.engines for found in engine.containers(cluster=c.name) if found["State"] == "running"
            for line in engine.processes(found["Id"]) if "sleep 4702" in line]


def alone(c, code=0):
    """Whether all GPUs can be had at once."""
    return c.run("run", "--no-wait", "--", "true", code=code)


def test_a_killed_waiter_holds_up_nobody_longer_than_its_lease(lab):
    with neighbours(lab) as (a, b):
        held = holder(a, "holds")
        dead, behind = waiter(a, "dies"), waiter(b, "behind")
        dead.kill()
        a.run("stop", "holds")
        held.end(143)
        freed_within(FREED, behind)
        b.run("stop", "behind")
        behind.end(143)
        alone(a)


def test_what_a_killed_client_supervisor_or_container_held_is_free_within_the_lease(lab):
    with neighbours(lab) as (a, b):
        for what, kill in (("client", lambda: held.kill()),
                           ("supervisor", lambda: kill_supervisor(a, "node-1")),
                           ("container", lambda: kill_container(a, "node-1"))):
            held = holder(a, f"{what}-dies")
            next_one = waiter(b, f"after-{what}")
            kill()
            freed_within(FREED, next_one)
            assert ranks_left(a) == [], "whoever gets the GPUs is alone on them"
            b.run("stop", f"after-{what}")
            next_one.end(143)


def test_what_a_killed_engine_or_a_host_that_was_cut_off_held_is_free_again(lab):
    with neighbours(lab) as (a, b):
        held = holder(a, "cut-off")
        next_one = waiter(b, "next", "--nodes", "node-0")
        lab.script("cut", "host-2")
        try:
            freed_within(FREED, next_one, nodes=1)
        finally:
            lab.script("mend", "host-2")
        held.end(125)
        b.run("stop", "next")
        next_one.end(143)
        eventually(lambda: alone(a, code=None).returncode == 0, "its part ends by its own lease", timeout=FREED)

        holder(a, "dies")
        lab.script("stop-engine", "2", "--kill")
        lab.script("start-engine", "2")
        a.up()
        b.up()
        eventually(lambda: alone(b, code=None).returncode == 0, "nothing is stuck", timeout=FREED)


def test_detached_and_restarted_jobs_and_spares_keep_what_they_have(lab):
    with neighbours(lab) as (a, b):
        once = 'echo "has $CUDA_VISIBLE_DEVICES"; [ $DOCKDIST_RESTART_COUNT != 0 ] || { sleep 1; exit 7; }; exec sleep 4702'
        a.run("run", "--detach", "--name", "stays", "--gpus", "1", "--max-restarts", "1", "--backoff", "2s", "--", "sh", "-c", once)
        next_one = waiter(b, "next")
        eventually(lambda: a.run("logs", "stays").stdout.count("has ") == 4, "its second attempt", timeout=30)
        had = sorted(a.run("logs", "stays").stdout.splitlines())
        assert had[0] == had[1] and had[2] == had[3], had
        assert "has " not in next_one.out
        a.run("stop", "stays")
        freed_within(FREED, next_one)
        b.run("stop", "next")
        next_one.end(143)
        # The spare's GPUs are the job's too.
        held = holder(a, "with-spare", "--nodes", "1", "--spares", "1", nodes=1)
        assert_in("with-spare", b.run("run", "--no-wait", "--nodes", "node-1", "--", "true", code=75).stderr)
        a.run("stop", "with-spare")
        held.end(143)
