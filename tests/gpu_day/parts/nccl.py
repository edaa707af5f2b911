"""A real NCCL job of two processes on one GPU, and what can be known of it from outside: NCCL's RAS, PyTorch's flight recorder, py-spy, /proc; when it is
well, with a stopped rank, and with a collective that one rank leaves out."""

import collections
import concurrent.futures
import contextlib
import io
import json
import os
import pickle
import pickletools
import signal
import subprocess
import time

from gpu_day import ras, tracing
from gpu_day.nccl_job import Job, first_job
from gpu_day.paths import ROOM

UNRESPONSIVE, DEAD = 5, 60  # seconds, by NCCL's source, until RAS takes a process for one or the other
KNOWN_OPCODES = set("PROTO EMPTY_DICT EMPTY_LIST EMPTY_TUPLE MARK BINUNICODE BINPUT LONG_BINPUT BINGET LONG_BINGET BININT BININT1 BININT2 LONG1 NONE NEWTRUE "
                    "NEWFALSE BINFLOAT TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS STOP".split())


def run(part):
    ras.handshake = part.seconds(1, 0.2)
    capabilities = part.questions()["capabilities"]
    with contextlib.ExitStack() as jobs:
        job = first_job(part, jobs)
        if job is None:
            return
        with part.section("RAS, well"):
            healthy(part, job)
        if job.has_nccl:
            with part.section("the flight recorder by its pipe"):
                by_pipe(part, job, "well")
        with part.section("the flight recorder by Python"):
            by_python(part, job)
        with part.section("what may be read of a rank"):
            readable(part, job, capabilities)
        with part.section("stacks of a rank that works"):
            stacks(part, job, job.pids[0], "works", capabilities)
        if job.world == 1 or not job.has_nccl:
            for what in ("RAS, a stopped rank", "RAS, a skipped collective", "the flight recorder at a time-out"):
                part.missing(what, "no two ranks on this GPU" if job.world == 1 else "no NCCL")
            return
        other = Job(part, "job-skipped", 2, part.seconds(15, 3), job.uid)  # it begins meanwhile
        jobs.callback(other.end)
        with part.section("a stopped rank"):
            os.kill(job.pids[1], signal.SIGSTOP)
            stopped = time.monotonic()
            ask_all_ways(part, job, "stopped-at-once")
            with part.section("stacks of a rank that is stopped"):
                stacks(part, job, job.pids[1], "is stopped", capabilities)
            with part.section("the flight recorder, of a stopped rank"):
                by_pipe(part, job, "stopped")
            wait_until(stopped + part.seconds(UNRESPONSIVE + 4, 0.2))
            told_of_missing(part, "RAS, a rank stopped for 9 s", ask_all_ways(part, job, "stopped-unresponsive"))
        with part.section("a skipped collective"):
            skipped(part, other)
        with part.section("a rank stopped for longer"):
            wait_until(stopped + part.seconds(DEAD + 4, 0.3))
            told_of_missing(part, "RAS, a rank stopped for 64 s", ask_all_ways(part, job, "stopped-dead"))
            os.kill(job.pids[1], signal.SIGCONT)
            before = job.step(0)
            goes_on = job.moves(before, part.seconds(10, 5))
            part.measured("a stopped rank that goes on", f"the job {'goes' if goes_on else 'does not go'} on after SIGCONT")
            ask_all_ways(part, job, "continued")
        with part.section("a rank that is killed"):
            os.kill(job.pids[1], signal.SIGKILL)
            told_of_missing(part, "RAS, a killed rank", ask_all_ways(part, job, "killed"))


def wait_until(moment):
    time.sleep(max(moment - time.monotonic(), 0))


# RAS.

