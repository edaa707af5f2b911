"""What a node keeps of its jobs, and shows of it: parts of the log, its limit, ended jobs; real processes, no engine."""

import glob
import json
import os
import re
import subprocess
import time

from harness.node_client import DEADLINE, PROGRAM
from harness.node_process import OnANode, kill, marked
from harness.patience import Watch

MIB = 1 << 20


class TestAPartOfTheLog(OnANode):
    def two_ranks(self):
        """A job whose ranks 0 and 1 write lines; the ranks are the node's own shims, one after the other."""
        stream = self.node.start([], rank_command=["sh", "-c", "for i in 1 2 3; do echo $RANK-$i; done; printf open-$RANK"])
        stream.until("started")
        for rank in "01":
            self.node.run_rank("job-0", RANK=rank, LOCAL_RANK=rank)
        stream.until_output(b"open-1")
        return stream

    def test_without_following_it_ends_while_the_job_goes_on(self):
        self.two_ranks()
        assert self.node.log("job-0").output(rank=1) == b"1-1\n1-2\n1-3\nopen-1"
        assert self.node.list()[0]["running"]

    def test_one_rank_is_shown_alone(self):
        self.two_ranks()
        shown = self.node.log("job-0", rank=1)
        assert {f.rank for f in shown.frames if f.kind == "O"} == {1}
        assert shown.output() == b"1-1\n1-2\n1-3\nopen-1"

    def test_the_last_lines_are_those_of_each_rank_and_an_unfinished_one_counts(self):
        self.two_ranks()
        shown = self.node.log("job-0", tail=2)
        assert (shown.output(rank=0), shown.output(rank=1)) == (b"0-3\nopen-0", b"1-3\nopen-1")
        assert self.node.log("job-0", tail=0).output() == b""
        assert self.node.log("job-0", tail=100, rank=0).output() == b"0-1\n0-2\n0-3\nopen-0"

    def test_following_from_the_last_lines_goes_on_with_what_comes_and_can_be_resumed(self):
        os.mkfifo(self.node.root + "/go")
        first = self.node.start(["sh", "-c", "echo one; echo two; read x < %s/go; echo three" % self.node.root])
        first.until_output(b"two\n")
        stream = self.node.follow("job-0", tail=1)
        stream.whole = False
        stream.until_output(b"two\n")
        again = self.node.follow("job-0", stream.next_position)
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        stream.result()
        again.result()
        assert (stream.output(), again.output()) == (b"two\nthree\n", b"three\n")

    def test_where_the_last_lines_begin_is_said_though_there_are_none(self):
        self.sh("echo one")
        begins = [f.position for f in self.node.log("job-0", tail=0).frames if f.kind == "P"]
        assert begins == [24 + len("one\n")]

    def test_since_leaves_out_what_is_older(self):
        os.mkfifo(self.node.root + "/go")
        stream = self.node.start(["sh", "-c", "echo old; read x < %s/go; echo new" % self.node.root])
        stream.until_output(b"old\n")
        seen = time.monotonic()
        # The clock has to move on between the two lines: that is what is asked about.
        while time.monotonic() - seen < 0.3:
            pass
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        stream.until_output(b"new\n")
        times = [f.time_ms for f in stream.frames if f.kind == "O"]
        assert times == sorted(times)
        ago = int(time.time() * 1000) - (times[0] + times[1]) // 2
        assert self.node.log("job-0", since_ms=ago).output() == b"new\n"
        assert self.node.log("job-0", since_ms=3600_000).output() == b"old\nnew\n"
        assert self.node.log("job-0", since_ms=0).output() == b""

    def test_the_end_alone_can_be_waited_for(self):
        self.sh("echo text; exit 3")
        stream = self.node.follow("job-0", output=False)
        assert (stream.result()["code"], stream.output()) == (3, b"")


