"""How busy the nodes are, live: `dockdist top` on real nodes and on a real terminal."""

import fcntl
import json
import os
import signal
import struct
import termios

from harness import assert_in, cluster, eventually
from harness.gpus import gpu_lines, uuids
from harness.running import Running
from harness.screen import UTF8, Screen

COMPUTES = ("sh", "-c", "echo started; while :; do :; done")
WAITS = ("utilization.gpu=100", "power.draw=100.00", "memory.used=70000", "clocks.sm=1980", "clocks_event_reasons.active=0x0000000000000000")
HOT = ("utilization.gpu=97", "power.draw=430.50", "temperature.gpu=88", "clocks.sm=1200", "clocks_event_reasons.active=0x0000000000000020")
LEFT = b"\x1b[?25h\x1b[?1049l"


def running(c, name, command=("sh", "-c", "echo started; exec sleep 4801")):
    job = Running(c, "run", "--name", name, "--gpus", "1", "--", *command)
    job.until("started", times=2)
    return job


def nodes_of(c, *options):
    shown = json.loads(c.run("top", "--once", "-o", "json", *options).stdout)
    return {node["node"]: node for node in shown["nodes"]}, shown["findings"]


def state_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def top(c, columns, *options):
    return Screen(c.command("top", *options), columns, c.environment(**UTF8))


def test_top_tells_of_nodes_gpus_jobs_and_ranks(lab):
    with cluster(lab, "t-top") as c:
        c.write(gpus="all").up()
        job = running(c, "busy", COMPUTES)
        with gpu_lines(lab, 1, 0, *WAITS), gpu_lines(lab, 2, 0, *HOT):
            nodes, findings = nodes_of(c)
            assert [(name, node["answers"], node["problem"]) for name, node in nodes.items()] == [("node-0", True, ""), ("node-1", True, "")]
            for number, node in enumerate(nodes.values()):
                assert [gpu["uuid"] for gpu in node["gpus"]] == uuids(lab, number + 1)
                assert 0 < node["cpu_percent"] <= 100 and 0 < node["memory_used_bytes"] < node["memory_total_bytes"], node
                assert {"/", "/dev/shm"} <= {disk["path"] for disk in node["disks"]}, node["disks"]
                assert [link["interface"] for link in node["network"] if link["received_bytes_per_s"] is not None], node["network"]
                assert node["rdma"] == [] and node["driver"] == "550.127.08"
                assert [(rank["job"], rank["rank"], rank["gpus"]) for rank in node["ranks"]] == [("busy", number, [0])], node["ranks"]
                assert 0.1 < node["ranks"][0]["cpus_busy"] < 1.5 and node["ranks"][0]["memory_bytes"] > 0, node["ranks"]
            waiting, hot = nodes["node-0"]["gpus"][0], nodes["node-1"]["gpus"][0]
            assert (waiting["utilization_percent"], waiting["power_w"], waiting["power_limit_w"], waiting["memory_used_bytes"]) == (100, 100, 700, 70000 << 20)
            assert (hot["temperature_c"], hot["sm_clock_mhz"], hot["sm_clock_max_mhz"], hot["throttle_reasons"]) == (88, 1200, 1980, ["sw_thermal_slowdown"])
            assert [(found["kind"], found["node"], found["gpu"]) for found in findings] == [("thermal", "node-1", 0)], findings
            by_rank = c.run("top", "--by", "rank").stdout.splitlines()
            assert [line.split()[:3] for line in by_rank[1:3]] == [["busy", "0", "node-0"], ["busy", "1", "node-1"]], by_rank
            assert by_rank[-1] == "node-1 GPU 0: slowed down because too hot, at 88 °C, 1200 of 1980 MHz"
            # Of one node, of one job.
            assert list(nodes_of(c, "--node", "node-1")[0]) == ["node-1"]
            other, found = nodes_of(c, "--job", "other")
            assert (other["node-0"]["ranks"], other["node-1"]["gpus"], found) == ([], [], []), (other, found)
            assert_in("no node", c.run("top", "--node", "nosuch", code=2).stderr)
            assert_in("from 100ms to 1h", c.run("top", "--interval", "1ms", code=2).stderr)
        c.run("stop", "busy")
        job.end(143)