def ask_all_ways(part, job, when):
    """At once: with a rank that is stopped each takes 5 s or more. What the JSON report says; None where there is none."""
    ways = {"text": ras.TEXT, "verbose": ras.VERBOSE, "json": ras.JSON}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        reports = dict(zip(ways, pool.map(lambda lines: ras.ask(job.ras_port, *lines), ways.values())))
    for name, report in reports.items():
        part.record(f"ras/{when}-{name}.txt", report.transcript, ms=round(report.ms, 1), tries=report.tries)
    report = reports["json"]
    if not report.answered:
        part.missing(f"RAS ({when})", f"no answer in {report.tries} connections: {report.transcript.strip().splitlines()[-1]}")
        return None
    try:
        told, words = json.loads(report.body), "JSON"
    except ValueError:
        try:
            told, words = json.loads(ras.mended(report.body)), "JSON that lacks a comma before `status`"
        except ValueError as error:
            told, words = None, f"no JSON: {error}"
    part.held(f"RAS ({when})", told is not None,
              f"{words}, {len(report.body)} bytes in {report.ms:.0f} ms, connection {report.tries} answered: {in_short(told)}")
    return told


def in_short(told):
    if not told:
        return "nothing"
    comms = []
    for comm in told.get("communicators", []):
        ranks = [f"rank {rank['rank']}: {sum(rank.get('collective_counts', {}).values())} collectives" for rank in comm.get("ranks", [])]
        gone = [f"rank {rank['rank']} missing {rank.get('status')}" for rank in comm.get("missing_ranks", [])]
        comms.append(", ".join(ranks + gone))
    return f"NCCL {told.get('nccl_version')}; " + "; ".join(comms)


def told_of_missing(part, what, told):
    if told is None:
        part.missing(what, "RAS has told nothing")
        return
    missing = [rank for comm in told.get("communicators", []) for rank in comm.get("missing_ranks", [])]
    part.held(what, bool(missing), f"missing ranks: {[(rank['rank'], rank.get('status')) for rank in missing]}" if missing else "no rank is told as missing")


def healthy(part, job):
    if not job.has_nccl:
        part.missing("RAS", "the ranks have no NCCL: there is no GPU that PyTorch can use")
        return
    listeners = [line.split()[1] for line in open("/proc/net/tcp", encoding="utf-8").read().splitlines()[1:]
                 if line.split()[3] == "0A" and int(line.split()[1].rpartition(":")[2], 16) == job.ras_port]
    part.held("RAS on a reserved port", len(listeners) == job.world, f"{len(listeners)} of {job.world} ranks listen on a port that another process holds bound")
    told = ask_all_ways(part, job, "well")
    if told is None:
        return
    pids = sorted({rank["pid"] for comm in told.get("communicators", []) for rank in comm.get("ranks", [])})
    part.held("RAS knows the ranks", pids == sorted(job.pids), f"PIDs {'are' if pids == sorted(job.pids) else 'are not'} those of the job")
    part.measured("communicators by RAS", f"{told.get('communicators_count')}: {[comm.get('size') for comm in told.get('communicators', [])]} ranks")
    report = ras.ask(job.ras_port, "NONSENSE", "STATUS")  # without a greeting, too
    part.record("ras/unknown-command.txt", report.transcript)
    part.measured("RAS, an unknown command", report.transcript.splitlines()[1] if len(report.transcript.splitlines()) > 1 else "no answer")
    report = ras.ask(job.ras_port, *ras.MONITOR, limit=part.seconds(3, 0.3))
    part.record("ras/monitor.txt", report.transcript)
    part.measured("RAS, MONITOR", report.body.strip().splitlines()[0] if report.body.strip() else "no answer")


