"""GPUs of a host that belong to jobs: taking, waiting in line, and that whoever dies leaves nothing taken."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import namespaces
from harness.cleanup import WithCleanup
from harness.gpu_node import OnAHost, add_amd_gpus, amd_uuid, get_in_line, gpu, look, take, turn_after, until_state, uuid
from harness.node_process import DEADLINE, PROGRAM, Stream, kill, marked
from harness.patience import DURATION, Watch

INIT = "/opt/dockdist/bin/dockdist-init"
SHOW = ["sh", "-c", "echo GPUS=$CUDA_VISIBLE_DEVICES; exec sleep 1000"]


def parent_of(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


class TestTaking(OnAHost):
    def start(self, node, job, start=(), **words):
        start = dict(start)
        stream = node.ask(job, **words)
        gpus = stream.until("prepared")["gpus"]
        assert gpus["state"] == "taken"
        stream.send(argv=SHOW, **start)
        pid = stream.until("started")["pid"]
        stream.until_output(b"GPUS=")
        return stream, gpus, pid

    def test_each_job_has_its_own_and_sees_no_others(self):
        node = self.node()
        a, taken_a, _ = self.start(node, "gpu-a", start={"waited_ms": 5000, "held_ms": 70})
        b, taken_b, _ = self.start(node, "gpu-b")
        assert [unit["id"] for unit in taken_a["units"] + taken_b["units"]] == [uuid(0), uuid(1)]
        assert (a.output(), b.output()) == (b"GPUS=GPU-0000\n", b"GPUS=GPU-0001\n")
        assert [(one["owner"], [unit["index"] for unit in one["units"]]) for one in node.list()] == [("me@here", [0]), ("me@here", [1])]
        # What its client has measured before the start is in the record; what it has not told, is not.
        assert [(one.get("waited_ms"), one.get("held_ms")) for one in node.list()] == [(5000, 70), (None, None)]
        node.stop("gpu-a", 0)
        node.stop("gpu-b", 0)
        assert self.entries() == []

    def test_all_are_taken_where_no_number_is_asked_for_and_a_rank_sees_them_whatever_its_launcher_sets(self):
        node = self.node(gpus=3)
        stream = node.ask("gpu-all", count=-1)
        assert stream.until("prepared")["gpus"]["wanted"] == 3
        stream.send(argv=["sleep", "1000"], rank_command=["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"])
        stream.until("started")
        node.run_rank("gpu-all", RANK="0", LOCAL_RANK="0", CUDA_VISIBLE_DEVICES="0,1,2")
        stream.until_output(b"GPU-0000,GPU-0001,GPU-0002\n")

    def test_what_the_user_names_is_what_is_taken(self):
        node = self.node(gpus=3)
        stream = node.ask("gpu-named", count=1, env={"CUDA_VISIBLE_DEVICES": "2,0"})
        gpus = stream.until("prepared")["gpus"]
        assert [unit["index"] for unit in gpus["units"]] == [2, 0]
        stream.send(argv=SHOW)
        stream.until_output(b"GPUS=2,0\n")
        none = node.ask("gpu-none", env={"CUDA_VISIBLE_DEVICES": ""})
        assert none.until("prepared")["gpus"]["state"] == "none"
        waits = node.ask("gpu-third", env={"CUDA_VISIBLE_DEVICES": uuid(0)})
        assert waits.until("prepared")["gpus"]["held"][0]["by"]["job"] == "gpu-named"

    def test_slots_stand_for_gpus_on_a_node_without_any_and_compete_on_that_node_alone(self):
        node, other = self.node("n", gpus=0, slots=2), self.node("o", gpus=0, slots=2)
        stream = node.ask("slots-a", count=2)
        assert [unit["id"] for unit in stream.until("prepared")["gpus"]["units"]] == ["slot:c/n/0", "slot:c/n/1"]
        stream.send(argv=SHOW)
        stream.until_output(b"GPUS=\n")
        assert node.ask("slots-b").until("prepared")["gpus"]["state"] == "waits"
        assert other.ask("slots-c", count=5).until("prepared")["gpus"]["wanted"] == 2

    def test_a_job_that_shares_touches_nothing(self):
        node = self.node()
        node.tell([], code=9)
        stream = node.open(job="gpu-share", gpus={"share": True})
        assert stream.until("prepared")["gpus"]["state"] == "none"
        stream.send(argv=["sh", "-c", "echo ${CUDA_VISIBLE_DEVICES-unset}"])
        assert (stream.result()["code"], stream.output(), os.listdir(self.board)) == (0, b"unset\n", [])

    def test_unsound_gpus_are_not_given_out_and_named(self):
        node = self.node(gpus=3)
        node.tell([gpu(0, errors=2), gpu(2)])
        gpus = node.ask("gpu-one").until("prepared")["gpus"]
        assert (gpus["units"][0]["index"], gpus["left_out"]) == (
            2, ["GPU 0 has 2 uncorrected memory errors",
                "GPU 1 was there when the node joined, and nvidia-smi does not list it any more"])
        error = node.ask("gpu-two", count=2).until("error")
        assert error["message"].startswith("1 of the 2 GPUs that this job wants here can be given out: GPU 0 has")
        assert "`--gpus 1`" in error["hint"]
        node.tell([], code=9)
        assert "nvidia-smi fails with code 9" in node.ask("gpu-three").until("error")["message"]

    def test_an_nvidia_smi_that_warns_has_its_gpus_given_out(self):
        """Recorded: a GPU whose infoROM is corrupted."""
        node = self.node(gpus=2)
        node.tell([gpu(0), gpu(1), "WARNING: infoROM is corrupted at gpu 0000:3B:00.0"], code=14)
        gpus = node.ask("gpu-warned", count=2).until("prepared")["gpus"]
        assert ([unit["index"] for unit in gpus["units"]], gpus.get("left_out", [])) == ([0, 1], [])

    def test_what_a_process_outside_uses_counts_as_taken_until_it_ends(self):
        node = self.node(gpus=1)
        node.tell([gpu(0, used=5000)])
        stream, turn = node.waiter("gpu-out")
        assert (turn["held"][0]["outside"], turn["held"][0]["by"]["job"]) == (True, "5000 MiB in use")
        node.tell([gpu(0, used=100)])
        until_state(stream, "fits")
        assert take(stream, 3)["state"] == "taken"

    def test_mig_instances_are_units_of_their_own(self):
        node = self.node(gpus=1)
        node.tell([gpu(0, mig="Enabled")], listing="GPU 0: Model (UUID: GPU-0000)\n  MIG 1g.10gb Device 0: (UUID: MIG-a)\n"
                                                   "  MIG 2g.20gb Device 1: (UUID: MIG-b)\n")
        with open(node.root + "/run/dockdist/gpus.json", "w") as known:
            json.dump({"units": [{"id": "MIG-a"}, {"id": "MIG-b"}]}, known)
        names = [node.ask("mig-%d" % i).until("prepared")["gpus"]["units"][0]["id"] for i in range(2)]
        assert names == ["MIG-a", "MIG-b"]

    def test_a_start_that_is_said_again_waits_for_what_the_first_exec_of_it_still_holds(self):
        node = self.node(gpus=1)
        first = node.ask("gpu-again", token="t")
        first.until("prepared")
        again = node.ask("gpu-again", token="t")
        again.send(argv=["sh", "-c", "echo ran"])
        assert again.until("prepared")["gpus"]["state"] == "waits"
        first.close()
        assert (again.result()["code"], again.output()) == (0, b"ran\n")


class TestLooking(OnAHost):
    """A job that may have any of several nodes looks at them before it chooses."""

    def jobs(self):
        return [entry["who"]["job"] for entry in self.entries()]

    def test_it_takes_nothing_and_says_how_it_stands_whenever_that_is_another(self):
        node = self.node(gpus=3)
        node.ask("holder").until("prepared")
        stream = node.ask("looks", count=2, look=True)
        gpus = stream.until("prepared")["gpus"]
        assert (gpus["state"], gpus["looks"], gpus["units"], gpus["number"]) == ("fits", True, [], 0)
        assert (gpus["could"], gpus["free"]) == ([uuid(0), uuid(1), uuid(2)], [uuid(1), uuid(2)])
        assert self.jobs() == ["holder"]
        second = node.ask("second")
        second.until("prepared")
        assert until_state(stream, "waits")["free"] == [uuid(2)]
        second.close()
        assert until_state(stream, "fits")["free"] == [uuid(1), uuid(2)]

    def test_it_takes_when_it_is_told_to_and_gives_back(self):
        node = self.node(gpus=2)
        stream = node.ask("looks", count=2, look=True)
        stream.until("prepared")
        assert [unit["id"] for unit in take(stream, 1)["units"]] == [uuid(0), uuid(1)]
        assert node.ask("other", look=True).until("prepared")["gpus"]["state"] == "waits"
        turn = look(stream, 2)
        assert (turn["state"], turn["units"], self.entries()) == ("fits", [], [])
        assert take(stream, 3)["state"] == "taken"
        stream.send(argv=SHOW)
        stream.until_output(b"GPUS=GPU-0000,GPU-0001\n")

    def test_it_overtakes_nobody_in_line_and_stands_there_only_when_it_is_told_to(self):
        node = self.node(gpus=2)
        holder = node.ask("holder")
        holder.until("prepared")
        node.waiter("all", count=2)
        stream = node.ask("looks", look=True)
        gpus = stream.until("prepared")["gpus"]
        assert (gpus["state"], gpus["free"], gpus["place"]) == ("waits", [], 2)
        assert take(stream, 1)["state"] == "waits"
        assert self.jobs() == ["holder", "all"]
        number = get_in_line(stream, 2)["number"]
        assert number > 0 and self.jobs() == ["holder", "all", "looks"]
        assert look(stream, 4)["number"] == 0
        assert self.jobs() == ["holder", "all"]

    def test_how_long_the_job_in_the_way_may_take_at_most_is_told(self):
        node = self.node(gpus=1)
        limit_s = 3600
        node.ask("holder", timeout_ms=limit_s * 1000).until("prepared")
        by = node.ask("looks", look=True).until("prepared")["gpus"]["held"][0]["by"]
        assert by["job"] == "holder" and by["left_s"] in range(limit_s // 2, limit_s + 1)
        assert node.report()["units"][0]["hold"]["by"]["left_s"] <= by["left_s"]

    def test_a_node_that_can_never_have_it_says_so(self):
        error = self.node(gpus=1).ask("looks", count=2, look=True).until("error")
        assert error["kind"] == "config" and "this node has 1" in error["message"]


class TestWaiting(OnAHost):
    def hold(self, node, job, **words):
        stream = node.ask(job, **words)
        assert stream.until("prepared")["gpus"]["state"] == "taken"
        stream.send(argv=["sleep", "1000"])
        stream.until("started")
        return stream

    def test_the_first_in_line_is_told_who_is_in_the_way_and_gets_it_within_half_a_second(self):
        node, other = self.node("n"), self.node("o", cluster="d")
        a = self.hold(node, "hold-a")
        self.hold(other, "hold-b")
        waiter, turn = node.waiter("wait-c")
        assert [(hold["unit"]["index"], hold["by"]["cluster"], hold["by"]["job"], hold["by"]["owner"]) for hold in turn["held"]] == [
            (0, "c", "hold-a", "me@here"), (1, "d", "hold-b", "me@here")]
        assert (turn["state"], turn["place"], turn["ahead"], turn["wanted"]) == ("waits", 1, [], 1)
        a.send(type="stop", grace_ms=0)
        a.until("exited")
        watch = Watch()
        until_state(waiter, "fits")
        assert take(waiter, 3)["units"][0]["index"] == 0
        waiter.send(argv=["sleep", "1000"])
        waiter.until("started")
        assert watch.within(0.5), watch

    def test_nobody_overtakes_but_for_priority_and_what_the_first_does_not_need_goes_to_the_next(self):
        node = self.node(gpus=2)
        a = self.hold(node, "hold-a", count=2)
        large, _ = node.waiter("wait-large", count=2)
        small, turn = node.waiter("wait-small")
        assert (turn["place"], [one["who"]["job"] for one in turn["ahead"]]) == (2, ["wait-large"])
        assert node.ask("wait-new").until("prepared")["gpus"]["state"] == "waits"
        urgent, turn = node.waiter("wait-urgent", priority=1)
        assert turn["place"] == 1
        a.send(type="stop", grace_ms=0)
        until_state(urgent, "fits")
        assert take(large, 3)["state"] == "waits"
        assert take(small, 3)["state"] == "waits"
        assert take(urgent, 3)["state"] == "taken"
        urgent.close()
        until_state(large, "fits")
        assert take(large, 4)["state"] == "taken"
        large.close()
        until_state(small, "fits")

    def test_what_was_taken_is_given_back_when_another_node_refuses(self):
        node = self.node(gpus=1)
        stream = node.ask("gives-back")
        assert stream.until("prepared")["gpus"]["state"] == "taken"
        turn = get_in_line(stream)
        assert (turn["state"], turn["units"]) == ("fits", [])
        assert take(stream, 3)["state"] == "taken"
        number = turn["number"]
        stream.send(type="line", order=4, number=number)
        turn = turn_after(stream, 4)
        assert (turn["state"], turn["number"]) == ("fits", number)
        late = node.ask("late")
        assert late.until("prepared")["gpus"]["state"] == "waits"

    def test_a_stream_that_breaks_comes_back_to_its_place(self):
        node = self.node(gpus=1)
        self.hold(node, "hold-a")
        first, turn = node.waiter("comes-back")
        second, _ = node.waiter("behind")
        kill(first.process.pid)
        assert until_state(second, "waits")["place"] == 1
        back = node.ask("comes-back", number=turn["number"]).until("prepared")["gpus"]
        assert (back["place"], back["number"]) == (1, turn["number"])
        assert until_state(second, "waits")["place"] == 2

    def test_a_waiter_that_is_told_to_stop_or_killed_leaves_no_trace(self):
        node = self.node(gpus=1)
        self.hold(node, "hold-a")
        first, _ = node.waiter("wait-b")
        second, _ = node.waiter("wait-c")
        third, turn = node.waiter("wait-d")
        assert turn["place"] == 3
        first.send(type="stop", grace_ms=0)
        first.result()
        assert until_state(third, "waits")["place"] == 2
        assert [entry["who"]["job"] for entry in self.entries()] == ["hold-a", "wait-c", "wait-d"]
        kill(second.process.pid)
        assert until_state(third, "waits")["place"] == 1

    def test_the_units_of_a_killed_supervisor_are_free_and_those_of_a_killed_client_are_not(self):
        node = self.node(gpus=1)
        stream = self.hold(node, "hold-a")
        waiter, turn = node.waiter("wait-b")
        kill(stream.process.pid)
        supervisor = parent_of(*marked("hold-a"))
        assert self.entries()[0]["who"]["job"] == "hold-a"
        kill(supervisor)
        until_state(waiter, "fits")
        assert take(waiter, 3)["state"] == "taken"

    def test_parts_on_one_host_that_want_more_than_it_has_are_told_at_once(self):
        nodes = [self.node("n-0", gpus=2), self.node("n-1", gpus=2)]
        streams = [node.ask("wide", count=2) for node in nodes]
        states = [stream.until("prepared")["gpus"]["state"] for stream in streams]
        assert sorted(states) == ["taken", "waits"]
        for stream in streams:
            stream.send(type="line", order=1)
        number = max(turn_after(stream, 1)["number"] for stream in streams)
        streams[0].send(type="line", order=2, number=number)
        error = streams[0].until("error")
        assert error["message"].startswith("the nodes n-0 and n-1 see the same GPUs of one host")

    def test_a_hundred_who_wait_cost_nothing_while_nothing_happens(self):
        node = self.node(gpus=1)
        self.hold(node, "hold-a")
        waiters = [node.ask("crowd-%d" % i) for i in range(100)]
        for waiter in waiters:
            waiter.until("prepared")
            waiter.send(type="line", order=1)
        for waiter in waiters:
            waiter.send(type="line", order=2, number=turn_after(waiter, 1)["number"])
        for waiter in waiters:
            turn_after(waiter, 2)

        def ticks():
            total = 0
            for waiter in waiters:
                with open("/proc/%d/stat" % waiter.process.pid) as stat:
                    fields = stat.read().rsplit(")", 1)[1].split()
                    total += int(fields[11]) + int(fields[12])
            return total
        before, watch = ticks(), Watch()
        while True:  # what has just happened may still be looked at
            time.sleep(1)
            spent, before = ticks() - before, ticks()
            if spent <= 2:  # hundredths of a second, of all of them together
                break
            assert watch.within(DEADLINE), (spent, watch)


class TestHostileBoard(OnAHost):
    """Another cluster's root may write into the folder: what he can do is to keep GPUs for himself."""

    def taken(self, node, job):
        stream = node.ask(job)
        state = stream.until("prepared")["gpus"]["state"]
        return stream, state

    def test_what_is_no_board_is_an_empty_one_and_what_is_held_stays_held(self):
        node = self.node(gpus=2)
        holder, state = self.taken(node, "holds")
        assert state == "taken"
        path = self.board + "/board.json"
        (there,) = self.entries()
        million = json.dumps({"entries": [{"id": i + 1, "wanted": 1} for i in range(1000000)]})
        for number, make in enumerate([
                lambda: open(path, "w").write("garbage"),
                lambda: open(path, "w").write(million),
                lambda: open(path, "w").write(json.dumps({"last_number": 1 << 70, "entries": []})),
                lambda: os.truncate(path, 1 << 40),
                lambda: os.mkfifo(path),
                lambda: os.symlink("/etc/passwd", path)]):
            if number != 3:
                os.unlink(path)
            make()
            stream, state = self.taken(node, "new-%d" % number)
            gpus = stream.frames[-1].event["gpus"]
            assert (state, [unit["id"] for unit in gpus["units"]]) == ("taken", [uuid(1)]), number
            late, state = self.taken(node, "late-%d" % number)
            held = late.frames[-1].event["gpus"]["held"]
            assert [hold["by"]["job"] for hold in held] == ["", "new-%d" % number]
            late.close()
            stream.close()
        assert there["units"][0]["id"] == uuid(0)
        os.unlink(path)
        os.mkdir(path)
        error = node.ask("no-board").until("error")
        assert "cannot write" in error["message"]

    def test_a_board_of_another_format_is_an_error_and_stays_as_it_is(self):
        node = self.node(gpus=2)
        path = self.board + "/board.json"
        waiter, _ = self.taken(node, "holds")
        newer = json.dumps({"format": 2, "holders": {uuid(0): "somebody"}})
        with open(path, "w") as file:
            file.write(newer)
        error = node.ask("asks").until("error")
        assert error["message"] == f"cannot read {path}: it has format 2, and this node knows format 1"
        assert "`--share`" in error["hint"] and "dockdist up" in error["hint"]
        assert node.report()["problem"] == error["message"]
        waiter.close()  # what it had goes, and nobody writes over what he cannot read
        assert node.ask("again").until("error") == error
        with open(path) as file:
            assert file.read() == newer

    def test_a_lock_that_is_none_or_was_replaced_is_an_error_that_says_what_to_do(self):
        node = self.node(gpus=1)
        lock = self.board + "/lock"
        for make in (lambda: os.mkfifo(lock), lambda: os.symlink("/etc/passwd", lock), lambda: os.mkdir(lock)):
            make()
            error = node.ask("no-lock").until("error")
            assert error["message"] == lock + " is not a regular file: the nodes of this host cannot agree on its GPUs"
            assert "dockdist-gpus" in error["hint"]
            os.rmdir(lock) if os.path.isdir(lock) else os.unlink(lock)
        waiter = node.ask("replaced")
        waiter.until("prepared")
        os.rename(lock, lock + "-old")
        with open(lock, "w"):
            pass
        waiter.send(type="line", order=1)
        assert "is another file than before" in waiter.until("error")["message"]

    def test_waiters_put_their_tickets_back_and_many_files_are_not_looked_at(self):
        node = self.node(gpus=1)
        holder, _ = self.taken(node, "holds")
        first, _ = node.waiter("first")
        second, _ = node.waiter("second")
        with open(self.board + "/new", "w") as file:
            file.write("garbage")
        os.rename(self.board + "/new", self.board + "/board.json")
        watch = Watch()
        while True:
            try:
                if sorted(entry["who"]["job"] for entry in self.entries()) == ["first", "second"]:
                    break
            except ValueError:
                pass
            assert watch.within(DEADLINE), watch
            time.sleep(0.02)
        for number in range(5000):
            os.close(os.open("%s/%d" % (self.board, number), os.O_CREAT | os.O_WRONLY))
        holder.close()
        until_state(first, "fits")
        assert take(second, 3)["place"] == 2


