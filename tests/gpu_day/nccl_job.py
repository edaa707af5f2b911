"""A job of two ranks on one GPU, whose collectives go over NCCL."""

import json
import os
import pathlib
import shutil
import socket
import time

from gpu_day.part import NOBODY
from gpu_day.paths import ROOM
from gpu_day.torch_libraries import free_port


class Job:
    """Its ranks run under an account of their own, as a cluster's `container.user` would have them; as root where that cannot be."""

    def __init__(self, part, name, world, timeout_s, uid):
        self.part, self.name, self.world, self.uid = part, name, world, uid
        self.folder = part.scratch / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o777)
        self.ras_port = free_port()
        self.reserved = reserve(self.ras_port)
        recorded = part.recordings / name  # also where this part is ended before it has recorded them
        recorded.mkdir(parents=True, exist_ok=True)
        self.logs = [open(recorded / f"log_{rank}.txt", "w", encoding="utf-8") for rank in range(world)]
        order = {"folder": str(self.folder), "world": world, "port": free_port(), "pause_s": part.seconds(0.05, 0.02), "timeout_s": timeout_s}
        script = part.for_everybody(ROOM / "ranks/collectives.py")
        self.ranks = [part.start([part.python, script, json.dumps({**order, "rank": rank})], uid=uid, stdout=self.logs[rank],
                                 env=self.environment(rank), cwd=self.folder) for rank in range(world)]
        self.pids = [rank.pid for rank in self.ranks]

    def environment(self, rank):
        files, pipes = str(self.folder / "fr_"), str(self.folder / "frp_")
        return {**os.environ, "HOME": str(self.folder), "RANK": str(rank), "WORLD_SIZE": str(self.world), "LOCAL_RANK": str(rank),
                "NCCL_HOSTID": f"gpu-day-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,RAS,ENV",
                "NCCL_RAS_ADDR": f"127.0.0.1:{self.ras_port}", "PYTHONFAULTHANDLER": "1",
                "TORCH_FR_BUFFER_SIZE": "2000", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000", "TORCH_FR_DUMP_TEMP_FILE": files,
                "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": files, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": pipes, "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}

    def step(self, rank):
        try:
            return int((self.folder / f"step_{rank}").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return -1

    def moves(self, before, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.step(0) > before + 1:
                return True
            time.sleep(0.05)
        return False

    def is_up(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and all(rank.poll() is None for rank in self.ranks):
            if all(self.step(rank) > 2 for rank in range(self.world)):
                return True
            time.sleep(0.05)
        return False

    def order(self, what, steps=20):
        """All ranks come to that step later than they read this."""
        at = max(self.step(rank) for rank in range(self.world)) + steps
        new = self.folder / "orders.new"
        new.write_text(json.dumps({what: at}), encoding="utf-8")
        os.replace(new, self.folder / "orders")
        return at

    def log(self, rank):
        return pathlib.Path(self.logs[rank].name).read_text(encoding="utf-8", errors="replace")

    @property
    def has_nccl(self):
        return (self.folder / "backend_0").read_text(encoding="utf-8") == "nccl"

    def end(self):
        for rank in self.ranks:
            if rank.poll() is None:
                rank.kill()
            rank.wait()
        for rank, log in enumerate(self.logs):
            log.close()
            self.part.record(f"{self.name}/log_{rank}.txt", self.log(rank), code=self.ranks[rank].returncode)
        for held in self.reserved:
            held.close()


def reserve(port):
    """As dockdist reserves a job's ports: bound on all addresses, and not listening."""
    held = []
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            one = socket.socket(family, socket.SOCK_STREAM)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address, port))
            held.append(one)
        except OSError:
            pass
    return held


def first_job(part, jobs):
    """Two ranks, else one with two communicators; under an account of their own, else as root."""
    accounts = [NOBODY, None] if os.geteuid() == 0 else [None]
    for number, (world, uid) in enumerate([(2, uid) for uid in accounts] + [(1, uid) for uid in accounts]):
        if not part.run([part.python, "-c", ""], uid=uid).good:
            part.missing(f"a job of {world} rank{'s' * (world > 1)} as account {uid}", f"it may not run {part.python}")
            continue
        job = Job(part, f"job-{number}", world, 600, uid)
        if job.is_up(part.seconds(40, 10)):
            jobs.callback(job.end)
            who = "as root" if uid is None else f"as account {uid}"
            part.measured("the job", f"{world} rank{'s' * (world > 1)} {who}; {version_of(job) if job.has_nccl else 'without NCCL'}")
            return job
        job.end()
        said = [line for line in job.log(0).splitlines() if line.strip()]
        part.missing(f"a job of {world} rank{'s' * (world > 1)} as {'root' if uid is None else f'account {uid}'}",
                     f"codes {[rank.returncode for rank in job.ranks]}; {said[-1] if said else 'it said nothing'}")
    return None


def version_of(job):
    said = [line[line.index("NCCL version"):].strip() for line in job.log(0).splitlines() if "NCCL version" in line]
    return said[0] if said else "NCCL, whose version it does not say"