def test_top_on_a_terminal_obeys_keys_and_leaves_it_as_it_was(lab):
    with cluster(lab, "t-top-keys") as c:
        c.write(gpus="all").up()
        job = running(c, "busy")
        with gpu_lines(lab, 1, 1, *WAITS):
            screen = top(c, 100, "--by", "gpu", "--interval", "200ms")
            screen.until("[gpus]").until("100/700")
            screen.type("ss").until("by GPU").type("s").until("by BUSY")
            screen.until(lambda text: [line.split()[:2] for line in text.splitlines()[3:4]] == [["node-0", "1"]])
            screen.type("/node-1\r").until(lambda text: "filter: node-1" in text and "node-0 " not in text)
            screen.type("\x1b").until("node-0 ")
            screen.type("r").until("[ranks]").until(lambda text: text.count("busy ") == 2)
            screen.type("\t").until("[found]").type("\t").until("[nodes]").until("t-top-keys: 2 nodes")
            # A smaller terminal is drawn on anew.
            fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
            screen.screen.resize(12, 40)
            screen.until(lambda text: "CPU" in text and all(len(line) < 40 for line in text.splitlines()))
            # Ctrl-Z gives the terminal back, until the shell goes on with it.
            screen.type("\x1a")
            eventually(lambda: state_of(screen.pid) == "T", "top to stand still")
            os.kill(screen.pid, signal.SIGCONT)
            screen.type("g").until("[gpus]")
            assert LEFT in screen.bytes
            assert screen.type("q").end() == 0
            assert screen.bytes.startswith(b"\x1b[?1049h") and screen.bytes.endswith(LEFT)
            # Ctrl-C and SIGTERM end it as q does.
            screen = top(c, 80).until("[nodes]")
            assert screen.type("\x03").end() == 0 and screen.bytes.endswith(LEFT)
            screen = top(c, 80).until("[nodes]")
            os.kill(screen.pid, signal.SIGTERM)
            assert screen.end() == 0 and screen.bytes.endswith(LEFT)
        # Nothing of it stays in the nodes; the job's own record asks nvidia-smi, too. A sampler sees on its own that
        # its reader has left.
        eventually(lambda: c.processes("sample") == [], "no sampler")
        c.run("stop", "busy")
        job.end(143)
        eventually(lambda: c.processes("nvidia-smi") == [], "no nvidia-smi")


def test_a_node_that_goes_away_is_told_and_comes_back(lab):
    with cluster(lab, "t-top-gone") as c:
        c.write().up()
        stream = Running(c, "top", "-o", "json", "--interval", "200ms")

        def latest():
            """Whether each node answers, and why not, by the last whole line."""
            nodes = [json.loads(line)["nodes"] for line in stream.out.splitlines(keepends=True) if line.endswith("\n")][-1:]
            return [(node["answers"], bool(node["problem"])) for node in (nodes or [[]])[0]]

        both = [(True, False), (True, False)]
        eventually(lambda: latest() == both, "both nodes")
        # It ends with its reader.
        piped = c.start("top", "-o", "json", "--interval", "200ms")
        assert json.loads(piped.stdout.readline())["cluster"] == "t-top-gone"
        piped.stdout.close()
        assert piped.wait(timeout=30) == 0
        engine, container = c.container("node-1")
        engine.call("POST", f"/v1.40/containers/{container}/restart?t=0")
        eventually(lambda: latest() == [(True, False), (False, True)], "one that does not answer")
        eventually(lambda: latest() == both, "both nodes again")
        stream.interrupt()
        stream.end(0)
