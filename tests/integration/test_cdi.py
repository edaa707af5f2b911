"""GPUs by CDI names, on Docker and Podman, from a file as nvidia-ctk writes it; what of the driver a node gets by the hook."""

import json
import re

from harness import assert_in, cluster
from harness.gpus import docker_with_cdi, gpu_lines, uuids, written_anew

SEE = ("sh", "-c", 'echo "has $CUDA_VISIBLE_DEVICES"')
INSTANCES = ["MIG-11111111-1111-5111-8111-111111111111", "MIG-22222222-2222-5222-8222-222222222222"]


def docker(lab):
    return [f"tcp://{address}:2375" for address in lab.addresses[:2]]


def podman(lab):
    return [f"tcp://{address}:2375" for address in lab.podman_addresses]


def write(c, *hosts, image="dockdist-lab/busybox"):
    """Each of `hosts` is a URL with more of the host's keys behind it."""
    limits = f"memlock: {c.lab.memlock}, nofile: {c.lab.env['LAB_NOFILE']}, nproc: {c.lab.env['LAB_NPROC']}"
    items = [f"  - {{name: node-{i}, insecure: true, docker: {host}}}" for i, host in enumerate(hosts)]
    c.file.write_text("\n".join([f"name: {c.name}", f"image: {image}", "hosts:", *items, "container:", f"  ulimits: {{{limits}}}"]) + "\n")
    return c


def seen(c, node):
    return c.run("exec", node, "--", "nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader").stdout.split()


def given(c, *options):
    """{node: [UUID, …]} of the ranks of a job."""
    said = c.run("run", *options, "--", *SEE).stdout
    return {match[1]: match[2].split(",") for match in re.finditer(r"^\[(node-\d)\s*\] has (.*)$", said, re.M)}


def rows(c, check):
    report = json.loads(c.run("check", "-o", "json", code=None).stdout)
    return {row["subject"]: (row["state"], row["text"]) for row in report["rows"] if row["check"] == check}


def test_gpus_reach_docker_and_podman_nodes_by_cdi_names(lab):
    on_docker, on_podman = docker(lab)[1], podman(lab)[1]
    there = [uuids(lab, 2), uuids(lab, lab.podman[1])]
    with docker_with_cdi(lab, 2), cluster(lab, "t-cdi") as c:
        write(c, on_docker + ", gpus: all, cdi: true", on_podman + ", gpus: all").up()
        for index, node in enumerate(("node-0", "node-1")):
            assert seen(c, node) == there[index]
            # The edits of the file that are for all of its devices.
            facts = c.run("exec", node, "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; test -c /dev/nvidia-modeset && echo device").stdout
            assert facts == "void\ndevice\n"
        assert given(c, "--gpus", "1") == {"node-0": there[0][:1], "node-1": there[1][:1]}
        assert [[gpu["id"] for gpu in host["gpus"]] for host in json.loads(c.run("gpus", "-o", "json").stdout)["hosts"]] == there
        assert rows(c, "toolkit") == {"all hosts": ("pass", "CDI")}
        with gpu_lines(lab, 2, 0, "fabric.state=Completed", "fabric.status=Success", "fabric.cliqueId=1", "fabric.clusterUuid=67b8e05c-a0a6"):
            state, text = rows(c, "fabric")["node-0"]
            assert (state, text.partition(":")[0]) == (
                "warn", "NVLink leads to other hosts (clique 1 of 67b8e05c-a0a6), and the node has no /dev/nvidia-caps-imex-channels/channel0")
        c.run("down")
        # A count is chosen among those that no other cluster has, and asked for by UUID; a list goes as it stands.
        write(c, on_docker + ", gpus: 1, cdi: true", f"{on_podman}, gpus: [{there[1][1]}]").up()
        assert [seen(c, node) for node in ("node-0", "node-1")] == [there[0][:1], there[1][1:]]
        requests = lab.engines[1].inspect(c.container("node-0")[1])["HostConfig"]["DeviceRequests"]
        assert requests[0]["DeviceIDs"] == ["nvidia.com/gpu=" + there[0][0]]
        c.run("down")
        # What a host does not have.
        for host in (on_docker, on_podman):
            said = write(c, host + ", gpus: [7], cdi: true").run("up", code=1).stderr
            assert_in("unresolvable CDI devices nvidia.com/gpu=7", said)
            assert_in("`nvidia-ctk cdi list` on that host shows the names it has", said)
            assert_in("nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", said)
            c.assert_clean()


def test_mig_instances_reach_a_node_by_cdi_names(lab):
    number = lab.podman[1]
    with gpu_lines(lab, number, 0, "mig.mode.current=Enabled", *(f"mig={uuid} 3g.40gb" for uuid in INSTANCES)), \
            written_anew(lab, number), cluster(lab, "t-cdi-mig") as c:
        whole = uuids(lab, number)[1]
        write(c, podman(lab)[1] + ", gpus: all").up()
        assert given(c) == {"node-0": [*INSTANCES, whole]}
        c.run("down")
        for gpus, has in ((f"[{INSTANCES[1]}]", INSTANCES[1:]), ("['0:0', 1]", [INSTANCES[0], whole]), ("2", INSTANCES)):
            write(c, f"{podman(lab)[1]}, gpus: {gpus}").up()
            assert given(c) == {"node-0": has}, gpus
            c.run("down")


