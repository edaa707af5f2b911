"""Jobs that go on when a node is lost: without it, or with a spare in its place."""

import contextlib
import json
import re
import signal
import socket

from harness import assert_in, cluster, eventually, job_left, read_until
from harness.patience import lease, told

# A rank that says who it is, and stays in the first attempt.
WHO = 'echo "try $DOCKDIST_RESTART_COUNT: rank $RANK of $WORLD_SIZE, node $NODE_RANK of $NNODES, at $MASTER_ADDR"; '
BEGINS = r"\b1 process on each of 2 nodes(, .* each)?; spare: node-2\b"
STAY = '[ $DOCKDIST_RESTART_COUNT != 0 ] || exec sleep {}'


def kill_container(c, node):
    engine, container = c.container(node)
    status, body = engine.call("POST", f"/v1.40/containers/{container}/kill")
    assert status == 204, body


def running(c, text):
    """Processes whose command line is `text`, in every container that runs."""
    return [line for container in c.all_containers() for engine in c.lab.engines
            for line in processes(engine, container) if line == text]


def processes(engine, container):
    status, body = engine.call("GET", f"/v1.40/containers/{container['Id']}/top?ps_args=-eo%20pid,args")
    return [row[-1] for row in json.loads(body)["Processes"]] if status == 200 else []


def address(lab, node):
    return lab.addresses[int(node[-1]) % lab.count]


def ends(client, code=0, timeout=90):
    out, err = client.communicate(timeout=timeout)
    assert client.returncode == code, f"{client.returncode}, not {code}\n--- stdout\n{out}--- stderr\n{err}"
    return out, err


