"""Jobs in one node, with the real program and real processes; no engine and no container."""

import os
import signal
import subprocess
import time

from harness.node_process import DEADLINE, OnANode, kill, marked
from harness.patience import Watch, patient


class TestWhenACommandEnds(OnANode):
    def test_its_output_and_exit_code_arrive(self):
        stream, result = self.sh("echo out; echo err >&2; exit 7")
        assert stream.output(stream=1) == b"out\n"
        assert stream.output(stream=2) == b"err\n"
        assert (result["code"], result["signal"], result["stopped"]) == (7, 0, False)

    def test_success_reports_no_failure(self):
        _, result = self.sh("true")
        assert (result["code"], result["failures"]) == (0, [])

    def test_a_failure_names_the_command_itself_with_its_last_lines(self):
        _, result = self.sh("echo working; echo it broke >&2; exit 3")
        assert [(f["rank"], f["code"]) for f in result["failures"]] == [(-1, 3)]
        assert "it broke" in result["failures"][0]["tail"]

    def test_a_signal_is_reported_as_128_plus_its_number(self):
        _, result = self.sh("kill -SEGV $$")
        assert (result["code"], result["signal"]) == (139, signal.SIGSEGV)

    def test_what_it_left_behind_ends_too(self):
        stream = self.node.start(["sh", "-c", "setsid sleep 1000 & setsid sh -c 'trap \"\" TERM; sleep 1000' & echo up"])
        assert stream.result()["code"] == 0
        assert marked("job-0") == []

    def test_output_order_of_one_stream_is_kept(self):
        stream, _ = self.sh("for i in $(seq 20000); do echo line $i; done")
        assert stream.output(stream=1) == b"".join(b"line %d\n" % i for i in range(1, 20001))


class TestWhatACommandSees(OnANode):
    def test_arguments_are_byte_for_byte(self):
        words = ["$(touch /pwn)", "a  b", "'\"\\", "new\nline", "", "-n", "*"]
        stream, _ = self.node.run(["sh", "-c", 'printf "%s\\0" "$@"', "sh", *words])
        assert stream.output() == b"".join(word.encode() + b"\0" for word in words)

    def test_bytes_that_are_not_utf8_travel_as_hex(self):
        stream, _ = self.node.run(["printf", "%s", {"hex": "fffe41"}])
        assert stream.output() == b"\xff\xfeA"

    def test_environment_is_set_and_unset(self):
        self.node.environment["GONE"] = "1"
        self.node.environment["KEPT"] = "a b"
        stream, _ = self.sh('echo "$GONE|$KEPT|$NEW|$DOCKDIST_JOB"', env={"NEW": "x\ny"}, unset=["GONE"])
        assert stream.output() == b"|a b|x\ny|job-0\n"

    def test_of_two_values_the_job_s_own_wins_over_the_launcher_s_and_the_container_s(self):
        self.node.record(A="container", B="container", C="container")
        stream, _ = self.sh("echo $A $B $C", env={"B": "launcher", "C": "launcher"}, secrets={"C": "job"})
        assert stream.output() == b"container launcher job\n"

    def test_the_folder_and_files_are_there(self):
        path = self.node.scratch("job-0") + "/deep/er/file"
        stream, _ = self.sh("pwd; cat %s; stat -c %%a %s" % (path, path), workdir=self.node.root, files={path: "content\n"})
        assert stream.output().decode() == self.node.root + "\ncontent\n600\n"

    def test_its_scratch_is_its_users_alone_and_goes_with_it(self):
        scratch = self.node.scratch("job-0")
        stream, _ = self.sh(f"cd {scratch}; touch left-behind; stat -c '%a %u' .", user="nobody")
        assert stream.output().decode() == "700 65534\n"
        assert not os.path.exists(scratch)

    def test_stdin_is_empty(self):
        stream, _ = self.node.run(["cat"])
        assert stream.output() == b""

    def test_it_runs_as_the_user_that_was_asked_for(self):
        stream, _ = self.sh("id -u; id -g; echo $HOME", user="nobody", workdir="/")
        assert stream.output() == b"65534\n65534\n/tmp\n"

    def test_python_means_python3_where_there_is_no_python(self):
        folder = self.node.root + "/only-python3"
        os.mkdir(folder)
        with open(folder + "/python3", "w") as program:
            program.write("#!/bin/sh\necho python3 $1\n")
        os.chmod(folder + "/python3", 0o755)
        stream, _ = self.node.run(["python", "-x"], env={"PATH": folder})
        assert stream.output() == b"python3 -x\n"


