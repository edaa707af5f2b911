"""dockdist-init sample: what a node says of how busy it is, with an nvidia-smi that a script stands for."""

import json
import os
import signal
import subprocess

import pytest

from harness import eventually
from harness.gpu_node import add_amd_gpus, amd_uuid
from harness.node_process import DEADLINE, PROGRAM, Node

LINE = "0, GPU-0, Model, %s, Disabled, 81920, 700.00, 1980, 100, 1024, 100.50, 61, 1980, 0x0000000000000020"
# Notes each start with its mark and its query, then goes on as `mode` says.
NVIDIA_SMI = """#!/bin/sh
echo "$DOCKDIST_JOB $*" >>"{0}/starts"
case "$(cat "{0}/mode")" in
old) case "$*" in *clocks_event_reasons*)
         echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;
     esac;;
dies) echo "{1}"; exit 3;;
silent) exec sleep 4901;;
moved) while :; do echo "{2}"; sleep 0.1; done;;
esac
while :; do echo "{1}"; sleep 0.1; done
"""

PORT = "/sys/class/infiniband/mlx5_0/ports/1/counters/"
HOST = {
    "/proc/stat": "cpu  100 0 50 1000 10 0 0 0 0 0\n",
    "/proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n",
    "/proc/diskstats": "8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n",
    "/proc/net/dev": "a\nb\n lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\nens1: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n"
                     "docker0: 7 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n",
    PORT + "port_rcv_data": "25\n",
    PORT + "port_xmit_data": "50\n",
}


class Sampled(Node):
    def __init__(self, mode="runs", driver="550.127.08", before=lambda root: None, **variables):
        super().__init__()
        self.environment.update(variables)
        before(self.root)
        self.bin = self.root + "/bin"
        os.makedirs(self.bin)
        self.environment["PATH"] = self.bin + ":" + os.environ["PATH"]
        self.say(mode)
        with open(self.bin + "/starts", "w"):  # it is neither root nor anybody's
            os.chmod(self.bin + "/starts", 0o666)
        for path, text in HOST.items():
            os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
            with open(self.root + path, "w") as file:
                file.write(text)
        os.makedirs(self.root + "/sys/class/net")
        for name in ("lo", "ens1", "docker0"):
            os.symlink("/dev/null/" + name, self.root + "/sys/class/net/" + name)
        os.makedirs(self.root + "/sys/block/sda")
        os.symlink("/dev/null", self.root + "/sys/block/sda/device")
        if mode:
            with open(self.bin + "/nvidia-smi", "w") as script:
                script.write(NVIDIA_SMI.format(self.bin, LINE % driver, "3" + LINE[1:] % driver))
            os.chmod(self.bin + "/nvidia-smi", 0o755)
        self.process = subprocess.Popen([PROGRAM, "sample", "--interval", "100"], env=self.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, mode):
        with open(self.bin + "/mode", "w") as file:
            file.write(mode)

    def starts(self):
        with open(self.bin + "/starts") as file:
            return file.read().splitlines()

    def until(self, wanted):
        """The latest facts and the sample of which it holds."""
        while True:
            line = json.loads(self.process.stdout.readline())
            self.facts = line.get("facts", getattr(self, "facts", None))
            if "sample" in line and wanted(self.facts, line["sample"]):
                return self.facts, line["sample"]

    def children(self):
        shown = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        return shown.stdout.split()

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=DEADLINE)
        super().end()


@pytest.fixture
def sampled():
    nodes = []

    def make(*arguments, **words):
        nodes.append(Sampled(*arguments, **words))
        return nodes[-1]

    yield make
    for node in nodes:
        node.end()


def has_figures(facts, sample):
    return "gpus" in sample


def test_one_nvidia_smi_tells_of_all_rounds(sampled):
    node = sampled()
    facts, sample = node.until(has_figures)
    assert facts["gpus"] == [{"index": 0, "uuid": "GPU-0", "name": "Model", "instances": [], "memory_bytes": 81920 << 20,
                              "power_limit_w": 700, "most_clock_mhz": 1980}]
    assert (facts["driver"], facts["asking_gpus"], facts["gpu_problem"], facts["interval_ms"]) == ("550.127.08", False, "", 100)
    assert sample["gpus"] == {"utilization_percent": [100], "memory_bytes": [1024 << 20], "power_w": [100.5], "temperature_c": [61],
                              "clock_mhz": [1980], "throttle": [0x20]}
    times = [node.until(has_figures)[1]["clock_ms"] for _ in range(5)]
    assert times == sorted(set(times)), times
    assert len(node.starts()) == 1 and node.starts()[0].startswith(":helper "), node.starts()