def said_at(port):
    """What one that connects to a port of this machine is told."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        return connection.makefile().read()
    return ""


def result_of(out):
    return json.loads(out.splitlines()[-1])


def test_a_lost_node_is_left_out_and_ranks_are_numbered_anew(lab):
    with cluster(lab, "t-left-out") as c:
        c.write(hosts=3).up()
        client = c.start("run", "--min-nodes", "2", "--max-restarts", "3", "--backoff", "100ms", "--",
                         "sh", "-c", WHO + STAY.format(4500))
        read_until(client, "try 0", times=3)
        kill_container(c, "node-1")
        out, err = ends(client)
        first = address(lab, "node-0")
        assert_in(f"[node-0] try 1: rank 0 of 2, node 0 of 2, at {first}\n", out)
        assert_in(f"[node-2] try 1: rank 1 of 2, node 1 of 2, at {first}\n", out)
        assert re.search(rf"^warning: node-1 \({address(lab, 'node-1')}\): lost: .*container is gone or does not run: "
                         r"attempt 2 of 4 begins without it on 2 nodes in 0\.1 s$", err, re.M), err
        assert running(c, "sleep 4500") == []
        # The other nodes know how it went.
        jobs = json.loads(c.run("jobs", "-o", "json", code=None).stdout.splitlines()[0])["jobs"]
        assert [(job["state"], job["exit_code"]) for job in jobs] == [("done", 0)], jobs


def test_a_spare_takes_the_place_of_a_lost_node(lab):
    with cluster(lab, "t-spare") as c:
        c.write(hosts=3, more="spares: 1").up()
        serve = '; [ "$RANK" != 0 ] || hostname | nc -l -p 29831'
        client = c.start("run", "-o", "json", "--backoff", "100ms", "--forward", "0:29831", "--", "sh", "-c", WHO + STAY.format(4501) + serve)
        lines = read_until(client, "try 0", times=2)
        kill_container(c, "node-0")
        # The forwarded port leads to whoever is the first node.
        while not (told := [json.loads(line) for line in lines if '"type":"forward"' in line and '"node":"node-2"' in line]):
            lines += read_until(client, "\n")
        eventually(lambda: said_at(told[0]["ports"][0]["local"]) == "node-2\n", "the new first node's answer")
        out, _ = ends(client)
        events = [json.loads(line) for line in (*lines, *out.splitlines())]
        assert any(re.search(BEGINS, e.get("text", "")) for e in events), events
        assert any(e.get("text", "").endswith("attempt 2 of 2 begins with node-2 in its place in 0.1 s")
                   and e["subject"] == f"node-0 ({address(lab, 'node-0')})" for e in events), events
        text = json.dumps(events)
        assert_in(f"try 1: rank 0 of 2, node 0 of 2, at {address(lab, 'node-2')}", text)
        assert_in(f"try 1: rank 1 of 2, node 1 of 2, at {address(lab, 'node-2')}", text)
        result = events[-1]
        assert (result["exit_code"], result["attempts"]) == (0, 2), result
        assert [(n["node"], n["left_out"], n["spare"]) for n in result["nodes"]] == [
            ("node-0", True, False), ("node-1", False, False), ("node-2", False, False)], result


def test_a_spare_that_nobody_needs_starts_nothing(lab):
    with cluster(lab, "t-unused") as c:
        c.write(hosts=3, more="spares: 1").up()
        done = c.run("run", "--nodes", "2", "--", "sh", "-c", WHO)
        assert re.search(BEGINS, done.stderr), done.stderr
        assert done.stdout.count("try 0") == 2 and "[node-2]" not in done.stdout, done.stdout
        assert c.run("run", "--spares", "0", "--", "sh", "-c", WHO).stdout.count(", node ") == 3
        for words, message in ((("--nodes", "3"), "3 nodes and 1 spare were asked for"),
                               (("--min-nodes", "3"), "3 nodes are required at least, and the job starts on 2"),
                               (("--min-nodes", "1", "--max-restarts", "0"), "never restarted")):
            assert_in(message, c.run("run", *words, "--", "true", code=2).stderr)
        # A rank that fails is no lost node.
        done = c.run("run", "--max-restarts", "1", "--backoff", "100ms", "--", "sh", "-c",
                     WHO + "[ $DOCKDIST_RESTART_COUNT = 1 ] || exit $NODE_RANK")
        assert done.stdout.count("try 1") == 2 and "[node-2]" not in done.stdout, done.stdout
        assert_in("warning: node-1: the command exited with 1: attempt 2 of 2 begins in 0.1 s\n", done.stderr)


def test_a_node_that_is_cut_off_is_left_out_and_does_not_come_back(lab):
    with cluster(lab, "t-cut-out") as c:
        c.write(hosts=3).up()
        # Its rank writes as long as it is let, and none of the next attempt may begin before its last word.
        client = c.start("run", "--min-nodes", "2", "--lease", lease(2), "--grace", "1s", "--backoff", "100ms", "--", "sh", "-c",
                         WHO + '[ $DOCKDIST_RESTART_COUNT != 0 ] || { trap "" TERM; while :; do read t _ </proc/uptime; echo $t >/tmp/last; sleep 0.1; done; }; '
                         'read t _ </proc/uptime; echo $t >/tmp/begun; until [ -e /tmp/go ]; do sleep 0.1; done')
        read_until(client, "try 0", times=3)
        lab.script("cut", "host-2")
        try:
            read_until(client, "try 1", times=2)
        finally:
            lab.script("mend", "host-2")
        def noted(node, name):
            return float(c.run("exec", node, "--", "cat", f"/tmp/{name}").stdout)
        assert noted("node-1", "last") < min(noted(node, "begun") for node in ("node-0", "node-2"))
        assert client.poll() is None
        for node in ("node-0", "node-2"):
            c.run("exec", node, "--", "touch", "/tmp/go")
        out, err = ends(client)
        assert "node-1" not in out, out
        assert_in("begins without it on 2 nodes, once its ranks have ended", err)
        assert_in("does not answer: its ranks may run for ", err)
        jobs = json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]
        assert [(job["state"], job["exit_code"], job["nodes"]) for job in jobs] == [
            ("done", 0, ["node-0", "node-1", "node-2"])], jobs


def test_too_few_nodes_left_stop_the_job(lab):
    with cluster(lab, "t-too-few") as c:
        c.write(hosts=3).up()
        client = c.start("run", "--min-nodes", "2", "--backoff", "100ms", "--", "sh", "-c",
                         WHO + "exec sleep 4503")
        read_until(client, "try 0", times=3)
        kill_container(c, "node-0")
        lines = read_until(client, "try 1", times=2)
        assert_in(f"rank 0 of 2, node 0 of 2, at {address(lab, 'node-1')}\n", "".join(lines))
        kill_container(c, "node-2")
        _, err = ends(client, code=125)
        assert_in("the job is stopped everywhere: no restarts are left (--max-restarts 1)\n", err)
        assert_in("error: node-2: the node's container is gone or does not run\n", err)
        assert "error: node-0" not in err, err
        eventually(lambda: not running(c, "sleep 4503"), "nothing is left", timeout=5)


def test_ranks_that_train_together_go_on_without_a_lost_node(lab):
    with cluster(lab, "t-torch-lost") as c:
        c.write(hosts=3, image="dockdist-lab/torch").up()
        script = ("import os, time, torch, torch.distributed as dist\n"
                  "dist.init_process_group('gloo')\n"
                  "x = torch.tensor([dist.get_rank() + 1.0])\n"
                  "dist.all_reduce(x)\n"
                  "print('sum', x.item(), 'of', dist.get_world_size(), 'try', os.environ['DOCKDIST_RESTART_COUNT'], flush=True)\n"
                  "while os.environ['DOCKDIST_RESTART_COUNT'] == '0':\n"
                  "    dist.all_reduce(x)\n"
                  "    time.sleep(0.1)\n"
                  "dist.destroy_process_group()\n")
        client = c.start("run", "--launcher", "torchrun", "--min-nodes", "2", "--backoff", "100ms", "--",
                         "python3", "-c", script)
        read_until(client, "sum 6.0 of 3 try 0", times=3, timeout=90)
        kill_container(c, "node-0")  # with the rendezvous
        out, _ = ends(client, timeout=120)
        assert out.count("sum 3.0 of 2 try 1") == 2, out


def test_a_detached_job_goes_on_without_a_lost_node(lab):
    with cluster(lab, "t-keeper-lost") as c:
        c.write(hosts=3).up()
        job = c.detach("--min-nodes", "2", "--lease", lease(4), "--grace", "1s", "--backoff", "100ms",
                     script=WHO + '[ $DOCKDIST_RESTART_COUNT != 0 ] || exec sleep 4504; until [ -e /tmp/go ]; do sleep 0.1; done')
        lab.script("cut", "host-2")
        try:
            eventually(lambda: "try 1" in c.run("logs", job, "--node", "node-2", code=None).stdout,
                       "the other nodes have begun anew", timeout=30)
        finally:
            lab.script("mend", "host-2")
        eventually(lambda: not running(c, "sleep 4504"), "the lost node's part has ended", timeout=20)
        for node in ("node-0", "node-2"):
            c.run("exec", node, "--", "touch", "/tmp/go")
        c.run("wait", job)
        logs = c.run("logs", job)
        first = address(lab, "node-0")
        assert_in(f"[node-0] try 1: rank 0 of 2, node 0 of 2, at {first}\n", logs.stdout)
        assert_in(f"[node-2] try 1: rank 1 of 2, node 1 of 2, at {first}\n", logs.stdout)
        assert_in(f"node-1: lost: nothing was heard of node-1 for {told(lease(4))}: attempt 2 of 2 begins without it on 2 nodes, once its ranks have ended",
                  logs.stderr)
        assert_in("node-1: does not answer: its ranks may run for ", logs.stderr)
        jobs = json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]
        assert [(job["state"], job["exit_code"]) for job in jobs] == [("done", 0)], jobs


def test_a_detached_job_takes_a_spare(lab):
    with cluster(lab, "t-keeper-spare") as c:
        c.write(hosts=3, more="spares: 1").up()
        job = c.detach("--lease", lease(4), "--grace", "1s", "--backoff", "100ms", script=WHO + STAY.format(4505))
        kill_container(c, "node-1")
        eventually(lambda: "node 1 of 2" in c.run("logs", job, "--node", "node-2", code=None).stdout,
                   "the spare has its place", timeout=30)
        def state():
            report = json.loads(c.run("jobs", "-o", "json", code=None).stdout.splitlines()[0])["jobs"][0]
            return report["state"], report["exit_code"]
        eventually(lambda: state() == ("done", 0), "the job is over")


def test_a_job_whose_first_node_was_lost_can_be_left_to_the_cluster(lab):
    with cluster(lab, "t-lost-hangup") as c:
        c.write(hosts=3).up()
        client = c.start("run", "--detach-on-hangup", "--min-nodes", "2", "--lease", lease(4), "--backoff", "100ms", "--", "sh", "-c",
                         WHO + '[ $DOCKDIST_RESTART_COUNT != 0 ] || exec sleep 4506; sleep 10; echo over')
        read_until(client, "try 0", times=3)
        kill_container(c, "node-0")
        read_until(client, "try 1", times=2)
        client.send_signal(signal.SIGHUP)
        _, err = ends(client)
        job = job_left(err)
        logs = c.run("logs", "--follow", job, code=None)
        assert logs.stdout.count("over\n") == 2, logs.stdout + logs.stderr


def test_another_client_takes_over_a_job_that_has_lost_a_node(lab):
    with cluster(lab, "t-lost-attach") as c:
        c.write(hosts=3).up()
        client = c.start("run", "--min-nodes", "1", "--lease", lease(6), "--backoff", "100ms", "--", "sh", "-c",
                         WHO + 'case $DOCKDIST_RESTART_COUNT in 2) exit 0;; esac; exec sleep 4507')
        read_until(client, "try 0", times=3)
        kill_container(c, "node-0")
        read_until(client, "try 1", times=2)
        client.kill()
        client.communicate()
        second = c.start("attach")
        read_until(second, "try 1", times=2)
        kill_container(c, "node-2")
        out, err = second.communicate(timeout=60)
        assert_in(f"[node-1] try 2: rank 0 of 1, node 0 of 1, at {address(lab, 'node-1')}\n", out)
        assert_in("attempt 3 of 3 begins without it on 1 node", err)
        assert second.returncode == 0, err