class TestWhenACommandCannotStart(OnANode):
    def test_a_missing_program_is_127_and_says_so(self):
        stream, result = self.node.run(["no-such-program"])
        assert result["code"] == 127
        assert b"no-such-program: not found in PATH" in stream.output(stream=2)

    def test_a_file_that_is_not_executable_is_126(self):
        path = self.node.root + "/data"
        open(path, "w").close()
        stream, result = self.node.run([path])
        assert result["code"] == 126
        assert b"not executable" in stream.output(stream=2)

    def test_a_missing_folder_is_named(self):
        stream, result = self.node.run(["true"], workdir="/no/such/folder")
        assert result["code"] == 126
        assert b"/no/such/folder" in stream.output(stream=2)

    def test_an_unknown_user_is_an_error_before_anything_runs(self):
        event = self.node.start(["true"], user="alice").until("error")
        assert 'no user "alice"' in event["message"]

    def test_a_job_of_the_same_name_is_refused(self):
        self.sh("true", job="twice")
        event = self.node.start(["true"], job="twice").until("error")
        assert event["kind"] == "conflict"

    def test_a_request_that_is_not_json_is_refused(self):
        process = self.node.popen("job", "start")
        out, _ = process.communicate(b"nonsense\n", DEADLINE)
        assert b"not JSON" in out
        assert process.returncode == 1


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        os._exit(0) if _ else None
        break
    os.setsid()
if os.getpid() == os.getsid(0):
    os.write(1, b'deep\\n')
while True:
    time.sleep(1000)
