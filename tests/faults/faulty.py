"""A training loop over gloo that goes wrong as told: faulty.py FAULT RANK STEP SECONDS.

Every rank sums a tensor with the others in each step. From step STEP on, rank RANK does what FAULT says; the others go on as they
are. `INJECTED` is written then. Names as in scripts/fault-suite. In an attempt that follows another nothing goes wrong."""

import ctypes
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

FAULT, GUILTY, AT, SECONDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
RANK = int(os.environ["RANK"])
WRONG = RANK == GUILTY and os.environ.get("DOCKDIST_RESTART_COUNT", "0") == "0"
STEPS = 12


def injected():
    print("INJECTED", flush=True)


if WRONG and FAULT == "missing-at-rendezvous":
    injected()

    def fetch_settings():
        time.sleep(9999)
    fetch_settings()

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

if WRONG and FAULT == "compiles":  # N3: nobody is in a collective, and children take processors
    injected()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        subprocess.run([sys.executable, "-c", "sum(i * i for i in range(10_000_000))"], check=True)

dist.init_process_group("gloo")
others = dist.new_group()


class Samples(Dataset):
    def __len__(self):
        return STEPS

    def __getitem__(self, at):
        if WRONG and at == AT and FAULT == "loader-stuck":
            injected()
            threading.Lock().acquire() and time.sleep(9999)
        if WRONG and at == AT and FAULT == "loader-killed":
            injected()
            os.kill(os.getpid(), signal.SIGKILL)
        if WRONG and at == AT and FAULT == "shm-full":
            injected()
            return torch.ones(1 << 26)  # four times the 64 MiB that a node has
        return torch.ones(4)


def step(batch):
    dist.all_reduce(batch)


def skip(batch):
    dist.all_reduce(torch.ones(2), group=others)


def broadcast_first(batch):
    dist.broadcast(batch, src=GUILTY)
    dist.all_reduce(batch)


def wrong_shape(batch):
    dist.all_reduce(torch.ones(5))


def hold_the_gil():
    ctypes.PyDLL(None).sleep(9999)


def lock_twice():
    library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)


def spin():
    hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 2 ** 31 - 1)


def grow():
    taken = []
    while True:
        taken.append(bytearray(os.urandom(1 << 20)) * 16)


def read_data():
    """As from a file server that does not answer."""
    os.mkfifo(f"/tmp/data-{os.getpid()}")
    with open(f"/tmp/data-{os.getpid()}", "rb") as file:
        file.read()


def fill_disk():
    with open("/dev/shm/checkpoint", "wb") as file:
        os.unlink(file.name)  # the next job finds room again
        while True:
            file.write(b"x" * (1 << 20))


def serve_twice():
    first, second = socket.socket(), socket.socket()
    first.bind(("", 0))
    first.listen()
    second.bind(first.getsockname())


def compare_versions():
    raise RuntimeError("this rank has version 2.5 of the model's code, rank 0 has 2.6")


def save_checkpoint():
    until = time.monotonic() + SECONDS
    with open("/tmp/checkpoint", "wb") as file:
        while time.monotonic() < until:
            file.seek(0)
            file.write(b"x" * (1 << 20))
            file.flush()
            time.sleep(0.2)


def evaluate():
    until, total = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        for number in range(1000):
            total += number * number
        total = abs(total) % 7


def ask():
    _, terminal = os.openpty()
    os.fdopen(terminal).readline()


def work_slowly():
    until = time.monotonic() + 8
    while time.monotonic() < until:
        sum(range(10_000))


def fail_as_cuda():
    print("RuntimeError: CUDA error: an illegal memory access was encountered", file=sys.stderr, flush=True)
    os._exit(1)


ALONE = {"stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP), "holds-gil": hold_the_gil, "native-deadlock": lock_twice,
         "native-spin": spin, "out-of-memory": grow, "segfault": lambda: ctypes.string_at(0), "cuda-error": fail_as_cuda,
         "killed": lambda: os.kill(os.getpid(), signal.SIGKILL), "early-exit": lambda: os._exit(0),
         "storage-stall": read_data, "disk-full": fill_disk, "port-taken": serve_twice, "versions-differ": compare_versions,
         "long-checkpoint": save_checkpoint, "evaluates-alone": evaluate, "waits-for-input": ask}
FROM_OUTSIDE = ("link-cut", "packets-lost")
INSTEAD = {"skipped-collective": skip, "wrong-order": broadcast_first, "wrong-shape": wrong_shape}

for number, batch in enumerate(DataLoader(Samples(), batch_size=1, num_workers=1)):
    if FAULT == "all-rest" and number == AT:  # N6
        if WRONG:
            injected()
        time.sleep(SECONDS)
    if WRONG and FAULT == "slow" and number >= AT:
        if number == AT:
            injected()
        work_slowly()
    if WRONG and number == AT and FAULT in FROM_OUTSIDE:
        injected()
        while not os.path.exists("brought-about"):  # which tests/faults/suite.py makes
            time.sleep(0.05)
    if WRONG and number == AT and FAULT in ALONE:
        injected()
        ALONE[FAULT]()
    if WRONG and number == AT and FAULT in INSTEAD:
        injected()
        INSTEAD[FAULT](batch)
    else:
        step(batch)
    print("step", number, flush=True)
    time.sleep(0.2)
dist.barrier()
print("done", flush=True)
