"""The lab and what its engines themselves say: they are asked through their own API, not through dockdist, so that a test
cannot believe the program it tests."""

import http.client
import json
import os
import pathlib
import platform
import socket
import subprocess
import urllib.parse

from harness.settings import restore_settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKDIST = pathlib.Path(os.environ.get("DOCKDIST", ROOT / "build" / "dockdist"))
TOOLKIT_TAR = DOCKDIST.parent / "src/client/toolkit" / f"toolkit.{'arm64' if platform.machine() == 'aarch64' else 'amd64'}.tar"  # this machine's
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
        tar = isinstance(body, bytes)
        headers = {"Content-Type": "application/x-tar" if tar else "application/json"} if body is not None else {}
        connection.request(method, path, body if tar or body is None else json.dumps(body), {"Host": "engine", **headers})
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
        """The command lines of every process in a container; none where it has ended by now."""
        status, data = self.call("GET", f"/v1.40/containers/{container}/top?ps_args=-eo%20pid,args")
        assert status in (200, 404, 409), f"top of {container}: {status} {data[:300]}"
        return [row[-1] for row in json.loads(data)["Processes"]] if status == 200 else []


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
        self.podman = [i for i in hosts if self.env[f"LAB_HOST_{i}_KIND"] == "podman"]  # numbers of hosts, 4.3 before 5.4
        self.podman_addresses = [self.env[f"LAB_HOST_{i}_ADDRESS"] for i in self.podman]
        self.podman_sockets = [self.env[f"LAB_HOST_{i}_SOCKET"] for i in self.podman]
        self.podman_engines = [Engine(address) for address in self.podman_addresses]
        # Docker's engines whose images are in containerd's store; the other ones' are in a graph driver's.
        self.containerd = [i for i in hosts if self.env[f"LAB_HOST_{i}_KIND"] == "containerd"]
        self.containerd_addresses = [self.env[f"LAB_HOST_{i}_ADDRESS"] for i in self.containerd]
        self.containerd_sockets = [self.env[f"LAB_HOST_{i}_SOCKET"] for i in self.containerd]
        self.containerd_engines = [Engine(address) for address in self.containerd_addresses]
        self.all_engines = self.engines + self.podman_engines + self.containerd_engines
        self.all_addresses = self.addresses + self.podman_addresses + self.containerd_addresses
        self.all_numbers = docker + self.podman + self.containerd  # of the hosts of all_engines
        self.kinds = ["docker"] * len(docker) + ["podman"] * len(self.podman) + ["containerd"] * len(self.containerd)  # theirs
        self.memlock = self.env["LAB_MEMLOCK"]
        self.shared = pathlib.Path(self.env["LAB_SHARED"])
        # Only the lab's own link leads to its addresses: a lab that is down must not send its tests' packets elsewhere.
        for address in self.all_addresses:
            route = subprocess.run(["ip", "-4", "route", "get", address], check=True, capture_output=True, text=True).stdout
            assert self.env["LAB_MACHINE_ADDRESS"] in route, f"{address} is not reached through the lab: {route}"

    def command(self, *arguments):
        return [str(ROOT / "scripts/lab"), "--name", LAB_NAME, *arguments]

    def script(self, *arguments):
        return subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True).stdout

    def heal(self):
        """Gives back what a test that was killed has taken from a host, its network or its engine; and removes its cluster."""
        for number in range(1, int(self.env["LAB_HOSTS"]) + 1):
            restore_settings(self, number)
            connection = http.client.HTTPConnection(self.env[f"LAB_HOST_{number}_ADDRESS"], 2375, timeout=5)
            try:
                connection.request("GET", "/_ping")
                connection.getresponse().read()
            except OSError:
                self.script("mend", str(number))
                self.script("exec", str(number), "sh", "-c", "kill -CONT $(cat /run/lab/engine.pid) || true")
                self.script("start-engine", str(number))
            finally:
                connection.close()
        for engine in self.all_engines:
            for found in engine.containers():
                if found["Labels"]["dockdist.cluster"].startswith("t-"):
                    engine.call("DELETE", f"/v1.40/containers/{found['Id']}?force=1&v=1")

    def link(self):
        """This machine's end of the hosts' network."""
        shown = subprocess.run(["ip", "-4", "-o", "address"], check=True, capture_output=True, text=True).stdout
        return next(line.split()[1] for line in shown.splitlines() if self.env["LAB_MACHINE_ADDRESS"] + "/" in line)
