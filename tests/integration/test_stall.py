"""Jobs that hang: what each rank is doing is told, and the job is ended or begun anew where that was asked for."""

import json
import re

from harness import assert_in, cluster, eventually, job_left
from harness.launching import nodes
from harness.patience import DURATION, lease
from harness.terminal import Terminal

# Rank 1 is lost in its data, another waits for it; one computes, and somebody has stopped one.
HANG = """
import os, signal, sys, time
def read_next_batch():
    time.sleep(1000)
def wait_for_others():
    time.sleep(1000)
def compute():
    while True:
        pass
def be_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)
print("begun", flush=True)
sys.stderr.write("Epoch 3:  45%")
sys.stderr.flush()
{"0": compute, "1": read_next_batch, "3": be_stopped}.get(os.environ["RANK"], wait_for_others)()
"""


def told_by(rank, text):
    return "".join(line for line in text.splitlines(True) if re.match(rf"\[node-\d:{rank}\] ", line))


def test_a_job_that_hangs_is_told_with_its_stacks_and_ended(lab):
    with cluster(lab, "t-stall") as c:
        c.write(image="dockdist-lab/torch", gpus=2).up()
        done = c.run("run", "--per-rank", "--stall", "3s", "--on-stall", "stop", "--", "python3", "-c", HANG, code=124)
        assert re.search(r"warning: no rank wrote anything for 3 s \(node-[01] was the first to fall silent\): "
                         r"what each is doing follows, then the job is stopped\n", done.stderr), done.stderr
        for rank, function in enumerate(("compute", "read_next_batch", "wait_for_others", "be_stopped")):
            told = told_by(rank, done.stderr)
            assert re.search(r"Epoch 3:  45%\n\[node-\d:\d\] dockdist: wrote nothing for \d", told), told
            assert_in("(python3 -c ", told)
            assert_in({0: " runs, ", 3: " is stopped (SIGSTOP)"}.get(rank, " sleeps in "), told)
            assert re.search("dockdist: py-spy(, which saw it move)?:\n", told), told  # a loop may
            assert_in(f"{function} (<string>:", told)
        assert re.search(r"error: node-[01]: job-[0-9a-f]{8}: no rank wrote anything for 3 s\n", done.stderr)
        assert "stopped on request" not in done.stderr  # no word of what follows from that
        assert c.processes("python3") == []
        jobs = json.loads(c.run("jobs", "-o", "json").stdout)
        assert jobs["jobs"][0]["exit_code"] == 124, jobs


# Rank 1 never comes to the barrier at which the others wait.
BEHIND = """
import threading, time
come = threading.Event()
def say_so():
    while not come.wait(0.5):
        print("coming", flush=True)
threading.Thread(target=say_so).start()
import torch.distributed as dist
dist.init_process_group("gloo")
come.set()
def read_next_batch():
    time.sleep(1000)
if dist.get_rank() == 1:
    read_next_batch()
dist.barrier()
"""


def test_who_keeps_the_others_waiting_is_told_with_the_line_of_code(lab):
    with nodes(lab, "t-verdict") as c:
        (c.folder_in_nodes / "train.py").write_text(BEHIND)
        done = c.run("run", "--per-rank", "--stall", lease(5), "--on-stall", "stop", "--", "python3", "train.py", code=124)
        verdict = r"rank 1 on node-0: it is in code of its own, in read_next_batch \(train\.py:12\); 3 others wait for it in <module> \(train\.py:15\)"
        assert re.search(rf"^warning: {verdict}\n", done.stderr, re.M), done.stderr
        assert re.search(rf"error: node-0: job-\w+: no rank wrote anything for {DURATION}: {verdict}\n", done.stderr), done.stderr


