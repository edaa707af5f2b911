"""check on real engines: every quick row in each state that the lab can bring about. Simulated GPUs reach the container through the
engine's real DeviceRequests path; what no test machine has (RDMA devices, CPU governors) is a folder mounted over /sys."""

import json
import os
import re
import shutil

from harness import assert_in, cluster
from harness.gpus import gpu_lines
from harness.patience import DURATION, Watch
from harness.proxy import proxies, write_through
from harness.terminal import Terminal


def check(c, *arguments, code=0):
    report = json.loads(c.run("check", "-o", "json", *arguments, code=code).stdout)
    assert report["passed"] is (code == 0), report
    return report


def rows_of(report, name):
    return [row for row in report["rows"] if row["check"] == name]


def only(report, name, state, subject, text, hint=""):
    """The one row of this name: its state, its subject, and a part of its text and of its hint."""
    rows = rows_of(report, name)
    assert len(rows) == 1, (name, rows)
    row = rows[0]
    assert (row["state"], row["subject"]) == (state, subject), row
    assert_in(text, row["text"])
    assert_in(hint, row["hint"])
    assert (state == "pass") == (row["hint"] == ""), row
    return row


def odd(report, name, state, subject, text, hint=""):
    """Of several rows of this name, the one about `subject`."""
    row = {row["subject"]: row for row in rows_of(report, name)}.get(subject)
    assert row, (subject, rows_of(report, name))
    assert row["state"] == state, row
    assert_in(text, row["text"])
    assert_in(hint, row["hint"])


# --- engine ---


def test_check_of_a_sound_cluster_says_each_thing_once(lab):
    with cluster(lab, "t-check") as c:
        c.write(gpus="2").up()
        shown = c.run("check").stdout
        assert "FAIL" not in shown
        assert shown.count("NVIDIA H100 80GB HBM3 (simulated)") >= 4
        report = check(c)
        assert len(report["gpus"]) == 4 and len({gpu["uuid"] for gpu in report["gpus"]}) == 4
        assert all(gpu["cuda"] and gpu["driver"] for gpu in report["gpus"])
        engines = [row["text"] for row in rows_of(report, "engine")]
        assert re.fullmatch(rf"Engine 20\.10\.\S+, API 1\.\d+, tcp://\S+, round trip {DURATION}", engines[0]), engines
        assert re.fullmatch(rf"Engine 26\.1\.\S+, API 1\.\d+, tcp://\S+, round trip {DURATION}", engines[1]), engines
        only(report, "clock", "pass", "all hosts", "as on this machine")
        only(report, "security", "warn", "all hosts", "have known security holes", "29.5.1 or newer")
        only(report, "access", "warn", "all hosts", "requires no authentication", "ssh://")
        only(report, "toolkit", "pass", "all hosts", "by NVIDIA's hook")
        only(report, "disk", "pass", "all hosts", " free at least (node-")
        only(report, "gpus", "pass", "all nodes", "2 × NVIDIA H100 80GB HBM3 (simulated)")
        only(report, "driver", "pass", "all nodes", "driver 550.127.08, CUDA 12.4")
        only(report, "ecc", "pass", "all nodes", "no uncorrected memory errors")
        only(report, "memory", "pass", "all nodes", "the GPUs' memory is free")
        only(report, "image", "pass", "all nodes", "the same image")
        only(report, "interface", "pass", "all nodes", "eth0, up")
        only(report, "mtu", "pass", "all nodes", "MTU 1500")
        only(report, "names", "pass", "all nodes", "every node's name resolves to its address (by /etc/hosts alone")
        only(report, "ssh", "pass", "all nodes", "each logs in to every other, slowest ")
        assert not rows_of(report, "versions") and not rows_of(report, "mounts")  # busybox holds nothing, the file mounts nothing


def test_check_passes_an_engine_without_known_holes(lab):
    """The lab's engines are older than the holes: what they say of their version is changed on the way."""
    def newer(data):
        return re.sub(rb'("ServerVersion":")[0-9]{2}\.', rb"\g<1>99.", data)

    with cluster(lab, "t-holes") as c, proxies(lab) as both:
        write_through(c, both)
        c.up()
        both[0].edit = newer
        only(check(c), "security", "warn", "node-1", "has known security holes")
        both[1].edit = newer
        only(check(c), "security", "pass", "all hosts", "no engine with known holes")


# --- host ---


def test_check_finds_gpus_that_vanished_from_a_running_container(lab):
    with cluster(lab, "t-vanish") as c:
        c.write(gpus="2").up()
        c.run("exec", "node-1", "--", "touch", "/run/lab-gpus-vanished")
        report = check(c, code=1)
        odd(report, "gpus", "pass", "node-0", "2 × ")
        odd(report, "gpus", "fail", "node-1", "Failed to initialize NVML: Unknown Error", "daemon-reload")