class TestReport(OnAHost):
    def test_it_tells_all_of_each_gpu_and_of_the_line(self):
        node = self.node(gpus=3)
        holder = node.ask("holds")
        holder.until("prepared")
        node.tell([gpu(0, used=70000), gpu(1, used=5000, errors=1)])
        line, _ = node.waiter("waits", count=1, priority=-2, env={"CUDA_VISIBLE_DEVICES": "0"})
        report = node.report("--in-use", "1024")
        assert [(one["unit"]["index"], one.get("memory_used_mib"), one["problem"] != "") for one in report["units"]] == [
            (0, 70000, False), (1, 5000, True), (2, None, True)]
        holds = [one.get("hold") for one in report["units"]]
        assert (holds[0]["by"]["job"], holds[0]["outside"], holds[1]["outside"], holds[2]) == ("holds", False, True, None)
        assert [(one["who"]["job"], one["wanted"], one["priority"]) for one in report["line"]] == [("waits", 1, -2)]
        assert report["driver"] == "550.1"

    def test_it_tells_of_a_container_that_is_no_node(self):
        node = self.node()
        os.unlink(node.root + "/run/dockdist/gpus.json")
        assert [one["unit"]["id"] for one in node.report()["units"]] == [uuid(0), uuid(1)]
        assert os.listdir(self.board) == []
        node.tell([], code=9)
        assert node.report()["problem"].startswith("nvidia-smi fails with code 9")

    def test_a_container_that_is_no_node_tells_all_that_its_board_knows(self):
        node, slots = self.node(gpus=1), self.node("o", gpus=0, slots=1)
        for one, job in ((node, "has-gpu"), (slots, "has-slot")):
            one.ask(job).until("prepared")
        slots.waiter("waits")
        os.unlink(node.root + "/run/dockdist/gpus.json")
        report = node.report()
        assert {one["unit"]["id"]: one["hold"]["by"]["job"] for one in report["units"]} == {uuid(0): "has-gpu", "slot:c/o/0": "has-slot"}
        assert [one["who"]["job"] for one in report["line"]] == ["waits"]
        node.tell([], code=9)  # it sees no GPU: who has it is known all the same
        assert {one["unit"]["id"] for one in node.report()["units"]} == {uuid(0), "slot:c/o/0"}

    def test_a_watch_tells_each_change_until_its_client_is_gone(self):
        node = self.node(gpus=1)
        watch = node.popen("gpus", "--watch")
        assert json.loads(watch.stdout.readline())["units"][0].get("hold") is None
        node.ask("holds").until("prepared")
        assert json.loads(watch.stdout.readline())["units"][0]["hold"]["by"]["job"] == "holds"
        watch.stdin.close()
        assert watch.wait(DEADLINE) == 0


