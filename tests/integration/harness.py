"""What every test on real engines uses: the lab, a cluster of its own, the program, and what the engines themselves say.

A test is a function named test_*; `python3 run.py NAME` runs one, and ctest enters each of them. The engines are asked
through their own API, not through dockdist, so that a test cannot believe the program it tests.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKDIST = pathlib.Path(os.environ.get("DOCKDIST", ROOT / "build" / "dockdist"))
LAB_NAME = os.environ.get("DOCKDIST_LAB", "lab")


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


class Engine:
    """One host's engine, over its tcp port, or its unix socket where `address` is a path."""

    def __init__(self, address):
        self.address = address

    def call(self, method, path, body=None):
        kind = UnixConnection if self.address.startswith("/") else http.client.HTTPConnection
        connection = kind(self.address, 2375, timeout=60)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Host": "engine", **headers})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def get(self, path):
        status, data = self.call("GET", path)
        assert status == 200, f"{path}: {status} {data[:300]}"
        return json.loads(data)

    def containers(self, **labels):
        filters = {"label": [f"dockdist.{k}={v}" for k, v in labels.items()] or ["dockdist.cluster"]}
        return self.get("/v1.40/containers/json?all=1&filters=" + urllib.parse.quote(json.dumps(filters)))

    def inspect(self, container):
        return self.get(f"/v1.40/containers/{container}/json")

    def processes(self, container):
        """The command lines of every process in a container."""
        return [row[-1] for row in self.get(f"/v1.40/containers/{container}/top?ps_args=-eo%20pid,args")["Processes"]]


class Lab:
    def __init__(self):
        self.env = {}
        for line in (pathlib.Path("/var/lib/dockdist-lab") / LAB_NAME / "lab.env").read_text().splitlines():
            key, _, value = line.partition("=")
            self.env[key] = value.strip("'\"")
        hosts = range(1, int(self.env["LAB_HOSTS"]) + 1)
        docker = [i for i in hosts if self.env[f"LAB_HOST_{i}_KIND"] == "docker"]
        self.count = len(docker)
        self.addresses = [self.env[f"LAB_HOST_{i}_ADDRESS"] for i in docker]
        self.sockets = [self.env[f"LAB_HOST_{i}_SOCKET"] for i in docker]
        self.engines = [Engine(address) for address in self.addresses]
        self.podman = [i for i in hosts if i not in docker]  # numbers of hosts, 4.3 before 5.4
        self.podman_addresses = [self.env[f"LAB_HOST_{i}_ADDRESS"] for i in self.podman]
        self.podman_sockets = [self.env[f"LAB_HOST_{i}_SOCKET"] for i in self.podman]
        self.podman_engines = [Engine(address) for address in self.podman_addresses]
        self.all_engines = self.engines + self.podman_engines
        self.memlock = self.env["LAB_MEMLOCK"]
        self.shared = pathlib.Path(self.env["LAB_SHARED"])
        # Only the lab's own link leads to its addresses: a lab that is down must not send its tests' packets elsewhere.
        for address in self.addresses + self.podman_addresses:
            route = subprocess.run(["ip", "-4", "route", "get", address], check=True, capture_output=True, text=True).stdout
            assert self.env["LAB_MACHINE_ADDRESS"] in route, f"{address} is not reached through the lab: {route}"

    def command(self, *arguments):
        return [str(ROOT / "scripts/lab"), "--name", LAB_NAME, *arguments]

    def script(self, *arguments):
        return subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True).stdout

    def link(self):
        """This machine's end of the hosts' network."""
        shown = subprocess.run(["ip", "-4", "-o", "address"], check=True, capture_output=True, text=True).stdout
        return next(line.split()[1] for line in shown.splitlines() if self.env["LAB_MACHINE_ADDRESS"] + "/" in line)


class Cluster:
    """A cluster.yaml in a folder of its own, under a name of its own; taken down at the end whatever happened."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"dockdist-{name}-"))
        self.file = self.folder / "cluster.yaml"

    def write(self, hosts=2, image="dockdist-lab/busybox", gpus="none", container="", more="", host_more=""):
        lines = [f"name: {self.name}", f"image: {image}", "hosts:"]
        for i in range(hosts):  # with fewer machines than that, the first ones have two nodes
            address = self.lab.addresses[i % self.lab.count]
            lines.append(f"  - {{docker: 'tcp://{address}:2375', insecure: true, gpus: {gpus}{host_more}}}")
        lines += ["container:", f"  ulimits: {{memlock: {self.lab.memlock}}}"]
        lines += ["  " + line for line in container.splitlines()]
        lines += more.splitlines()
        self.file.write_text("\n".join(lines) + "\n")
        return self

    def command(self, *arguments):
        return [str(DOCKDIST), *arguments]

    def environment(self, **more):
        return {**os.environ, "DOCKDIST_FILE": str(self.file), **more}

    def run(self, *arguments, code=0, input=None, timeout=240, **environment):
        """Runs dockdist to its end; `code` None accepts any exit code."""
        done = subprocess.run(self.command(*arguments), env=self.environment(**environment), input=input, text=True,
                              capture_output=True, timeout=timeout, stdin=None if input is not None else subprocess.DEVNULL)
        if code is not None and done.returncode != code:
            raise AssertionError(f"dockdist {' '.join(arguments)} exited with {done.returncode}, not {code}\n"
                                 f"--- stdout\n{done.stdout}--- stderr\n{done.stderr}")
        return done

    def start(self, *arguments, **environment):
        return subprocess.Popen(self.command(*arguments), env=self.environment(**environment), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def container(self, node):
        for engine in self.lab.all_engines:
            for found in engine.containers(cluster=self.name, node=node):
                return engine, found["Id"]
        raise AssertionError(f"no container of {node}")

    def all_containers(self):
        return [c for engine in self.lab.all_engines for c in engine.containers(cluster=self.name)]

    def assert_clean(self):
        left = [c["Names"] for c in self.all_containers()]
        assert not left, f"left behind: {left}"


@contextlib.contextmanager
def cluster(lab, name):
    made = Cluster(lab, name)
    remove_all(lab, name)  # what a test that was killed has left
    try:
        yield made
    finally:
        remove_all(lab, name)
        shutil.rmtree(made.folder, ignore_errors=True)


def remove_all(lab, name):
    """By the engines' own API: nothing of one test may meet the next, whatever the program under test does."""
    for engine in lab.all_engines:
        for found in engine.containers(cluster=name):
            engine.call("DELETE", f"/v1.40/containers/{found['Id']}?force=1&v=1")


def read_until(client, text, times=1, timeout=60):
    """Reads the client's stdout until `times` lines hold `text`; returns all lines. A client that stays silent is killed."""
    watchdog = threading.Timer(timeout, client.kill)
    watchdog.start()
    lines = []
    try:
        for line in client.stdout:
            lines.append(line)
            times -= text in line
            if times == 0:
                return lines
    finally:
        watchdog.cancel()
    raise AssertionError(f"no line with {text!r} in:\n{''.join(lines)}--- stderr\n{client.stderr.read()}")


def highest_memory(process):
    """In KiB, of a program that runs until its end; what it prints fits into a pipe. As the program itself has it: what wait4
    tells begins with its parent's."""
    highest = 0
    while process.poll() is None:
        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as status:
            highest = max([highest, *(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))])
        time.sleep(0.01)
    return highest


def eventually(condition, what, timeout=20):
    """For what only the outside world can tell and that has no event of its own: asks until it holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {timeout} s: {what}"
        time.sleep(0.05)


def assert_in(part, whole):
    assert part in whole, f"{part!r} is not in:\n{whole}"