def test_check_names_the_node_whose_gpus_differ_or_are_ill(lab):
    with cluster(lab, "t-ill") as c:
        c.write(gpus="all").up()
        for field, value, name, state, text in [
                ("driver_version", "535.104.05", "driver", "warn", "driver 535.104.05, CUDA 12.4, and node-0 has 550.127.08"),
                ("name", "NVIDIA A100-SXM4-40GB", "models", "warn",
                 "1 × NVIDIA A100-SXM4-40GB, 1 × NVIDIA H100 80GB HBM3 (simulated), and node-0 has 2 × "),
                ("ecc.errors.uncorrected.volatile.total", "3", "ecc", "warn", "uncorrected memory errors since the driver was loaded: GPU 0 (3)"),
                ("remapped_rows.pending", "1", "ecc", "warn", "rows of memory wait to be remapped: GPU 0"),
                ("remapped_rows.failure", "1", "ecc", "fail", "rows of memory could not be remapped: GPU 0"),
                ("process", "4711 40000 python3", "memory", "warn", "no job of this cluster runs here: GPU 0: 39.1 GiB by process 4711 (python3)"),
                ("memory.used", "40960", "memory", "warn", "no job of this cluster runs here: GPU 0: 40.0 GiB")]:
            with gpu_lines(lab, 2, 0, f"{field}={value}"):
                odd(check(c, code=1 if state == "fail" else 0), name, state, "node-1", text)
        report = check(c)  # all is as it was
        assert {row["state"] for name in ("driver", "ecc", "memory") for row in rows_of(report, name)} == {"pass"}, report


def test_check_knows_a_job_that_holds_gpu_memory_from_a_stranger(lab):
    with cluster(lab, "t-held") as c, gpu_lines(lab, 1, 0, "memory.used=40960"):
        c.write(hosts=1, gpus="2").up()
        only(check(c), "memory", "warn", "node-0", "GPU memory is held", "fuser")
        c.run("run", "--detach", "--share", "--name", "trains", "--", "sleep", "100")  # else it would wait for what holds it
        only(check(c), "memory", "pass", "node-0", "the job trains runs here and holds GPU memory")


def test_check_shows_rdma_ports_and_cpu_governors(lab):
    """The kernel here has neither: a folder of the lab's shared storage is mounted over theirs."""
    fake = lab.shared / "t-sys"

    def port(device, state):
        place = fake / "class" / "infiniband" / device / "ports" / "1"
        place.mkdir(parents=True, exist_ok=True)
        for name, text in (("state", state), ("rate", "400 Gb/sec (4X NDR)"), ("link_layer", "InfiniBand")):
            (place / name).write_text(text + "\n")

    def governor(word):
        place = fake / "cpu" / "cpu0" / "cpufreq"
        place.mkdir(parents=True, exist_ok=True)
        (place / "scaling_governor").write_text(word + "\n")

    with cluster(lab, "t-rdma") as c:
        try:
            port("mlx5_0", "4: ACTIVE")
            governor("performance")
            c.write(container="mounts: ['/shared/t-sys/class:/sys/class', '/shared/t-sys/cpu:/sys/devices/system/cpu', "
                              "'/shared/t-sys/empty:/dev/infiniband']\ndevices: []")
            (fake / "empty").mkdir()
            c.up()
            # Without unlimited memlock, which the lab cannot give, RDMA fails.
            report = check(c, code=1)
            only(report, "rdma", "pass", "all nodes", "RDMA: mlx5_0 InfiniBand 400 Gb/sec")
            only(report, "governor", "pass", "all nodes", "performance")
            if lab.memlock != "unlimited":
                only(report, "limits", "fail", "all nodes", "memlock", "RDMA fails to register memory")
            port("mlx5_1", "1: DOWN")
            governor("powersave")
            report = check(c, code=1)
            only(report, "rdma", "pass", "all nodes", "left out: mlx5_1 (it is DOWN)")  # as on all nodes
            only(report, "governor", "warn", "all nodes", "1 CPUs use the powersave governor", "cpupower")
            port("mlx5_0", "1: DOWN")
            only(check(c, code=1), "rdma", "fail", "all nodes", "no RDMA port has a link", "ibstat")
            port("mlx5_0", "4: ACTIVE")
            c.write(container="mounts: ['/shared/t-sys/class:/sys/class']\ndevices: []").up()
            only(check(c), "rdma", "warn", "all nodes", "the container has no /dev/infiniband", "container.devices")
        finally:
            shutil.rmtree(fake, ignore_errors=True)


