"""`gpus: N`: GPUs that no other cluster of the host has, by the engines' own account."""

import json

from harness import assert_in, cluster


def gpus(c, node):
    """What the node's container sees, by its own nvidia-smi."""
    return c.run("exec", node, "--", "nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader").stdout.split()


def asked_for(c, node):
    engine, container = c.container(node)
    details = engine.inspect(container)
    requests = details["HostConfig"]["DeviceRequests"]
    assert details["Config"]["Labels"]["dockdist.gpus"].split(",") == requests[0]["DeviceIDs"], details
    return requests[0]["DeviceIDs"]


def looks(lab):
    return [x["Names"] for engine in lab.engines for x in engine.containers(role="look")]


def test_clusters_on_one_host_get_different_gpus_and_keep_them(lab):
    with cluster(lab, "t-gpus-a") as a, cluster(lab, "t-gpus-b") as b, cluster(lab, "t-gpus-c") as other:
        clients = [c.write(gpus="1").start("up", "--no-check") for c in (a, b)]  # at the same time
        for client in clients:
            out, err = client.communicate(timeout=120)
            assert client.returncode == 0, err
        mine, theirs = ([gpus(c, node) for node in ("node-0", "node-1")] for c in (a, b))
        assert all(len(one) == 1 for one in mine + theirs) and not {x[0] for x in mine} & {x[0] for x in theirs}
        assert [asked_for(a, node) for node in ("node-0", "node-1")] == mine
        said = other.write(gpus="1").run("up", code=1).stderr
        assert_in("1 GPU is asked for, and 0 of 2 are free: ", said)
        assert_in("t-gpus-a's (", said)
        assert_in("t-gpus-b's (", said)
        other.assert_clean()
        # Again, with another configuration, while others are free.
        b.run("down")
        a.write(gpus="1", host_more=", env: {NVIDIA_A: '1'}")
        assert_in(": as before)", a.run("plan").stdout)
        a.up()
        assert [gpus(a, node) for node in ("node-0", "node-1")] == mine
        # A node of an earlier dockdist, which asked its engine for the first one.
        a.run("down")
        body = {"Image": "dockdist-lab/busybox", "Labels": {"dockdist.cluster": "t-gpus-b", "dockdist.role": "node", "dockdist.node": "old"},
                "HostConfig": {"DeviceRequests": [{"Count": 1, "Capabilities": [["gpu"]]}]}}
        status, data = lab.engines[0].call("POST", "/v1.40/containers/create", body)
        assert status == 201, data
        first = json.loads(other.write(gpus="1").run("plan", "-o", "json").stdout)["operations"]
        assert [x["gpus"] for x in first if x["operation"] == "create_container"] == ["GPU 1", "GPU 0"]
        assert looks(lab) == []
