"""The measurements of scripts/bench that are about running jobs: their end, their output, and what a client costs a rank."""

import json
import os
import signal
import subprocess
import time

import harness

LINE = b"0123456789012345678901234567890123456789012345678901234567890\n"
RANKS = 4


def boot_time():
    """The clock of /proc/uptime, which every lab host shares with this machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def usage_of(processes):
    """Waits for all: (seconds until the last has ended, seconds of CPU of all, KiB of the largest)."""
    begin, cpu, memory = time.perf_counter(), 0, 0
    for process in processes:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.args
        cpu += usage.ru_utime + usage.ru_stime
        memory = max(memory, usage.ru_maxrss)
    return time.perf_counter() - begin, cpu, memory


def quietly(*command, **more):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def from_death_to_exit(lab, rounds, nodes_per_host):
    """Seconds from a rank's last act before it exits with 7 to the end of `dockdist run`, the other ranks obeying TERM."""
    taken = []
    with harness.cluster(lab, "bench-end") as c:
        c.write(host_more=f", nodes: {nodes_per_host}").run("up")
        script = "if [ $RANK = 1 ]; then sleep 0.5; echo died at $(cat /proc/uptime); exit 7; fi; exec sleep 1000"
        for _ in range(rounds):
            done = c.run("run", "--", "sh", "-c", script, code=7)
            end = boot_time()
            died = next(line for line in done.stdout.splitlines() if "died at" in line)
            taken.append(end - float(died.split("died at ")[1].split()[0]))
    return taken


class Following:
    """One job of four ranks on two hosts, or four containers, that each write a file of so many bytes to stdout."""

    def __init__(self, lab, c, size):
        self.lab, self.c = lab, c
        self.file = lab.shared / "bench-lines"
        self.file.write_bytes(LINE * (size // len(LINE)))
        c.write(container="mounts: ['/shared:/shared']").run("up")

    def close(self):
        self.file.unlink()

    def dockdist(self):
        command = self.c.command("run", "--launcher", "plain", "--per-rank", "--gpus", "2", "--", "cat", "/shared/bench-lines")
        return usage_of([quietly(*command, env=self.c.environment())])

    def containers(self, follow):
        """follow(address, container): the command that follows one container's log."""
        made = []
        try:
            for number in range(RANKS):
                engine = self.lab.engines[number % 2]
                body = {"Image": "dockdist-lab/busybox", "Cmd": ["cat", "/shared/bench-lines"],
                        "HostConfig": {"Binds": ["/shared:/shared"], "NetworkMode": "host", "LogConfig": {"Type": "json-file"}}}
                status, data = engine.call("POST", f"/v1.40/containers/create?name=bench-log-{number}", body)
                assert status == 201, data
                made.append((engine, json.loads(data)["Id"]))
            begin = time.perf_counter()
            for engine, container in made:
                assert engine.call("POST", f"/v1.40/containers/{container}/start")[0] == 204
            _, cpu, memory = usage_of([quietly(*follow(engine.address, container)) for engine, container in made])
            return time.perf_counter() - begin, cpu, memory
        finally:
            for engine, container in made:
                engine.call("DELETE", f"/v1.40/containers/{container}?force=1&v=1")

    def raw(self):
        return self.containers(lambda address, container: (
            "curl", "--silent", "--fail", "--no-buffer", "--output", "/dev/null",
            f"http://{address}:2375/v1.40/containers/{container}/logs?follow=1&stdout=1&stderr=1"))

    def execs(self):
        begin, streams = time.perf_counter(), []
        for number in range(RANKS):
            engine, container = self.c.container(f"node-{number % 2}")
            status, data = engine.call("POST", f"/v1.40/containers/{container}/exec", {"Cmd": ["cat", "/shared/bench-lines"], "AttachStdout": True})
            assert status == 201, data
            streams.append(quietly("curl", "--silent", "--fail", "--no-buffer", "--output", "/dev/null", "--json", '{"Detach": false}',
                                   f"http://{engine.address}:2375/v1.40/exec/{json.loads(data)['Id']}/start"))
        _, cpu, memory = usage_of(streams)
        return time.perf_counter() - begin, cpu, memory

    def docker(self):
        return self.containers(lambda address, container: ("docker", "-H", f"tcp://{address}:2375", "logs", "-f", container))


def following(lab, rounds, size):
    """Lists of (seconds, CPU seconds, KiB) for dockdist, raw API streams of logs and of execs, and `docker logs -f`, in turn."""
    measured = {"dockdist": [], "raw": [], "execs": [], "docker": []}
    with harness.cluster(lab, "bench-follow") as c:
        job = Following(lab, c, size)
        try:
            for _ in range(rounds):
                for way, results in measured.items():
                    results.append(getattr(job, way)())
        finally:
            job.close()
    return measured


def writing(lab, rounds, size):
    """Seconds that a rank takes to write so many bytes: with a client that is stopped, and with none at all."""
    measured = {"stopped": [], "none": []}
    with harness.cluster(lab, "bench-write") as c:
        lines = lab.shared / "bench-lines"
        lines.write_bytes(LINE * (10_000_000 // len(LINE)))
        script = ("echo started; until [ -e /tmp/go ]; do sleep 0.05; done; cat /proc/uptime >/tmp/took; i=0; "
                  f"while [ $i -lt {size // 10_000_000} ]; do cat /shared/bench-lines; i=$((i+1)); done; cat /proc/uptime >>/tmp/took")
        c.write(hosts=1, container="mounts: ['/shared:/shared']").run("up")
        try:
            for number in range(rounds):
                for way, results in measured.items():
                    job = f"{way}-{number}"
                    c.run("exec", "node-0", "--", "rm", "-f", "/tmp/go")
                    client = c.start("run", "--name", job, *(["--detach"] if way == "none" else []), "--", "sh", "-c", script)
                    if way == "stopped":
                        harness.read_until(client, "started")
                        client.send_signal(signal.SIGSTOP)
                    else:
                        client.communicate()
                    c.run("exec", "node-0", "--", "touch", "/tmp/go")
                    c.run("wait", job)
                    if way == "stopped":
                        client.kill()
                        client.communicate()
                    begin, end = (float(line.split()[0]) for line in c.run("exec", "node-0", "--", "cat", "/tmp/took").stdout.splitlines())
                    results.append(end - begin)
        finally:
            lines.unlink()
    return measured
