"""GPUs belong to jobs: which they get, who waits for whom, what is not given out, and what ranks see of it."""

import json
import re

from harness import assert_in, cluster
from harness.gpus import added_gpus, entries, gpu_lines, uuids
from harness.patience import DURATION
from harness.running import Running

HAS = r"^\[(node-\d)\s*\] has (.*)$"
HOLD = ("sh", "-c", 'echo "has $CUDA_VISIBLE_DEVICES"; exec sleep 4701')
SEE = ("sh", "-c", 'echo "has $CUDA_VISIBLE_DEVICES"')
BUSY = 75  # exit code


def seen(text):
    """{node: [UUID, …]} of what the ranks say."""
    return {match[1]: match[2].split(",") for match in re.finditer(HAS, text, re.M)}


def holding(c, name, *options, nodes=2, **more):
    """A job that has got its GPUs and keeps them, and which these are."""
    job = Running(c, "run", "--name", name, *options, "--", *HOLD, **more)
    job.until(HAS, times=nodes)
    return job, seen(job.out)


def stop(c, job, name):
    c.run("stop", name)
    return job.end(143)


def devices(c, *options, code=0):
    """Which ones a job gets that does not wait."""
    done = c.run("run", "--no-wait", *options, "--", *SEE, code=code)
    return seen(done.stdout) if code == 0 else done.stderr


def shown(c):
    """(host, GPUs, who waits) as `dockdist gpus` has them."""
    return [(host["host"], host["gpus"], host["waiting"]) for host in json.loads(c.run("gpus", "-o", "json").stdout)["hosts"]]


def test_three_jobs_on_two_gpus_of_two_hosts(lab):
    with cluster(lab, "t-gpus") as c:
        c.write(gpus="all").up()
        all_of = {"node-0": uuids(lab, 1), "node-1": uuids(lab, 2)}
        a, has_a = holding(c, "job-a", "--gpus", "1")
        b, has_b = holding(c, "job-b", "--gpus", "1", user="nobody")
        for node, own in all_of.items():
            assert has_a[node] + has_b[node] == own, (has_a, has_b, all_of)
        third = Running(c, "run", "--name", "job-c", "--gpus", "1", "--", *HOLD)
        third.until_err(rf"waiting for 1 GPU on 2 nodes: node-0, node-1: GPU 0 job-a \(root@\S+, {DURATION}\), GPU 1 job-b \(nobody@\S+, {DURATION}\); "
                        r"place 1 in line$")
        for host, gpus, waiting in shown(c):
            assert [(gpu["id"], gpu["held"]["job"], gpu["held"]["owner"].partition("@")[0]) for gpu in gpus] == [
                (all_of[host][0], "job-a", "root"), (all_of[host][1], "job-b", "nobody")], gpus
            assert [(who["job"], who["wanted"]) for who in waiting] == [("job-c", 1)], waiting
        # Whoever does not wait is told the same; whoever has had enough too; --share takes part in nothing.
        refused = c.run("run", "--no-wait", "--", "true", code=BUSY).stderr
        assert_in("2 GPUs on 2 nodes not available now: node-0, node-1: GPU 0 job-a", refused)
        assert_in("job-c", refused)
        assert_in("did not become free within 300 ms", c.run("run", "--gpus", "1", "--wait", "300ms", "--", "true", code=BUSY).stderr)
        assert seen(c.run("run", "--name", "shares", "--share", "--", *SEE).stdout) == {"node-0": [""], "node-1": [""]}
        # Who comes later waits behind, unless it has priority; Ctrl-C leaves no trace of it.
        fourth = Running(c, "run", "--name", "job-d", "--gpus", "1", "--priority", "5", "--", *HOLD)
        fourth.until_err("place 1 in line")
        third.until_err("place 2 in line, behind job-d")
        fourth.interrupt()
        fourth.end(130)
        third.until_err("place 1 in line", times=2)
        assert {name for number in (1, 2) for name in entries(lab, number)} == {"job-a", "job-b", "job-c"}
        listed = {job["job"]: job for job in json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]}
        assert sorted(listed) == ["job-a", "job-b", "shares"], listed  # no trace of job-d
        assert {part["node"]: [unit["id"] for unit in part["units"]] for part in listed["job-a"]["gpus"]} == has_a
        stop(c, a, "job-a")
        third.until(HAS, times=2)
        assert seen(third.out) == has_a
        assert devices(c, "--gpus", "1", code=BUSY)
        stop(c, b, "job-b")
        assert devices(c, "--gpus", "1") == has_b  # at once
        stop(c, third, "job-c")
        assert devices(c) == all_of
        assert all(entries(lab, number) == {} for number in (1, 2))


