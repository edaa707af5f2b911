"""Nobody's work ends unasked: what `down`, `up` and `sync` do where jobs run."""

import json

from harness import assert_in, cluster


def refused(c, job, what, *words):
    said = c.run(*words, code=1).stderr
    assert_in(f"error: {job}: ", said)
    assert_in("running for ", said)
    assert_in(f" on node-0, node-1: {what}\n  → wait until it is over (`dockdist wait {job}`), or add --stop-jobs", said)
    assert len(c.processes("sleep 4711")) == 2


def state_of(c, job):
    return next(x["state"] for x in json.loads(c.run("jobs", "-o", "json").stdout)["jobs"] if x["job"] == job)


def test_what_would_end_a_job_names_it_and_does_nothing_unless_told(lab):
    with cluster(lab, "t-stop-jobs") as c:
        (c.folder / "code").mkdir()
        (c.folder / "code/train.py").write_text("print()\n")
        sync = "sync: ['code:/workspace']"
        c.write(more=sync).up()
        job = c.detach(script="exec sleep 4711")
        before = [x["Id"] for x in c.all_containers()]
        refused(c, job, "`down` would end it", "down")
        refused(c, job, "it may be using the files that would be removed", "sync", "--delete")
        c.run("sync")
        c.run("sync", "--delete", "--dry-run")
        c.write(more=sync, host_more=", env: {NVIDIA_A: '1'}")
        refused(c, job, "node-0 would be recreated: `env.NVIDIA_A` changed", "up")
        assert_in(f"stop job {job} (only with --stop-jobs)", c.run("plan").stdout)
        assert [x["Id"] for x in c.all_containers()] == before
        c.run("sync", "--delete", "--stop-jobs")
        assert state_of(c, job) == "stopped" and c.processes("sleep 4711") == []
        c.detach(script="exec sleep 4711")
        assert_in("is up: 2 nodes", c.up("--stop-jobs").stdout)
        assert not set(before) & {x["Id"] for x in c.all_containers()}
        c.detach(script="exec sleep 4711")
        engine, node = c.container("node-1")
        engine.call("POST", f"/v1.40/containers/{node}/pause")
        assert_in("error: node-1: it is not known whether jobs run there: its container is paused", c.run("down", code=1).stderr)
        assert_in("2 containers removed", c.run("down", "--stop-jobs").stdout)
        c.assert_clean()
