"""Jobs on real nodes: output, exit codes, the end of every process."""

import json
import re
import signal
import time

from harness import ROOT, assert_in, cluster, eventually, read_until
from harness.patience import DURATION, Watch, lease


def test_output_of_all_nodes_comes_whole_and_prefixed(lab):
    with cluster(lab, "t-output") as c:
        c.write().up()
        script = "for i in $(seq 1 500); do echo line $i of $NODE_RANK; done; echo to stderr >&2"
        done = c.run("run", "--", "sh", "-c", script)
        for node in (0, 1):
            lines = [line for line in done.stdout.splitlines() if line.startswith(f"[node-{node}] ")]
            assert lines == [f"[node-{node}] line {i} of {node}" for i in range(1, 501)]
            assert_in(f"[node-{node}] to stderr\n", done.stderr)


def test_the_jobs_exit_code_is_ours(lab):
    with cluster(lab, "t-codes") as c:
        c.write().up()
        assert c.run("run", "--", "true").returncode == 0
        failed = c.run("run", "--nodes", "1", "--", "sh", "-c", "echo last words; exit 7", code=7)
        assert_in("node-0: ", failed.stderr)
        assert_in("exited with 7", failed.stderr)
        assert_in("last words", failed.stderr)
        missing = c.run("run", "--", "no-such-program", code=127)
        assert missing.stderr.count("no-such-program") == 1, missing.stderr  # both nodes lack it
        missing = c.run("run", "--workdir", "/tmp", "--", "sh", "train.sh", code=127)
        assert re.search(r"error: node-(\d): job-\w+: the command exited with 127: there is no /tmp/train.sh on this node; the same on node-(?!\1)\d\n"
                         r"  → `sync: \[\".:/tmp\"\]` in the file brings it there", missing.stderr), missing.stderr
        assert (missing.stderr.count("/tmp/train.sh"), missing.stderr.count("exited with"), missing.stdout) == (1, 1, ""), missing
        assert re.search(rf"\njob-\w+: failed after {DURATION}, exit code 127\n$", missing.stderr), missing.stderr
        assert_in("there is no /tmp/train.sh on this node", c.run("logs").stdout + c.run("logs").stderr)
        c.run("run", "--nodes", "1", "--", "sh", "-c", "kill -SEGV $$", code=139)


def test_arguments_arrive_byte_for_byte(lab):
    with cluster(lab, "t-args") as c:
        c.write().up()
        words = ["$(touch /pwn)", "a'b\"c", "new\nline", "%h %n", "", "grün", "-x"]
        done = c.run("run", "--raw", "--nodes", "1", "--", "sh", "-c", 'printf "%s|" "$@"', "sh", *words)
        assert done.stdout == "".join(word + "|" for word in words)


def test_the_first_failure_ends_the_job_everywhere(lab):
    with cluster(lab, "t-first") as c:
        c.write().up()
        watch = Watch()
        done = c.run("run", "--", "sh", "-c", "if [ $NODE_RANK = 1 ]; then exit 3; fi; exec sleep 4321", code=3)
        assert watch.within(7), watch  # the grace is not used up: sleep obeys TERM
        assert_in("node-1: ", done.stderr)
        assert c.processes("sleep 4321") == []


def test_ctrl_c_ends_every_process_on_every_node(lab):
    with cluster(lab, "t-stop") as c:
        c.write().up()
        # One obeys, one ignores TERM in a session of its own, one is a daemon's child.
        script = "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 4322\" & (sleep 4322 &) ; echo started; sleep 4322"
        client = c.start("run", "--grace", "2s", "--", "sh", "-c", script)
        read_until(client, "started", times=2)
        assert len(c.processes("sleep 4322")) >= 4
        watch = Watch()
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
        assert client.returncode == 130
        assert watch.within(2 + 2), watch
        assert c.processes("sleep 4322") == []


def test_a_second_ctrl_c_ends_it_at_once(lab):
    with cluster(lab, "t-stop-now") as c:
        c.write().up()
        client = c.start("run", "--grace", "60s", "--", "sh", "-c", "trap 'echo asked' TERM; echo started; while :; do sleep 4323; done")
        read_until(client, "started", times=2)
        client.send_signal(signal.SIGINT)
        read_until(client, "asked")
        watch = Watch()
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
        assert watch.within(5), watch
        assert client.returncode == 130
        assert c.processes("sleep 4323") == []


def test_a_job_whose_client_was_killed_ends_after_its_lease(lab):
    with cluster(lab, "t-lease") as c:
        c.write().up()
        client = c.start("run", "--lease", lease(2), "--", "sh", "-c", "echo started; exec sleep 4324")
        read_until(client, "started", times=2)
        client.kill()
        client.communicate()
        assert len(c.processes("sleep 4324")) == 2
        eventually(lambda: not c.processes("sleep 4324"), "the job's processes are gone", timeout=20)


