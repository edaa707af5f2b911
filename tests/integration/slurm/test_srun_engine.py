"""Engines of an allocation's nodes, reached through srun: on a lab with a Slurm (scripts/lab up --slurm). The client runs on
host-1 as `ops`, in an allocation of all hosts."""

import os
import re
import shlex
import shutil
import subprocess
import time
import uuid

import pytest

from harness import eventually
from harness.lab import DOCKDIST, Lab

LIMIT = 90
CODE = "sync: ['code:/tmp/code']\n"


@pytest.fixture(scope="module")
def lab():
    made = Lab()
    if "--slurm" not in made.env["LAB_UP"]:
        pytest.skip("this lab has no Slurm: scripts/lab up --slurm")
    return made


@pytest.fixture(scope="module")
def program(lab):
    """The client with what it needs of this machine's libraries, where the hosts see it."""
    folder = lab.shared / f"client-{os.getpid()}"
    (folder / "lib").mkdir(parents=True)
    shutil.copy(DOCKDIST, folder / "dockdist")
    listed = subprocess.run(["ldd", DOCKDIST], check=True, capture_output=True, text=True).stdout
    for library in re.findall(r"=> (/\S+)", listed):
        shutil.copy(library, folder / "lib")
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/lib", folder / "dockdist"], check=True)
    yield f"/shared/{folder.name}/dockdist"
    shutil.rmtree(folder)


class Allocation:
    def __init__(self, lab, program):
        self.lab, self.program = lab, program
        self.name = "t-" + uuid.uuid4().hex[:8]
        self.folder = lab.shared / self.name
        self.folder.mkdir()
        self.folder.chmod(0o777)
        said = self.on(1, "salloc -Q --no-shell -N2 2>&1; squeue -h -u ops -t R -o %A").stdout
        self.job = said.split()[-1]

    def command(self, host, line):
        return self.lab.command("exec", str(host), "su", "ops", "-c", f"cd {shlex.quote('/shared/' + self.name)}; " + line)

    def on(self, host, line):
        """As ops on a host."""
        return subprocess.run(self.command(host, line), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT)

    def line(self, *words):
        return f"SLURM_JOB_ID={self.job} {self.program} {shlex.join(words)}"

    def run(self, *words, code=0):
        done = self.on(1, self.line(*words))
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def write(self, scheme, image="dockdist-lab/busybox", more=""):
        hosts = "".join(f"  - {{docker: '{scheme}://host-{n}', address: {self.lab.addresses[n - 1]}, gpus: none}}\n" for n in (1, 2))
        (self.folder / "cluster.yaml").write_text(
            f"name: {self.name}\nimage: {image}\nhosts:\n{hosts}container:\n  ulimits: {{memlock: 8192k}}\n{more}"
        )

    def engine_steps(self):
        return self.on(1, f"squeue -h -s -j {self.job} -o %j").stdout.split().count("dockdist-engine")

    def ended(self):
        return self.on(1, f"squeue -h -j {self.job} 2>/dev/null").stdout.strip() == ""

    def end(self):
        self.on(1, f"scancel {self.job}")
        eventually(self.ended, "the allocation has ended", timeout=60)


@pytest.fixture
def allocation(lab, program):
    made = Allocation(lab, program)
    yield made
    if not made.ended():
        made.on(1, made.line("down", "--yes"))
        made.end()
    for engine in lab.engines:
        for found in engine.containers(cluster=made.name):
            engine.call("DELETE", f"/v1.40/containers/{found['Id']}?force=1&v=1")
    shutil.rmtree(made.folder)


def tunnels(a, host):
    return a.on(host, "pgrep -cf '^/proc/self/fd/9 tunnel'").stdout.strip()


def left_on(a, host):
    return a.on(host, "ls -d /dev/shm/dockdist* /tmp/dockdist* 2>/dev/null").stdout


def check_all_of_it(a):
    """Of a file with `sync: ["code:/tmp/code"]`."""
    (a.folder / "code").mkdir()
    (a.folder / "code" / "word").write_text("carried")
    a.run("up")
    assert a.run("run", "--launcher", "plain", "--", "cat", "/etc/hostname").stdout.count("node-") >= 2
    assert a.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout.strip() == "node-1"
    assert a.run("exec", "node-1", "--", "ssh", "node-0", "hostname").stdout.strip() == "node-0"
    a.run("sync")
    assert a.run("exec", "node-1", "--", "cat", "/tmp/code/word").stdout == "carried"
    a.run("down", "--yes")