class TestTheLimitOfTheLog(OnANode):
    def kept(self, job="job-0"):
        return sum(os.path.getsize(path) for path in glob.glob("%s/var/lib/dockdist/store/jobs/%s/log.*" % (self.node.root, job)))

    def much(self, script):
        """Its own reader may fall behind, too."""
        stream = self.node.start(["sh", "-c", script], log_limit=MIB)
        stream.whole = False
        stream.result()

    def test_the_oldest_goes_and_the_reader_is_told_how_much(self):
        self.much("seq 400000; echo last")  # 2.7 MB
        assert self.kept() <= MIB
        assert self.kept() > MIB // 2
        shown = self.node.log("job-0")
        gone = re.match(rb"dockdist: (\d+) bytes of this node's output are gone", shown.output())
        assert gone is not None, shown.output()[:200]
        first = [f for f in shown.frames if f.kind == "O"][1]
        assert int(gone[1]) == first.position
        lines = shown.output(stream=1).split(b"\n")
        assert lines[-2:] == [b"last", b""]
        numbers = [int(line) for line in lines[1:-2]]  # the first one may be cut
        assert numbers == list(range(numbers[0], 400001))

    def test_a_reader_that_stands_still_goes_on_behind_the_gap_and_the_rank_never_waits(self):
        stream = self.node.start(["sh", "-c", "seq 3000000; touch %s/done; echo last" % self.node.root], log_limit=MIB)  # 23 MB
        self.node.wait_for(self.node.root + "/done")  # nobody has read a byte
        self.node.follow("job-0", output=False).result()  # what the rank wrote last is in the log now
        assert self.kept() <= MIB
        stream.whole = False
        stream.result()
        assert b"bytes of this node's output are gone" in stream.output(stream=2)
        assert stream.output(stream=1).endswith(b"3000000\nlast\n")
        # What is said to be gone and what has come make the whole.
        at = 0
        for frame in (f for f in stream.frames if f.kind == "O"):
            gone = re.match(rb"dockdist: (\d+) bytes of this node's output are gone", frame.payload)
            if gone:
                at += int(gone[1])
                assert at == frame.position + 24 + len(frame.payload)
            else:
                assert at == frame.position
                at += 24 + len(frame.payload)

    def test_a_position_that_was_deleted_is_resumed_behind_the_gap(self):
        self.much("seq 400000")
        stream = self.node.follow("job-0", 0)
        stream.whole = False
        stream.result()
        assert b"bytes of this node's output are gone" in stream.output(stream=2)
        assert stream.output().endswith(b"400000\n")

    def test_the_last_lines_need_no_word_about_what_is_gone(self):
        self.much("seq 400000")
        assert self.node.log("job-0", tail=2).output() == b"399999\n400000\n"

    def test_a_limit_below_the_least_is_refused(self):
        assert "log_limit" in self.node.start(["true"], log_limit=1000).until("error")["message"]


class TestTheTimeOfAJob(OnANode):
    def test_it_is_ended_when_it_is_over(self):
        stream, result = self.sh("echo up; sleep 1000", timeout_ms=200)
        assert (result["stopped"], result["reason"], result["failures"]) == (True, "timeout", [])
        assert marked("job-0") == []

    def test_a_job_that_ends_in_time_is_not_touched(self):
        _, result = self.sh("exit 4", timeout_ms=60000)
        assert (result["code"], result["reason"]) == (4, "")

    def test_a_job_without_a_client_is_ended_too(self):
        stream = self.node.start(["sleep", "1000"], lease_ms=300, timeout_ms=1000)
        stream.until("started")
        stream.send(type="detach")
        stream.until("detached")
        kill(stream.process.pid)
        stream.close()
        assert self.node.follow("job-0").result()["reason"] == "timeout"


class TestTwoClientsStop(OnANode):
    def test_the_second_does_not_take_the_grace_that_the_first_gave(self):
        stream = self.node.start(["sh", "-c", "trap 'echo asked; read x < %s/go; echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
                                  % self.node.root])
        os.mkfifo(self.node.root + "/go")
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=60000)
        stream.until_output(b"asked\n")
        other = self.node.follow("job-0")
        other.until_output(b"asked\n")
        other.send(type="stop", grace_ms=60000)
        other.send(type="ping")
        while other.next_frame().kind != "P":
            pass
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        assert stream.result()["code"] == 0
        assert b"bye" in stream.output()


