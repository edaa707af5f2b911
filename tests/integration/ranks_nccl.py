"""A job over gloo whose ranks all wait at one line, beside what NCCL's RAS and torch's flight recorder would say of them.

Arguments: which counts (behind, equal), RAS' form (json as of 2.28.7, text as of 2.24), the flight recorder's (recorder, none), the
rank that has launched one collective less than the others, and what rank 0 writes all the time: nothing (silent), a heartbeat from
another thread while it waits (heartbeat), or how far it is, in place of waiting (logs). `STANDS` is written first. Each rank runs a server at NCCL_RAS_ADDR,
which like NCCL's shares its port with the node's other ranks and answers for the whole job, and the recorder's pipe."""
import itertools
import json
import os
import pickle
import select
import socket
import sys
import threading
import time

import torch
import torch.distributed as dist

COUNTS, FORM, RECORDER, GUILTY, WRITES = sys.argv[1], sys.argv[2], sys.argv[3] == "recorder", int(sys.argv[4]), sys.argv[5]
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
MOST = 1204


def count(rank):
    return MOST - (COUNTS == "behind" and rank == GUILTY)


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((os.environ["MASTER_ADDR"], 9))
        return probe.getsockname()[0]


def as_json(peers):
    ranks = [{"rank": rank, "host": host, "pid": pid, "cuda_dev": 0, "nvml_dev": 0,
              "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
              "collective_counts": {"Broadcast": 2, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": count(rank)}}
             for rank, (host, pid) in enumerate(peers)]
    return json.dumps({"nccl_version": "2.28.7", "cuda_runtime_version": 13000, "cuda_driver_version": 13000, "communicators_count": 1,
                       "communicators": [{"hash": "0x1f3c6a9e22d04b71", "secondary_hash": "0xa1:0xb2", "size": WORLD, "ranks_count": WORLD,
                                          "missing_ranks_count": 0, "ranks": ranks, "missing_ranks": []}],
                       "ras": {"collection_time_sec": 0.002, "timeouts_count": 0}}, indent=2)


def as_text(peers):
    lines = ["NCCL version 2.24.3 compiled with CUDA 12.8", "", "Errors", "======", "", "Warnings", "========", ""]
    if COUNTS == "behind":
        host, pid = peers[GUILTY]
        lines += ["#0-0 (1f3c6a9e22d04b71) MISMATCH", "  Communicator ranks have different collective operation counts",
                  f"  {WORLD - 1} ranks have launched up to operation {MOST}",
                  f"  Rank {GUILTY} has launched up to operation {count(GUILTY)} -- GPU 0 managed by process {pid} on node {host}", ""]
    return "\n".join(lines) + "\n"


def answer(connection, peers):
    with connection, connection.makefile("rw", newline="\n") as talk:
        for line in talk:
            word = line.strip().upper()
            if word.startswith("CLIENT PROTOCOL"):
                said = "SERVER PROTOCOL 2\n"
            elif word.startswith("TIMEOUT") or (word == "SET FORMAT JSON" and FORM == "json"):
                said = "OK\n"
            elif word in ("STATUS", "VERBOSE STATUS"):
                talk.write(as_json(peers) if FORM == "json" else as_text(peers))
                return
            else:
                said = f"ERROR: Unknown command {line.strip()}\n"
            talk.write(said)
            talk.flush()


def serve_ras(peers):
    host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((host, int(port)))
    server.listen()
    while True:
        answer(server.accept()[0], peers)


def dump():
    enqueued, waits = count(RANK), count(RANK) == MOST
    entry = {"record_id": 7, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": enqueued, "p2p_seq_id": 0,
             "op_id": enqueued, "is_p2p": False, "profiling_name": "nccl:all_reduce", "input_sizes": [[1024, 512]],
             "input_dtypes": ["Float"], "output_sizes": [[1024, 512]], "output_dtypes": ["Float"], "state": "scheduled",
             "time_created_ns": time.time_ns() - 60_000_000_000, "time_discovered_started_ns": None,
             "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600000,
             "frames": [{"name": "train_step", "filename": "/workspace/train.py", "line": 88}]}
    return {"version": "2.10", "nccl_version": "2.28.7",
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(WORLD)))}},
            "pg_status": {"0": {"last_enqueued_collective": enqueued, "last_started_collective": -1,
                                "last_completed_collective": MOST - 1}},
            "entries": [entry] if waits else []}


def record():
    pipe = f"{os.environ['TORCH_NCCL_DEBUG_INFO_PIPE_FILE']}{RANK}.pipe"
    os.mkfifo(pipe, 0o666)
    door = os.open(pipe, os.O_RDWR)
    while True:
        select.select([door], [], [])
        os.read(door, 4096)
        with open(f"{os.environ['TORCH_FR_DUMP_TEMP_FILE']}{RANK}", "wb") as file:
            pickle.dump(dump(), file, protocol=2)


def write_on():
    for number in itertools.count():
        print(WRITES, number, flush=True)
        time.sleep(2)


def wait_for_each_other():
    dist.recv(torch.zeros(1), src=(RANK + 1) % WORLD)


dist.init_process_group("gloo")
everyone = [None] * WORLD
dist.all_gather_object(everyone, (own_address(), os.getpid()))
threading.Thread(target=serve_ras, args=(everyone,), daemon=True).start()
if RECORDER:
    threading.Thread(target=record, daemon=True).start()
print("STANDS", flush=True)
if RANK == 0 and WRITES == "logs":
    write_on()
if RANK == 0 and WRITES == "heartbeat":
    threading.Thread(target=write_on, daemon=True).start()
wait_for_each_other()