"""


class TestWhenAJobIsStopped(OnANode):
    def test_term_is_enough_for_what_obeys_it(self):
        stream = self.node.start(["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; sleep 1000 & wait"])
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=20000)
        watch = Watch()
        result = stream.result()
        assert watch.within(5), watch
        assert b"bye" in stream.output()
        assert (result["stopped"], result["reason"], result["failures"]) == (True, "stop", [])

    def test_what_ignores_term_forks_twice_and_calls_setsid_is_killed(self):
        stream = self.node.start(["python3", "-c", STUBBORN])
        stream.until_output(b"deep\n")
        stream.send(type="stop", grace_ms=200)
        stream.result()
        assert marked("job-0") == []

    def test_a_second_stop_does_not_wait_for_the_grace(self):
        stream = self.node.start(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"])
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=60000)
        stream.send(type="stop", grace_ms=60000)
        assert stream.result()["signal"] == signal.SIGKILL

    def test_another_job_is_untouched(self):
        first = self.node.start(["sh", "-c", "echo up; exec sleep 1000"], job="first")
        second = self.node.start(["sh", "-c", "echo up; exec sleep 1000"], job="first-2")
        first.until_output(b"up\n")
        second.until_output(b"up\n")
        self.node.stop("first", 0)
        assert marked("first") == []
        assert len(marked("first-2")) == 1

    def test_processes_that_came_without_a_supervisor_end_too(self):
        environment = {**os.environ, "DOCKDIST_JOB": "by-ssh"}
        process = subprocess.Popen(["sleep", "1000"], env=environment, start_new_session=True)
        result = self.node.stop("by-ssh")
        assert process.wait(DEADLINE) == -signal.SIGTERM
        assert result["stopped"]

    def test_processes_that_dropped_the_mark_are_found_by_descent(self):
        stream = self.node.start(["sh", "-c", "env -i PATH=$PATH setsid sleep 987654 & echo up; wait"])
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=5000)
        stream.result()
        assert "sleep 987654" not in subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True).stdout


class TestFollowing(OnANode):
    def test_a_second_follower_gets_everything_from_the_start(self):
        stream, _ = self.sh("seq 1000")
        again = self.node.follow("job-0")
        again.result()
        assert again.output() == stream.output()

    def test_following_resumes_at_a_position_without_loss_or_repetition(self):
        stream = self.node.start(["sh", "-c", "echo one; read x < %s/go; echo two; exit 4" % self.node.root])
        os.mkfifo(self.node.root + "/go")
        stream.until_output(b"one\n")
        position = stream.next_position
        kill(stream.process.pid)
        stream.close()
        again = self.node.follow("job-0", position)
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        assert again.result()["code"] == 4
        assert again.output() == b"two\n"

    def test_a_position_inside_a_frame_is_an_error(self):
        self.sh("echo text")
        assert self.node.follow("job-0", 5).until("error")["kind"] == "protocol"

    def test_a_ping_is_answered(self):
        stream = self.node.start(["sleep", "1000"])
        stream.until("started")
        stream.send(type="ping")
        assert stream.next_frame().kind == "P"

    def test_ranks_do_not_wait_for_a_reader(self):
        # Far more than any pipe holds, and nobody reads a byte until the job is over.
        stream = self.node.start(["sh", "-c", "head -c 50000000 /dev/zero; touch %s/done" % self.node.root])
        watch = Watch()
        while not os.path.exists(self.node.root + "/done"):
            assert watch.within(DEADLINE), f"the rank waits for its reader: {watch}"
            time.sleep(0.02)
        stream.result()
        assert len(stream.output()) == 50000000

    def test_an_unknown_job_is_an_error(self):
        assert self.node.follow("nobody").until("error")["kind"] == "not_found"

    def test_a_killed_supervisor_is_noticed_and_its_job_ended(self):
        stream = self.node.start(["sh", "-c", "echo $PPID; exec sleep 1000"])
        stream.until_output(b"\n")
        kill(int(stream.output()))
        result = stream.result()
        assert (result["code"], result["reason"]) == (137, "lost")
        assert marked("job-0") == []

    def test_list_tells_running_and_ended_jobs(self):
        self.sh("exit 5", job="a")
        self.node.start(["sleep", "1000"], job="b").until("started")
        assert [(j["job"], j["running"], j["result"]["code"]) for j in self.node.list()] == [("a", False, 5), ("b", True, 0)]


class TestLease(OnANode):
    def test_a_job_whose_client_is_gone_ends_after_the_lease(self):
        stream = self.node.start(["sleep", "1000"], lease_ms=300)
        stream.until("started")
        kill(stream.process.pid)
        stream.close()
        assert self.node.follow("job-0").result()["reason"] == "lease"

    def test_a_client_that_sends_no_ping_loses_the_lease(self):
        stream = self.node.start(["sleep", "1000"], lease_ms=300)
        assert stream.result()["reason"] == "lease"

    def test_pings_hold_it(self):
        os.mkfifo(self.node.root + "/go")
        lease = patient(0.3)
        stream = self.node.start(["sh", "-c", "read x < %s/go; echo over" % self.node.root], lease_ms=int(lease * 1000))
        stream.until("started")
        began = time.monotonic()
        while time.monotonic() - began < 3 * lease:
            stream.send(type="ping")
            stream.next_frame()
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        assert (stream.result()["reason"], stream.output()) == ("", b"over\n")

    def test_a_detached_job_needs_nobody(self):
        stream = self.node.start(["sh", "-c", "sleep 1; echo over"], lease_ms=200)
        stream.until("started")
        stream.send(type="detach")
        stream.close()
        again = self.node.follow("job-0")
        assert (again.result()["reason"], again.output()) == ("", b"over\n")
