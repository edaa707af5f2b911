"""dockdist-init as a plain process on a machine with a GPU: its sampler and what that costs, its look at the GPUs, who has them, what another account
sees; and NVML's own fields and events, which it does not use yet."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

from gpu_day import limits, nvml
from gpu_day.part import NOBODY


def run(part):
    if not shutil.which("nvidia-smi"):
        part.missing("what dockdist-init tells of GPUs", "there is no nvidia-smi")
        return
    with part.section("the sampler"):
        sampler(part, 1000)
    with part.section("the sampler at its fastest"):
        sampler(part, 100)
    with part.section("the look at the GPUs"):
        look(part)
    with part.section("the node's half of a check"):
        check(part)
    with part.section("NVML"):
        library(part)


# The sampler.

def cpu_ms(pid):
    """Of all its threads; 0 where it is gone."""
    try:
        threads = list(pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))
        if threads:
            return sum(int(thread.read_text(encoding="utf-8").split()[0]) for thread in threads) / 1e6
    except OSError:
        pass
    try:  # a kernel without that: in clock ticks, which are long
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return sum(map(int, stat.rpartition(")")[2].split()[11:13])) * 1000 / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def sampler(part, interval):
    """Some seconds of it, once the GPUs have told their first figures."""
    process = subprocess.Popen([part.program("dockdist-init"), "sample", "--interval", str(interval)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines, figures = [], []
    try:
        facts, cost, began = {}, {}, time.monotonic()
        wanted = max(part.seconds(6, 1) * 1000 // interval, 3)
        while len(figures) < wanted and time.monotonic() - began < 25:
            line = json.loads(process.stdout.readline())
            lines.append(line)
            facts = line.get("facts", facts)
            if "sample" in line and (line["sample"].get("gpus") or not facts.get("asking_gpus", True)):
                if not figures:
                    first, began = time.monotonic() - began, time.monotonic()
                    cost = {pid: cpu_ms(pid) for pid in [process.pid, *limits.below(process.pid)]}
                figures.append(line["sample"])
        seconds = time.monotonic() - began
        used = {pid: max(cpu_ms(pid) - before, 0) for pid, before in cost.items()}
    finally:
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()
    part.record(f"sample-{interval}.json", lines)
    if len(figures) < 2:
        part.wrong(f"the sampler each {interval} ms", f"no figures within 25 s: {facts.get('gpu_problem') or 'it asks still'}")
        return
    rounds = len(figures) - 1
    own = used.pop(process.pid, 0)
    smi = sum(used.values())
    steps = [after["clock_ms"] - before["clock_ms"] for before, after in zip(figures, figures[1:])]
    part.measured(f"cost of a sample each {interval} ms",
                  f"{own / rounds:.2f} ms of CPU for dockdist-init, {smi / rounds:.2f} ms for nvidia-smi: {(own + smi) / seconds / 10:.2f} % of a processor; "
                  f"first figures after {first * 1000:.0f} ms, then each {statistics.median(steps):.0f} ms", own_ms=own / rounds, smi_ms=smi / rounds)
    gpus = facts.get("gpus", [])
    part.held(f"the sampler's GPUs (each {interval} ms)", bool(gpus) and not facts.get("gpu_problem"),
              f"{len(gpus)}: {', '.join(gpu['name'] for gpu in gpus)}{facts.get('gpu_problem') and '; ' + facts['gpu_problem']}")
    untold = sorted({name for sample in figures for name, values in sample.get("gpus", {}).items() if None in values})
    part.held(f"the sampler's figures (each {interval} ms)", bool(gpus) and not untold and all("gpus" in sample for sample in figures),
              f"told in each of {len(figures)} samples" if not untold else f"not told: {', '.join(untold)}")


# The look at the GPUs, and who has them.

def report(part, name, *words, uid=None):
    answer = part.ask(name, [part.program("dockdist-init"), "gpus", *words], uid=uid)
    return answer, json.loads(answer.output.splitlines()[0]) if answer.good else {"units": [], "problem": answer.output.strip()}


def look(part):
    answer, seen = report(part, "gpus.json")
    part.held("the look at the GPUs", bool(seen["units"]) and not seen.get("problem"),
              f"{len(seen['units'])} units in {answer.ms:.0f} ms{': ' + seen['problem'] if seen.get('problem') else ''}", ms=answer.ms)
    problems = [unit["problem"] for unit in seen["units"] if unit.get("problem")]
    part.held("are the GPUs sound", not problems, "; ".join(problems) or "all are given out")
    with part.held_memory(2048) as pid:
        _, held = report(part, "gpus-held.json", "--in-use", "1024")
        outside = [unit["hold"] for unit in held["units"] if unit.get("hold")]
        part.held("a process outside of dockdist that has 2 GiB", len(outside) == 1 and outside[0].get("outside", False), f"told as {outside}")
        processes(part, pid)
    with part.held_memory(2048, uid=NOBODY):
        _, held = report(part, "gpus-held-by-nobody.json", "--in-use", "1024")
        outside = [unit for unit in held["units"] if unit.get("hold")]
        part.held("one of another account", len(outside) == 1, f"{len(outside)} of {len(held['units'])} units are told as held")
    _, theirs = report(part, "gpus-as-nobody.json", uid=NOBODY)
    part.held("what another account sees", [unit["unit"] for unit in theirs["units"]] == [unit["unit"] for unit in seen["units"]],
              f"{len(theirs['units'])} units{': ' + theirs['problem'] if theirs.get('problem') else ''}")


def processes(part, pid):
    """Whether the PID that nvidia-smi tells is one of this PID namespace: a machine's, or a container's."""
    answer = part.ask("processes.txt", ["nvidia-smi", "--query-compute-apps=pid,used_gpu_memory,process_name", "--format=csv,noheader,nounits"])
    told = [line.split(",")[0].strip() for line in answer.output.splitlines()]
    part.measured("the PID of who has memory", f"its own is among those that nvidia-smi tells ({len(told)})" if str(pid) in told
              else f"nvidia-smi tells {told or 'none'}, and its own number here is another")


def check(part):
    """As `dockdist check` asks a node, with the questions of its own that it has for GPUs."""
    root = part.scratch / "root"
    (root / "run/dockdist").mkdir(parents=True, exist_ok=True)
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", encoding="utf-8")
    for folder in ("proc", "sys", "dev"):
        if not (root / folder).is_symlink():
            (root / folder).symlink_to("/" + folder)
    questions = [{"name": question["name"], "argv": question["argv"]} for question in part.questions()["questions"] if not question["goes_on"]]
    question = json.dumps({"ask": "facts", "peers": [], "names": [], "programs": questions, "mounts": [], "token": ""})
    answer = part.ask("facts.json", [part.program("dockdist-init-under-test"), "check"], limit=30, given=question.encode() + b"\n",
                      env={**os.environ, "DOCKDIST_TEST_ROOT": str(root)})
    said = json.loads(answer.output.splitlines()[0])
    told = said.get("result", said).get("programs", {})
    slow = {name: program for name, program in told.items() if "code" not in program.get("ok", program)}
    part.held("the node's half of a check", answer.good and len(told) == len(questions) and not slow,
              f"{len(told)} of {len(questions)} programs answered, side by side, in {answer.ms:.0f} ms", ms=answer.ms)
    log = part.run(["dmesg"])
    if log.code == 127:
        part.missing("the kernel's log", "there is no dmesg")
    else:
        lines = [line for line in log.output.splitlines() if "NVRM" in line or "nvidia" in line.lower()]
        part.record("dmesg.txt", "\n".join(lines) + "\n")
        part.measured("the kernel's log", f"{len(lines)} lines of NVIDIA's driver, {sum('Xid' in line for line in lines)} of them Xid errors"
                      if log.good else f"may not be read: {log.output.strip()[:120]}")


# NVML, which dockdist may come to use in place of nvidia-smi.

def library(part):
    try:
        library_ = nvml.Nvml()
    except OSError as error:
        part.missing("NVML", str(error))
        return
    devices = library_.devices()
    part.measured("NVML", f"driver {library_.text('nvmlSystemGetDriverVersion')}, library {library_.text('nvmlSystemGetNVMLVersion')}, {len(devices)} GPUs")
    device = devices[0]
    with part.section("NVML's figures"):
        times = []
        for _ in range(20):
            begun = time.monotonic()
            figures = library_.figures(device)
            times.append((time.monotonic() - begun) * 1000)
        before = time.process_time()
        for _ in range(200):
            library_.figures(device)
        cpu = (time.process_time() - before) * 1000 / 200
        part.record("nvml-figures.json", figures)
        part.measured("the same figures from NVML", f"{statistics.median(times):.2f} ms, {cpu:.2f} ms of CPU for a GPU, beside nvidia-smi's above: {figures}")
    with part.section("NVML's fields"):
        fields = {}
        for number in range(1, 300):
            fields.update(library_.fields(device, [number]))
        part.record("nvml-fields.json", fields)
        told = {number: value for number, value in fields.items() if not isinstance(value, str)}
        part.measured("NVML's fields", f"{len(told)} of 1 to 299 are told")
        action = fields[nvml.RECOVERY_ACTION]
        known = isinstance(action, int) and action < len(nvml.RECOVERY_ACTIONS)
        part.held("the recovery action (field 230)", known, f"{action}: {nvml.RECOVERY_ACTIONS[action]}" if known else f"{action}")
        rows = {name: fields[number] for number, name in nvml.REMAPPED.items()}
        with part.section("remapped rows"):
            part.held("remapped rows", rows == library_.remapped_rows(device), f"by fields 142 to 145: {rows}")
    with part.section("NVML's processes"):
        with part.held_memory(1024) as pid:
            listed = library_.processes(device)
            part.measured("NVML's processes", f"{len(listed)} listed, its own {'is' if pid in dict(listed) else 'is not'} among them")
    with part.section("NVML's events"):
        events(part, library_, device)
    with part.section("NVML as another account"):
        answer = part.ask("nvml-nobody.txt", [part.python, part.for_everybody(nvml.__file__)], uid=NOBODY)
        part.held("NVML as another account", answer.good, answer.output.strip().splitlines()[-1] if answer.output else f"code {answer.code}")


def events(part, library_, device):
    """Performance states and clocks change with load: those events may come. An Xid is not brought about."""
    supported = library_.supported_events(device)
    part.record("nvml-events.json", {hex(bit): words for bit, words in supported.items()})
    part.measured("NVML's kinds of events", f"this GPU has: {', '.join(supported.values())}")
    found, last = library_.wait(library_.event_set(device, sum(supported)), part.seconds(1, 0.1))
    part.measured("an event set of all kinds, idle", f"{len(found)} events, then: {last}")
    set_ = library_.event_set(device, sum(supported))
    with part.held_memory(256):
        found, last = library_.wait(set_, part.seconds(3, 0.1))
    part.measured("an event set of all kinds, while a program begins to use the GPU",
                  f"{len(found)} events, then: {last}; {[(nvml.EVENTS.get(kind, hex(kind)), data) for kind, data, _ in found[:8]]}")