def test_check_tells_small_shared_memory_and_what_to_do(lab):
    with cluster(lab, "t-shm") as c:
        c.write(container="ipc: private\nshm_size: 2g").up()
        only(check(c), "shm", "pass", "all nodes", "/dev/shm has 2.0 GiB")
        c.write(container="ipc: private\nshm_size: 64m").up()
        only(check(c), "shm", "warn", "all nodes", "/dev/shm has only 64.0 MiB", "set `container.shm_size`")
        c.write(container="ipc: host").up()
        only(check(c), "shm", "warn", "all nodes", "/dev/shm has only", "mount -o remount")  # a lab's host has 64 MiB


# --- container ---


def test_check_without_gpus_and_with_a_node_that_is_gone(lab):
    with cluster(lab, "t-gone") as c:
        c.write().up()
        only(check(c), "gpus", "pass", "all nodes", "none asked for")
        engine, container = c.container("node-1")
        assert engine.call("POST", f"/v1.40/containers/{container}/stop?t=1")[0] == 204
        report = check(c, code=1)
        odd(report, "container", "fail", "node-1", "the node is not ready", "run `dockdist up`")
        assert "(`dockdist" not in str(rows_of(report, "ssh")), report
        only(report, "ssh", "pass", "node-0", "no other node")


def test_check_tells_limits_as_an_ssh_session_has_them(lab):
    with cluster(lab, "t-limits") as c:
        c.write()
        c.file.write_text(c.file.read_text().replace("{memlock: ", "{nofile: 1000, stack: 1m, memlock: "))
        c.up()
        row = only(check(c), "limits", "warn", "all nodes", "in an ssh session: memlock ", "nofile: 1048576")
        assert_in("nofile 1000, stack 1.0 MiB", row["text"])
        seen = c.run("exec", "node-0", "--", "ssh", "node-1", "ulimit -n").stdout.strip()
        assert seen == "1000", seen
        c.file.write_text(c.file.read_text().replace("nofile: 1000, stack: 1m, memlock: ", "memlock: ").replace(lab.memlock, "64k"))
        c.up()
        only(check(c), "limits", "warn", "all nodes", "memlock 64.0 KiB", "set `container.ulimits: {memlock: unlimited}`")


OTHER_TORCH = """
import importlib.metadata, re
for name in ("METADATA", "PKG-INFO"):
    path = importlib.metadata.distribution("torch")._path / name
    if path.exists():
        path.write_text(re.sub(r"^Version: .*$", "Version: 1.13.1", path.read_text(), count=1, flags=re.M))
"""


def test_check_compares_versions_and_images(lab):
    """Hosts with two images of one name are refused by `up` itself (test_image.py); a package may still change in a node."""
    with cluster(lab, "t-images") as c:
        c.write(image="dockdist-lab/torch").up()
        report = check(c)
        only(report, "image", "pass", "all nodes", "the same image")
        row = only(report, "versions", "pass", "all nodes", "torch 2.6")
        assert re.search(r"Python 3\.\d+\.\d+, torch 2\.6\S*, Open MPI 5\S*, DeepSpeed [\d.]+, accelerate [\d.]+", row["text"]), row
        only(report, "names", "pass", "all nodes", "every node's name resolves to its address")
        c.run("exec", "node-1", "--", "python3", "-c", OTHER_TORCH)
        failed = [row for row in rows_of(check(c, code=1), "versions") if row["state"] == "fail"]
        assert [row["subject"] for row in failed] == ["node-1"], failed
        assert "torch 1.13.1" in failed[0]["text"] and "node-0 has torch 2.6" in failed[0]["text"], failed


def test_check_finds_mounts_that_are_not_the_same_storage(lab):
    own, only_read = "/opt/t-mounts", "/opt/t-read-only"
    shared = lab.shared / "t-mounts"
    shared.mkdir(exist_ok=True)
    try:
        for host in ("host-1", "host-2"):
            lab.script("exec", host, "mkdir", "-p", own, only_read)
        with cluster(lab, "t-mounts") as c:
            c.write(container=f"mounts: ['/shared/t-mounts:/data', '{own}:/models', '{own}:/scratch', '{only_read}:/fixed:ro']").up()
            report = check(c)
            texts = {row["text"]: row["state"] for row in rows_of(report, "mounts")}
            assert texts == {"/data: the same storage": "pass",
                             "/fixed: the same names on each host; whether it is one storage is not known, as no node can write there": "pass",
                             "/scratch: each host has its own, as the name says": "pass",
                             "/models is not the same storage: node-0, node-1 have one each": "warn"}, texts
            lab.script("exec", "host-2", "touch", f"{only_read}/only-here")
            odd(check(c), "mounts", "warn", "node-1", "/fixed holds other names than on node-0")
            assert not list(shared.glob(".dockdist-check-*"))
            for host in ("host-1", "host-2"):
                assert lab.script("exec", host, "find", own, only_read, "-name", ".dockdist-check-*") == ""
    finally:
        shutil.rmtree(shared, ignore_errors=True)
        for host in ("host-1", "host-2"):
            lab.script("exec", host, "rm", "-rf", own, only_read)


