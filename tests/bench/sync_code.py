"""The measurement of scripts/bench that is about code on its way to the nodes."""

import os
import random
import subprocess
import time

import harness
from harness import ssh

FILES, BYTES = 2000, 50_000_000
TOOLKIT_RSYNC = "/opt/dockdist/libexec/rsync"


def make_tree(folder):
    """2,000 files of 50 MB together, in 100 folders: most are small, a few are megabytes, none compresses."""
    random.seed(1)
    sizes = [random.paretovariate(1.1) for _ in range(FILES)]
    for i, size in enumerate(sizes):
        path = folder / f"d{i % 100:02}" / f"file-{i}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(max(100, int(size * BYTES / sum(sizes)))))


class Code:
    """Two nodes over ssh://, and on each host an rsync to speak to: the toolkit's own, where its volume stands on the host."""

    def __init__(self, lab, c):
        self.lab, self.c = lab, c
        make_tree(c.folder / "code")
        self.environment = ssh.Ssh(lab, c).environment
        ssh.write_hosts(c, *[f"ssh://root@{address}" for address in lab.addresses])
        c.file.write_text(c.file.read_text() + 'sync: ["code:/bench/code"]\n')
        c.run("up", "--no-sync", **self.environment)
        self.containers = []
        for i, engine in enumerate(lab.engines):
            container = c.container(f"node-{i}")[1]
            self.containers.append(container)
            source = next(m["Source"] for m in engine.inspect(container)["Mounts"] if m["Destination"] == "/opt/dockdist")
            lab.script("exec", str(i + 1), "ln", "-sfn", source, "/opt/dockdist")

    def close(self):
        for i in range(self.lab.count):
            self.lab.script("exec", str(i + 1), "rm", "-rf", "/opt/dockdist", "/var/lib/docker/bench-code")

    def forget(self):
        for i, container in enumerate(self.containers):
            self.lab.script("exec", str(i + 1), "rm", "-rf", "/var/lib/docker/bench-code")
            self.lab.script("exec", str(i + 1), "docker", "exec", container, "rm", "-rf", "/bench")
            self.lab.script("exec", str(i + 1), "docker", "exec", container, "mkdir", "/bench")
        os.sync()

    def dockdist(self):
        begin = time.perf_counter()
        self.c.run("sync", **self.environment)
        return time.perf_counter() - begin

    def rsync(self, inside):
        """`rsync -a` over ssh to every host at once: to the host's disk, or through `docker exec` to where dockdist writes."""
        begin = time.perf_counter()
        copies = []
        for address, container in zip(self.lab.addresses, self.containers):
            path = f"docker exec -i {container} {TOOLKIT_RSYNC}" if inside else TOOLKIT_RSYNC
            target = "/bench/by-rsync/" if inside else "/var/lib/docker/bench-code/"
            copies.append(subprocess.Popen(["rsync", "-a", "--rsync-path", path, f"{self.c.folder}/code/", f"root@{address}:{target}"],
                                           env={**os.environ, **self.environment, "RSYNC_RSH": "ssh"}))
        assert all(copy.wait() == 0 for copy in copies)
        return time.perf_counter() - begin

    def change_one(self):
        changed = self.c.folder / "code" / "d07" / "file-7.py"
        changed.write_bytes(os.urandom(changed.stat().st_size))


def measure(lab, rounds):
    """{"cold"|"one": {"dockdist"|"host"|"inside": [seconds]}}"""
    taken = {kind: {way: [] for way in ("dockdist", "host", "inside")} for kind in ("cold", "one")}
    with harness.cluster(lab, "bench-code") as c:
        code = Code(lab, c)
        ways = {"dockdist": code.dockdist, "host": lambda: code.rsync(False), "inside": lambda: code.rsync(True)}
        try:
            for number in range(rounds):
                order = list(ways)[number % 3:] + list(ways)[:number % 3]
                code.forget()
                for kind in ("cold", "one"):
                    for way in order:
                        taken[kind][way].append(ways[way]())
                    code.change_one()
        finally:
            code.close()
    return taken
