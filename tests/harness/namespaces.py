"""Nodes without an engine: PID, mount and UTS namespaces around a folder that holds busybox and the toolkit, two of them
in one network namespace, as two containers with host networking are."""

import contextlib
import hashlib
import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from harness.busybox import BUSYBOX
from harness.patience import Watch

TOOLKIT = os.environ.get("DOCKDIST_TOOLKIT_TAR", "toolkit.tar")
ADDRESS = "10.77.0.1"
SHARED = "/var/lib/dockdist/shared/gpus"  # what nodes of a host share
DEADLINE = 30
APPLETS = "sh ls cat env id sleep true false head kill mkdir rm echo hostname sha256sum ps test wc tr stat printf sort touch".split()


def wait_for(what, condition):
    watch = Watch()
    while not condition():
        assert watch.within(DEADLINE), f"waited {watch} for {what}"
        time.sleep(0.02)


def only_child(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        found = children.read().split()
    return int(found[0]) if found else None


SQUATTER = """
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
os.setuid(%d)
taken = []
for name in %r:
    taken.append(socket.socket(socket.AF_UNIX))
    taken[-1].bind("\\0" + name)
    %s
print("taken", flush=True)
sys.stdin.read()
"""


CALLER = """
import os, socket, sys
os.setuid(%d)
there = []
for name in %r * %d:
    there.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
    there[-1].connect_ex("\\0" + name)
print("there", flush=True)
sys.stdin.read()
"""


class Host:
    """A network namespace with one address, and more for nodes that are to look as if they were on other hosts."""

    OTHERS = ["10.77.0.%d" % number for number in range(2, 12)]

    def __init__(self):
        self.squatters = []
        self.process = subprocess.Popen(
            ["unshare", "--net", "sh", "-c",
             "ip link set lo up && ip address add %s/24 dev lo && for a in %s; do ip address add $a/32 dev lo; done && echo up && "
             "exec sleep infinity" % (ADDRESS, " ".join(self.OTHERS))],
            stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"up\n", "no network namespace"

    def command(self, *arguments):
        return ["nsenter", "--target", str(self.process.pid), "--net", *arguments]

    def squat(self, names, uid=4242, listen=True):
        """Somebody takes these names of the network namespace, and answers nobody who connects."""
        script = SQUATTER % (uid, list(names), "taken[-1].listen()" if listen else "pass")
        squatter = subprocess.Popen(self.command(sys.executable, "-c", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.squatters.append(squatter)
        assert squatter.stdout.readline() == b"taken\n"

    def call(self, names, times, uid=4242):
        """Somebody connects to each, so often, where it is there, and says nothing."""
        self.squatters.append(subprocess.Popen(self.command(sys.executable, "-c", CALLER % (uid, list(names), times)),
                                               stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert self.squatters[-1].stdout.readline() == b"there\n"

    def end(self):
        for squatter in self.squatters:
            squatter.communicate()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Node:
    def __init__(self, host, name, environment=None, files=None, applets=tuple(APPLETS), busybox=None, mounts=None, stdin=subprocess.DEVNULL):
        """`mounts`: the folders that stand at these paths, as binds. `stdin`: of its first process."""
        self.name = name
        self.root = tempfile.mkdtemp(prefix="dockdist-%s-" % name)
        for folder in ("bin", "etc", "proc", "dev/pts", "run/dockdist", "opt/dockdist", "work"):
            os.makedirs("%s/%s" % (self.root, folder))
        os.chmod(self.root, 0o755)
        subprocess.run(["tar", "-xf", TOOLKIT, "-C", self.root + "/opt/dockdist"], check=True)
        if applets:
            shutil.copy(busybox, self.root + "/bin/busybox")
            os.chmod(self.root + "/bin/busybox", 0o755)
        for applet in applets:
            os.symlink("busybox", "%s/bin/%s" % (self.root, applet))
        for path, content in (files or {}).items():
            os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
            if isinstance(content, bytes):
                with open(self.root + path, "wb") as file:
                    file.write(content)
            else:
                content(self.root + path)
        binds = ""
        for target, source in (mounts or {}).items():
            os.makedirs(self.root + target, exist_ok=True)
            binds += "mount --bind %s %s\n" % (shlex.quote(source), shlex.quote(self.root + target))
        self.environment = {"PATH": "/bin", **(environment or {})}
        script = """
            set -e
            mount --make-rprivate /
            BINDS
            mount -t proc proc "$0/proc"
            mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
            for device in null:1:3 zero:1:5 random:1:8 urandom:1:9 tty:5:0; do
                mknod -m 666 "$0/dev/${device%%:*}" c $(echo "${device#*:}" | tr : ' ')
            done
            ln -s pts/ptmx "$0/dev/ptmx"
            if [ ! -L "$0/run/dockdist" ]; then mount -t tmpfs -o mode=0755 tmpfs "$0/run/dockdist"; fi
            hostname "$1"
            root=$0
            shift
            exec env -i "$@" chroot "$root" /opt/dockdist/bin/dockdist-init
        """
        # The program that `chroot` names is found by its own path, as PATH is the node's by then.
        script = script.replace("BINDS", binds).replace("chroot \"$root\"", shutil.which("chroot") + " \"$root\"")
        self.log_path = self.root + ".log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                host.command("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", script, self.root,
                             name, *("%s=%s" % pair for pair in self.environment.items())),
                stdin=stdin, stdout=log, stderr=subprocess.DEVNULL)
        wait_for("the first process of " + name, lambda: b"\n" in self.log())

    def log(self):
        with open(self.log_path, "rb") as log:
            return log.read()

    def log_lines(self):
        return [json.loads(line) for line in self.log().splitlines()]

    @property
    def pid(self):
        return only_child(self.process.pid)

    def exec_command(self, *arguments, environment=None):
        environment = {**self.environment, **(environment or {})}
        pairs = ["%s=%s" % pair for pair in environment.items()]
        return ["nsenter", "--target", str(self.pid), "--mount", "--uts", "--net", "--pid", "--root", "--wd=/",
                self.root_program("env"), "-i", *pairs, *arguments]

    def root_program(self, name):
        return "/bin/" + name

    def popen(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen(self.exec_command(*arguments), **options)

    def run(self, *arguments, input=b"", environment=None):
        return subprocess.run(self.exec_command(*arguments, environment=environment), input=input, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=DEADLINE, check=False)

    def ssh(self, node, command, **options):
        return self.run("/opt/dockdist/bin/ssh", node, command, **options)

    def processes(self):
        return self.run("ps").stdout.decode()

    def end(self):
        if self.process.poll() is None:
            pid = self.pid
            if pid:
                os.kill(pid, 15)
            self.process.wait(DEADLINE)
        if self.process.stdin:
            self.process.stdin.close()
        shutil.rmtree(self.root, ignore_errors=True)
        os.unlink(self.log_path)


def members_list(nodes):
    return json.dumps({"cluster": "test", "nodes": nodes})


def notice_of(text, **words):
    """The line that announces the list `text`."""
    return json.dumps({"type": "members", "sha256": hashlib.sha256(text.encode()).hexdigest(), **words})


class Join:
    """The client's side of one join."""

    def __init__(self, node, rank, **request):
        request = {"version": 2, "cluster": "test", "node": node.name, "rank": rank, "address": ADDRESS,
                   "ready_timeout_ms": 10000, **request}
        self.process = node.popen("/opt/dockdist/bin/dockdist-init", "join", json.dumps(request), stdin=subprocess.PIPE)

    def line(self):
        readable, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        assert readable, "join said nothing for %d s" % DEADLINE
        return json.loads(self.process.stdout.readline())

    def send(self, nodes):
        """The notice, and the list behind it."""
        text = members_list(nodes)
        self.notice(text, first=len(nodes))
        self.tell(text)

    def notice(self, text, **words):
        self.tell(notice_of(text, **words))

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return code


def join(nodes, **request):
    """Joins all; their records, after each has said ready."""
    joins = [Join(node, rank, **request) for rank, node in enumerate(nodes)]
    records = [one.line() for one in joins]
    assert all(record["type"] == "hello" for record in records), records
    for one in joins:
        one.send(records)
    answers = [one.line() for one in joins]
    assert all(answer["type"] == "ready" for answer in answers), answers
    assert all(one.end() == 0 for one in joins)
    return records


ODD_VALUE = "a  \"b\" 'c' $d `e` \\ \u00e9\nsecond line\n"
# What an image's variables and nsswitch.conf can do to dynamic programs that are not its own.
HOSTILE = {"LD_LIBRARY_PATH": "/evil", "LD_PRELOAD": "/evil/libc.so.6", "ODD": ODD_VALUE}
HOSTILE_FILES = {"/evil/libc.so.6": b"garbage", "/evil/libcrypto.so.3": b"garbage", "/evil/libz.so.1": b"garbage",
                 "/etc/nsswitch.conf": b"passwd: sss systemd files\nhosts: dns\n",
                 "/etc/hosts": b"127.0.0.1 localhost\n127.0.1.1 node-0.example.org node-0\n"}


NEEDED = pytest.mark.skipif(os.geteuid() != 0 or BUSYBOX is None, reason="needs root and a static busybox (apt install busybox-static)")


class TwoNodes:
    """Tests that share two nodes which have joined."""

    REQUEST = {}  # of their joins

    @pytest.fixture(scope="class", autouse=True)
    def two_nodes(self, request):
        with contextlib.ExitStack() as ending:
            host = Host()
            ending.callback(host.end)
            nodes = []
            for name in ("node-0", "node-1"):
                nodes.append(Node(host, name, HOSTILE, HOSTILE_FILES, busybox=BUSYBOX))
                ending.callback(nodes[-1].end)
            request.cls.nodes = nodes
            request.cls.a, request.cls.b = nodes
            request.cls.records = join(nodes, **request.cls.REQUEST)
            yield
