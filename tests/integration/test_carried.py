"""Jobs that outlive trouble: restarts, jobs that need no client, clients and nodes that go."""

import json
import re
import signal

from harness import assert_in, cluster, eventually, job_left, read_until
from harness.patience import Watch, lease, told


def test_a_failed_job_is_begun_anew_as_often_as_asked(lab):
    with cluster(lab, "t-restart") as c:
        c.write().up()
        script = ('echo "attempt $DOCKDIST_RESTART_COUNT"; [ $NODE_RANK = 1 ] || exec sleep 4400; '
                  '[ $DOCKDIST_RESTART_COUNT = 2 ] && exit 0; exit 7')
        failed = c.run("run", "--max-restarts", "1", "--backoff", "100ms", "--", "sh", "-c", script, code=7)
        assert_in("warning: node-1: the command exited with 7: attempt 2 of 2 begins in 0.1 s\n", failed.stderr)
        assert re.search(r"error: node-1: \S+: the command exited with 7\n", failed.stderr), failed.stderr
        script = "[ $DOCKDIST_RESTART_COUNT = 2 ] && exit 0; [ $NODE_RANK = 1 ] || exec sleep 4400; exit 7"
        done = c.run("run", "-o", "json", "--max-restarts", "2", "--backoff", "100ms", "--", "sh", "-c", script)
        result = json.loads(done.stdout.splitlines()[-1])
        assert (result["exit_code"], result["attempts"], "first_failure" in result) == (0, 3, False), result
        assert c.processes("sleep 4400") == []


def test_a_detached_job_fails_everywhere_without_a_client(lab):
    with cluster(lab, "t-detach-fail") as c:
        c.write().up()
        job = c.detach(script="[ $NODE_RANK = 1 ] || exec sleep 4401; until [ -e /tmp/go ]; do sleep 0.1; done; exit 7")
        assert c.processes("sleep 4401")
        c.run("exec", "node-1", "--", "touch", "/tmp/go")
        eventually(lambda: not c.processes("sleep 4401"), "the other node's process is gone", timeout=5)
        c.run("logs", "--follow", job)


def test_a_detached_job_is_begun_anew_without_a_client(lab):
    with cluster(lab, "t-detach-restart") as c:
        c.write().up()
        job = c.detach("--max-restarts", "1", "--backoff", "100ms",
                     script="echo run $DOCKDIST_RESTART_COUNT; [ $DOCKDIST_RESTART_COUNT = 1 ] && exit 0; [ $NODE_RANK = 1 ] || exec sleep 4402; sleep 1; exit 7")
        logs = c.run("logs", "--follow", job)
        for node in (0, 1):
            assert_in(f"[node-{node}] run 0\n", logs.stdout)
            assert_in(f"[node-{node}] run 1\n", logs.stdout)
        assert_in("node-1: the command exited with 7: attempt 2 of 2 begins in 0.1 s", logs.stderr)


def test_a_terminal_that_goes_leaves_the_job_to_the_cluster(lab):
    with cluster(lab, "t-hangup") as c:
        c.write().up()
        page = c.folder / "job.html"
        client = c.start("run", "--detach-on-hangup", "--lease", lease(2), "--report", str(page), "--", "sh", "-c",
                         "echo started; sleep 4; echo over")
        read_until(client, "started", times=2)
        client.send_signal(signal.SIGHUP)
        _, err = client.communicate(timeout=10)
        assert client.returncode == 0, err
        job = job_left(err)
        assert_in(f"{page} is not written: `dockdist jobs {job} --report {page}` writes it when the job has ended", err)
        assert not page.exists()
        assert c.run("logs", "--follow", job).stdout.count("over\n") == 2


def test_the_rest_of_a_detached_job_ends_when_its_first_node_is_gone(lab):
    with cluster(lab, "t-keeper-gone") as c:
        c.write().up()
        c.detach("--lease", lease(2), script="exec sleep 4403")
        assert c.processes("sleep 4403")
        engine, container = c.container("node-0")
        engine.call("POST", f"/v1.40/containers/{container}/kill")
        _, other = c.container("node-1")
        eventually(lambda: not [p for p in lab.engines[1].processes(other) if "sleep 4403" in p], "the part on node-1 has ended", timeout=10)


def test_a_node_that_is_cut_off_ends_its_part_and_the_job(lab):
    with cluster(lab, "t-cut") as c:
        c.write().up()
        client = c.start("run", "--lease", lease(2), "--", "sh", "-c", "echo started; exec sleep 4404")
        read_until(client, "started", times=2)
        lab.script("cut", "host-2")
        try:
            watch = Watch()
            _, err = client.communicate(timeout=60)
            assert client.returncode == 125, err
            assert_in("error: node-1: nothing was heard of it for 10 s", err)
            assert watch.within(25), watch
        finally:
            lab.script("mend", "host-2")
        eventually(lambda: not c.processes("sleep 4404"), "no part is left", timeout=10)


def test_a_detached_job_ends_when_a_node_is_cut_off(lab):
    with cluster(lab, "t-cut-detached") as c:
        c.write().up()
        job = c.detach("--lease", lease(2), script="exec sleep 4405")
        lab.script("cut", "host-2")
        try:
            _, first = c.container("node-0")
            eventually(lambda: not [p for p in lab.engines[0].processes(first) if "sleep 4405" in p], "the part on node-0 has ended", timeout=15)
        finally:
            lab.script("mend", "host-2")
        eventually(lambda: not c.processes("sleep 4405"), "no part is left", timeout=10)
        logs = c.run("logs", job)
        assert_in(f"nothing was heard of node-1 for {told(lease(2))}", logs.stderr)


def test_a_node_that_is_cut_off_for_less_than_the_lease_goes_on(lab):
    with cluster(lab, "t-cut-short") as c:
        c.write().up()
        client = c.start("run", "--lease", "60s", "--", "sh", "-c", "echo started; i=0; while [ $i -lt 60 ]; do echo line $i; i=$((i+1)); sleep 0.1; done")
        lines = read_until(client, "started", times=2)
        lab.script("cut", "host-2")
        lab.script("mend", "host-2")
        whole = "".join(lines) + client.stdout.read()
        assert client.wait(timeout=60) == 0, client.stderr.read()
        for node in (0, 1):
            mine = re.findall(rf"\[node-{node}\] line (\d+)", whole)
            assert mine == [str(i) for i in range(60)], mine
