"""dockdist-probe with the real libcuda and NCCL: alone, two of it on one GPU, and beside PyTorch's own collectives and copies of the same sizes."""

import contextlib
import json
import os
import statistics
import sys

from gpu_day import torch_libraries
from gpu_day.paths import ROOM, ROOT

sys.path.insert(0, str(ROOT / "tests/harness"))  # not as a package: that needs what is on no bare machine

import probe_process  # noqa: E402

MIB = 1 << 20
SIZES = [64 << 10, 4 * MIB, 64 * MIB, 512 * MIB]
SHARED_SIZES = [64 << 10, 4 * MIB]  # of two ranks that take turns on one GPU, over sockets
LARGEST_ALONE = 256 * MIB
CLOSE = (0.98, 1.02)
TOLD = {1: 64 * MIB, 2: 4 * MIB}  # by ranks: of smaller ones the time is that of a call, and Python's is longer
TOLD_OF_SENDS = 512 * MIB  # a group of sends and receives is asked for in 0.1 ms
# How NCCL may be brought to put two ranks on one GPU: by a variable of newer versions, or by taking one machine for two.
WAYS = {"as it is": [{}, {}],
        "NCCL_MULTI_RANK_GPU_ENABLE": [{"NCCL_MULTI_RANK_GPU_ENABLE": "1"}] * 2,
        "NCCL_HOSTID": [{"NCCL_HOSTID": "gpu-day-0", "NCCL_SOCKET_IFNAME": "lo"}, {"NCCL_HOSTID": "gpu-day-1", "NCCL_SOCKET_IFNAME": "lo"}]}


def run(part):
    probe_process.PROGRAM = part.program("dockdist-probe")
    probe_process.PATIENCE = 90
    libraries = {"cuda": None, "nccl": None}
    with part.section("the libraries"):
        libraries = find_libraries(part)
    order = part.questions()["order"]
    with part.section("a GPU alone"):
        alone(part, libraries, order)
    with part.section("beside PyTorch, one rank"):
        beside(part, libraries, 1, sizes(part, SIZES), [{}], 20)
    with part.section("two ranks on one GPU"):
        way = two_ranks(part, libraries)
        if way:
            with part.section("beside PyTorch, two ranks"):
                beside(part, libraries, 2, sizes(part, SHARED_SIZES), WAYS[way], 10)


def sizes(part, real):
    return [4096, 65536] if part.rehearsed else real


def world(part, name, size, libraries, environments, **order):
    """(exit codes, the ranks) of probes, all on the first GPU; recorded."""
    with contextlib.ExitStack() as cleanup:
        paths = {"LD_LIBRARY_PATH": os.environ["LD_LIBRARY_PATH"]} if "LD_LIBRARY_PATH" in os.environ else {}
        made = probe_process.World(cleanup, size, environment=paths, environments=dict(enumerate(environments)), cuda=libraries["cuda"],
                                   nccl=libraries["nccl"], orders={rank: {"device": 0} for rank in range(size)},
                                   **{"deadline_ms": 60000, "iterations": 20, "warm_up": 5, **order})
        codes = made.end()
        for rank, probe in enumerate(made.ranks):
            part.record(f"{name}-{rank}.jsonl", "".join(json.dumps(line) + "\n" for line in probe.lines), code=codes[rank], order=order)
            if probe.error_words:
                part.record(f"{name}-{rank}.err", probe.error_words)
        return codes, made.ranks


def result_of(probe):
    """Its last line; of one that has died without a word, what it said last."""
    if probe.lines and probe.lines[-1]["type"] == "result":
        return probe.lines[-1]
    return {"error": {"message": probe.error_words.strip().rpartition("\n")[2] or "it has told no result"}}


def find_libraries(part):
    """By itself, as it looks for them in an image; else by what Python knows."""
    one = {"sizes": [4096], "operations": ["all_reduce"], "types": ["float"], "iterations": 2}
    codes, (probe, ) = world(part, "found-by-itself", 1, {"cuda": None, "nccl": None}, [{}], **one)
    if codes == [0]:
        device = next(line for line in probe.lines if line["type"] == "device")
        part.measured("the libraries", f"found by the probe itself: {device['libcuda']} (CUDA {device['driver']}), {device['libnccl']} (NCCL {device['nccl']})")
        return {"cuda": None, "nccl": None}
    by_python = torch_libraries.nccl(part.python)
    part.held("the libraries", not by_python,
              f"the probe by itself ends with {codes[0]}: {result_of(probe)['error']['message']}; Python has {by_python or 'no NCCL'}")
    return {"cuda": None, "nccl": by_python}


def alone(part, libraries, order):
    """As a deep check has it, but for sizes that take too long here."""
    chosen = sizes(part, [size for size in order["sizes"] if size <= LARGEST_ALONE])
    codes, (probe, ) = world(part, "alone", 1, libraries, [{}], **{**order, "sizes": chosen, "series_ms": part.seconds(1000, 20000)})
    measured = probe.measurements()
    wrong = sum(line["wrong"] for line in measured)
    expected = len(chosen) * len(order["operations"]) * len(order["types"])
    part.held("every collective and element", codes == [0] and wrong == 0 and len(measured) == expected,
              f"{len(measured)} of {expected} measurements, {sum(line['checked'] for line in measured)} elements checked, {wrong} wrong"
              + (f"; {result_of(probe)['error']['message']}" if "error" in result_of(probe) else ""))
    best = max(measured, key=lambda line: line["algorithm_gbps"], default=None)
    if best:
        part.measured("the fastest copy", f"{best['algorithm_gbps']:.0f} GB/s, {best['operation']} of {best['bytes']} bytes")