AMD_CDI = {"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": [
    {"name": name, "containerEdits": {"deviceNodes": [{"path": path} for path in ("/dev/kfd", *devices)]}}
    for name, devices in (("0", ["/dev/dri/renderD128"]), ("1", ["/dev/dri/renderD129"]))]}
# Two GPUs: devices that open, and the files of their driver, for a mount over /sys/class.
AMD = """
mknod -m 660 /dev/kfd c 1 3; mkdir -p /dev/dri /etc/cdi
for i in 0 1; do
    mknod -m 660 /dev/dri/renderD$((128 + i)) c 1 3
    node=/run/amd/kfd/kfd/topology/nodes/$((i + 1)) device=/run/amd/drm/renderD$((128 + i))/device
    mkdir -p $node $device
    printf 'simd_count 1216\nvendor_id 4098\ngfx_target_version 90402\ndrm_render_minor %d\nunique_id %d\n' $((128 + i)) $((10 + i)) >$node/properties
    echo 206141652992 >$device/mem_info_vram_total
    echo 297795584 >$device/mem_info_vram_used
done
printf %s "$1" >/etc/cdi/amd.json
"""


def test_amd_s_gpus_by_their_devices_and_by_cdi_names(lab):
    numbers = [2, lab.podman[1]]
    try:
        for number in numbers:
            lab.script("exec", str(number), "sh", "-euc", AMD, "sh", json.dumps(AMD_CDI))
        with cluster(lab, "t-amd") as c:
            write(c, docker(lab)[1] + ", gpus: amd", podman(lab)[1] + ', gpus: ["amd.com/gpu=1"]')
            with c.file.open("a") as file:
                file.write("  mounts: ['/run/amd:/sys/class:ro']\n  user: '65534'\n")  # whom the devices' group does not know
            assert_in("all GPUs, AMD's)", c.run("plan").stdout)
            c.up()
            uuids_of = {"node-0": ["GPU-000000000000000a", "GPU-000000000000000b"], "node-1": ["GPU-000000000000000b"]}
            shown = {host["host"]: [(gpu["id"], gpu["name"]) for gpu in host["gpus"]] for host in json.loads(c.run("gpus", "-o", "json").stdout)["hosts"]}
            assert shown == {node: [(uuid, "AMD gfx942") for uuid in own] for node, own in uuids_of.items()}
            said = c.run("run", "--gpus", "1", "--", "sh", "-c", "echo has $ROCR_VISIBLE_DEVICES; [ -w /dev/kfd ] || echo closed").stdout
            assert sorted(said.splitlines()) == [f"[{node}] has {own[0]}" for node, own in uuids_of.items()]
            assert rows(c, "gpus") == {"node-0": ("pass", "2 × AMD gfx942"), "node-1": ("pass", "1 × AMD gfx942")}
            for number in numbers:  # the host's own stay as they are
                assert lab.script("exec", str(number), "stat", "-c", "%a", "/dev/kfd", "/dev/dri/renderD128").split() == ["660", "660"]
    finally:
        for number in numbers:
            lab.script("exec", str(number), "rm", "-rf", "/dev/kfd", "/dev/dri", "/run/amd", "/etc/cdi/amd.json")


def test_a_node_gets_of_the_driver_what_it_needs_and_is_told_what_the_file_leaves_out(lab):
    tag = "dockdist-lab/graphics"
    script = f"printf 'FROM dockdist-lab/busybox\\nENV NVIDIA_DRIVER_CAPABILITIES=graphics\\n' | DOCKER_BUILDKIT=0 docker build --quiet --tag {tag} -"
    lab.script("exec", "1", "sh", "-c", script)
    try:
        with cluster(lab, "t-capabilities") as c:
            write(c, docker(lab)[0] + ", gpus: all", image=tag)
            assert_in("the image only asks for NVIDIA_DRIVER_CAPABILITIES=graphics; its nodes get compute,utility as well", c.run("up").stderr)
            assert seen(c, "node-0") == uuids(lab, 1)
            assert c.run("exec", "node-0", "--", "sh", "-c", "echo $NVIDIA_DRIVER_CAPABILITIES").stdout == "graphics,compute,utility\n"
            write(c, docker(lab)[0] + ", gpus: all, env: {NVIDIA_DRIVER_CAPABILITIES: graphics}", image=tag)
            assert_in("`env` has NVIDIA_DRIVER_CAPABILITIES=graphics, without compute,utility: its nodes have no nvidia-smi and no libcuda",
                      c.run("up").stderr)
            assert rows(c, "gpus")["node-0"] == ("fail", "no nvidia-smi in the container")
    finally:
        lab.script("exec", "1", "docker", "rmi", tag)
