"""check on simulated GPUs, which reach the container through the engine's real DeviceRequests path."""

import json
import re

from harness import assert_in, cluster


def test_check_shows_every_gpu_and_every_way(lab):
    with cluster(lab, "t-check") as c:
        c.write(gpus="2").run("up")
        shown = c.run("check").stdout
        assert "FAIL" not in shown
        assert shown.count("NVIDIA H100 80GB HBM3 (simulated)") >= 4
        report = json.loads(c.run("check", "-o", "json").stdout)
        assert report["passed"] is True
        assert len(report["gpus"]) == 4 and len({gpu["uuid"] for gpu in report["gpus"]}) == 4
        assert all(gpu["cuda"] and gpu["driver"] for gpu in report["gpus"])
        assert [row["state"] for row in report["rows"] if row["check"] == "ssh"] == ["pass", "pass"]
        engines = [row["text"] for row in report["rows"] if row["check"] == "engine"]
        assert re.fullmatch(r"Engine 20\.10\.\S+, API 1\.\d+, tcp://\S+, round trip [\d.]+ ms", engines[0]), engines
        assert re.fullmatch(r"Engine 26\.1\.\S+, API 1\.\d+, tcp://\S+, round trip [\d.]+ ms", engines[1]), engines
        assert [row["text"] for row in report["rows"] if row["check"] == "clock"] == ["as on this machine"] * 2


def test_check_finds_gpus_that_vanished_from_a_running_container(lab):
    with cluster(lab, "t-vanish") as c:
        c.write(gpus="2").run("up")
        c.run("exec", "node-1", "--", "touch", "/run/lab-gpus-vanished")
        report = json.loads(c.run("check", "-o", "json", code=1).stdout)
        rows = {row["subject"]: row for row in report["rows"] if row["check"] == "gpus"}
        assert rows["node-0"]["state"] == "pass"
        assert rows["node-1"]["state"] == "fail"
        assert_in("Failed to initialize NVML: Unknown Error", rows["node-1"]["text"])
        assert_in("daemon-reload", rows["node-1"]["hint"])


def test_check_without_gpus_and_with_a_node_that_is_gone(lab):
    with cluster(lab, "t-gone") as c:
        c.write().run("up")
        assert_in("none asked for", c.run("check").stdout)
        engine, container = c.container("node-1")
        assert engine.call("POST", f"/v1.40/containers/{container}/stop?t=1")[0] == 204
        shown = c.run("check", code=1).stdout
        assert_in("the node is not ready", shown)
        assert_in("run `dockdist up`", shown)


def test_check_finds_a_peer_that_does_not_answer(lab):
    with cluster(lab, "t-peer") as c:
        c.write().run("up")
        c.run("exec", "node-1", "--", "sh", "-c", "rm /run/dockdist/authorized_keys")
        report = json.loads(c.run("check", "-o", "json", code=1).stdout)
        rows = {row["subject"]: row for row in report["rows"] if row["check"] == "ssh"}
        assert rows["node-0"]["state"] == "fail" and "node-1" in rows["node-0"]["text"]
        assert rows["node-1"]["state"] == "pass"