def skipped(part, job):
    """Its time-out is short, so that PyTorch's own watchdog ends it."""
    if not job.is_up(part.seconds(40, 10)):
        part.missing("a skipped collective", f"its job does not begin: {job.log(0).strip().splitlines()[-1:]}")
        return
    at = job.order("skip")
    until = time.monotonic() + part.seconds(15, 5)
    while job.step(0) < at and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(part.seconds(1, 0.2))
    hangs = not job.moves(job.step(0), part.seconds(1, 0.2))
    part.held("a skipped collective hangs", hangs, f"rank 0 is at step {job.step(0)}, rank 1 at {job.step(1)}")
    told = ask_all_ways(part, job, "skipped")
    if told:
        counts = [[sum(rank.get("collective_counts", {}).values()) for rank in comm.get("ranks", [])] for comm in told.get("communicators", [])]
        part.held("RAS, a skipped collective", any(len(set(one)) > 1 for one in counts), f"collectives of the ranks, by communicator: {counts}")
    by_pipe(part, job, "skipped")
    with part.section("stacks of a skipped collective"):
        for rank, pid in enumerate(job.pids):
            dump = spy(part, job, pid, f"skipped-rank-{rank}", "rank", ["--nonblocking"], [])
            part.measured(f"where rank {rank} of the skipped collective stands", leaf_of(dump))
    begun = time.monotonic()
    before = {rank: stamp(job, rank) for rank in range(job.world)}
    for rank in job.ranks:
        with contextlib.suppress(Exception):
            rank.wait(part.seconds(30, 8))
    codes = [rank.poll() for rank in job.ranks]
    part.measured("the end by PyTorch's watchdog", f"codes {codes}, {time.monotonic() - begun:.0f} s later")
    dumps(part, job, "the flight recorder at a time-out", "timeout", before)


# The flight recorder.

def by_pipe(part, job, when):
    """A byte into each rank's pipe."""
    before = {rank: stamp(job, rank) for rank in range(job.world)}
    for rank in range(job.world):
        pipe = job.folder / f"frp_{rank}.pipe"
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError as error:
            part.missing(f"the pipe of rank {rank} ({when})", error.strerror)
            continue
        os.write(descriptor, b"1")
        os.close(descriptor)
    dumps(part, job, f"the flight recorder by its pipe ({when})", f"pipe-{when}", before, part.seconds(20, 1.5))


def stamp(job, rank):
    try:
        return (job.folder / f"fr_{rank}").stat().st_mtime_ns
    except OSError:
        return 0


def dumps(part, job, what, name, before, seconds=0.5):
    """What has come: a file a rank, new and no longer growing."""
    begun = time.monotonic()
    for rank in range(job.world):
        path = job.folder / f"fr_{rank}"
        size = -1
        while time.monotonic() - begun < seconds and (size < 0 or size != path.stat().st_size):
            if stamp(job, rank) > before[rank]:
                size = path.stat().st_size
            time.sleep(0.2)
        if stamp(job, rank) <= before[rank]:
            told = part.measured if "(stopped)" in what and rank == 1 else part.missing
            told(f"{what}, rank {rank}", f"no dump within {seconds:.0f} s")
            continue
        recorded(part, f"{what}, rank {rank}", f"recorder/{name}-{rank}.pickle", path.read_bytes(), (time.monotonic() - begun) * 1000)


