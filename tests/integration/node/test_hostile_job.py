"""A job that works against its supervisor: what is promised of --timeout, --lease and stop holds all the same. Its processes
run as root here, which may more than the user of jobs may."""

import fcntl
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess

import pytest

from harness.cleanup import WithCleanup
from harness.knocks import is_fifo_or_ours, knock_as_rank, opened, supervisor_of
from harness.node_process import OnANode, kill, marked


def regular_file(path):
    with open(path, "w") as file:
        file.write("x" * (1 << 20))


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def terminal(path):
    os.symlink(os.ttyname(os.openpty()[1]), path)


WHAT_IS_NO_FIFO = {"a link to a device": lambda path: os.symlink("/dev/zero", path), "a device": lambda path: os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5)),
                   "a file": regular_file, "a socket": unix_socket, "a terminal": terminal, "a folder": os.mkdir, "nothing": lambda path: None}


class TestWhatARankHandsOver(WithCleanup, OnANode):
    """Nothing is handed over: the supervisor opens FIFOs by their names, and nothing else."""

    def part(self, **words):
        """A part that starts nothing, and waits for ranks."""
        stream = self.node.start([], rank_command=["sh", "-c", "echo heard; sleep 1000"], log_limit=1 << 20, **words)
        stream.whole = False
        stream.until("started")
        return stream

    def work_against(self, stream):
        job = self.node.jobs[-1]
        for what in WHAT_IS_NO_FIFO.values():
            for place in ("in", "back", "out", "err"):
                knock_as_rank(self.node, job, 7, {place: what}).close()
        # The door is read in turn: what is before this rank was passed over.
        rank = self.node.rank(job, RANK="3")
        self.cleanup.callback(rank.communicate)
        stream.until_output(b"heard\n")
        assert [link for link in opened(supervisor_of(self.node, job)) if not is_fifo_or_ours(link)] == []
        # One whose other end blocks, is never closed, and is full of a line without end.
        flood = knock_as_rank(self.node, job, 8)
        self.cleanup.callback(flood.close)
        for name in ("out", "err"):
            process = subprocess.Popen(["sh", "-c", "exec tr '\\0' x </dev/zero"], stdout=flood.ends[name], start_new_session=True)
            self.cleanup.callback(process.communicate)
            self.cleanup.callback(process.kill)

    def test_the_time_of_a_job_is_over_all_the_same(self):
        stream = self.part(timeout_ms=4000)
        self.work_against(stream)
        assert stream.result()["reason"] == "timeout"

    def test_so_is_its_lease(self):
        stream = self.part(lease_ms=4000)
        self.work_against(stream)
        assert stream.result()["reason"] == "lease"

    def test_and_it_is_stopped(self):
        self.work_against(self.part())
        assert self.node.stop("job-0", 0)["reason"] == "stop"
        assert marked("job-0") == []

    def test_noise_at_the_door_keeps_no_rank_out(self):
        stream = self.part()
        door = os.open(self.node.scratch("job-0") + ":rank", os.O_WRONLY)
        for noise in (b"0123456789abcdef 1 1 77\n" * 20000, b"\0" * 100000, b"x" * 100000, b"\n" * 10000, b"../../x 1 1 77\n", b"begun without an end"):
            os.write(door, noise)
        os.close(door)
        self.cleanup.callback(self.node.rank("job-0", RANK="3").communicate)
        stream.until_output(b"heard\n")
        assert self.node.stop("job-0", 0)["ranks"] == 1

    def test_more_ranks_than_it_has_descriptors_for_are_not_listened_to_and_orders_are(self):
        self.node.limits = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
        stream = self.part()
        ranks = []
        self.cleanup.callback(lambda: [rank.close() for rank in ranks])
        for number in range(80):  # of which each has three there
            ranks.append(knock_as_rank(self.node, "job-0", number))
        stream.until_output(b"dockdist: more than 48 ranks at a time have begun on this node")
        assert self.node.stop("job-0", 0)["rank_numbers"] == list(range(48))

    def test_a_rank_that_has_ended_makes_room_though_others_still_have_its_output(self):
        self.node.limits = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400))
        stream = self.part()
        for number in range(200):
            rank = knock_as_rank(self.node, "job-0", number)
            rank.write("in", bytes(16))  # its end, with code 0
            rank.until_heard()
            rank.close("in", "back", "err")
            self.cleanup.callback(rank.close)
        self.cleanup.callback(self.node.rank("job-0", RANK="999").communicate)
        stream.until_output(b"heard\n")
        assert self.node.stop("job-0", 0)["ranks"] == 201

    def test_what_no_rank_can_be_is_passed_over(self):
        stream = self.part()
        for words in (-2, 1 << 20, 1 << 40):
            knock_as_rank(self.node, "job-0", words).close()
        odd_end = knock_as_rank(self.node, "job-0", 5)
        odd_end.write("in", b"\xff" * 16)
        failure = stream.until("rank_failed")
        assert (failure["rank"], failure["code"]) == (5, 137)
        odd_end.close()
        assert self.node.stop("job-0", 0)["rank_numbers"] == [5]

    def test_no_socket_that_the_user_of_jobs_can_reach_is_there(self):
        """With what is said over one come descriptors, and a close may take for ever."""
        stream = self.node.start(["sh", "-c", "echo up; exec sleep 1000"], user="nobody", workdir="/")
        stream.until_output(b"up\n")
        found = [(path, os.stat(path)) for folder, _, names in os.walk(self.node.root) for path in (os.path.join(folder, name) for name in names)]
        sockets = {os.path.basename(path): (status.st_uid, stat.S_IMODE(status.st_mode)) for path, status in found if stat.S_ISSOCK(status.st_mode)}
        assert sockets == {"job-0:control": (0, 0o600)}
        kinds = {os.path.basename(path): status.st_uid for path, status in found if stat.S_ISFIFO(status.st_mode)}
        assert kinds == {"job-0:rank": 65534, "job-0:member": 65534}


