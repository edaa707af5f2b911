"""Ranks of a job in one node: started by its command, by `dockdist-init ranks`, or from outside as ssh sessions do."""

import json
import os
import shutil
import signal
import subprocess

from harness.node_process import DEADLINE, PROGRAM, OnANode, kill, marked


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def shims(job):
    """{rank: pid of its shim} of a job whose ranks were started one by one."""
    found = {}
    for pid in marked(job):
        if read("/proc/%d/cmdline" % pid).endswith(b"\0rank\0"):
            variables = dict(entry.split(b"=", 1) for entry in read("/proc/%d/environ" % pid).split(b"\0") if entry)
            found[int(variables[b"RANK"])] = pid
    return found


def by_local_rank(scripts):
    """One command for all ranks, as there is only one."""
    return ["sh", "-c", "case $LOCAL_RANK in\n%s\nesac" % "\n".join(
        "%d) %s\n;;" % pair for pair in enumerate(scripts))]


class TestStartedByTheCommand(OnANode):
    def ranks(self, scripts, first_rank=0, **request):
        """A launcher that starts a rank shim for each script and waits for all."""
        lines = ["RANK=%d LOCAL_RANK=%d %s rank &" % (first_rank + local, local, PROGRAM) for local in range(len(scripts))]
        return self.node.start(["sh", "-c", "\n".join(lines) + "\nwait\nexit 1"], rank_command=by_local_rank(scripts), **request)

    def test_each_rank_s_output_bears_its_number(self):
        stream = self.ranks(["echo zero", "echo one >&2"], first_rank=4)
        stream.result()
        assert (stream.output(rank=4, stream=1), stream.output(rank=5, stream=2)) == (b"zero\n", b"one\n")

    def test_threads_are_a_rank_s_share_of_the_processors_unless_somebody_says_how_many(self):
        policy = {"parts": [{"node": "node-0", "ranks": 2}]}
        share = str(max(len(os.sched_getaffinity(0)) // 2, 1)).encode()
        told = ["echo $OMP_NUM_THREADS"] * 2
        for said, words in ((share, {}), (b"5", {"secrets": {"OMP_NUM_THREADS": "5"}}), (b"6", {"env": {"OMP_NUM_THREADS": "6"}})):
            stream = self.ranks(told, policy=policy, **words)
            stream.result()
            assert (stream.output(rank=0), stream.output(rank=1)) == (said + b"\n", said + b"\n")
        stream = self.ranks(told[:1], policy={"parts": [{"node": "node-0"}]})
        stream.result()
        assert stream.output(rank=0) == b"\n"  # one command a node has all of it
        self.node.record(**self.node.environment, OMP_NUM_THREADS="7")  # the image's
        stream = self.ranks(told[:1], policy=policy)
        stream.result()
        assert stream.output(rank=0) == b"7\n"

    def test_a_rank_of_an_unprivileged_user_reaches_the_supervisor(self):
        program = self.node.root + "/dockdist-init"  # where that user can run it
        shutil.copy(PROGRAM, program)
        stream = self.node.start(["sh", "-c", "RANK=6 LOCAL_RANK=0 %s rank" % program], rank_command=["id", "-u"],
                                 user="nobody", workdir="/")
        stream.result()
        assert stream.output(rank=6) == b"65534\n"

    def test_the_first_failure_is_told_at_once_with_its_own_code(self):
        os.mkfifo(self.node.root + "/never")
        stream = self.ranks(["cat %s/never" % self.node.root, "echo cause >&2; exit 7"])
        event = stream.until("rank_failed")
        assert (event["rank"], event["local_rank"], event["code"]) == (1, 1, 7)
        assert "cause" in event["tail"]

    def test_a_rank_that_a_failure_ends_is_no_failure(self):
        os.mkfifo(self.node.root + "/go")
        stream = self.ranks(["trap \"echo saved; exit 9\" TERM; echo up; while :; do sleep 0.1; done",
                             "read x < %s/go; exit 7" % self.node.root])
        stream.until_output(b"up\n")
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        result = stream.result()
        assert (result["code"], [(f["rank"], f["code"]) for f in result["failures"]]) == (7, [(1, 7)])
        assert stream.output(rank=0) == b"up\nsaved\n"

    def test_a_rank_that_a_launcher_starts_anew_is_none(self):
        again = "RANK=2 LOCAL_RANK=0 %s rank; " % PROGRAM
        _, result = self.node.run(["sh", "-c", again * 3 + "exit 0"], rank_command=["true"])
        assert (result["code"], result["ranks"], result.get("failures", [])) == (0, 3, [])

    def test_a_killed_shim_takes_its_rank_along_and_is_a_failure(self):
        stream = self.ranks(["echo up; sleep 1000"])
        stream.until_output(b"up\n")
        kill(shims("job-0")[0])
        result = stream.result()
        assert (result["failures"][0]["rank"], result["failures"][0]["signal"]) == (0, 9)
        assert marked("job-0") == []

    def test_a_rank_ended_by_a_stop_is_not_a_failure(self):
        stream = self.ranks(["echo up; sleep 1000"])
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=5000)
        assert stream.result()["failures"] == []

    def test_a_stop_s_term_reaches_a_rank_once(self):
        script = self.node.root + "/count.py"
        with open(script, "w") as file:
            file.write("import signal, time\n"
                       "count = 0\n"
                       "def term(number, frame):\n"
                       "    global count\n"
                       "    count += 1\n"
                       "signal.signal(signal.SIGTERM, term)\n"
                       "print('up', flush=True)\n"
                       "while not count: signal.pause()\n"
                       "time.sleep(0.5)\n"
                       "print('terms:', count)\n")
        stream = self.ranks(["exec python3 " + script])
        stream.until_output(b"up\n")
        stream.send(type="stop", grace_ms=20000)
        stream.result()
        assert stream.output(rank=0) == b"up\nterms: 1\n"

    def test_what_people_ran_is_what_the_list_shows(self):
        self.ranks(["true"]).result()
        assert self.node.list()[0]["argv"] == by_local_rank(["true"])


class TestStartedFromOutside(OnANode):
    """In a part without a command, as on every node but a launcher's own."""

    def part(self, command, **words):
        stream = self.node.start([], rank_command=command, **words)
        assert stream.until("started")["pid"] == 0
        return stream

    def end(self, stream):
        stream.send(type="stop", grace_ms=5000)
        return stream.result()

    def test_the_part_lives_until_it_is_stopped_and_hosts_its_ranks(self):
        stream = self.part(["sh", "-c", "echo rank $RANK >&2; exit $((RANK - 3))"])
        assert self.node.run_rank("job-0", RANK="3", LOCAL_RANK="0").returncode == 0
        stream.until_output(b"rank 3\n")
        assert stream.output(rank=3, stream=2) == b"rank 3\n"
        result = self.end(stream)
        assert (result["code"], result["stopped"], result["reason"], result["failures"]) == (0, True, "stop", [])

    def test_a_rank_s_failure_is_told_and_is_the_part_s_code(self):
        stream = self.part(["sh", "-c", "echo it broke; exit 7"])
        rank = self.node.rank("job-0", RANK="5", LOCAL_RANK="1")
        event = stream.until("rank_failed")
        assert (event["rank"], event["local_rank"], event["code"], event["tail"]) == (5, 1, 7, "it broke\n")
        assert rank.poll() is None  # its launcher would end the others
        assert self.end(stream)["code"] == 7
        rank.communicate(timeout=DEADLINE)
        assert rank.returncode == 7

    def test_a_rank_that_begins_while_another_of_its_number_runs_is_a_failure(self):
        self.node.record(DOCKDIST_NODE="node-1")
        stream = self.part(["sh", "-c", "echo up; exec sleep 1000"])
        ranks = [self.node.rank("job-0", RANK="2") for _ in range(2)]
        event = stream.until("rank_failed")
        assert (event["rank"], event["code"]) == (2, 125)
        assert "rank 2 was started twice on node-1: " in event["finding"]
        self.end(stream)
        for rank in ranks:
            rank.communicate(timeout=DEADLINE)

    def test_a_stop_ends_its_ranks(self):
        stream = self.part(["sh", "-c", "echo up; exec sleep 1000"])
        rank = self.node.rank("job-0", RANK="0")
        stream.until_output(b"up\n")
        assert self.end(stream)["code"] == 0
        rank.communicate(timeout=DEADLINE)
        assert rank.returncode == -signal.SIGTERM

    def test_the_lease_ends_it(self):
        stream = self.part(["true"], lease_ms=300)
        assert (stream.result()["reason"], marked("job-0")) == ("lease", [])

    def test_its_variables_are_its_own_not_those_of_the_launcher_s_node(self):
        self.node.record(GLOO_SOCKET_IFNAME="ens5", DOCKDIST_NODE="node-1", A="container")
        stream = self.part(["sh", "-c", "echo $GLOO_SOCKET_IFNAME $DOCKDIST_NODE $NODE_RANK $A $TOKEN $GONE $RANK"],
                           env={"NODE_RANK": "1"}, secrets={"TOKEN": "t"}, unset=["GONE"])
        self.node.run_rank("job-0", GLOO_SOCKET_IFNAME="eth0", DOCKDIST_NODE="node-0", NODE_RANK="0", A="launcher", GONE="1",
                       OMPI_COMM_WORLD_RANK="9")
        self.end(stream)
        assert stream.output(rank=9) == b"ens5 node-1 1 launcher t 9\n"

    def test_words_and_values_are_byte_for_byte(self):
        words = ["$(touch /pwn)", "%h %n %u %%", "a  b", "'\"\\", "new\nline", "", "*", "&;|"]
        stream = self.part(["sh", "-c", 'printf "%s\\0" "$@" "$VALUE"', "sh", *words, {"hex": "fffe41"}],
                           env={"VALUE": {"hex": "ff250a00"[:6]}})
        self.node.run_rank("job-0", RANK="0")
        self.end(stream)
        assert stream.output(rank=0) == b"".join(word.encode() + b"\0" for word in words) + b"\xff\xfeA\0\xff%\n\0"

    def test_it_runs_in_the_job_s_folder_with_its_local_rank_where_it_is_wanted(self):
        stream = self.part(["sh", "-c", 'pwd; echo "$@"', "sh", "t.py", "--x"], workdir=self.node.root, local_rank_at=5)
        self.node.run_rank("job-0", RANK="0", LOCAL_RANK="2")
        self.end(stream)
        assert stream.output(rank=0).decode() == self.node.root + "\nt.py --local_rank=2 --x\n"

    def test_a_missing_folder_or_program_is_told_as_the_rank_s(self):
        for command, words, code in ((["true"], {"workdir": "/no/such/folder"}, 126), (["no-such-program"], {}, 127)):
            stream = self.part(command, **words)
            rank = self.node.rank(self.node.jobs[-1], RANK="0")
            failure = stream.until("rank_failed")
            assert failure["code"] == code
            assert ("/no/such/folder" if words else "no-such-program: not found") in failure["tail"]
            self.end(stream)
            rank.communicate(timeout=DEADLINE)
            assert rank.returncode == code

    def test_a_signal_is_forwarded_and_its_death_passed_on(self):
        stream = self.part(["sh", "-c", "echo up; exec sleep 1000"])
        process = self.node.rank("job-0")
        stream.until_output(b"up\n")
        process.send_signal(signal.SIGUSR1)
        assert stream.until("rank_failed")["signal"] == signal.SIGUSR1
        self.end(stream)
        process.communicate(timeout=DEADLINE)
        assert process.returncode == -signal.SIGUSR1

    def test_without_a_part_it_says_so(self):
        done = self.node.run_rank("elsewhere")
        assert (done.returncode, done.stdout) == (125, b"")
        assert b"this node has no part in job elsewhere" in done.stderr
        done = self.node.run_rank("")
        assert done.returncode == 125
        assert b"DOCKDIST_JOB is not set" in done.stderr

    def test_a_part_without_a_rank_command_says_so(self):
        stream = self.part([])
        done = self.node.run_rank("job-0")
        assert (done.returncode, done.stderr) == (125, b"dockdist-init rank: job job-0 has no command for ranks\n")
        self.end(stream)


class TestSpawned(OnANode):
    def spawn(self, count, first, world, scripts, more=(), **words):
        return self.node.start([PROGRAM, "ranks", str(count), str(first), str(world), *more], rank_command=by_local_rank(scripts),
                               **words)

    def test_each_rank_knows_its_place(self):
        line = "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $SLURM_PROCID-$SLURM_LOCALID"
        stream = self.spawn(2, 4, 8, [line, line])
        assert stream.result()["code"] == 0
        assert (stream.output(rank=4), stream.output(rank=5)) == (b"4 0 8 2 -\n", b"5 1 8 2 -\n")

    def test_slurm_s_names_are_there_in_a_job_of_slurm_s_kind(self):
        stream = self.spawn(1, 4, 8, ["echo $SLURM_PROCID $SLURM_LOCALID"], env={"SLURM_JOB_ID": "1"})
        stream.result()
        assert stream.output(rank=4) == b"4 0\n"

    def test_the_first_failure_ends_the_others_and_is_the_code(self):
        os.mkfifo(self.node.root + "/go")
        stream = self.spawn(2, 0, 2, ["echo up; exec sleep 1000", "read x < %s/go; kill -SEGV $$" % self.node.root])
        stream.until_output(b"up\n")
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        result = stream.result()
        assert result["code"] == 139
        assert [(f["rank"], f["code"]) for f in result["failures"]] == [(1, 139)]

    def test_a_signal_is_handed_on(self):
        stream = self.spawn(1, 0, 1, ["trap 'exit 5' TERM; echo up; while :; do sleep 0.1; done"])
        pid = stream.until("started")["pid"]
        stream.until_output(b"up\n")
        kill(pid, signal.SIGTERM)
        assert stream.result()["code"] == 5

    def test_a_killed_spawner_takes_its_ranks_along(self):
        stream = self.spawn(2, 0, 2, ["echo up; exec sleep 1000"] * 2)
        pid = stream.until("started")["pid"]
        stream.until_output(b"up\nup\n")
        kill(pid)
        assert stream.result()["signal"] == signal.SIGKILL
        assert marked("job-0") == []

    def test_servers_end_with_the_rank_that_leads_and_that_is_no_failure(self):
        os.mkfifo(self.node.root + "/go")
        up = "echo up > %s/go; exec sleep 1000" % self.node.root
        stream = self.spawn(2, 0, 2, ["read x < %s/go" % self.node.root, up], more=["leads"], leaves_servers=True)
        result = stream.result()
        assert (result["code"], result["failures"], result["ranks"], marked("job-0")) == (0, [], 2, [])

    def test_a_server_s_failure_and_the_leader_s_end_all_as_any_rank_s(self):
        for scripts, rank in ((["exec sleep 1000", "exit 7"], 1), (["exit 7", "exec sleep 1000"], 0)):
            result = self.spawn(2, 0, 2, scripts, more=["leads"], leaves_servers=True).result()
            assert (result["code"], result["failures"][0]["rank"], result["failures"][0]["code"]) == (7, rank, 7)
            assert marked(self.node.jobs[-1]) == []

    def test_a_rank_has_variables_of_its_own_under_those_of_the_user(self):
        line = 'echo "$A $B"'
        stream = self.spawn(2, 0, 2, [line, line], env={"A": "all"}, secrets={"B": "the user's"},
                            rank_env=[{"env": {"A": "first", "B": "ours"}}])
        stream.result()
        assert (stream.output(rank=0), stream.output(rank=1)) == (b"first the user's\n", b"all the user's\n")

    def test_numbers_that_cannot_be_are_refused(self):
        for words in ([], ["1"], ["2", "0", "2", "lead"], ["0", "0", "1"], ["2", "0", "1"], ["1", "-1", "1"], ["1", "x", "1"]):
            done = subprocess.run([PROGRAM, "ranks", *words], stderr=subprocess.PIPE, check=False)
            assert (done.returncode, done.stderr) == (2, b"usage: dockdist-init ranks COUNT FIRST WORLD [leads]\n")


class TestSecrets(OnANode):
    def test_they_are_on_the_tmpfs_alone_and_go_with_the_job(self):
        stream = self.node.start(["sh", "-c", "echo ${TOKEN#t0p}; exec sleep 1000"], secrets={"TOKEN": "t0psecret"}, user="nobody")
        stream.until_output(b"secret\n")
        scratch = self.node.scratch("job-0")
        holders = [os.path.join(folder, name) for folder, _, names in os.walk(self.node.root) for name in names
                   if os.path.isfile(os.path.join(folder, name)) and b"t0psecret" in read(os.path.join(folder, name))]
        assert holders == [scratch + "/part.json"]
        status = os.stat(holders[0])
        assert (status.st_mode & 0o7777, status.st_uid, os.stat(scratch).st_mode & 0o7777) == (0o400, 65534, 0o700)
        assert "t0psecret" not in json.dumps(self.node.list())
        stream.send(type="stop", grace_ms=5000)
        stream.result()
        assert not os.path.exists(scratch)

    def test_a_stop_removes_what_a_killed_supervisor_left(self):
        stream = self.node.start(["sh", "-c", "echo $PPID; exec sleep 1000"], secrets={"TOKEN": "t"})
        stream.until_output(b"\n")
        kill(stream.process.pid)
        stream.close()
        kill(int(stream.output()))
        self.node.stop("job-0")
        assert not os.path.exists(self.node.scratch("job-0"))
