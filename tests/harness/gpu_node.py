"""A node under test with GPUs that a script of its own tells, and with the board of a host that several such nodes share."""

import json
import os
import subprocess
import tempfile

import pytest

from harness.node_process import DEADLINE, PROGRAM, Node

NVIDIA_SMI = """#!/bin/sh
case "$1" in
-L) cat "{0}/listing" ;;
*) cat "{0}/facts"; exit "$(cat "{0}/code")" ;;
esac
"""


def uuid(index):
    return "GPU-%04d" % index


def gpu(index, used=0, errors=0, mig="Disabled"):
    return "%d, %s, Model, %d, 81920, 0, 30, 70.1, 550.1, %s, %d" % (index, uuid(index), used, mig, errors)


class GpuNode(Node):
    def __init__(self, board, name="n", cluster="c", gpus=2, slots=1):
        super().__init__()
        self.name, self.cluster = name, cluster
        self.environment["DOCKDIST_TEST_GPUS"] = board
        self.bin = self.root + "/bin"
        self.environment["PATH"] = self.bin + ":" + os.environ["PATH"]
        os.makedirs(self.bin)
        os.makedirs(self.root + "/run/dockdist")
        if gpus:
            self.tell([gpu(i) for i in range(gpus)])
            with open(self.bin + "/nvidia-smi", "w") as script:
                script.write(NVIDIA_SMI.format(self.bin))
            os.chmod(self.bin + "/nvidia-smi", 0o755)
        units = [{"id": uuid(i), "index": i, "name": "Model"} for i in range(gpus)]
        with open(self.root + "/run/dockdist/gpus.json", "w") as known:
            json.dump({"cluster": cluster, "node": name, "slots": slots, "units": units, "topology": ""}, known)

    def tell(self, lines, code=0, listing=""):
        """What nvidia-smi says from now on."""
        for name, text in (("facts", "".join(line + "\n" for line in lines)), ("code", str(code)), ("listing", listing)):
            with open(self.bin + "/new", "w") as file:
                file.write(text)
            os.rename(self.bin + "/new", self.bin + "/" + name)

    def ask(self, job, count=1, priority=0, number=0, env=None, look=False, **opening):
        """The opening of a job that wants GPUs of its own."""
        stream = self.open(job=job, owner="me@here", env=env or {}, lease_ms=20000, **opening,
                           gpus={"share": look, "look": look, "count": count, "priority": priority, "number": number, "in_use_mib": 1024})
        return stream

    def waiter(self, job, order=1, **words):
        """A job that has got into line with what its host proposes."""
        stream = self.ask(job, **words)
        assert stream.until("prepared")["gpus"]["state"] == "waits"
        return stream, get_in_line(stream, order)

    def report(self, *words):
        done = subprocess.run([PROGRAM, "gpus", *words], env=self.environment, stdout=subprocess.PIPE, timeout=DEADLINE, check=True)
        return json.loads(done.stdout)


def turn_after(stream, order):
    """The answer to an order."""
    while True:
        turn = stream.until("turn")
        if turn["order"] >= order:
            return turn


def until_state(stream, state, order=0):
    while True:
        turn = stream.until("turn")
        if turn["state"] == state and turn["order"] >= order:
            return turn


def look(stream, order):
    stream.send(type="look", order=order)
    return turn_after(stream, order)


def get_in_line(stream, order=1, number=0):
    stream.send(type="line", order=order)
    proposed = turn_after(stream, order)["number"]
    stream.send(type="line", order=order + 1, number=max(number, proposed))
    return turn_after(stream, order + 1)


def take(stream, order):
    stream.send(type="take", order=order)
    return turn_after(stream, order)


AMD = {"simd_count": 1216, "gfx_target_version": 90402, "vendor_id": 4098}


def amd_uuid(index):
    return "GPU-%016x" % (0xA000 + index)


def add_amd_gpus(root, count):
    """As AMD's driver and the engine show them to a container: KFD's nodes, a CPU's first, and their devices. The last one's
    device is another container's."""
    def write(path, text):
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with open(root + path, "w") as file:
            file.write(text)
    write("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\n")
    write("/sys/module/amdgpu/version", "6.8.5\n")
    write("/dev/kfd", "")
    os.chmod(root + "/dev/kfd", 0o660)
    for index in range(count + 1):
        facts = {**AMD, "drm_render_minor": 128 + index, "unique_id": 0xA000 + index}
        write("/sys/class/kfd/kfd/topology/nodes/%d/properties" % (index + 1), "".join("%s %d\n" % fact for fact in facts.items()))
        device = "/sys/class/drm/renderD%d/device/" % (128 + index)
        for name, text in (("mem_info_vram_total", 206141652992), ("mem_info_vram_used", 297795584 + index), ("gpu_busy_percent", 7),
                           ("product_name", "AMD Instinct MI300X"), ("ras/umc_err_count", "ue: %d\nce: 9" % index),
                           ("hwmon/hwmon3/power1_average", 141000000), ("hwmon/hwmon3/power1_cap", 750000000),
                           ("hwmon/hwmon3/temp1_input", 43000), ("hwmon/hwmon3/freq1_input", 132000000)):
            write(device + name, "%s\n" % text)
        if index < count:
            write("/dev/dri/renderD%d" % (128 + index), "")


class OnAHost:
    """Tests with a host of their own each, on which they put nodes."""

    @pytest.fixture(autouse=True)
    def own_host(self):
        self.board = tempfile.mkdtemp(prefix="dockdist-gpus-")
        self.nodes = []
        yield
        for node in self.nodes:
            node.end()
        subprocess.run(["rm", "-rf", self.board], check=True)

    def node(self, name="n", **words):
        node = GpuNode(self.board, name, **words)
        self.nodes.append(node)
        return node

    def entries(self):
        with open(self.board + "/board.json") as file:
            return json.load(file)["entries"]