def test_an_old_driver_is_asked_by_its_own_names(sampled):
    node = sampled("old", driver="525.60.13")
    facts, sample = node.until(has_figures)
    assert facts["driver"] == "525.60.13" and facts["gpu_problem"] == ""
    assert ["clocks_throttle_reasons.active" in start for start in node.starts()] == [False, True]


def test_an_nvidia_smi_that_ends_is_told_and_started_again(sampled):
    node = sampled("dies")
    facts, _ = node.until(lambda facts, sample: facts["gpu_problem"])
    assert facts["gpu_problem"] == "nvidia-smi has ended with code 3"
    node.say("runs")
    facts, sample = node.until(lambda facts, sample: not facts["gpu_problem"] and "gpus" in sample)
    assert len(facts["gpus"]) == 1


def test_a_gpu_that_is_counted_anew_is_there_once(sampled):
    node = sampled()
    node.until(has_figures)
    node.say("moved")
    os.kill(int(node.children()[0]), signal.SIGKILL)
    facts, sample = node.until(lambda facts, sample: "gpus" in sample and facts["gpus"][-1]["index"] == 3)
    assert [(gpu["index"], gpu["uuid"]) for gpu in facts["gpus"]] == [(3, "GPU-0")]
    assert sample["gpus"]["power_w"] == [100.5]


def test_figures_that_are_not_fresh_are_absent(sampled):
    node = sampled("silent")
    facts, sample = node.until(lambda facts, sample: facts["gpu_problem"])
    assert facts["gpu_problem"].startswith("nvidia-smi says nothing") and facts["asking_gpus"] is False
    assert "gpus" not in sample and sample["cpu_ms"] > 0


def test_amd_s_gpus_are_read_from_their_driver_s_files(sampled):
    node = sampled("", before=lambda root: add_amd_gpus(root, 1), DOCKDIST_AMD_GPUS="1")
    facts, sample = node.until(has_figures)
    assert facts["driver"] == "6.8.5"
    (gpu,) = facts["gpus"]
    assert (gpu["uuid"], gpu["name"], gpu["memory_bytes"], gpu["power_limit_w"]) == (amd_uuid(0), "AMD Instinct MI300X", 206141652992, 750)
    with open(node.root + "/sys/class/drm/renderD128/device/gpu_busy_percent", "w") as file:
        file.write("93\n")
    facts, sample = node.until(lambda facts, sample: sample["gpus"]["utilization_percent"] == [93])
    assert {name: sample["gpus"][name] for name in ("memory_bytes", "power_w", "temperature_c", "clock_mhz")} == {
        "memory_bytes": [297795584], "power_w": [141], "temperature_c": [43], "clock_mhz": [132]}


def test_a_node_without_gpus_tells_of_the_rest(sampled):
    node = sampled("")
    facts, sample = node.until(lambda facts, sample: True)
    assert facts["gpus"] == [] and facts["asking_gpus"] is False and facts["gpu_problem"] == ""
    assert facts["cpus"] > 0 and "gpus" not in sample


def test_the_host_is_told_as_proc_and_sys_have_it(sampled):
    facts, sample = sampled("").until(lambda facts, sample: True)
    assert (facts["network"], facts["rdma"], facts["memory_bytes"]) == (["docker0", "ens1"], ["mlx5_0/1"], 1000 << 10)
    assert sample["memory_bytes"] == 600 << 10
    assert sample["cpu_ms"] == 150 * 1000 / os.sysconf("SC_CLK_TCK")
    assert (sample["disk_read"], sample["disk_written"]) == (10 * 512, 20 * 512)
    assert sample["network"] == {"received": [7, 5], "sent": [8, 6]}
    assert sample["rdma"] == {"received": [100], "sent": [200]}


def test_it_ends_with_its_client_and_its_nvidia_smi_with_it(sampled):
    node = sampled()
    node.until(has_figures)
    children = node.children()
    assert len(children) == 1
    node.process.stdin.close()
    assert node.process.wait(timeout=DEADLINE) == 0
    eventually(lambda: not os.path.exists(f"/proc/{children[0]}"), "the end of its nvidia-smi")
    node.process.stdin = open(os.devnull, "w")