def test_what_is_free_is_told_before_up(lab):
    """Asked first of all: by a cluster that has nothing on the hosts yet, of one that has."""
    with cluster(lab, "t-asks") as asks, cluster(lab, "t-has") as has:
        asks.write(gpus="all")
        assert_in("t-asks has no nodes yet: `dockdist up` creates them", asks.run("jobs").stdout)
        assert json.loads(asks.run("jobs", "-o", "json").stdout) == {"schema": 1, "jobs": []}
        for command in ("jobs", "logs", "attach", "wait", "stop"):
            assert_in("there is no job `x`: t-asks has no nodes yet", asks.run(command, "x", code=125).stderr)
        has.write(gpus="all").up()
        job, gpus_of = holding(has, "job-a", "--gpus", "1")
        for host, gpus, _ in shown(asks):
            assert [gpu["id"] for gpu in gpus] == uuids(lab, 1 if host == "node-0" else 2), gpus
            assert [gpu["held"] and (gpu["held"]["cluster"], gpu["held"]["job"]) for gpu in gpus] == [("t-has", "job-a"), None], gpus
        waits = Running(has, "run", "--name", "job-b", "--", *HOLD)
        waits.until_err("place 1 in line")
        for c in (asks, has):
            hosts = {host["host"]: host["jobs"] for host in json.loads(c.run("jobs", "--all-clusters", "-o", "json").stdout)["hosts"]}
            for host, jobs in hosts.items():
                assert [(one["cluster"], one["job"], one["state"], [unit["id"] for unit in one["units"]]) for one in jobs] == [
                    ("t-has", "job-a", "running", gpus_of[host]), ("t-has", "job-b", "waiting", [])], jobs
        assert_in("t-has", asks.run("jobs", "--all-clusters").stdout)
        waits.interrupt()
        waits.end(130)
        stop(has, job, "job-a")
        asks.assert_clean()  # no helper is left


def test_what_the_user_has_chosen_by_hand_is_reserved_or_waited_for(lab):
    with cluster(lab, "t-chosen") as c:
        c.write(hosts=1, gpus="all").up()
        first, second = uuids(lab, 1)
        job, has = holding(c, "job-a", "--gpus", "1", nodes=1)
        assert has == {"node-0": [first]}
        for value, gets in (("1", "1"), (second, second), (second[:12], second[:12]), ("", ""), ("-1", "-1")):
            assert devices(c, "--env", f"CUDA_VISIBLE_DEVICES={value}") == {"node-0": [gets]}, value
        for value in ("0", first, "1,0"):
            assert_in("GPU 0 job-a", devices(c, "--env", f"CUDA_VISIBLE_DEVICES={value}", code=BUSY))
        stop(c, job, "job-a")
        job, _ = holding(c, "job-b", "--env", "CUDA_VISIBLE_DEVICES=1", nodes=1)
        assert devices(c, "--gpus", "1") == {"node-0": [first]}
        # A shell has what it asks for, and waits for it as a job does.
        shell = Running(c, "ssh", "node-0", "--gpus", "2", "--", "echo has $CUDA_VISIBLE_DEVICES; exec sleep 4703")
        shell.until_err(rf"waiting for 2 GPUs of this node: GPU 1 job-b \(root@\S+, {DURATION}\); place 1 in line")
        stop(c, job, "job-b")
        shell.until(f"^has {first},{second}$")
        assert_in("GPUs 0-1 ssh (root@", devices(c, "--gpus", "1", code=BUSY))
        shell.interrupt()