def test_check_writes_tokens_as_the_user_of_the_jobs(lab):
    shared = lab.shared / "t-user"
    shared.mkdir(exist_ok=True)
    try:
        with cluster(lab, "t-user") as c:
            c.write(container="user: '1000:1000'\nmounts: ['/shared/t-user:/data']").up()
            report = check(c)
            only(report, "mounts", "pass", "all nodes", "/data: the same names on each host; whether it is one storage is not known")
            only(report, "ssh", "pass", "all nodes", "each logs in to every other")
            assert_in("in an ssh session: ", rows_of(report, "limits")[0]["text"])
            os.chown(shared, 1000, 1000)
            assert rows_of(check(c), "mounts")[0]["text"] == "/data: the same storage"
            assert not list(shared.glob(".dockdist-check-*"))
    finally:
        shutil.rmtree(shared, ignore_errors=True)


# --- network ---


def test_check_finds_a_peer_that_does_not_answer(lab):
    with cluster(lab, "t-peer") as c:
        c.write().up()
        c.run("exec", "node-1", "--", "sh", "-c", "rm /run/dockdist/authorized_keys")
        report = check(c, code=1)
        odd(report, "ssh", "fail", "node-0", "no login to node-1: ", "firewall")
        odd(report, "ssh", "pass", "node-1", "logs in to every other")


def test_check_finds_an_ssh_port_that_is_cut(lab):
    with cluster(lab, "t-cut") as c:
        c.write(hosts=4).up()  # two nodes a host: only the way between hosts is cut
        port = json.loads(c.run("status", "-o", "json").stdout)["nodes"][1]["ssh_port"]
        rule = ["INPUT", "-i", "eth0", "-p", "tcp", "--dport", str(port), "-j", "REJECT"]
        lab.script("exec", "host-2", "iptables", "-I", *rule)
        try:
            failed = [row for row in rows_of(check(c, code=1), "ssh") if row["state"] == "fail"]
            assert [row["subject"] for row in failed] == ["node-1"], failed
            assert re.fullmatch(r"no login from node-0, node-2(, node-3)?: .*Connection refused.*", failed[0]["text"]), failed
        finally:
            lab.script("exec", "host-2", "iptables", "-D", *rule)


def test_check_names_the_host_whose_mtu_differs(lab):
    with cluster(lab, "t-mtu") as c:
        c.write().up()
        lab.script("exec", "host-2", "ip", "link", "set", "dev", "eth0", "mtu", "1400")
        try:
            only(check(c), "mtu", "warn", "node-1", "MTU 1400, and node-0 has 1500", "ip link set dev")
        finally:
            lab.script("exec", "host-2", "ip", "link", "set", "dev", "eth0", "mtu", "1500")


def test_check_finds_names_that_resolve_to_loopback_or_elsewhere(lab):
    for image, note in (("dockdist-lab/torch", ""), ("dockdist-lab/busybox", " (by /etc/hosts alone")):
        with cluster(lab, "t-names") as c:
            c.write(image=image).up()
            assert_in("every node's name resolves to its address" + note, rows_of(check(c), "names")[0]["text"])
            c.run("exec", "node-1", "--", "sh", "-c", "(echo 127.0.1.1 node-1; echo 192.0.2.7 node-0) >/tmp/hosts; cat /tmp/hosts >/etc/hosts")
            report = check(c, code=1)
            odd(report, "names", "fail", "node-1", f"node-0 resolves to 192.0.2.7, not to {lab.addresses[0]}; "
                                                   "node-1 resolves to 127.0.1.1, a loopback address", "/etc/hosts")
            odd(report, "names", "pass", "node-0", "every node's name")


