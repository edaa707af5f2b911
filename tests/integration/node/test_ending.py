"""How a job's processes hear that they are to end: ranks first and once, what has started them when they are gone."""

import os
import signal

import pytest

from harness.node_process import DEADLINE, PROGRAM, OnANode, kill, marked

# As launchers are: told to end it tells its ranks, and kills them soon after; one that goes it starts again.
LAUNCHER = """
import os, signal, subprocess, sys, time
def start(rank):
    return subprocess.Popen([sys.argv[1], "rank"], env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                            start_new_session=True)
ranks = {rank: start(rank) for rank in range(int(sys.argv[2]))}
def told(number, frame):
    print("the launcher is told", flush=True)
    for how in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        for process in ranks.values():
            process.send_signal(how)
        time.sleep(0.1)
    raise SystemExit(1)
signal.signal(signal.SIGTERM, told)
signal.signal(signal.SIGINT, told)
while True:
    time.sleep(0.02)
    for rank, process in ranks.items():
        if process.poll() is not None:
            print("rank", rank, "is started again", flush=True)
            ranks[rank] = start(rank)
"""

# Saves in a handler that raises: a second signal would raise there again.
SAVES = """
import os, signal, sys, time
class Told(BaseException): pass
count = 0
def told(number, frame):
    global count
    count += 1
    raise Told
if "INT" not in sys.argv:
    signal.signal(signal.SIGTERM, told)
try:
    print("up", flush=True)
    while True: time.sleep(1)
except (Told, KeyboardInterrupt) as error:
    for _ in range(8): time.sleep(0.1)
    print("saved by", type(error).__name__, "terms", count, flush=True)
"""


