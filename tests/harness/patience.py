"""The one place that knows how patient a test is.

A test says how long something takes on an idle machine. How much longer it may take here is measured: how fast this machine
computes, and how many programs wanted its processors while it waited.

    watch = Watch()
    …
    assert watch.within(5), watch      # soon enough
    subprocess.run(…, timeout=patient(60))

conftest.py stretches the timeouts of subprocess by the same, so that `timeout=60` there is of an idle machine, too.

Text that tells a duration is matched by DURATION, or by about(), never by `\\d+ s`, which fits none of a minute and more."""

import functools
import inspect
import math
import os
import subprocess
import threading
import time

# As shared/core/units.hpp writes them: 0.42 s, 12 s, 3 min 20 s, 1 h 2 min; and in whole numbers of one or two units.
DURATION = r"(?:[\d.]+ ms|[\d.]+ s|\d+ min(?: \d+ s)?|\d+ h(?: \d+ min)?|\d+ d(?: \d+ h)?)"
GPU_HOURS = r"[\d.]+ GPU hours"
WORK = 0.0055  # seconds of a processor that work() takes on the machine that the tests' times were taken from
LEAST = 2.0  # a guard against what hangs is never tighter than twice what a test says: it costs time only where a test fails


def work():
    started = time.thread_time()
    sum(i * i for i in range(100_000))
    return time.thread_time() - started


@functools.cache
def slowness():
    """How much slower this machine computes than the one of WORK, at least 1; whoever else uses it."""
    return max(1.0, min(work() for _ in range(5)) / WORK)


class Crowd:
    """How many programs share a processor, sampled while this process runs: the integral over the time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.at, self.sum, self.now = time.monotonic(), 0.0, self.sample()
        threading.Thread(target=self.go_on, daemon=True).start()

    def sample(self):
        """Those that want to run, and those that wait for a disk, for each processor; without this thread."""
        with open("/proc/stat") as stat:
            told = dict(line.split()[:2] for line in stat if line.startswith("procs_"))
        return max(1.0, (int(told["procs_running"]) - 1 + int(told["procs_blocked"])) / len(os.sched_getaffinity(0)))

    def go_on(self):
        while True:
            time.sleep(0.1)
            self.read()

    def read(self):
        """(now, the integral until now)"""
        with self.lock:
            sample, now = self.sample(), time.monotonic()
            self.sum += (now - self.at) * (sample + self.now) / 2
            self.at, self.now = now, sample
            return now, self.sum


@functools.cache
def crowd():
    return Crowd()


class Watch:
    """From its making on, until stop(): what time has passed, and whether that is more than something may take."""

    def __init__(self):
        self.begun, self.sum = crowd().read()
        self.stopped = None

    def look(self):
        """(seconds, how many times as long as on an idle machine something took in them)"""
        if self.stopped:
            return self.stopped
        now, total = crowd().read()
        passed = now - self.begun
        return passed, max(1.0, (total - self.sum) / max(passed, 1e-9)) * slowness()

    @property
    def seconds(self):
        return self.look()[0]

    def stop(self):
        self.stopped = self.look()

    def within(self, seconds, taken=None):
        """`taken`: what was measured otherwise, of something within the watch's time."""
        passed, stretch = self.look()
        return (passed if taken is None else taken) <= seconds * stretch

    def __repr__(self):
        return "{:.2f} s, on a machine that takes {:.2f} times as long as an idle one".format(*self.look())


def stretch_now():
    """For what has to be said beforehand: how many times as long as on an idle machine something takes at present."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)), crowd().now) * slowness()


def patient(seconds):
    """For a guard that is set once: as long as the machine needs now, or twice."""
    return None if seconds is None else seconds * max(LEAST, stretch_now())


@functools.cache
def lease(seconds):
    """For `--lease`: what a client or node that is alive keeps, on a machine as busy as this one is. The same whenever it is asked."""
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return f"{math.ceil(seconds * min(max(1.0, load), 3.0) * slowness())}s"


def told(duration):
    """As it stands in messages: 4 s."""
    return duration.replace("s", " s")


def stretch_subprocess():
    """From now on `timeout` of subprocess is what it would be on an idle machine."""
    for name in ("wait", "communicate"):
        plain = getattr(subprocess.Popen, name)
        if not hasattr(plain, "__wrapped__"):
            setattr(subprocess.Popen, name, stretched(plain))


def stretched(plain):
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def call(self, *arguments, **more):
        bound = signature.bind(self, *arguments, **more)
        inner = getattr(self, "_stretched", False)  # communicate() ends with wait()
        if not inner:
            bound.arguments["timeout"] = patient(bound.arguments.get("timeout"))
        self._stretched = True
        try:
            return plain(*bound.args, **bound.kwargs)
        finally:
            self._stretched = inner

    return call
