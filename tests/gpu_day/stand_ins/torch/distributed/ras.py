"""NCCL's RAS as 2.28.9 has it: each process listens, any answers for all. One that is stopped answers nothing, and is missing in the others' reports."""

import json
import os
import socket

TEXT = "NCCL version 2.28.9 compiled with CUDA 13.0\n\nJob summary\n===========\n\nErrors\n======\n\nWarnings\n========\n\n"


def serve(process):
    host, _, port = os.environ.get("NCCL_RAS_ADDR", "").rpartition(":")
    if not host:
        return
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, int(port)))
    listener.listen()
    while True:
        peer, _ = listener.accept()
        with peer:
            try:
                talk(process, peer)
            except OSError:
                pass  # the client has gone


def talk(process, peer):
    as_json = False
    for line in peer.makefile("r"):
        word = line.strip().upper()
        if word.startswith("CLIENT PROTOCOL"):
            peer.sendall(b"SERVER PROTOCOL 2\n")
        elif word.startswith("TIMEOUT"):
            peer.sendall(b"OK\n")
        elif word == "SET FORMAT JSON":
            as_json = True
            peer.sendall(b"OK\n")
        elif word in ("STATUS", "VERBOSE STATUS"):
            peer.sendall((report(process) if as_json else TEXT).encode())
            return
        else:
            peer.sendall(b"ERROR: Unknown command\n")


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "TZX"
    except OSError:
        return False


def report(process):
    known = [json.loads((process.folder / f"stand_in_{rank}").read_text(encoding="utf-8")) for rank in range(process.world)]
    comms = []
    for group in sorted({group for rank in known for group in rank["counts"]}):
        place = [{"rank": rank["rank"], "host": "127.0.0.1", "pid": rank["pid"], "cuda_dev": 0, "nvml_dev": 0} for rank in known]
        ranks = [{**at, "status": {"init_state": 0}, "collective_counts": {"AllReduce": rank["counts"].get(group, 0)}} for at, rank in zip(place, known) if is_there(at["pid"])]
        missing = [{**at, "status": {"unresponsive": True, "considered_dead": False}} for at in place if not is_there(at["pid"])]
        comms.append({"hash": f"0x{int(group):016x}", "size": process.world, "ranks": ranks, "missing_ranks": missing})
    text = json.dumps({"nccl_version": "2.28.9", "communicators_count": len(comms), "communicators": comms}, indent=1)
    for at in ('"nvml_dev": 0,\n     "status": {\n      "unresponsive"', ):
        text = text.replace(at, at.replace("0,", "0", 1))  # as that version leaves the comma out
    return text