class TestAmd(OnAHost):
    """GPUs of AMD's, by the files of their driver."""

    def amd_node(self, gpus=2):
        node = self.node(gpus=0, slots=gpus)
        os.unlink(node.root + "/run/dockdist/gpus.json")
        node.environment["PATH"] = node.bin + ":/bin"  # with no nvidia-smi of this machine
        add_amd_gpus(node.root, gpus)
        node.environment["DOCKDIST_AMD_GPUS"] = "1"
        return node

    def test_those_of_the_host_that_a_node_sees_by_chance_are_none_of_its(self):
        node = self.amd_node()
        del node.environment["DOCKDIST_AMD_GPUS"]  # `gpus: none`, in a privileged container
        assert node.report()["units"] == []
        node.environment["DOCKDIST_AMD_GPUS"] = "1"
        os.unlink(node.root + "/dev/kfd")
        assert node.report()["units"] == []

    def test_they_are_told_as_others_are(self):
        report = self.amd_node().report()
        first, second = report["units"]
        assert (report["driver"], report["problem"]) == ("6.8.5", "")
        assert [unit["unit"] for unit in (first, second)] == [
            {"id": amd_uuid(i), "index": i, "name": "AMD Instinct MI300X"} for i in range(2)]
        assert (first["memory_used_mib"], first["memory_total_mib"], first["utilization_percent"], first["temperature_c"],
                first["power_w"]) == (284, 196592, 7, 43, 141)
        assert (first["problem"], second["problem"]) == ("", "GPU 1 has 1 uncorrected memory error")

    def test_jobs_and_sessions_have_their_own_by_rocm_s_variable(self):
        node = self.amd_node()
        node.record(DOCKDIST_AMD_GPUS="1")
        show = ["sh", "-c", "echo GPUS=$ROCR_VISIBLE_DEVICES,$CUDA_VISIBLE_DEVICES; exec sleep 1000"]
        job = node.ask("amd-a")
        assert [unit["id"] for unit in job.until("prepared")["gpus"]["units"]] == [amd_uuid(0)]
        job.send(argv=show)
        job.until_output(b"GPUS=%s,\n" % amd_uuid(0).encode())
        # The other one has had errors. One that the user names is held all the same, or waited for.
        for number, variables in enumerate(({"ROCR_VISIBLE_DEVICES": "0"}, {"HIP_VISIBLE_DEVICES": "0"},
                                            {"ROCR_VISIBLE_DEVICES": "1,0", "CUDA_VISIBLE_DEVICES": "1"})):
            named = node.ask("amd-b%d" % number, env=variables)
            assert [hold["by"]["job"] for hold in named.until("prepared")["gpus"]["held"]] == ["amd-a"], variables
            named.close()
        job.close()
        ask = json.dumps({"count": 1, "in_use_mib": 1024})  # idle ones have some hundred MiB in use
        done = subprocess.run([PROGRAM, "with-environment", "--gpus", ask, "--", "sh", "-c", "echo $ROCR_VISIBLE_DEVICES"], env=node.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        assert done.stdout.decode() == amd_uuid(0) + "\n"


class TestSessions(OnAHost):
    def test_a_session_waits_for_its_gpus_and_gives_them_back(self):
        node = self.node(gpus=1)
        node.record()
        holder = node.ask("holds")
        holder.until("prepared")
        session = subprocess.Popen([PROGRAM, "with-environment", "--gpus", "1", "--owner", "me@there", "--",
                                    "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; cat; exit 7"], env=node.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        said = session.stderr.readline().decode()
        assert re.fullmatch(rf"dockdist: waiting for 1 GPU of this node: GPU 0 holds \(me@here, {DURATION}\); place 1 in line "
                            r"\(Ctrl-C gives up\)\n", said), said
        holder.close()
        assert session.stdout.readline() == b"GPU-0000\n"
        (entry,) = self.entries()
        assert (entry["who"]["job"], entry["who"]["owner"]) == ("ssh", "me@there")
        session.communicate(timeout=DEADLINE)
        assert (session.returncode, self.entries()) == (7, [])

    def test_a_shell_at_a_terminal_is_told_who_has_gpus_there_and_a_command_is_not(self):
        node = self.node(gpus=1)
        node.record(SHELL="/bin/true")
        node.ask("holds").until("prepared")
        terminal, other_end = os.openpty()
        for words, said in (([], rf"dockdist: jobs have GPUs of this node: GPU 0 holds \(me@here, {DURATION}\); .*\n"), (["--", "true"], "")):
            done = subprocess.run([PROGRAM, "with-environment", *words], env=node.environment, stdin=other_end,
                                  stderr=subprocess.PIPE, timeout=DEADLINE, check=True)
            assert re.fullmatch(said, done.stderr.decode()), done.stderr
        os.close(terminal)
        os.close(other_end)

    def test_a_session_that_is_killed_while_it_waits_leaves_the_line(self):
        node = self.node(gpus=1)
        node.ask("holds").until("prepared")
        session = subprocess.Popen([PROGRAM, "with-environment", "--gpus", "1", "--", "true"], env=node.environment,
                                   stderr=subprocess.PIPE)
        session.stderr.readline()
        session.send_signal(signal.SIGINT)
        session.wait(DEADLINE)
        session.stderr.close()
        _, turn = node.waiter("behind")
        assert turn["place"] == 1


@namespaces.NEEDED
class TestWholeNode(WithCleanup, OnAHost):
    """With the real first process, and the folder as the engine mounts it."""

    def whole_node(self, **request):
        def nvidia_smi(path):
            with open(path, "w") as script:
                script.write("#!/bin/sh\ncase $1 in topo) ;; *) echo '%s'; echo '%s' ;; esac\n" % (gpu(0), gpu(1)))
            os.chmod(path, 0o755)
        host = namespaces.Host()
        self.cleanup.callback(host.end)
        node = namespaces.Node(host, "node-0", busybox=namespaces.BUSYBOX, files={"/bin/nvidia-smi": nvidia_smi},
                               mounts={namespaces.SHARED: self.board})
        self.cleanup.callback(node.end)
        (record,) = namespaces.join([node], **request)
        assert (record["gpus"], record["slots"]) == (2, 2)
        return node

    def holds(self, node):
        report = json.loads(node.run(INIT, "gpus").stdout)
        return [one.get("hold", {}).get("by", {}).get("job") for one in report["units"]]

    def test_the_first_process_ends_what_a_killed_supervisor_leaves_and_only_then_are_its_gpus_free(self):
        node = self.whole_node()
        stream = Stream(node.popen(INIT, "job", "start", stdin=subprocess.PIPE))
        self.cleanup.callback(stream.close)
        stream.send(job="orphaned", owner="me@here", gpus={"share": False, "count": 1})
        assert stream.until("prepared")["gpus"]["units"][0]["id"] == uuid(0)
        stream.send(argv=["sh", "-c", "trap '' TERM; echo GPUS=$CUDA_VISIBLE_DEVICES; while true; do sleep 1000; done"])
        stream.until_output(b"GPUS=GPU-0000\n")
        supervisor = parent_of(min(marked("orphaned")))
        kill(namespaces.only_child(stream.process.pid))
        kill(supervisor)
        while marked("orphaned"):
            assert self.holds(node) == ["orphaned", None] or not marked("orphaned")
        namespaces.wait_for("the GPU", lambda: self.holds(node) == [None, None])
        opened = [os.readlink("/proc/%d/fd/%s" % (node.pid, fd)) for fd in os.listdir("/proc/%d/fd" % node.pid)]
        assert not [path for path in opened if path.endswith("/lock") and not path.endswith("/store/lock")]

    def test_what_root_of_one_node_leaves_there_no_account_of_another_reaches(self):
        root, account = self.whole_node(), self.whole_node(user="4242:77")
        planted = namespaces.SHARED + "/planted"
        in_node = "/proc/%d/root" % root.pid
        shutil.copy(namespaces.BUSYBOX, in_node + planted)
        os.chmod(in_node + planted, 0o4755)
        os.chmod(in_node + namespaces.SHARED, 0o755)
        assert account.run("test", "-u", planted).returncode == 0, "root of the other one has it not"
        for line in ("ls " + namespaces.SHARED, planted + " id", "cat " + planted):
            done = account.run(INIT, "with-environment", "--", "sh", "-c", line)
            assert done.returncode != 0 and b"Permission denied" in done.stderr, (line, done)
        # The GPUs that it has for itself it has all the same, and nothing that is open leads there.
        opened = account.run(INIT, "with-environment", "--gpus", "1", "--", "sh", "-c", "ls -l /proc/[0-9]*/fd 2>/dev/null; echo $CUDA_VISIBLE_DEVICES")
        assert opened.stdout.endswith(b"GPU-0000\n") and b"/lock" not in opened.stdout, opened

    def test_a_supervisor_that_does_not_answer_is_ended_with_its_job_and_its_gpus_are_free(self):
        """Root of a node can stop it; the first process nobody can stop. The client hears of it."""
        node = self.whole_node()

        def start(job, gpus, lease_ms):
            stream = Stream(node.popen(INIT, "job", "start", stdin=subprocess.PIPE))
            self.cleanup.callback(stream.close)
            stream.send(job=job, owner="me@here", lease_ms=lease_ms, gpus={"share": gpus == 0, "count": gpus})
            stream.until("prepared")
            stream.send(argv=["sh", "-c", "trap '' TERM; env -i /bin/sleep 987654 & echo up; sleep 1000"])
            stream.until_output(b"up\n")
            return stream
        lives = start("lives", 0, 10000)
        lives.send(type="detach")
        lives.until("detached")
        silent = start("silent", 1, 10000)
        disobeys = start("disobeys", 1, 60000)
        for job in ("silent", "disobeys"):
            kill(parent_of(min(marked(job))), signal.SIGSTOP)
        stopping = Stream(node.popen(INIT, "job", "stop", json.dumps({"job": "disobeys", "grace_ms": 0}), stdin=subprocess.PIPE))
        self.cleanup.callback(stopping.close)
        result = silent.until("exited")
        assert (result["reason"], result["failures"][0]["cause"]) == (
            "lost", "the job's supervisor on this node did not answer, and was ended with the job: it was stopped, or it hung")
        namespaces.wait_for("its GPU", lambda: self.holds(node) == [None, "disobeys"])
        assert stopping.until("exited")["reason"] == "lost"
        namespaces.wait_for("the other GPU", lambda: self.holds(node) == [None, None])
        assert disobeys.until("exited")["reason"] == "lost"
        assert marked("silent") + marked("disobeys") == []
        assert node.processes().count("sleep 987654") == 1  # of the one that answers, for longer than the others were waited for
        assert [(job["job"], job["running"]) for job in map(json.loads, node.run(INIT, "job", "list").stdout.splitlines())] == [
            ("disobeys", False), ("lives", True), ("silent", False)]

    def test_a_node_that_is_gone_leaves_nothing_taken(self):
        node = self.whole_node()
        stream = Stream(node.popen(INIT, "job", "start", stdin=subprocess.PIPE))
        self.cleanup.callback(stream.close)
        stream.send(job="gone", gpus={"share": False})
        stream.until("prepared")
        stream.send(argv=["sleep", "1000"])
        stream.until("started")
        other = self.node()
        waiter, turn = other.waiter("waits")
        assert [hold["by"]["job"] for hold in turn["held"]] == ["gone", "gone"]
        kill(node.pid)
        until_state(waiter, "fits")
