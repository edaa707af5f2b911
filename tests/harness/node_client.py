"""Drives dockdist-init-under-test as a client does: its jobs, frames and commands, in a scratch folder of its own."""

import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time

try:
    from harness.patience import Watch
except ImportError:  # of scripts/gpu-day, for which the harness is no package
    from patience import Watch

PROGRAM = os.environ.get("DOCKDIST_INIT_UNDER_TEST", "dockdist-init-under-test")
OPENING_KEYS = {"job", "unset", "workdir", "user", "lease_ms", "grace_ms", "signal", "timeout_ms", "log_limit", "questions", "ports"}
DEADLINE = float(os.environ.get("DOCKDIST_TEST_DEADLINE", "30"))


class Frame:
    def __init__(self, kind, stream, rank, position, time_ms, payload):
        self.kind, self.stream, self.rank, self.position, self.time_ms, self.payload = kind, stream, rank, position, time_ms, payload

    @property
    def event(self):
        return json.loads(self.payload) if self.kind == "C" else {}


class Stream:
    """One exec: `job start` or `job follow`, with its frames."""

    def __init__(self, process):
        self.process = process
        self.buffer = b""
        self.frames = []
        self.next_position = 0
        self.whole = True  # no frame may be missing

    def send(self, **command):
        self.process.stdin.write((json.dumps(command) + "\n").encode())
        self.process.stdin.flush()

    def next_frame(self):
        deadline = time.monotonic() + DEADLINE
        while True:
            if len(self.buffer) >= 24:
                kind, stream, time_high, rank, length, time_low, position = struct.unpack("<BBHiIIQ", self.buffer[:24])
                if len(self.buffer) >= 24 + length:
                    frame = Frame(chr(kind), stream, rank, position, time_high << 32 | time_low, self.buffer[24:24 + length])
                    self.buffer = self.buffer[24 + length:]
                    self.frames.append(frame)
                    if frame.kind == "O":
                        assert frame.position == self.next_position or not self.whole, (frame.position, self.next_position)
                        self.next_position = frame.position + 24 + length
                    return frame
            left = deadline - time.monotonic()
            readable, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            if not readable:
                raise AssertionError("no frame within %g s; so far %r" % (DEADLINE, [f.payload[:80] for f in self.frames]))
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return None
            self.buffer += piece

    def until(self, type_):
        while True:
            frame = self.next_frame()
            if frame is None:
                raise AssertionError("the stream ended before %r: %r" % (type_, self.output()))
            if frame.event.get("type") == type_:
                return frame.event

    def until_output(self, text):
        while text not in self.output():
            if self.next_frame() is None:
                raise AssertionError("the stream ended before %r: %r" % (text, self.output()))

    def rest(self):
        while self.next_frame() is not None:
            pass
        self.close()

    def result(self):
        event = self.until("exited")
        self.close()
        return event

    def output(self, rank=None, stream=None):
        return b"".join(f.payload for f in self.frames if f.kind == "O" and rank in (None, f.rank)
                        and stream in (None, f.stream))

    def close(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


class Node:
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="dockdist-node-")
        os.chmod(self.root, 0o711)
        self.jobs = []
        self.processes = []
        self.limits = None  # called in each process before it becomes the program
        self.environment = {"PATH": os.environ["PATH"], "DOCKDIST_TEST_ROOT": self.root}
        os.makedirs(self.root + "/etc")
        with open(self.root + "/etc/passwd", "w") as passwd:
            passwd.write("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n")

    def popen(self, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=self.environment, bufsize=0, preexec_fn=self.limits)
        self.processes.append(process)
        return process

    def open(self, **opening):
        """The first of a start's two steps."""
        opening.setdefault("job", "job-%d" % len(self.jobs))
        opening.setdefault("grace_ms", 5000)
        self.jobs.append(opening["job"])
        process = self.popen("job", "start")
        process.stdin.write((json.dumps(opening) + "\n").encode())
        return Stream(process)

    def start(self, argv, **words):
        """Both steps, the second line not waiting for the first one's answer. `secrets` is the opening's env."""
        opening = {key: words.pop(key) for key in OPENING_KEYS & set(words)}
        stream = self.open(env=words.pop("secrets", {}), **opening)
        stream.send(argv=argv, **words)
        return stream

    def run(self, argv, **request):
        stream = self.start(argv, **request)
        return stream, stream.result()

    def scratch(self, job):
        return "%s/run/dockdist/jobs/%s" % (self.root, job)

    def record(self, **variables):
        """The environment on record, as join leaves it."""
        os.makedirs(self.root + "/run/dockdist", exist_ok=True)
        with open(self.root + "/run/dockdist/environ", "wb") as file:
            for name, value in {"PATH": os.environ["PATH"], **variables}.items():
                file.write(os.fsencode("%s=%s" % (name, value)) + b"\0")

    def rank(self, job, **variables):
        """`dockdist-init rank` as a launcher starts it that came by ssh: in a session of its own."""
        return subprocess.Popen([PROGRAM, "rank"], env={**self.environment, "DOCKDIST_JOB": job, **variables},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run_rank(self, job, **variables):
        process = self.rank(job, **variables)
        out, err = process.communicate(timeout=DEADLINE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def follow(self, job, position=0, **query):
        stream = Stream(self.popen("job", "follow", json.dumps({"job": job, "position": position, **query})))
        stream.next_position = position
        return stream

    def wait_for(self, path):
        """For a file that a job makes: it has no event of its own."""
        watch = Watch()
        while not os.path.exists(path):
            assert watch.within(DEADLINE), f"{path} has not come: {watch}"
            time.sleep(0.02)

    def log(self, job, **query):
        """What `logs` shows of a part of the log: the output that is there now."""
        stream = self.follow(job, to_the_end=False, **query)
        stream.whole = False
        stream.rest()
        return stream

    def stop(self, job, grace_ms=5000):
        stream = Stream(self.popen("job", "stop", json.dumps({"job": job, "grace_ms": grace_ms})))
        return stream.result()

    def list(self):
        done = subprocess.run([PROGRAM, "job", "list"], env=self.environment, stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def end(self):
        for job in self.jobs:
            self.stop(job, 0)
        for process in self.processes:
            process.stdout.close()
            process.stdin.close()
            process.wait(DEADLINE)
        shutil.rmtree(self.root)


def marked(job):
    """The processes that bear the job's mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as environ:
                if b"DOCKDIST_JOB=" + job.encode() in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def kill(pid, number=signal.SIGKILL):
    os.kill(pid, number)
