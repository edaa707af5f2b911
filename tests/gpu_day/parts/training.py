"""A PyTorch training under dockdist-init's supervisor, without an engine: that a job gets its GPU, what its ranks see, what is counted of them, and that TERM
leaves a checkpoint which the next job goes on from."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

from gpu_day.paths import ROOM, ROOT
from gpu_day.torch_libraries import free_port

sys.path.insert(0, str(ROOT / "tests/harness"))  # not as a package: that needs what is on no bare machine

import node_client  # noqa: E402

HANDED_ON = ("HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
GPUS = {"share": False, "count": 1, "priority": 0, "number": 0, "in_use_mib": 1024}


def run(part):
    node_client.PROGRAM = part.for_everybody(part.program("dockdist-init-under-test"))
    node_client.DEADLINE = 30  # seconds without a word
    with part.section("what CUDA_VISIBLE_DEVICES means"):
        visible_devices(part)
    node = node_client.Node()
    try:
        with part.section("the node"):
            prepare(part, node)
        with part.section("a training that is stopped"):
            stopped(part, node)
        with part.section("a training that goes on, by torchrun"):
            resumed(part, node)
    finally:
        node.end()


# What CUDA makes of the variable, against what dockdist makes of it.

COUNT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int(0)
code = cuda.cuInit(0)
print(cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value if code == 0 else 0 if code == 100 else f"cuInit answers {code}")
"""


def values_of_visible(uuid):
    values = {value: value for value in ("0", "0,0", "-1", "0,-1", "-1,0", "GPU-0badc0de", "0,GPU-0badc0de", "GPU-0badc0de,0", "99", "0,99", "0,-1,0", "0,99,0",
                                         " 0", "")}
    return values | {"its UUID": uuid, "the beginning of its UUID": uuid[:12], "a letter of its UUID": uuid[:5], "its UUID and 0": f"{uuid},0",
                     "its UUID twice": f"{uuid},{uuid}", "its UUID and the beginning of it": f"{uuid},{uuid[:12]}"}