class TestWhatIsKeptOfEndedJobs(OnANode):
    def record(self, job, started_ms, running=False):
        folder = "%s/var/lib/dockdist/store/jobs/%s" % (self.node.root, job)
        os.makedirs(folder)
        with open(folder + "/summary.json", "w") as file:
            json.dump({"job": job, "running": running, "started_ms": started_ms, "duration_ms": 1000, "argv": ["x"]}, file)

    def prune(self, **limits):
        """What PID 1 has done now and then."""
        if limits:
            with open(self.node.root + "/var/lib/dockdist/store/history", "w") as file:
                json.dump(limits, file)
        assert self.node.popen("job", "prune").wait(DEADLINE) == 0

    def listed(self, *words):
        done = subprocess.run([PROGRAM, "job", "list", *words], env=self.node.environment, stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        return {json.loads(line)["job"] for line in done.stdout.splitlines()}

    def test_the_latest_fifty_are_listed_beside_those_that_run_and_those_of_a_name(self):
        self.node.start(["sleep", "1000"], job="long").until("started")
        for i in range(60):
            self.record("old-%02d" % i, 1000)
            os.utime("%s/var/lib/dockdist/store/jobs/old-%02d/summary.json" % (self.node.root, i), (i + 1, i + 1))
        latest = {"long", *("old-%02d" % i for i in range(10, 60))}
        assert self.listed() == latest
        self.record("old-03.run2", 1000)
        os.utime("%s/var/lib/dockdist/store/jobs/old-03.run2/summary.json" % self.node.root, (1, 1))
        assert self.listed("named", "old-03") == {*latest, "old-03", "old-03.run2"}
        assert len(self.listed("all")) == 62

    def test_records_go_after_their_time_and_output_before(self):
        day = 24 * 3600 * 1000
        now = int(time.time() * 1000)
        for age in (100, 40, 20):
            self.record("of-%d" % age, now - age * day)
            with open("%s/var/lib/dockdist/store/jobs/of-%d/log.%020d" % (self.node.root, age, 0), "wb") as log:
                log.write(b"x" * 100)
        self.prune()
        assert self.listed("all") == {"of-40", "of-20"}
        assert self.node.log("of-40").output() == (b"dockdist: 100 bytes of this node's output are gone: the job ended more than 30 days ago (`history.logs_for`)\n")
        assert self.node.log("of-40", tail=5).output().endswith(b"(`history.logs_for`)\n")
        self.prune(for_ms=30 * day)
        assert self.listed("all") == {"of-20"}
        self.prune(for_ms=30 * day, logs_for_ms=10 * day)
        assert b"more than 10 days ago" in self.node.log("of-20").output()

    def test_beyond_keep_the_oldest_output_goes_and_its_record_stays(self):
        for job in ("first", "second"):
            self.sh("head -c 100000 /dev/zero | tr '\\0' x", job=job)
        self.prune(keep_bytes=150000)
        assert b"was more than 146.5 KiB (`history.keep`)" in self.node.log("first").output()
        assert self.node.log("second").output() == b"x" * 100000
        assert {job["job"]: job["result"]["code"] for job in self.node.list()} == {"first": 0, "second": 0}

    def test_a_running_one_stays_whatever_its_age(self):
        stream = self.node.start(["sh", "-c", "echo here; sleep 1000"], job="long")
        stream.until_output(b"here")
        path = "%s/var/lib/dockdist/store/jobs/long/summary.json" % self.node.root
        with open(path) as file:
            summary = json.load(file)
        summary["started_ms"] = 1000
        with open(path, "w") as file:
            json.dump(summary, file)
        self.prune(keep_bytes=0, for_ms=1, logs_for_ms=1)
        assert self.node.list()[0]["running"]
        assert self.node.log("long").output() == b"here\n"

    def test_what_cannot_be_read_stays_as_long_as_its_file_is_young(self):
        self.sh("true", job="good")
        for job, text in (("empty", ""), ("half", '{"job": "half"')):
            folder = "%s/var/lib/dockdist/store/jobs/%s" % (self.node.root, job)
            os.makedirs(folder)
            with open(folder + "/summary.json", "w") as file:
                file.write(text)
        self.prune()
        jobs = self.node.root + "/var/lib/dockdist/store/jobs"
        assert set(os.listdir(jobs)) == {"good", "empty", "half"}
        os.utime(jobs + "/half/summary.json", (1000, 1000))
        self.prune()
        assert set(os.listdir(jobs)) == {"good", "empty"}
        assert "good" in self.listed()

    def test_a_store_of_a_newer_release_is_left_alone_and_told_with_both_versions(self):
        self.sh("true", job="good")
        with open(self.node.root + "/var/lib/dockdist/store/version", "w") as file:
            file.write("7 9.8.1\n")
        done = subprocess.run([PROGRAM, "job", "list"], env=self.node.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE)
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"is of format 7, made by dockdist 9.8.1" in done.stderr and b"knows format 1" in done.stderr

    def test_a_running_job_shrinks_when_it_is_told_so_and_says_it(self):
        stream = self.node.start(["sh", "-c", "echo here; read x < /dev/null; sleep 1000"], job="long")
        stream.until_output(b"here")
        with open(self.node.root + "/var/lib/dockdist/store/jobs/long/shrink", "w"):
            pass
        stream.until_output(b"less than 5 % of this host's disk was free")

    def test_what_is_kept_is_told(self):
        self.sh("echo here", job="one")
        done = subprocess.run([PROGRAM, "job", "kept"], env=self.node.environment, stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        kept = json.loads(done.stdout)
        assert kept["jobs"] == ["one"] and kept["bytes"] > 0

    def test_a_record_that_a_power_cut_has_left_empty_or_half_is_named_and_disturbs_no_other(self):
        self.sh("exit 3", job="whole")
        (whole,) = glob.glob(self.node.root + "/var/lib/dockdist/**/whole/summary.json", recursive=True)
        with open(whole) as file:
            text = file.read()
        for job, left in (("empty", ""), ("half", text[:len(text) // 2])):
            os.makedirs(os.path.dirname(whole.replace("whole", job)))
            with open(whole.replace("whole", job), "w") as file:
                file.write(left)
        listed = {j["job"]: j for j in self.node.list()}
        assert (sorted(listed), listed["whole"]["result"]["code"]) == (["empty", "half", "whole"], 3)
        for job in ("empty", "half"):
            assert (listed[job]["running"], listed[job]["result"]["reason"]) == (False, "lost")
            assert "its record on this node is damaged" in listed[job]["result"]["failures"][0]["finding"]
            result = self.node.follow(job).result()
            assert (result["reason"], result["failures"]) == ("lost", listed[job]["result"]["failures"])
        self.sh("true", job="next")

    def test_a_taken_name_is_refused_before_anything_starts(self):
        self.sh("true", job="taken")
        event = self.node.open(job="taken").until("error")
        assert (event["kind"], event["message"]) == ("conflict", "a job taken was started on this node before")

    def test_how_long_it_took_is_kept(self):
        watch = Watch()
        self.sh("true", job="short")
        assert 0 < self.node.list()[0]["duration_ms"] <= watch.seconds * 1000