def test_check_finds_an_interface_that_leads_nowhere(lab):
    def ip(*words):
        lab.script("exec", "host-1", "ip", *words)

    with cluster(lab, "t-interface") as c:
        c.write(hosts=1, host_more=", address: 127.0.0.1").up()
        only(check(c, code=1), "interface", "fail", "node-0", "lo is the loopback interface", "set the host's `address`")
        c.run("down")
        # A pair of virtual interfaces stands for a cable: the far end is the port of a bridge, or nothing more.
        for interface, text in (("lab-b", "lab-b is a bridge of this host alone"), ("lab-t", "lab-t, up")):
            ip("link", "add", "lab-t", "type", "veth", "peer", "name", "lab-u")
            try:
                if interface == "lab-b":
                    ip("link", "add", "lab-b", "type", "bridge")
                    ip("link", "set", "lab-u", "master", "lab-b")
                for link in ("lab-t", "lab-u", interface):
                    ip("link", "set", link, "up")
                ip("addr", "add", "192.0.2.1/24", "dev", interface)
                c.write(hosts=1, host_more=", address: 192.0.2.1").up()
                if interface == "lab-b":
                    only(check(c, code=1), "interface", "fail", "node-0", text, "set the host's `address`")
                else:
                    only(check(c), "interface", "pass", "node-0", text)
                    ip("addr", "add", "192.0.2.9/24", "dev", "lab-t")
                    ip("addr", "del", "192.0.2.1/24", "dev", "lab-t")
                    only(check(c, code=1), "interface", "fail", "node-0", "lab-t no longer holds the node's address")
                    ip("link", "set", "lab-t", "down")
                    only(check(c, code=1), "interface", "fail", "node-0", "lab-t is down or has no carrier", "ip link")
                    ip("link", "del", "lab-t")
                    only(check(c, code=1), "interface", "fail", "node-0", "the interface lab-t is gone")
            finally:
                lab.script("exec", "host-1", "sh", "-c", "for link in lab-t lab-b; do ip link del $link 2>/dev/null; done; true")
            c.run("down")


# --- the command ---


def test_check_of_one_host_asks_no_other(lab):
    with cluster(lab, "t-one") as c:
        c.write().up()
        report = check(c, "--node", "node-1")
        assert {row["subject"] for row in report["rows"]} == {"node-1"}, report
        both = check(c, "--node", "node-1", "--node", "node-0")
        only(both, "ssh", "pass", "all nodes", "each logs in to every other")
        said = c.run("check", "--node", "nod-1", code=2).stderr
        assert_in("there is no node `nod-1`", said)
        assert_in("did you mean `node-1`?", said)
        lab.script("cut", "1")
        try:
            assert {row["subject"] for row in check(c, "--node", "node-1")["rows"]} == {"node-1"}
            terminal = Terminal(c.command("status"), c.environment())
            terminal.read_until("waiting for node-0 (")
        finally:
            lab.script("mend", "1")
        terminal.end()


def test_check_of_four_nodes_takes_seconds(lab):
    """3 s is what the lab's machine takes at most when it is idle (scripts/bench check-4)."""
    with cluster(lab, "t-quick") as c:
        c.write(hosts=4, gpus="none" if lab.count < 4 else "2").up()
        check(c)
        watch = Watch()
        check(c)
        assert watch.within(9), watch


def test_up_says_what_the_check_found_and_only_when_it_changed_something(lab):
    with cluster(lab, "t-up-check") as c:
        c.write()
        first = c.run("up", "-o", "json")
        result = json.loads(first.stdout.splitlines()[-1])
        assert result["check"]["failed"] == 0 and result["check"]["passed"] > 8, result
        assert "security" in [row["check"] for row in result["check"]["rows"]], result
        again = json.loads(c.run("up", "-o", "json").stdout.splitlines()[-1])
        assert "check" not in again and again["changed"] is False
        c.run("down")
        said = c.run("up").stderr
        assert re.search(r"check: \d+ passed, \d+ warnings? \(`dockdist check` shows all\)", said), said
        assert re.search(r"all hosts: security: Engine .*known security holes \(upgrade Docker there to 29\.5\.1 or newer\)", said), said
        assert "check" not in c.run("up").stderr
        c.run("down")
        assert "check" not in c.run("up", "--no-check").stderr


def test_up_succeeds_and_says_so_when_the_check_fails(lab):
    """A fault that join does not meet: a GPU's memory is broken."""
    with cluster(lab, "t-up-fail") as c, gpu_lines(lab, 2, 0, "remapped_rows.failure=1"):
        done = c.write(gpus="all").run("up")
        assert_in("is up: 2 nodes", done.stdout)
        assert re.search(r"check: \d+ passed, \d+ warnings?, \d+ failed", done.stderr), done.stderr
        assert_in("node-1: FAILED, ecc: rows of memory could not be remapped: GPU 0", done.stderr)