class Plain(pickle.Unpickler):
    """Of numbers, words, lists and the like: whatever would call something is refused."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def recorded(part, what, name, data, ms):
    part.record(name, data, ms=round(ms, 1))
    try:
        other = sorted({opcode.name for opcode, _, _ in pickletools.genops(data)} - KNOWN_OPCODES)
        dump = Plain(io.BytesIO(data)).load()
        entries = dump.get("entries", [])
        states = collections.Counter(entry.get("state") for entry in entries)
    except Exception as error:
        part.wrong(what, f"no pickle of the known kind: {error}")
        return
    part.held(what, not other, f"{len(data)} bytes after {ms:.0f} ms, version {dump.get('version')}, keys {sorted(dump)}, {len(entries)} entries "
              f"({dict(states)}), {'with' if any(entry.get('frames') for entry in entries) else 'without'} frames"
              + (f"; opcodes that were not known: {other}" if other else ""))


def by_python(part, job):
    job.order("dump")
    until = time.monotonic() + part.seconds(10, 3)
    while time.monotonic() < until and not all((job.folder / f"python_{rank}.json").exists() for rank in range(job.world)):
        time.sleep(0.1)
    for rank in range(job.world):
        path = job.folder / f"python_{rank}.pickle"
        if not path.exists():
            part.missing(f"the flight recorder by Python, rank {rank}", f"no file: {job.log(rank).strip().splitlines()[-1:]}")
            continue
        recorded(part, f"the flight recorder by Python, rank {rank}", f"recorder/python-{rank}.pickle", path.read_bytes(), 0)
        part.record(f"recorder/python-{rank}.json", (job.folder / f"python_{rank}.json").read_text(encoding="utf-8"))


# Stacks, and what else may be read.

def identities(job):
    """With what each stands for."""
    return {"root": "root", "rank": "the rank's own account", "node": "dockdist's root, with its capabilities alone",
            "node-as-rank": "that one, having become the rank's account"} if os.geteuid() == 0 else {"rank": "the rank's own account"}


def readable(part, job, capabilities):
    kernel = tracing.yama()
    part.record("yama.json", kernel)
    part.measured("Yama", f"ptrace_scope {kernel['ptrace_scope']}; PR_SET_PTRACER: {kernel['PR_SET_PTRACER']}")
    table = {}
    for identity, words in identities(job).items():
        done = tracing.started([part.python, part.for_everybody(ROOM / "tracing.py"), str(job.pids[0])], identity, capabilities, job.uid)
        table[identity] = json.loads(done.stdout) if done.returncode == 0 else {"problem": done.stderr.strip()[-300:]}
        allowed = [name for name, said in table[identity].items() if said == "allowed"]
        refused = {name: said for name, said in table[identity].items() if said not in ("allowed", ) and name != "uid"}
        part.measured(f"what may be read of a rank by {words}", f"{', '.join(allowed) or 'nothing'}; not: {refused or 'nothing'}")
    part.record("readable.json", table)
    consent(part, job.uid)


def consent(part, uid):
    """Whether PR_SET_PTRACER before exec opens a process to another of the same account, and what that forks."""
    look, table = part.for_everybody(ROOM / "tracing.py"), {}
    for consents in (False, True):
        waiting = subprocess.Popen([part.python, look, "wait"], stdout=subprocess.PIPE, text=True, **tracing.as_identity("rank", [], uid, consents))
        try:
            child = int(waiting.stdout.readline())
            for pid, words in ((waiting.pid, "it"), (child, "its child")):
                done = tracing.started([part.python, look, str(pid)], "rank", [], uid)
                said = json.loads(done.stdout)
                table[f"{words} {'after' if consents else 'without'} PR_SET_PTRACER"] = {name: said[name] for name in ("ptrace", "process_vm_readv")}
            os.kill(child, signal.SIGKILL)
        finally:
            waiting.kill()
            waiting.wait()
            waiting.stdout.close()
    part.record("consent.json", table)
    part.measured("what PR_SET_PTRACER opens to a process of the same account", "; ".join(f"{words}: {said}" for words, said in table.items()))


def stacks(part, job, pid, state, capabilities):
    for identity, words in identities(job).items():
        for options in ([], ["--nonblocking"], ["--native"]):
            if options == ["--native"] and identity not in ("root", "rank"):
                continue
            name = f"{state.replace(' ', '-')}-{identity}{''.join(options)}"
            done = spy(part, job, pid, name, identity, options, capabilities)
            how = " ".join(["py-spy dump", *options])
            said = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
            part.measured(f"{how} of a rank that {state}, by {words}", f"{leaf_of(done)}, {done.ms:.0f} ms" if done.returncode == 0 else f"fails: {said[0]}")


def spy(part, job, pid, name, identity, options, capabilities):
    program = part.for_everybody(part.program("py-spy"))
    begun = time.monotonic()
    done = tracing.started([program, "dump", "--pid", str(pid), "--json", *options], identity, capabilities, job.uid)
    done.ms = (time.monotonic() - begun) * 1000
    part.record(f"stacks/{name}.json", done.stdout or done.stderr, code=done.returncode, ms=round(done.ms, 1), options=options, identity=identity)
    return done


def leaf_of(done):
    """Of its main thread: the function and line of the rank's own."""
    try:
        threads = json.loads(done.stdout)
        main = next((thread for thread in threads if thread.get("thread_name") == "MainThread"), threads[0])
        own = next((frame for frame in main["frames"] if "collectives.py" in frame["filename"]), main["frames"][0])
        return f"{len(threads)} threads, the main one in {main['frames'][0]['name']}, below {own['name']} (line {own['line']})"
    except (ValueError, LookupError, TypeError):
        return f"no stacks: {(done.stderr or done.stdout).strip()[:120]}"