def visible_devices(part):
    listed = part.run(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"])
    uuids = listed.output.split()
    if not listed.good or not uuids:
        part.missing("what CUDA_VISIBLE_DEVICES means", "nvidia-smi names no GPU")
        return
    uuid = uuids[0]
    table = {}
    for words, value in values_of_visible(uuid).items():
        theirs = part.run([part.python, "-c", COUNT], env={**os.environ, "CUDA_VISIBLE_DEVICES": value}).output.strip()
        ours = subprocess.run([part.program("gpu-answers"), "visible", value, *uuids], stdout=subprocess.PIPE, check=True, text=True, timeout=10).stdout.strip()
        table[words] = {"cuda": theirs, "dockdist": ours}
        if not part.rehearsed or theirs == ours:
            part.held(f"CUDA_VISIBLE_DEVICES={words}", theirs == ours, f"{theirs} GPUs by CUDA, {ours} by dockdist")
    part.record("visible-devices.json", table)


# Jobs.

def prepare(part, node):
    for folder in ("proc", "sys", "dev"):
        os.symlink("/" + folder, f"{node.root}/{folder}")
    node.environment.update({name: value for name, value in os.environ.items() if name in HANDED_ON})
    node.environment["DOCKDIST_TEST_GPUS"] = f"{node.root}/board"
    os.mkdir(f"{node.root}/board")
    os.makedirs(f"{node.root}/run/dockdist", exist_ok=True)
    node.record(**node.environment, DOCKDIST_NODE="node-0", DOCKDIST_NODE_RANK="0", NCCL_SOCKET_IFNAME="=lo", GLOO_SOCKET_IFNAME="lo")
    with open(f"{node.root}/run/dockdist/user-name", "w", encoding="utf-8") as user:
        user.write("root")  # whose the container is: its programs are run as they are found, with its variables
    seen = report(node)
    with open(f"{node.root}/run/dockdist/gpus.json", "w", encoding="utf-8") as known:
        json.dump({"cluster": "gpu-day", "node": "node-0", "slots": 1, "units": [facts["unit"] for facts in seen["units"]],
                   "topology": seen["topology"]}, known)
    (part.scratch / "work").mkdir(exist_ok=True)


def report(node):
    done = subprocess.run([node_client.PROGRAM, "gpus"], env=node.environment, stdout=subprocess.PIPE, timeout=30, check=True)
    return json.loads(done.stdout.splitlines()[0])


def begin(part, node, name, argv, seconds, env=None):
    """(the stream, the UUIDs that the job has). None where it cannot have a GPU."""
    stream = node.open(job=name, owner="me@here", env={}, gpus=GPUS, grace_ms=20000)
    turn = stream.until("prepared")["gpus"]
    part.held(f"{name}: its GPU", turn["state"] == "taken", f"{turn['state']}; {[unit['id'] for unit in turn.get('units', [])]}")
    if turn["state"] != "taken":
        part.missing(name, f"no GPU: {turn}")
        return None, []
    size = "64" if part.rehearsed else "8192"
    stream.send(argv=argv, rank_command=[part.python, str(ROOM / "ranks/train.py"), str(part.scratch / "work"), str(seconds), size], env=env or {})
    stream.until("started")
    return stream, [unit["id"] for unit in turn["units"]]


def output(part, name, stream):
    text = stream.output().decode(errors="replace")
    part.record(f"{name}.txt", text)
    return text


def stopped(part, node):
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    stream, uuids = begin(part, node, "stopped", [node_client.PROGRAM, "ranks", "1", "0", "1"], 600, meeting)
    if stream is None:
        return
    wait_for(stream, rb"^step \d+ loss ")
    facts = next(json.loads(line) for line in stream.output().decode(errors="replace").splitlines() if line.startswith("{"))
    part.record("surroundings.json", facts)
    environment = facts["environment"]
    part.held("a rank's CUDA_VISIBLE_DEVICES", environment.get("CUDA_VISIBLE_DEVICES") == ",".join(uuids), f"{environment.get('CUDA_VISIBLE_DEVICES')}")
    part.held("what PyTorch sees by it", facts["gpus"] == 1 and facts.get("uuid", "") in uuids[0], f"{facts['gpus']} GPUs, {facts.get('uuid')}; "
              f"before CUDA begins {facts['_parse_visible_devices']}, {facts['_device_count_nvml']} by NVML")
    part.measured("what vLLM reads by it, of releases that want numbers", facts["vllm"])
    by_nvml(part, uuids[0])
    names = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    part.held("a rank's variables", all(environment.get(name) == value for name, value in names.items()),
              ", ".join(f"{name}={environment.get(name)}" for name in [*names, "MASTER_ADDR", "NCCL_SOCKET_IFNAME", "DOCKDIST_NODE"]))
    held = [facts for facts in report(node)["units"] if facts.get("hold")]
    part.held("who has the GPU", len(held) == 1 and held[0]["hold"]["by"]["job"] == "stopped", f"{[facts['hold'] for facts in held]}")
    with part.section("the sampler's ranks"):
        samples(part, node)
    until = time.monotonic() + part.seconds(20, 1)
    while time.monotonic() < until:
        wait_for(stream, rb"^step \d+ loss ")
    result = node.stop("stopped", 20000)
    stream.rest()
    text = output(part, "stopped", stream)
    saved = re.search(r"^checkpoint of step (\d+), (.*) after TERM$", text, re.MULTILINE)
    part.held("TERM and checkpoint", bool(saved) and (part.scratch / "work/checkpoint.pt").exists(),
              f"{saved[0]}; ended with code {result['code']}, {result.get('reason')}" if saved else f"no checkpoint: {text.splitlines()[-1:]}")
    used(part, "stopped", result)


def resumed(part, node):
    launcher = [part.python, "-m", "torch.distributed.run", "--nnodes=1", "--nproc_per_node=1", "--node_rank=0", "--master_addr=127.0.0.1",
                f"--master_port={free_port()}", "--no_python", node_client.PROGRAM, "rank"]
    stream, _ = begin(part, node, "resumed", launcher, part.seconds(12, 3))
    if stream is None:
        return
    try:
        result = stream.result()
    finally:
        text = output(part, "resumed", stream)
    went_on = re.search(r"^goes on from step (\d+)$", text, re.MULTILINE)
    part.held("a training that goes on, by torchrun", result["code"] == 0 and bool(went_on),
              f"code {result['code']}, {result['ranks']} ranks; {went_on[0] if went_on else text.strip().splitlines()[-1:]}")
    part.record("resumed-result.json", result)
    used(part, "resumed", result)


def wait_for(stream, pattern):
    """The next line of the job's output that fits."""
    seen = len(stream.output())
    while not re.search(pattern, stream.output()[seen:], re.MULTILINE):
        if stream.next_frame() is None:
            raise RuntimeError(f"the job ended: {stream.output()[-400:].decode(errors='replace')}")


def by_nvml(part, uuid):
    from gpu_day import nvml

    with contextlib.suppress(OSError):
        try:
            part.measured("what vLLM reads by it, of releases that ask NVML", f"device {nvml.Nvml().index_of(uuid)}")
        except nvml.Failed as error:
            part.wrong("what vLLM reads by it, of releases that ask NVML", str(error))


def samples(part, node):
    """What `top` would show of the rank."""
    process = subprocess.Popen([node_client.PROGRAM, "sample", "--interval", "500"], env=node.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        told, mine = {}, []
        until = time.monotonic() + part.seconds(8, 3)
        while time.monotonic() < until and not any(gpus for _, gpus in mine):
            told = json.loads(process.stdout.readline()).get("sample", {}).get("ranks", told)
            mine = [(rank, gpus) for job, rank, gpus in zip(told.get("job", []), told.get("rank", []), told.get("gpus", [])) if job == "stopped"]
    finally:
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()
    part.record("rank-sample.json", told)
    part.held("the sampler's ranks", (0, [0]) in mine, f"ranks of the job, each with its GPUs: {mine}")


def used(part, name, result):
    usage = result.get("usage", {})
    part.record(f"{name}-usage.json", usage)
    counted = {use["figure"]: f"{use['mean']:.4g}" for use in usage.get("figures", [])}
    of_gpu = [figure for figure in counted if figure.startswith("gpu_")]
    part.held(f"{name}: what it has used", bool(of_gpu), f"means: {counted}" if counted else "nothing was counted")
