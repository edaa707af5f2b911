"""Engines of an allocation's nodes, reached through srun. The client runs on host-1 as `ops`, in an allocation of it and host-2."""

import re
import subprocess
import uuid

import pytest

from harness import Client, assert_in, eventually
from harness.patience import Watch
from harness.waiting import read_until

CODE = "sync: ['code:/tmp/code']\n"
HOLD = "echo begun; until [ -e /tmp/on ]; do sleep 0.1; done; echo done"


class Allocation:
    def __init__(self, slurm):
        self.slurm = slurm
        self.name = "t-" + uuid.uuid4().hex[:8]
        slurm.as_ops(1, 'mkdir "$1"', self.name)
        self.job = re.search(r"allocation (\d+)", slurm.as_ops(1, "salloc --no-shell --nodelist host-1,host-2 -N2 --gpus 4 2>&1").stdout)[1]

    def line(self, line):
        """$dockdist is the client, in the allocation; the working folder is its own."""
        return f"cd /shared/{self.name}\nexport SLURM_JOB_ID={self.job} dockdist={self.slurm.program}\n{line}"

    def on(self, host, line, *arguments, code=0):
        return self.slurm.as_ops(host, self.line(line), *arguments, code=code)

    def run(self, *words, code=0):
        """Without input: Podman 4.3 may lose the output of an exec that ends while the end of its input is on its way."""
        return self.on(1, '"$dockdist" "$@" </dev/null', *words, code=code)

    def start(self, *words, stderr="2>&2"):
        """Its first line of stdout is the client's process ID on host-1."""
        return Client(self.slurm.command(1, self.line(f'echo $$; exec "$dockdist" "$@" {stderr}'), *words), text=True,
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def write(self, hosts, more=""):
        limits = f"memlock: {self.slurm.lab.memlock}, nofile: {self.slurm.lab.env['LAB_NOFILE']}, nproc: {self.slurm.lab.env['LAB_NPROC']}"
        self.slurm.as_ops(1, 'cat >"$1/cluster.yaml"', self.name, input=(
            f"name: {self.name}\nimage: dockdist-lab/busybox\nhosts: [{hosts}]\ncontainer:\n  ulimits: {{{limits}}}\n{more}"))

    def write_all(self, scheme, keys="", **settings):
        """Of the allocation's nodes."""
        self.write(f"{{from: slurm, docker: '{scheme}://%n'{keys}}}", **settings)

    def write_each(self, scheme):
        """Item by item, as one may without `from: slurm`."""
        self.write(", ".join(f"{{name: node-{i}, docker: '{scheme}://host-{i + 1}', gpus: none}}" for i in (0, 1)))

    def words_on(self, host, line):
        return self.on(host, line, code=None).stdout.strip()

    def engine_steps(self):
        return self.on(1, 'squeue --noheader --steps --jobs "$1" --format %j', self.job).stdout.split().count("dockdist-engine")

    def cancel(self):
        self.slurm.as_ops(1, 'scancel "$1"', self.job)

    def end(self):
        self.slurm.end(self.job)

    def containers(self):
        """Of the allocation, that the nodes' Docker has."""
        return [name for host in (1, 2) for name in self.slurm.as_root(
            host, "docker ps --all --filter \"label=dockdist.slurm-job=$1\" --format '{{.Names}}'", self.job).split()]

    def tunnels(self, host):
        """How many of them end on the host."""
        return int(self.words_on(host, "pgrep -cf '^/proc/self/fd/9 tunnel'"))

    def left(self):
        return "".join(self.words_on(host, "ls -d /dev/shm/dockdist* /tmp/dockdist*") for host in (1, 2))

    def clear(self):
        if not self.slurm.has_ended(self.job):
            self.run("down", code=None)
            self.end()
        for host in (1, 2):
            self.slurm.as_root(host, 'ids=$(docker ps --all --quiet --filter label=dockdist.cluster); [ -z "$ids" ] || docker rm --force $ids >/dev/null')
            self.slurm.as_ops(host, "podman rm --all --force", code=None)
        self.slurm.as_root(1, 'rm -r "/shared/$1"', self.name)


@pytest.fixture
def allocation(slurm):
    made = Allocation(slurm)
    yield made
    made.clear()


def check_all_of_it(a):
    """Of a file with CODE."""
    a.on(1, "mkdir code; echo carried >code/word; head -c 8000000 /dev/urandom >big")
    a.run("up")
    assert sorted(line[-8:] for line in a.run("run", "--launcher", "plain", "--", "sh", "-c", "echo rank $NODE_RANK/$NNODES").stdout.splitlines()
                  if "] rank" in line) == ["rank 0/2", "rank 1/2"]
    for here, there in (("host-1", "host-2"), ("host-2", "host-1")):
        assert a.run("exec", here, "--", "ssh", there, "hostname").stdout == there + "\n"
        assert a.run("ssh", here, "--", "hostname").stdout == here + "\n"
    a.run("sync")
    assert a.run("exec", "host-2", "--", "cat", "/tmp/code/word").stdout == "carried\n"
    a.on(1, "$dockdist cp big host-2:/tmp/ && $dockdist cp host-2:/tmp/big back && cmp big back")
    check_a_port(a)
    a.run("down")


def check_a_port(a):
    a.run("exec", "host-2", "--", "httpd", "-p", "127.0.0.1:8099", "-h", "/tmp")
    client = a.start("forward", "host-2", "0:8099", stderr="2>&1")
    shown = "".join(read_until(client, "8099"))
    port = re.search(r"127\.0\.0\.1:(\d+)", shown)[1]
    a.on(1, 'curl --silent --fail "http://127.0.0.1:$1/big" | cmp - big', port)
    a.on(1, 'kill -INT "$1"', shown.split()[0])
    assert client.communicate(timeout=60)[0] == ""


def test_all_of_it_through_the_nodes_own_docker(allocation):
    a = allocation
    a.write_all("srun", more=CODE)
    check_all_of_it(a)
    assert not a.containers()
    eventually(lambda: a.tunnels(2) == 0, "the tunnel has ended")
    assert a.left() == ""


def test_all_of_it_through_a_podman_that_ends_with_the_allocation(allocation):
    a = allocation
    for host in (1, 2):  # rootless Podman's own store, which has nothing
        a.on(host, "docker save dockdist-lab/busybox | podman load")
    a.write_all("srun+podman", ", gpus: none", more=CODE)  # Podman 4.3 has no CDI
    check_all_of_it(a)
    a.run("up")
    folder = f"/tmp/dockdist-engine-1000-{a.job}"
    assert a.on(2, "stat -c '%a %U' $1", folder).stdout == "700 ops\n"
    assert a.engine_steps() == 2
    assert a.on(2, "tr '\\0' '\\n' <\"/proc/$(pgrep -ofx 'podman system service.*')/environ\" | grep CUDA").stdout == "CUDA_VISIBLE_DEVICES=0,1\n"
    a.end()
    for host in (1, 2):
        eventually(lambda host=host: a.words_on(host, "pgrep -cf '^podman system service|^/opt/dockdist/bin/dockdist-init'") == "0", "nothing of it runs")
        assert a.on(host, "podman ps --all --quiet; podman volume ls --quiet --filter label=dockdist.cluster").stdout == ""
    assert a.left() == ""


def test_two_commands_at_once_start_one_podman(allocation):
    a = allocation
    a.write_each("srun+podman")
    both = [a.start("status") for _ in range(2)]
    said = [client.communicate(timeout=90) for client in both]
    assert all(out.count("absent") == 2 for out, _ in said), said
    eventually(lambda: a.engine_steps() == 2, "one a node goes on")


def test_a_folder_of_somebody_else_is_refused(allocation):
    a = allocation
    folder = f"/tmp/dockdist-engine-1000-{a.job}"
    a.slurm.as_root(2, 'mkdir -m 755 "$1"', folder)
    a.write_each("srun+podman")
    failed = a.run("status", code=1)
    assert_in(f"{folder} on host-2 belongs to somebody else", failed.stderr)
    a.slurm.as_root(2, 'rmdir "$1"', folder)


def test_a_lost_step_is_made_again(allocation):
    a = allocation
    a.write_each("srun")
    a.run("up")
    assert len(a.containers()) == 2
    client = a.start("run", "--launcher", "plain", "--", "sh", "-c", HOLD)
    pid = read_until(client, "begun", times=2)[0].strip()
    a.on(1, 'kill -KILL $(pgrep -x srun -P "$1")', pid)
    for node in ("node-0", "node-1"):
        a.run("exec", node, "--", "touch", "/tmp/on")
    out, err = client.communicate(timeout=90)
    assert client.returncode == 0, err
    assert out.count("done") == 2, out + err


def test_an_allocation_that_ends_in_the_middle_of_up_is_told(allocation):
    a = allocation
    a.write_all("srun", more="setup: ['sleep 600']\n")
    up = a.start("up")
    eventually(lambda: all(a.words_on(host, "pgrep -fx 'sleep 600'") for host in (1, 2)), "it is in the middle", timeout=60)
    a.cancel()
    watch = Watch()
    _, err = up.communicate(timeout=90)
    assert up.returncode == 1, err
    assert watch.within(20), watch
    assert_in(f"has allocation {a.job} ended", err)


def test_outside_of_an_allocation_and_of_its_nodes(allocation):
    a = allocation
    a.write_each("srun")
    outside = a.on(1, "unset SLURM_JOB_ID; $dockdist status", code=2)
    assert_in("is reached from inside a Slurm allocation only", outside.stderr)
    a.write("'srun://host-3'")
    elsewhere = a.run("status", code=1)
    assert_in("srun starts no step on host-3: ", elsewhere.stderr)
    assert_in("is host-3 a node of the allocation?", elsewhere.stderr)
    a.write("'srun://host-1/run/none.sock'")
    assert_in("no socket at /run/none.sock on host-1", a.run("status", code=1).stderr)