class Ending(OnANode):
    def script(self, name, text):
        path = "%s/%s" % (self.node.root, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def launch(self, rank, count=2, **words):
        stream = self.node.start(["python3", self.script("launcher.py", LAUNCHER), PROGRAM, str(count)], rank_command=rank, **words)
        self.all_up(stream, count)
        return stream

    def all_up(self, stream, count):
        while stream.output().count(b"up\n") < count:
            stream.next_frame()

    def stop(self, stream, **words):
        stream.send(type="stop", grace_ms=20000, **words)
        return stream.result()


class TestUnderALauncher(Ending):
    def test_each_rank_is_told_once_and_has_its_grace_whatever_the_launcher_does(self):
        stream = self.launch(["python3", self.script("saves.py", SAVES)])
        self.stop(stream)
        for rank in (0, 1):
            assert stream.output(rank=rank) == b"up\nsaved by Told terms 1\n"
        assert stream.output(rank=-1) == b"the launcher is told\n"  # and starts nothing again

    def test_so_are_those_that_another_s_failure_ends(self):
        os.mkfifo(self.node.root + "/go")
        saves = self.script("saves.py", SAVES)
        stream = self.launch(["sh", "-c", "if [ $RANK = 1 ]; then echo up; read x < %s/go; exit 7; fi; exec python3 %s" % (
            self.node.root, saves)])
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        result = stream.result()
        assert [(f["rank"], f["code"]) for f in result["failures"]] == [(1, 7)]
        assert stream.output(rank=0) == b"up\nsaved by Told terms 1\n"

    def test_the_signal_is_the_job_s_or_the_stop_s(self):
        saves = ["python3", self.script("saves.py", SAVES), "INT"]
        for opening, order in (({"signal": "INT"}, {}), ({}, {"signal": "INT"})):
            stream = self.launch(saves, **opening)
            self.stop(stream, **order)
            assert stream.output(rank=1) == b"up\nsaved by KeyboardInterrupt terms 0\n"

    def test_a_rank_that_does_not_end_is_killed_when_the_grace_is_over_and_the_launcher_still_told(self):
        stream = self.launch(["sh", "-c", "trap '' TERM; echo up; sleep 1000"])
        stream.send(type="stop", grace_ms=600)
        stream.result()
        assert stream.output(rank=-1) == b"the launcher is told\n"
        assert marked("job-0") == []

    def test_a_second_stop_kills_all_at_once(self):
        stream = self.launch(["sh", "-c", "trap '' TERM; echo up; sleep 1000"])
        stream.send(type="stop", grace_ms=60000)
        stream.send(type="stop", grace_ms=60000)
        stream.result()
        assert marked("job-0") == []

    def test_what_a_launcher_says_before_counts(self):
        stream = self.launch(["python3", self.script("saves.py", SAVES)], count=1)
        shim = next(pid for pid in marked("job-0") if b"\0rank\0" in open("/proc/%d/cmdline" % pid, "rb").read())
        kill(shim, signal.SIGTERM)
        self.stop(stream)
        assert stream.output(rank=0) == b"up\nsaved by Told terms 1\n"


WAITING = {"ranks_first": True, "parts": [{"node": "node-0", "ranks": 1}, {"node": "node-1", "ranks": 1, "hosts_remote_ranks": True}]}


class TestWhereALauncherHasRanksElsewhere(Ending):
    def test_it_stays_until_none_is_left_anywhere(self):
        stream = self.launch(["python3", self.script("saves.py", SAVES)], policy=WAITING, stays=True)
        stream.send(type="stop", grace_ms=60000)
        assert stream.until("ranks_gone")["attempt"] == 0
        assert stream.output(rank=-1) == b""
        stream.send(type="rest", attempt=0)
        stream.result()
        assert stream.output(rank=-1) == b"the launcher is told\n"

    def test_or_until_the_grace_is_over(self):
        stream = self.launch(["python3", self.script("saves.py", SAVES)], policy=WAITING, stays=True)
        stream.send(type="stop", grace_ms=2000)
        stream.result()
        assert stream.output(rank=-1) == b"the launcher is told\n"


# Starts one that says that it was told, and goes its own way when it is.
PARENT = """
import os, signal, sys, time
def told(number, frame):
    time.sleep(0.5)
    print("parent", flush=True)
    os._exit(0)
if os.fork() == 0:
    def told(number, frame):
        print("child", flush=True)
        os._exit(0)
signal.signal(signal.SIGTERM, told)
os.write(1, b"up\\n")  # a signal that is quick to come finds no print that is still at work
while True: time.sleep(1)
"""
# Says so each time.
COUNTS = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
os.write(1, b"up\\n")
end = time.monotonic() + 1000
while time.monotonic() < end:
    try: signal.sigtimedwait([signal.SIGUSR1], 1)
    except InterruptedError: pass
"""


class TestWhoIsTold(Ending):
    @pytest.mark.parametrize("as_rank", [False, True], ids=["command", "rank"])
    def test_a_child_is_told_when_its_parent_is_gone(self, as_rank):
        command = ["python3", self.script("parent.py", PARENT)]
        stream = self.launch(command, count=1) if as_rank else self.node.start(command)
        self.all_up(stream, 2)
        self.stop(stream)
        assert stream.output(rank=0 if as_rank else -1) == b"up\nup\nparent\nchild\n"

    @pytest.mark.parametrize(("shell", "said"), [
        ("trap 'echo trap' TERM; %s", b"told\ntrap\n"),         # the trap comes when the child has gone
        ("trap 'kill -TERM $!; wait' TERM; %s & wait", b"told\n"),  # it hands it on
        ("%s", b"told\n"),                                       # the shell is gone, or has become it
        ("%s; true", b"told\n"),
        ("trap '' TERM; (trap - TERM; %s); true", b"told\n"),
        ("trap 'echo bye' EXIT; %s; true", b"told\n"),
    ])
    def test_below_a_shell_each_is_told_once(self, shell, said):
        once = COUNTS.replace('print("told", flush=True)', '(print("told", flush=True), stop.append(1))').replace(
            "while time", "while not stop and time").replace("signal, sys, time", "signal, sys, time\nstop = []")
        script = self.script("once.py", once + "time.sleep(0.3)\n")
        stream = self.node.start(["bash", "-c", shell % ("python3 " + script)])
        self.all_up(stream, 1)
        self.stop(stream)
        assert stream.output(stream=1).replace(b"bye\n", b"") == b"up\n" + said

    def test_a_ctrl_c_is_for_all_that_a_terminal_would_tell(self):
        script = self.script("int.py", "import os, time\nchild = os.fork()\ntry:\n    print('up', flush=True)\n    time.sleep(1000)\n"
                                       "except KeyboardInterrupt:\n    if child: os.waitpid(child, 0)\n"
                                       "    print('parent' if child else 'child', flush=True)\n")
        stream = self.node.start(["python3", script], signal="INT")
        self.all_up(stream, 2)
        self.stop(stream)
        assert stream.output(stream=1) == b"up\nup\nchild\nparent\n"

    def test_what_hears_no_ctrl_c_gets_term(self):
        stream = self.node.start(["sh", "-c", "python3 %s & wait" % self.script("counts.py", COUNTS)], signal="INT")
        self.all_up(stream, 1)
        stream.send(type="stop", grace_ms=1500)
        stream.result()
        assert stream.output(stream=1) == b"up\ntold\n"

    def test_a_sweep_that_becomes_wider_tells_nobody_again(self):
        # The command ends by itself, and a stop comes while what it has left ends.
        stream = self.node.start(["sh", "-c", "python3 %s & sleep 0.5; exit 3" % self.script("counts.py", COUNTS)], stays=True,
                                 grace_ms=1500)
        self.all_up(stream, 1)
        stream.until_output(b"told\n")
        stream.send(type="stop", grace_ms=500)
        stream.result()
        assert stream.output(stream=1) == b"up\ntold\n"
