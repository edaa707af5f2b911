"""Jobs that hang are told why without being asked to, the node at fault is passed over, and who works is left in peace.

The faults are those of scripts/fault-suite, at a shorter time."""

import json
import tarfile

from faults import suite
from harness import assert_in, eventually
from harness.gpus import gpu_lines
from harness.launching import nodes
from harness.patience import lease

BY_NUMBER = {fault.number: fault for fault in suite.FAULTS}
SOON = lease(6)  # without anything that moves: a suspicion


def test_why_a_job_hangs_is_told_kept_and_shown(lab):
    with nodes(lab, "t-hang") as c:
        suite.install(c.folder_in_nodes)
        for number in ("6", "5"):
            got = suite.inject(c, BY_NUMBER[number], 0, 240, diagnose=SOON, seed=number)
            assert got.right_cause and got.right_rank and got.right_node, got
            assert len(got.alarms) == 1, got
        ended = c.run("diagnose").stdout
        assert_in("recorded in attempt 1:\nthe job hangs: rank ", ended)
        assert_in("it holds Python's GIL and does nothing, in hold_the_gil (faulty.py:", ended)
        assert_in("has ended: stopped", ended)
        assert_in("it holds Python's GIL", c.run("jobs", json.loads(c.run("diagnose", "-o", "json").stdout)["job"]).stdout)


def test_a_living_job_is_diagnosed_and_its_evidence_saved(lab):
    with nodes(lab, "t-diagnose") as c:
        suite.install(c.folder_in_nodes)
        c.run("run", "--detach", "--name", "late", "--launcher", "torchrun", "--diagnose", "off", "--", "faulty.py", "missing-at-rendezvous", "3", "0", "0")
        told = []

        def is_told():
            told.append(json.loads(c.run("diagnose", "late", "--save", c.folder / "late.tar", "-o", "json").stdout))
            return told[-1]["now"] and told[-1]["now"]["cause"] == "never_joined"
        eventually(is_told, f"why it does not begin: {told[-1:]}")
        assert (told[-1]["now"]["rank"], told[-1]["now"]["node"], told[-1]["recorded"]) == (3, "node-1", None), told[-1]
        assert_in("fetch_settings (faulty.py:", told[-1]["now"]["where"])
        with tarfile.open(c.folder / "late.tar") as archive:
            assert archive.getnames() == ["late/diagnosis.txt", "late/diagnosis.json", "late/ranks.json"]
            ranks = json.load(archive.extractfile("late/ranks.json"))
            assert sorted(rank["rank"] for rank in ranks) == [0, 1, 2, 3]
            assert_in("rank 3 on node-1: process ", archive.extractfile("late/diagnosis.txt").read().decode())
        c.run("stop", "late", "--grace", "0")


def test_a_restart_follows_where_it_helps_and_the_end_where_it_does_not(lab):
    with nodes(lab, "t-hang-acts") as c:
        suite.install(c.folder_in_nodes)
        act = ("run", "--launcher", "torchrun", "--diagnose", SOON, "--on-stall", "restart", "--max-restarts", "2", "--", "faulty.py")
        helped = c.run(*act, "stopped", "2", "4", "0")
        assert_in("the job hangs: rank 2 on node-1: it was stopped (SIGSTOP)", helped.stderr)
        assert helped.stdout.count(" done\n") == 4, helped.stdout
        hopeless = c.run(*act, "skipped-collective", "1", "4", "0", code=124)
        assert_in("(a restart does not help)", hopeless.stderr)
        assert hopeless.stdout.count("INJECTED") == 1, hopeless.stdout


def test_where_the_stacks_name_nobody_ras_the_flight_recorder_and_the_gpus_do(lab):
    """In stand-ins' words (ranks_nccl.py): gloo has neither, and here is no GPU for NCCL."""
    with nodes(lab, "t-hang-nccl") as c, gpu_lines(lab, 2, 1, "recovery_action=Reset"):
        def begin(name, *words):
            c.run("run", "--detach", "--name", name, "--launcher", "torchrun", *words)

        def hang(name):
            return json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"][0]["hang"]
        begin("faulty", "--", "ranks_nccl.py", "equal", "json", "none", "2", "silent")
        begin("recorded", "--share", "--", "ranks_nccl.py", "behind", "text", "recorder", "2", "silent")
        begin("counted", "--share", "--", "ranks_nccl.py", "behind", "json", "none", "1", "heartbeat")
        begin("logged", "--share", "--", "ranks_nccl.py", "behind", "json", "none", "1", "logs")
        for name in ("faulty", "recorded", "counted"):
            eventually(lambda: hang(name), f"why {name} hangs", 180)

        shown = c.run("stacks", "recorded").stdout
        assert_in("RAS: rank 2 has launched 1203 collectives of 1204; no count moved in ", shown)
        recorded = "rank 2 has not launched nccl:all_reduce #1204 of default_pg, and 3 others wait, in train_step (train.py:88)"
        assert_in(f"flight recorder: {recorded}", shown)
        diagnosed = json.loads(c.run("diagnose", "recorded", "-o", "json").stdout)
        for told in (hang("recorded"), diagnosed["now"]):
            assert (told["text"], told["rank"], told["node"]) == (recorded, 2, "node-1"), told

        told = hang("counted")
        assert_in("rank 1 has launched 1203 AllReduce of 1204; no count moved in ", told["text"])
        assert (told["rank"], told["node"]) == (1, "node-0"), told
        assert_in("wait_for_each_other (ranks_nccl.py:", told["where"])

        assert_in("RAS: all ranks have launched the same\n", c.run("stacks", "faulty").stdout)
        told = hang("faulty")
        assert (told["cause"], told["rank"], told["node"]) == ("gpu_fault", None, "node-1"), told
        assert told["text"] == 'node-1: GPU 1 is faulty: the driver asks for "Reset"', told
        assert hang("logged") is None  # its rank 0 is at work, and says so


def test_who_works_in_silence_is_left_in_peace(lab):
    with nodes(lab, "t-no-hang") as c:
        suite.install(c.folder_in_nodes)
        done = c.run("run", "--launcher", "torchrun", "--diagnose", SOON, "--", "faulty.py", "long-checkpoint", "0", "4", "30")
        assert "hangs" not in done.stderr, done.stderr
        assert done.stdout.count(" done\n") == 4, done.stdout
        assert json.loads(c.run("jobs", "-o", "json").stdout)["jobs"][0]["hang"] is None