def test_gpus_that_are_ill_gone_or_used_from_outside_are_not_given_out(lab):
    with cluster(lab, "t-unsound") as c:
        c.write(hosts=1, gpus="all").up()
        first, second = uuids(lab, 1)
        with gpu_lines(lab, 1, 0, "ecc.errors.uncorrected.volatile.total=3"):
            done = c.run("run", "--gpus", "1", "--", *SEE)
            assert seen(done.stdout) == {"node-0": [second]}
            assert_in("warning: node-0: GPU 0 has 3 uncorrected memory errors: it is not given to jobs\n", done.stderr)
            refused = c.run("run", "--", "true", code=125).stderr
            assert_in("node-0: 1 of the 2 GPUs that this job wants here can be given out: GPU 0 has 3 uncorrected memory errors\n", refused)
            assert_in("`--gpus 1`", refused)
        with gpu_lines(lab, 1, 0, "process=4711 20000 python3"):
            assert devices(c, "--gpus", "1") == {"node-0": [second]}
            assert_in("GPU 0 a process outside dockdist", devices(c, "--gpus", "2", code=BUSY))
            assert_in("used outside dockdist", c.run("gpus").stdout)
            assert seen(c.run("run", "--share", "--", *SEE).stdout) == {"node-0": [""]}
            waits = Running(c, "run", "--", *SEE)
            waits.until_err("waiting for 2 GPUs on node-0: (node-0:? )?GPU 0 a process outside dockdist")
        waits.end(0)  # once that process is gone
        assert seen(waits.out) == {"node-0": [first, second]}
        with gpu_lines(lab, 1, 1, "removed=yes"):
            done = c.run("run", "--gpus", "1", "--", *SEE)
            assert seen(done.stdout) == {"node-0": [first]}
            assert_in("GPU 1", done.stderr)


def test_mig_instances_are_gpus_of_their_own(lab):
    instances = ["MIG-11111111-1111-5111-8111-111111111111", "MIG-22222222-2222-5222-8222-222222222222"]
    with cluster(lab, "t-mig") as c, gpu_lines(lab, 1, 0, "mig.mode.current=Enabled", *(f"mig={uuid} 3g.40gb" for uuid in instances)):
        second = uuids(lab, 1)[1]
        c.write(hosts=1, gpus="all").up()
        assert devices(c) == {"node-0": [*instances, second]}
        one, has_one = holding(c, "job-a", "--gpus", "1", nodes=1)
        two, has_two = holding(c, "job-b", "--gpus", "2", nodes=1)
        assert has_one["node-0"] + has_two["node-0"] == [*instances, second]
        assert_in("job-a", devices(c, "--env", f"CUDA_VISIBLE_DEVICES={instances[0]}", code=BUSY))
        stop(c, one, "job-a")
        assert devices(c, "--env", f"CUDA_VISIBLE_DEVICES={instances[0]}") == {"node-0": [instances[0]]}
        stop(c, two, "job-b")


def test_neighbours_are_taken_together(lab):
    with cluster(lab, "t-near") as c, added_gpus(lab, 1, 2, 3), gpu_lines(lab, 1, 1, "topo.3=NV18"):
        c.write(hosts=1, gpus="all").up()
        own = uuids(lab, 1)
        job, has = holding(c, "job-a", "--gpus", "2", nodes=1)
        assert has == {"node-0": [own[1], own[3]]}
        assert_in("GPUs 1,3 (NVLink) on node-0", job.err)
        done = c.run("run", "--gpus", "2", "--", *SEE)
        assert seen(done.stdout) == {"node-0": [own[0], own[2]]}
        assert_in("GPUs 0,2 (the same NUMA node) on node-0", done.stderr)
        stop(c, job, "job-a")


def test_clusters_share_the_gpus_of_their_hosts_job_by_job(lab):
    with cluster(lab, "t-user-a") as a, cluster(lab, "t-user-b") as b:
        for c in (a, b):
            c.write(gpus="all").up()
        job, has = holding(a, "job-a", "--gpus", "1")
        assert [has["node-0"], has["node-1"]] == [uuids(lab, 1)[:1], uuids(lab, 2)[:1]]
        assert devices(b, "--gpus", "1") == {"node-0": uuids(lab, 1)[1:], "node-1": uuids(lab, 2)[1:]}
        waits = Running(b, "run", "--", *SEE)
        waits.until_err(rf"waiting for 2 GPUs on 2 nodes: node-0, node-1: GPU 0 job-a of cluster t-user-a \(root@\S+, {DURATION}\); place 1 in line$")
        behind = Running(a, "run", "--gpus", "1", "--", *SEE)
        behind.until_err(r"kept for \S+ of cluster t-user-b|place 2 in line")
        stop(a, job, "job-a")
        waits.end(0)
        assert seen(waits.out) == {"node-0": uuids(lab, 1), "node-1": uuids(lab, 2)}
        behind.end(0)
