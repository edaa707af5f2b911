"""Stub engines (tests/scale/stub_engines), many in one process: they stand where a test has the lab. Their containers run dockdist-init
itself, in a busybox image."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile

from harness.busybox import BUSYBOX
from harness.lab import DOCKDIST, TOOLKIT_TAR, Engine

PROGRAM = DOCKDIST.parent / "stub_engines"
IMAGE = "stub/busybox:1"
APPLETS = ("sh ls cat env id sleep true false head kill mkdir rm echo hostname sha256sum ps test wc tr stat printf sort touch yes dd nc cut "
           "grep seq date usleep").split()


def make_image(folder):
    """What a container of IMAGE sees, and what an engine tells of it."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy(BUSYBOX, folder / "bin/busybox")
    (folder / "bin/busybox").chmod(0o755)
    for applet in APPLETS:
        (folder / "bin" / applet).symlink_to("busybox")
    (folder / "etc").mkdir()
    (folder / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    (folder / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
    config = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], "Entrypoint": None, "Cmd": ["sh"], "User": "", "WorkingDir": "", "Image": "",
              "Labels": None}
    pathlib.Path(f"{folder}.json").write_text(json.dumps({"Config": config, "Size": 1 << 20}))


class Stubs:
    """They look like a lab to what writes a cluster's file. `script` is what docs/scale.md says of it."""

    memlock = 8 << 20
    podman_engines = ()

    def __init__(self, hosts, script=None, source=(), node_bandwidth=0, started_by=lambda *command: command):
        self.count = hosts
        self.addresses = [f"127.101.{i // 250}.{i % 250 + 1}" for i in range(hosts)]
        self.node_addresses = {address: address.replace("127.", "10.", 1) for address in self.addresses}
        self.engines = self.all_engines = [Engine(address) for address in self.addresses]
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dockdist-stubs-"))
        self.folder.chmod(0o755)
        make_image(self.folder / "image")
        (self.folder / "script").write_text(json.dumps(script or {}))
        command = [PROGRAM, "--hosts", str(hosts), "--folder", self.folder / "kept", "--script", self.folder / "script",
                   "--image", f"{IMAGE}={self.folder}/image", "--node-bandwidth", str(int(node_bandwidth))]
        for name, tar in source:  # images that the last host alone has
            command += ["--source", f"{name}={tar}"]
        self.process = subprocess.Popen(started_by(*command), stdout=subprocess.PIPE)
        readable, _, _ = select.select([self.process.stdout], [], [], 120)
        assert readable and self.process.stdout.readline() == b"ready\n", "the stub engines do not start"

    def close(self):
        self.process.terminate()
        code = self.process.wait(60)
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert code == 0, f"the stub engines ended with {code}"

    def _ask(self, method, path, body=None, host=0):
        status, data = self.engines[host].call(method, "/_stub/" + path, body)
        assert status in (200, 204), (path, status, data)
        return json.loads(data) if data else None

    def counters(self):
        return self._ask("GET", "counters")

    def reset_counters(self):
        self._ask("POST", "reset")

    def script(self, **script):
        self._ask("POST", "script", script)

    def share_toolkit(self):
        """The first host has the toolkit: the others have it, too."""
        self._ask("POST", "share?name=dockdist-toolkit-" + TOOLKIT_TAR.with_suffix(".version").read_text())

    def processes(self):
        """Those that the stubs have begun and that are there still, below them and in their containers."""
        below = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout.split()
        children = {}
        for pid, parent in zip(map(int, below[::2]), map(int, below[1::2])):
            children.setdefault(parent, []).append(pid)
        found, left = [], [self.process.pid]
        while left:
            new = children.get(left.pop(), [])
            found += new
            left += new
        return found


@contextlib.contextmanager
def source_image(make):
    """What make(folder) has written there, for `source`."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dockdist-stub-image-"))
    try:
        yield make(folder)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def stubs(hosts, **more):
    made = Stubs(hosts, **more)
    try:
        yield made
    finally:
        made.close()
