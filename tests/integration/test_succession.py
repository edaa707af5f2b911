"""Detached jobs that lose the node whose part carries them: the next part takes over."""

import contextlib
import json

import pytest

from harness import assert_in, cluster, eventually
from harness.patience import Watch, lease, told

# Node 0 has a machine of its own, so that its engine or network can go alone; the others share one.
ALONE = (1, 0, 0)
# A rank notes that it runs, stays in the first attempt, and in the next ones until it is let go.
RANK = ("echo $DOCKDIST_RESTART_COUNT.$RANK >>/tmp/runs; echo try $DOCKDIST_RESTART_COUNT: rank $RANK of $WORLD_SIZE; "
        "[ $DOCKDIST_RESTART_COUNT != 0 ] || exec sleep {}; until [ -e /tmp/go ]; do sleep 0.1; done")


def runs(c, node):
    """Which attempts and ranks have run there, each as often as it did."""
    return c.run("exec", node, "--", "cat", "/tmp/runs", code=None).stdout.split()


def linked(c, job):
    """Both other nodes have dialled node 0: they hear it when it leaves."""
    engine, container = c.container("node-0")
    eventually(lambda: sum(f"job link {job}" in line for line in engine.processes(container)) == 2, "both have dialled")


def tried(c, job, node, text):
    eventually(lambda: text in c.run("logs", job, "--node", node, code=None).stdout, f"{node} says {text}", timeout=60)


@contextlib.contextmanager
def lost(c, lab, how):
    """Node 0 is gone."""
    if how == "killed":
        engine, container = c.container("node-0")
        assert engine.call("POST", f"/v1.40/containers/{container}/kill")[0] == 204
        yield
    elif how == "cut":
        lab.script("cut", "host-2")
        try:
            yield
        finally:
            lab.script("mend", "host-2")
    else:
        lab.script("stop-engine", "2")
        try:
            yield
        finally:
            lab.script("start-engine", "2")


@pytest.mark.parametrize("how", ["killed", "cut", "stopped"])
def test_without_its_coordinator_a_detached_job_goes_on_with_a_spare(lab, how):
    with cluster(lab, "t-heir") as c:
        c.write(machines=ALONE, more="spares: 1").up()
        job = c.detach("--lease", lease(4), "--grace", "1s", "--backoff", "100ms", script=RANK.format(4510))
        waiting = c.start("wait", job)
        following = c.start("logs", "--follow", job)
        eventually(lambda: runs(c, "node-0") and runs(c, "node-1"), "both ranks run")
        linked(c, job)
        with lost(c, lab, how):
            tried(c, job, "node-1", "try 1: rank 1 of 2")
            tried(c, job, "node-2", "try 1: rank 0 of 2")
            jobs = json.loads(c.run("jobs", "-o", "json", code=None).stdout.splitlines()[0])["jobs"]
            assert [(j["job"], j["state"]) for j in jobs] == [(job, "running")], jobs
            for node in ("node-1", "node-2"):
                c.run("exec", node, "--", "touch", "/tmp/go", code=None)
            c.run("wait", job, timeout=60)
            assert waiting.wait(timeout=30) == 0, waiting.stderr.read()
            out, err = following.communicate(timeout=30)
            assert following.returncode == 0, err
            assert_in("[node-2] try 1: rank 0 of 2\n", out)
            assert (runs(c, "node-1"), runs(c, "node-2")) == (["0.1", "1.1"], ["1.0"])
            logs = c.run("logs", job, "--node", "node-1")
            assert_in("dockdist: node-1 carries the job from now on, in place of node-0", logs.stderr)
            why = "node-0 has left the job" if how == "stopped" else f"nothing was heard of node-0 for {told(lease(4))}"
            assert_in(f"node-0: lost: {why}: attempt 2 of 2 begins with node-2 in its place, once its ranks have ended", logs.stderr)
        if how == "cut":  # its part has ended by itself, and has begun nothing since
            eventually(lambda: not c.processes("sleep 4510"), "nothing runs on node-0", timeout=20)
            assert runs(c, "node-0") == ["0.0"]