def test_where_each_rank_of_a_living_job_stands_is_asked_from_outside(lab):
    with cluster(lab, "t-stacks") as c:
        c.write(image="dockdist-lab/torch", gpus=2).up()
        c.run("run", "--detach", "--name", "hangs", "--per-rank", "--", "python3", "-c", HANG)
        found = re.compile(r"rank 1 on node-0: silent for \S.*\n  process \d+ \(python3 -c .*\) sleeps.*\n    MainThread\n"
                           r"      read_next_batch \(<string>:4\)\n      <module>")
        told = []

        def all_stand():
            told.append(c.run("stacks", code=None).stdout)
            return "hangs: 4 ranks at 4 places\n" in told[-1] and found.search(told[-1])
        eventually(all_stand, f"where the ranks stand: {told[-1:]}")
        one = json.loads(c.run("stacks", "hangs", "--rank", "3", "-o", "json").stdout)
        [rank] = one["ranks"]
        assert (rank["rank"], rank["node"], rank["state"], rank["tool"]) == (3, "node-1", "stopped", "py-spy"), rank
        assert_in("be_stopped", [frame["function"] for frame in rank["threads"][0]["frames"]])
        assert json.loads(c.run("jobs", "-o", "json").stdout)["jobs"][0]["state"] == "running"
        c.run("stop", "hangs", "--grace", "0")
        assert_in("it has ended", c.run("stacks", "hangs", code=1).stderr)


def test_a_program_that_hangs_is_only_told_where_nothing_else_was_asked_for(lab):
    with cluster(lab, "t-stall-tell") as c:
        c.write(image="dockdist-lab/torch").up()
        script = "echo begun; sleep 4; echo goes on; sleep 4; echo over"
        done = c.run("run", "--stall", "2s", "--", "sh", "-c", script)
        assert done.stderr.count("warning: no rank wrote anything for 2 s") == 2, done.stderr
        assert_in("(sleep 4) sleeps in ", done.stderr)
        assert_in("dockdist: gdb:\n", done.stderr)
        assert_in("in clock_nanosleep", done.stderr)
        assert done.stdout.count("over\n") == 2
        assert "stopped" not in done.stderr, done.stderr


def test_an_image_without_tools_still_tells_what_its_ranks_are_doing(lab):
    with cluster(lab, "t-stall-bare") as c:
        c.write(gpus=2).up()
        done = c.run("run", "--per-rank", "--stall", "1s", "--on-stall", "stop", "--", "sleep", "1000", code=124)
        for rank in range(4):
            assert_in("(sleep 1000) sleeps in ", told_by(rank, done.stderr))
        assert done.stderr.count("its stacks would be shown here if gdb were in the image") == 2, done.stderr


def test_a_detached_job_that_hangs_is_begun_anew_and_ended_without_a_client(lab):
    with cluster(lab, "t-stall-alone") as c:
        c.write().up()
        started = c.run("run", "--detach", "--stall", "1s", "--on-stall", "stop", "--max-restarts", "1", "--backoff", "100ms",
                        "--", "sh", "-c", "echo attempt $DOCKDIST_RESTART_COUNT; exec sleep 1000")
        job = job_left(started.stderr)
        c.run("wait", job, code=124)
        assert_in("no rank wrote anything for 1 s", c.run("jobs").stdout)
        logs = c.run("logs", job)
        for attempt in (0, 1):
            assert logs.stdout.count(f"attempt {attempt}\n") == 2, logs.stdout
        assert logs.stderr.count("(sleep 1000) sleeps in ") == 4, logs.stderr
        assert_in("no rank wrote anything for 1 s: attempt 2 of 2 begins in 0.1 s", logs.stderr)
        assert c.processes("sleep 1000") == []


def test_a_key_leaves_a_job_to_the_cluster(lab):
    with cluster(lab, "t-key") as c:
        c.write().up()
        terminal = Terminal(c.command("run", "--", "sh", "-c", "echo begun; sleep 2; echo over"), c.environment())
        terminal.read_until("(d and Enter: leave it to the")
        terminal.read_until("begun")
        terminal.type("cd /tmp\n")  # typed ahead for the shell
        terminal.type("d")
        terminal.read_until("Enter leaves the job to the cluster")
        terminal.type("\n")
        assert terminal.end() == 0, terminal.seen
        job = job_left(terminal.seen)
        assert c.run("logs", "--follow", job).stdout.count("over\n") == 2
        c.run("wait", job)