class TestACommandThatDoesNotStart(WithCleanup, OnANode):
    def leased(self):
        """A program that no one else can execute while this process has it for itself: its owner may do that."""
        program = self.node.root + "/leased"
        shutil.copy("/bin/true", program)
        file = os.open(program, os.O_RDWR)
        self.cleanup.callback(os.close, file)
        before = signal.signal(signal.SIGIO, signal.SIG_IGN)
        self.cleanup.callback(signal.signal, signal.SIGIO, before)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        return program

    def test_is_ended_when_its_time_is_over(self):
        stream, result = self.node.run([self.leased()], timeout_ms=300)
        assert (result["reason"], result["signal"], marked("job-0")) == ("timeout", signal.SIGTERM, [])

    def test_is_stopped(self):
        program = self.leased()
        stream = self.node.start([program])
        self.node.wait_for(self.node.scratch("job-0") + ":rank")
        assert self.node.stop("job-0", 0)["reason"] == "stop"
        stream.result()


# A process that says of itself what it likes, and runs on without a parent, in a session of its own.
ESCAPE = "DOCKDIST_JOB=%s setsid sh -c 'echo out; exec sleep 987321' & "


class TestWhatAProcessSaysOfItself(OnANode):
    @pytest.mark.parametrize("mark", [":helper", "another-job", ""])
    def test_sets_it_free_of_no_stop(self, mark):
        stream = self.node.start(["sh", "-c", ESCAPE % mark + "echo up; wait"])
        stream.until_output(b"out\n")
        stream.send(type="stop", grace_ms=0)
        stream.result()
        assert "sleep 987321" not in subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True).stdout

    def test_nor_of_the_end_of_its_command(self):
        stream = self.node.start(["sh", "-c", ESCAPE % ":helper" + "exit 3"])
        assert stream.result()["code"] == 3
        assert "sleep 987321" not in subprocess.run(["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True).stdout


class TestFilesOfAJob(OnANode):
    """Root of a node may put anything in their place."""

    @pytest.mark.parametrize("name", ["summary.json", "history.json", "log.%020d" % 0])
    def test_one_that_is_a_fifo_holds_up_no_command(self, name):
        self.sh("echo text")
        path = "%s/var/lib/dockdist/store/jobs/job-0/%s" % (self.node.root, name)
        if os.path.exists(path):
            os.unlink(path)
        os.mkfifo(path)
        self.node.list()
        self.node.log("job-0")
        self.node.popen("job", "history", "job-0", "10").wait(30)
        self.node.follow("job-0").rest()
