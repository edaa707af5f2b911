"""A cluster of a test: its file, the program that is run on it, and what of it stands on the hosts."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse

from harness.lab import DOCKDIST
from harness.output_schema import json_asked_for, mistakes_of
from harness.waiting import Client


class Cluster:
    """A cluster.yaml in a folder of its own, under a name of its own; taken down at the end whatever happened."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"dockdist-{name}-"))
        self.file = self.folder / "cluster.yaml"

    def write(self, hosts=2, image="dockdist-lab/busybox", gpus="none", container="", more="", host_more="", machines=None):
        """`machines`: which of the lab's with Docker each host is, from 0; with fewer machines than hosts the first ones have two nodes."""
        lines = [f"name: {self.name}", f"image: {image}", "hosts:"]
        addresses = [*self.lab.addresses, *getattr(self.lab, "containerd_addresses", ())]
        for i, machine in enumerate(machines or [i % self.lab.count for i in range(hosts)]):
            address = addresses[machine]
            peers = getattr(self.lab, "node_addresses", {}).get(address)  # where the nodes of a host have another one than its engine
            lines.append(f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: {gpus}{f', address: {peers}' if peers else ''}{host_more}}}")
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
        if json_asked_for(arguments):
            wrong = mistakes_of(arguments, done.stdout)
            assert wrong == [], f"{arguments}: templates/output.schema.json says another thing: {wrong}"
        return done

    def up(self, *arguments, **environment):
        """Without the quick check at its end, which takes longer than the rest: that is what tests of the check ask for."""
        return self.run("up", "--no-check", *arguments, **environment)

    def start(self, *arguments, **environment):
        return Client(self.command(*arguments), env=self.environment(**environment), stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def container(self, node):
        for engine in self.lab.all_engines:
            for found in engine.containers(cluster=self.name, node=node):
                return engine, found["Id"]
        raise AssertionError(f"no container of {node}")

    def all_containers(self):
        return [c for engine in self.lab.all_engines for c in engine.containers(cluster=self.name)]

    def processes(self, text):
        """Those on any node whose command line holds `text`."""
        return [line for engine in self.lab.engines for found in engine.containers(cluster=self.name)
                if found["State"] == "running" for line in engine.processes(found["Id"]) if text in line]

    def detach(self, *words, script):
        """The name of a job that was left to the cluster."""
        return job_left(self.run("run", "--detach", *words, "--", "sh", "-c", script).stderr)

    def assert_clean(self):
        left = [c["Names"] for c in self.all_containers()]
        assert not left, f"left behind: {left}"


def job_left(text):
    """The name of the job that a client says it leaves to the cluster; others are named too, where it waited for them."""
    name = re.search(r"(job-[0-9a-f]{8}) goes on by itself", text)
    assert name, text
    return name.group(1)


@contextlib.contextmanager
def cluster(lab, name):
    made = Cluster(lab, name)
    remove_all(lab, name)  # what a test that was killed has left
    try:
        yield made
    finally:
        remove_all(lab, name)
        shutil.rmtree(made.folder, ignore_errors=True)


def stores_on(engine, name):
    """The volumes in which the cluster's nodes keep what their jobs leave."""
    filters = urllib.parse.quote(json.dumps({"label": [f"dockdist.cluster={name}", "dockdist.role=store"]}))
    status, data = engine.call("GET", f"/v1.40/volumes?filters={filters}")
    assert status == 200, data
    return [volume["Name"] for volume in json.loads(data).get("Volumes") or []]


def remove_all(lab, name):
    """By the engines' own API: nothing of one test may meet the next, whatever the program under test does."""
    for engine in lab.all_engines:
        for found in engine.containers(cluster=name):
            engine.call("DELETE", f"/v1.40/containers/{found['Id']}?force=1&v=1")
        for volume in stores_on(engine, name):
            engine.call("DELETE", f"/v1.40/volumes/{volume}")