def test_all_of_it_through_the_nodes_own_docker(lab, allocation):
    allocation.write("srun", more=CODE)
    check_all_of_it(allocation)
    assert not any(engine.containers(cluster=allocation.name) for engine in lab.engines)
    eventually(lambda: tunnels(allocation, 2) == "0", "the tunnel has ended")
    assert left_on(allocation, 1) + left_on(allocation, 2) == ""


def test_all_of_it_through_a_podman_that_ends_with_the_allocation(allocation):
    a = allocation
    for host in (1, 2):  # rootless Podman's own store, which has nothing
        loaded = a.on(host, "docker save dockdist-lab/busybox | podman load")
        assert loaded.returncode == 0, loaded.stderr
    a.write("srun+podman", image="docker.io/dockdist-lab/busybox", more=CODE)
    check_all_of_it(a)
    a.run("up")
    folder = f"/tmp/dockdist-engine-1000-{a.job}"
    assert a.on(2, f"stat -c '%a %U' {folder}").stdout == "700 ops\n"
    assert a.engine_steps() == 2
    a.end()
    eventually(lambda: a.on(2, f"pgrep -cf 'podman system service|conmon'; ls -d {folder}").stdout == "0\n", "nothing of it runs", timeout=60)
    assert a.on(2, "podman ps -aq").stdout == ""
    assert left_on(a, 1) + left_on(a, 2) == ""


def test_two_commands_at_once_start_one_podman(allocation):
    a = allocation
    a.write("srun+podman")
    both = [subprocess.Popen(a.command(1, a.line("status")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [client.communicate(timeout=LIMIT) for client in both]
    assert all(out.count("absent") == 2 for out, _ in said), said
    eventually(lambda: a.engine_steps() == 2, "one a node goes on")


def test_a_folder_of_somebody_else_is_refused(lab, allocation):
    a = allocation
    folder = f"/tmp/dockdist-engine-1000-{a.job}"
    lab.script("exec", "2", "mkdir", "-m", "755", folder)
    a.write("srun+podman")
    failed = a.run("status", code=1)
    assert f"{folder} on host-2 belongs to somebody else" in failed.stderr
    lab.script("exec", "2", "rmdir", folder)


def test_a_lost_step_is_made_again(allocation):
    a = allocation
    a.write("srun")
    a.run("up")
    client = subprocess.Popen(a.command(1, a.line("run", "--launcher", "plain", "--", "sh", "-c", "echo begun; while [ ! -e /tmp/on ]; do sleep 0.1; done; echo done")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begun = [client.stdout.readline(), client.stdout.readline()]
    assert all("begun" in line for line in begun), client.communicate(timeout=LIMIT)
    a.on(1, "pkill -KILL -u ops -x srun")  # the test's own, of its own user on its own host
    for node in ("node-0", "node-1"):
        a.run("exec", node, "--", "touch", "/tmp/on")
    out, err = client.communicate(timeout=LIMIT)
    assert client.returncode == 0, err
    assert out.count("done") == 2, out + err


def test_an_allocation_that_ends_in_the_middle_of_up_is_told(allocation):
    a = allocation
    a.write("srun", more="setup: ['touch /tmp/setting-up; sleep 600']\n")
    up = subprocess.Popen(a.command(1, a.line("up")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    eventually(lambda: tunnels(a, 2) != "0" and a.on(2, "pgrep -f 'sleep 600'").stdout != "", "it is in the middle", timeout=60)
    a.on(1, f"scancel {a.job}")
    begin = time.monotonic()
    _, err = up.communicate(timeout=LIMIT)
    assert up.returncode == 1, err
    assert time.monotonic() - begin < 20
    assert f"has allocation {a.job} ended" in err, err


def test_outside_of_an_allocation_and_of_its_nodes(allocation):
    a = allocation
    a.write("srun")
    outside = a.on(1, f"{a.program} status")
    assert outside.returncode == 2, outside.stderr
    assert "is reached from inside a Slurm allocation only" in outside.stderr
    (a.folder / "cluster.yaml").write_text(f"name: {a.name}\nimage: dockdist-lab/busybox\nhosts: ['srun://host-9']\n")
    elsewhere = a.run("status", code=1)
    assert "srun starts no step on host-9: " in elsewhere.stderr
    (a.folder / "cluster.yaml").write_text(f"name: {a.name}\nimage: dockdist-lab/busybox\nhosts: ['srun://host-1/run/none.sock']\n")
    assert "no socket at /run/none.sock on host-1" in a.run("status", code=1).stderr