def test_a_frozen_coordinator_does_nothing_when_it_wakes_up(lab):
    with cluster(lab, "t-frozen") as c:
        c.write(machines=ALONE, more="spares: 1").up()
        job = c.detach("--lease", lease(4), "--grace", "1s", "--backoff", "100ms", script=RANK.format(4511))
        eventually(lambda: runs(c, "node-0") and runs(c, "node-1"), "both ranks run")
        signal = ("for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' <$p/cmdline)\" in */dockdist-init*job\\ start*) "
                  "kill -%s ${p#/proc/};; esac; done 2>/dev/null; true")
        c.run("exec", "node-0", "--", "sh", "-c", signal % "STOP")
        tried(c, job, "node-1", "try 1")
        tried(c, job, "node-2", "try 1")
        c.run("exec", "node-0", "--", "sh", "-c", signal % "CONT")
        engine, container = c.container("node-0")  # the others' scripts name it, too
        eventually(lambda: not any("sleep 4511" in line for line in engine.processes(container)), "node-0's part has ended")
        for node in ("node-1", "node-2"):
            c.run("exec", node, "--", "touch", "/tmp/go")
        c.run("wait", job, timeout=60)
        assert [runs(c, node) for node in ("node-0", "node-1", "node-2")] == [["0.0"], ["0.1", "1.1"], ["1.0"]]
        jobs = json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]
        assert [(j["state"], j["exit_code"]) for j in jobs] == [("done", 0)], jobs


def test_a_coordinator_whose_container_is_stopped_is_followed_without_the_lease(lab):
    with cluster(lab, "t-resigns") as c:
        c.write(machines=ALONE).up()
        job = c.detach("--min-nodes", "2", "--lease", "10m", "--grace", "1s", "--backoff", "100ms", script=RANK.format(4512))
        linked(c, job)
        engine, container = c.container("node-0")
        watch = Watch()
        engine.call("POST", f"/v1.40/containers/{container}/stop?t=10")
        tried(c, job, "node-1", "try 1: rank 0 of 2")
        assert watch.within(60), watch
        for node in ("node-1", "node-2"):
            c.run("exec", node, "--", "touch", "/tmp/go", code=None)
        c.run("wait", job, timeout=60)
        assert_in("node-0 has left the job", c.run("logs", job, "--node", "node-1").stderr)


def test_a_job_that_another_part_carries_can_be_attached_to_and_stopped(lab):
    with cluster(lab, "t-heir-stop") as c:
        c.write(machines=ALONE).up()
        job = c.detach("--min-nodes", "2", "--lease", lease(4), "--grace", "1s", "--backoff", "100ms", script=RANK.format(4513))
        with lost(c, lab, "killed"):
            tried(c, job, "node-2", "try 1: rank 1 of 2")
            client = c.start("attach", job)
            c.run("stop", job, code=None)
            client.communicate(timeout=30)
            eventually(lambda: not c.processes("until [ -e"), "no rank is left")
            jobs = json.loads(c.run("jobs", "-o", "json", code=None).stdout.splitlines()[0])["jobs"]
            assert [j["state"] for j in jobs] == ["stopped"], jobs


def test_with_two_nodes_the_second_ends_without_the_first(lab):
    with cluster(lab, "t-two") as c:
        c.write(machines=(1, 0)).up()
        c.detach("--min-nodes", "1", "--lease", lease(4), script=RANK.format(4514))
        eventually(lambda: runs(c, "node-0") and runs(c, "node-1"), "both ranks run")
        with lost(c, lab, "killed"):
            eventually(lambda: not c.processes("sleep 4514"), "the part on node-1 has ended", timeout=30)
            assert runs(c, "node-1") == ["0.1"]