def test_stopping_one_job_leaves_another_alone(lab):
    with cluster(lab, "t-two") as c:
        c.write().up()
        other = c.start("run", "--", "sh", "-c", "echo started; exec sleep 4325")
        read_until(other, "started", times=2)
        c.run("run", "--share", "--", "sh", "-c", "exit 9", code=9)
        assert len(c.processes("sleep 4325")) == 2
        assert other.poll() is None
        other.send_signal(signal.SIGINT)
        other.communicate(timeout=30)
        assert c.processes("sleep 4325") == []


def test_processes_that_a_job_started_over_ssh_end_with_it(lab):
    with cluster(lab, "t-ssh-job") as c:
        c.write().up()
        client = c.start("run", "--nodes", "1", "--", "sh", "-c", "ssh node-1 'echo there; exec sleep 4326'")
        read_until(client, "there")
        assert len(c.processes("sleep 4326")) >= 2
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
        eventually(lambda: not c.processes("sleep 4326"), "the remote process is gone", timeout=10)


def test_a_node_that_is_done_leaves_alone_what_another_does_there_over_ssh(lab):
    with cluster(lab, "t-ssh-on") as c:
        c.write().up()
        # node-1 has long ended when node-0's session there does.
        script = "if [ $NODE_RANK = 0 ]; then ssh node-1 'sleep 1; echo done there'; fi"
        done = c.run("run", "--", "sh", "-c", script)
        assert done.stdout == "[node-0] done there\n", done.stdout


def test_env_reaches_every_node_and_the_latest_log_is_shown_again(lab):
    with cluster(lab, "t-run-env") as c:
        c.write().up()
        done = c.run("run", "--env", "A=b c", "--env", "FROM_HERE", "--", "sh", "-c", 'echo "$A $FROM_HERE"', FROM_HERE="x")
        assert sorted(done.stdout.splitlines()) == ["[node-0] b c x", "[node-1] b c x"]
        again = c.run("logs")
        assert sorted(again.stdout.splitlines()) == sorted(done.stdout.splitlines())


def test_torchrun_trains_over_two_hosts_and_the_loss_falls(lab):
    with cluster(lab, "t-train") as c:
        folder = lab.shared / c.name
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text((ROOT / "templates/train.py").read_text())
        c.write(image="dockdist-lab/torch", gpus="2", container=f"mounts: ['/shared/{c.name}:/workspace']\nworkdir: /workspace",
                more="launcher: torchrun").up()
        done = c.run("run", "--", "train.py", "--epochs", "3")
        for rank in range(4):
            losses = [float(x) for x in re.findall(rf"^\[node-{rank // 2}:{rank} *\] epoch \d loss ([\d.]+)$", done.stdout, re.M)]
            assert len(losses) == 3 and losses[-1] < losses[0] / 2, (rank, losses, done.stdout)
        # The true code of the rank that failed, not torchrun's own 1.
        (folder / "fail.py").write_text("import os, sys, time\nif os.environ['RANK'] == '3':\n    sys.exit(7)\ntime.sleep(4327)\n")
        watch = Watch()
        failed = c.run("run", "--", "fail.py", code=7)
        assert watch.within(15), watch
        assert_in("rank 3", failed.stderr)
        assert c.processes("fail.py") == []
        lines = [json.loads(line) for line in c.run("run", "-o", "json", "--", "fail.py", code=7).stdout.splitlines()]
        result = lines[-1]
        assert result["first_failure"]["rank"] == 3 and result["first_failure"]["node"] == "node-1"


def test_output_as_json_is_json_to_the_last_line(lab):
    with cluster(lab, "t-run-json") as c:
        c.write().up()
        done = c.run("run", "-o", "json", "--", "sh", "-c", "echo out; echo err >&2; printf unfinished")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        output = sorted((x["node"], x["stream"], x["line"]) for x in lines if x["type"] == "output")
        assert output == sorted((f"node-{i}", *rest) for i in (0, 1)
                                for rest in (("stdout", "out"), ("stderr", "err"), ("stdout", "unfinished")))
        assert lines[-1]["type"] == "result" and lines[-1]["exit_code"] == 0
        # No launcher: the command of each node is the rank that its RANK says.
        assert {(x["node"], x["rank"]) for x in lines if x["type"] == "output"} == {("node-0", 0), ("node-1", 1)}
        results = {node["node"]: node["result"] for node in lines[-1]["nodes"]}
        assert {node: (result["ranks"], result["rank_numbers"]) for node, result in results.items()} == {"node-0": (1, [0]), "node-1": (1, [1])}
        failed = json.loads(c.run("run", "--name", "fails", "-o", "json", "--", "sh", "-c", "exit $((RANK * 7))", code=7).stdout.splitlines()[-1])
        jobs = {job["job"]: job for job in json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]}
        assert [one["first_failure"]["rank"] for one in (failed, jobs["fails"])] == [1, 1]


def test_a_job_runs_as_the_containers_user(lab):
    with cluster(lab, "t-user") as c:
        c.write(container="user: '1234:1234'").up()
        done = c.run("run", "--nodes", "1", "--", "sh", "-c", "id -u; ssh node-1 id -u")
        assert done.stdout.splitlines() == ["[node-0] 1234", "[node-0] 1234"]
