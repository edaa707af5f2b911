"""RDMA sets itself: what the nodes find in /sys becomes their jobs' variables.

The lab has no RDMA: a folder that is made like /sys/class is mounted over that of the nodes, on each host another. The GIDs have the
hosts' real addresses, whose networks the nodes ask the kernel for."""

import json
import shutil

from harness import assert_in, cluster

LINK_LOCAL = "fe80:0000:0000:0000:0ac0:ebff:fe3d:ca54"


class Machine:
    """What a host's /sys/class tells, in the lab's shared folder; on the host /t-rdma is its own one."""

    def __init__(self, lab, number):
        self.folder = lab.shared / "t-rdma" / str(number)
        self.address = lab.addresses[number]
        self.folder.mkdir(parents=True)
        lab.script("exec", str(number + 1), "ln", "-sfn", f"/shared/t-rdma/{number}", "/t-rdma")
        for name in ("class/infiniband", "class/net", "dev", "python/nvidia_nccl_cu12-2.19.3.dist-info"):
            (self.folder / name).mkdir(parents=True)

    def port(self, device, state="4: ACTIVE", index=2):
        """One of RoCE, with the host's address as v1 and v2 from `index` on."""
        octets = [int(part) for part in self.address.split(".")]
        mapped = "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x" % tuple(octets)
        gids = [(LINK_LOCAL, "IB/RoCE v1"), (LINK_LOCAL, "RoCE v2")] + [("0" * 4 + ":0000" * 7, "")] * (index - 2)
        place = self.folder / "class/infiniband" / device / "ports/1"
        files = {"state": state, "rate": "200 Gb/sec (4X HDR)", "link_layer": "Ethernet"}
        for i, (gid, kind) in enumerate(gids + [(mapped, "IB/RoCE v1"), (mapped, "RoCE v2")]):
            files.update({f"gids/{i}": gid, f"gid_attrs/types/{i}": kind, f"gid_attrs/ndevs/{i}": "eth0"})
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text + "\n")


MOUNTS = ("mounts: ['/t-rdma/class:/sys/class', '/t-rdma/dev:/dev/infiniband', '/t-rdma/python:/opt/venv/lib/python3.11/site-packages']\n"
          "devices: []")


def rows_of(c, name, code):
    """What `check` says under this name, by subject."""
    return {row["subject"]: row for row in json.loads(c.run("check", "-o", "json", code=code).stdout)["rows"] if row["check"] == name}


def variables(c):
    """Those of RDMA that a job gets, by node."""
    output = c.run("run", "-o", "json", "--", "sh", "-c", "env | grep -E '^(NCCL_(IB|NET)|UCX_NET|NVSHMEM_HCA)' || true").stdout
    nodes = {}
    for line in map(json.loads, output.splitlines()):
        if line["type"] == "output" and line["stream"] == "stdout":
            name, value = line["line"].split("=", 1)
            nodes.setdefault(line["node"], {})[name] = value
    return nodes


def test_rdma_sets_itself_on_each_node_as_its_devices_are(lab):
    fails = 0 if lab.memlock == "unlimited" else 1  # else RDMA fails to register memory
    with cluster(lab, "t-rdma-sets") as c:
        try:
            first, second = Machine(lab, 0), Machine(lab, 1)
            first.port("rocep1s0f0", index=3)
            second.port("mlx5_0")
            second.port("mlx5_1", state="1: DOWN")
            c.write(container=MOUNTS).up()
            assert variables(c) == {
                "node-0": {"NCCL_IB_HCA": "=rocep1s0f0:1", "NCCL_IB_GID_INDEX": "4", "UCX_NET_DEVICES": "rocep1s0f0:1,eth0",
                           "NVSHMEM_HCA_LIST": "rocep1s0f0:1"},
                "node-1": {"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_GID_INDEX": "3", "UCX_NET_DEVICES": "mlx5_0:1,eth0",
                           "NVSHMEM_HCA_LIST": "mlx5_0:1"}}
            shown = c.run("status", "-v").stdout
            for text in ("rocep1s0f0:1", "no: it is DOWN", "NCCL_IB_GID_INDEX", "older than 2.21"):
                assert_in(text, shown)
            told = {node["node"]: node["rdma"] for node in json.loads(c.run("status", "-o", "json").stdout)["nodes"]}
            assert [(port["device"], port["used"], port.get("gid_index")) for port in told["node-1"]["ports"]] == [
                ("mlx5_0", True, 3), ("mlx5_1", False, None)]
            rows = rows_of(c, "rdma-variables", fails)
            assert_in("NCCL_IB_GID_INDEX=4", rows["node-0"]["text"])
            assert_in("NCCL_IB_GID_INDEX=3", rows["node-1"]["text"])
            whole = rows_of(c, "rdma-fabric", fails)["all nodes"]
            assert whole["state"] == "pass" and whole["text"].startswith("all go over RoCE in "), whole

            # The user's own wins, by the file and by the command line.
            # Who chooses ports gets no GID that was meant for others.
            told = c.run("run", "--nodes", "1", "--env", "NCCL_IB_HCA==mine", "--", "sh", "-c", "echo $NCCL_IB_HCA,${NCCL_IB_GID_INDEX-none}")
            assert_in("=mine,none", told.stdout)
            c.write(container=MOUNTS + "\nenv: {NCCL_IB_HCA: yours_0}").up()
            own = variables(c)["node-1"]
            assert own["NCCL_IB_HCA"] == "yours_0" and "NCCL_IB_GID_INDEX" not in own, own
            assert_in("NCCL_IB_HCA is yours", rows_of(c, "rdma-variables", fails)["node-1"]["text"])

            # A link that goes is seen at once, and by jobs at the next join.
            second.port("mlx5_0", state="1: DOWN")
            odd = rows_of(c, "rdma-fabric", 1)["node-1"]
            assert odd["state"] == "warn", odd
            assert_in("the other nodes have RDMA, and this one goes over TCP: mlx5_0:1: it is DOWN", odd["text"])

            c.write(container=MOUNTS, more="network: {rdma: required}").up()
            refused = c.run("run", "--", "true", code=125).stderr
            assert_in("node-1", refused)
            assert_in("mlx5_0:1: it is DOWN", refused)
            assert_in("--exclude node-1", refused)
            assert_in("NCCL_NET=IB", c.run("run", "--exclude", "node-1", "--", "env").stdout)

            c.write(container=MOUNTS, more="network: {rdma: off}").up()
            assert variables(c) == {name: {"NCCL_IB_DISABLE": "1"} for name in ("node-0", "node-1")}
        finally:
            shutil.rmtree(lab.shared / "t-rdma", ignore_errors=True)