def two_ranks(part, libraries):
    """The first way that NCCL takes; what it says to the others is told."""
    works = None
    for way, environments in WAYS.items():
        codes, ranks = world(part, f"two-ranks-{way.replace(' ', '-')}", 2, libraries, environments, sizes=sizes(part, [4096, MIB]), iterations=5,
                             deadline_ms=part.seconds(25000, 10000))
        errors = {result_of(probe)["error"]["message"] for probe in ranks if "error" in result_of(probe)}
        warnings = {warning for probe in ranks for warning in result_of(probe).get("warnings", [])}
        if codes == [0, 0]:
            part.measured(f"two ranks on one GPU, {way}", f"{len(ranks[0].measurements())} measurements, every element right; over "
                          f"{result_of(ranks[0])['network'] or 'no network'}: {[transport['kind'] for transport in result_of(ranks[0])['transports']]}")
            works = works or way
        else:
            part.missing(f"two ranks on one GPU, {way}", f"codes {codes}; {'; '.join(sorted(errors | warnings))}")
    return works


def beside(part, libraries, size, chosen, environments, iterations):
    """In turn, each twice: what lies between the two of one kind is this machine's noise."""
    ours, theirs = [], []
    for turn in range(2):
        _, ranks = world(part, f"beside-{size}-{turn}", size, libraries, environments, sizes=chosen, types=["float"], iterations=iterations)
        ours.append({(line["operation"], line["bytes"]): line["time_us"] for line in ranks[0].measurements()})
        theirs.append(torch_times(part, f"torch-{size}-{turn}", size, chosen, environments, iterations))
    both = set.intersection(*(set(times) for times in (*ours, *theirs)))
    rows = []
    for what in sorted(both):
        one, other = [statistics.median(times[what] for times in side) for side in (ours, theirs)]
        noise = max(abs(side[0][what] / side[1][what] - 1) for side in (ours, theirs))
        rows.append({"operation": what[0], "bytes": what[1], "probe_us": one, "torch_us": other, "ratio": round(one / other, 3), "noise": round(noise, 3)})
    part.record(f"beside-{size}.json", rows)
    for row in rows:
        low, high = CLOSE
        by_sends = size == 1 and row["operation"] in ("all_to_all", "send_receive")
        is_call = row["bytes"] < (TOLD_OF_SENDS if by_sends else TOLD[size])
        verdict = ("the time is that of the call" if is_call else "within 0.98 to 1.02" if low <= row["ratio"] <= high else "outside 0.98 to 1.02")
        near = low - row["noise"] <= row["ratio"] <= high + row["noise"]
        part.held(f"{row['operation']} of {row['bytes']} bytes, {size} rank{'s' * (size > 1)}", is_call or near,
                  f"probe {row['probe_us']:.1f} µs, PyTorch {row['torch_us']:.1f} µs: ratio {row['ratio']:.3f}, {verdict} "
                  f"(two runs of one kind differ by up to {row['noise'] * 100:.1f} %)", **row)


def torch_times(part, name, size, chosen, environments, iterations):
    """{(operation, bytes): µs} of rank 0; empty where PyTorch cannot."""
    order = {"sizes": chosen, "iterations": iterations, "warm_up": 5, "world": size, "port": torch_libraries.free_port()}
    ranks = [part.start([part.python, str(ROOM / "ranks/bandwidth.py"), json.dumps({**order, "rank": rank})],
                        env={**os.environ, **environments[rank]}) for rank in range(size)]
    outputs = [rank.communicate(timeout=90)[0] for rank in ranks]
    part.record(f"{name}.txt", "".join(outputs))
    if any(rank.returncode for rank in ranks):
        last = [line for line in outputs[0].splitlines() if line.strip()]
        part.missing(f"PyTorch's collectives, {size} rank{'s' * (size > 1)}", last[-1] if last else f"codes {[rank.returncode for rank in ranks]}")
        return {}
    lines = [json.loads(line) for line in outputs[0].splitlines() if line.startswith("{")]
    times = {(line["operation"], line["bytes"]): line["time_us"] for line in lines}
    for (operation, bytes_), time_us in list(times.items()):
        if operation == "copy":  # what the probe's are with one rank
            times.update({(other, bytes_): time_us for other in ("all_reduce", "broadcast")})
        elif operation == "all_to_all_by_sends":  # so the probe does it; NCCL's own, of 2.28 and newer, copies what is the rank's own
            part.measured(f"PyTorch's all_to_all of {bytes_} bytes, {size} rank{'s' * (size > 1)}",
                          f"{times['all_to_all', bytes_]:.1f} µs; with shares of its own, by sends and receives, {time_us:.1f} µs")
            times["all_to_all", bytes_] = time_us
    return times
