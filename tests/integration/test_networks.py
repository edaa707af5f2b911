"""Networks as people build them: one for management and one for data, IPv6 alone, a VPN, frames of odd sizes; with real
interfaces on real hosts."""

import contextlib
import json
import shutil

from harness import ROOT, assert_in, cluster
from harness.launching import TORCH, answers
from harness.second_network import first_network_cut, second_network, vpn
from harness.ssh import Ssh, write_hosts

DATA = {1: "10.99.0.1/24", 2: "10.99.0.2/24"}


@contextlib.contextmanager
def with_ranks(lab, name):
    """A cluster that is not up yet, and what its file says of the folder with ranks.py."""
    folder = lab.shared / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in (ROOT / "tests/integration").glob("ranks*.py"):
        shutil.copy(file, folder)
    try:
        with cluster(lab, name) as c:
            yield c, f"mounts: ['/shared/{name}:/workspace']\nworkdir: /workspace"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def places(c):
    return [(node["address"], node["interface"]) for node in json.loads(c.run("status", "-o", "json").stdout)["nodes"]]


def rows(c, check, code=None):
    report = json.loads(c.run("check", "-o", "json", code=code).stdout)
    return [row for row in report["rows"] if row["check"] == check]


def computes(c, launcher):
    found = answers(c.run("run", "--launcher", launcher, "--", "ranks.py", "sum").stdout)
    assert {rank: answer["sum"] for rank, answer in found.items()} == {0: 3.0, 1: 3.0}, found
    return found[0]


def on(lab, number, script):
    return lab.script("exec", str(number), "sh", "-euc", script)


def test_a_job_on_the_data_network_needs_nothing_of_the_other(lab):
    with second_network(lab, DATA), with_ranks(lab, "t-data-network") as (c, container):
        c.write(image=TORCH, container=container).up()
        before = {found["Id"] for found in c.all_containers()}
        assert places(c) == [(address, "eth0") for address in lab.addresses[:2]]
        assert_in("nothing to do", c.run("plan").stdout)
        data = "data: [{from: 'node-0:/srv/t-here', to: /srv/t-there}]\n"
        c.write(image=TORCH, container=container, more="network: {subnet: 10.99.0.0/16}\n" + data)
        try:
            on(lab, 1, "mkdir -p /srv/t-here && echo here >/srv/t-here/file")
            assert_in("its place in the file changed: network.subnet 10.99.0.0/16 instead of none", c.run("plan").stdout)
            with first_network_cut(lab, (1, 2)):
                c.up()
                assert_in("nothing to do", c.run("plan").stdout)
                assert {found["Id"] for found in c.all_containers()} == before  # they joined anew, no more
                assert places(c) == [("10.99.0.1", "data0"), ("10.99.0.2", "data0")]
                answer = computes(c, "torchrun")
                assert (answer["MASTER_ADDR"], answer["NCCL_SOCKET_IFNAME"]) == ("10.99.0.1", "=data0"), answer
                inside = c.run("exec", "node-0", "--", "sh", "-c",
                               "getent hosts node-1; grep ListenAddress /run/dockdist/sshd_config; grep -o 'from=[^ ]*' "
                               "/run/dockdist/authorized_keys; echo $PRTE_MCA_prte_if_include").stdout
                assert inside.split() == ["10.99.0.2", "node-1", "ListenAddress", "10.99.0.1:2222", 'from="10.99.0.1"', 'from="10.99.0.2"',
                                          "10.99.0.0/30"], inside
                # From host to host over the same network, before a node is there or not.
                assert_in("1 file", c.run("data", "push").stdout)
                assert on(lab, 2, "cat /srv/t-there/file") == "here\n"
                assert [(row["state"], row["text"]) for row in rows(c, "interface")] == [("pass", "data0, up")]
                assert [row["state"] for row in rows(c, "ports")] == ["pass"]
        finally:
            for number in (1, 2):
                on(lab, number, "rm -rf /srv/t-here /srv/t-there")


def test_two_interfaces_in_one_network_are_told_apart(lab):
    second = "ip link add data1 type veth peer name data1-end; ip address add 10.99.0.22/24 dev data1; ip link set data1 up; ip link set data1-end up"
    with second_network(lab, DATA), cluster(lab, "t-two-interfaces") as c:
        on(lab, 2, second)
        try:
            c.write(more="network: {subnet: 10.99.0.0/24}")
            failed = c.run("up", "--no-check", code=None)
            assert failed.returncode != 0, failed.stdout
            assert_in("more than one interface in 10.99.0.0/24 (`network.subnet`): data0 10.99.0.2, data1 10.99.0.22", failed.stderr)
            assert_in("say which with the host's `interface`", failed.stderr)
            c.write(host_more=", interface: eth0", more="network: {subnet: 10.99.0.0/24}")
            assert_in("the interface eth0 of this host has no address in 10.99.0.0/24", c.run("up", "--no-check", code=None).stderr)
            c.write(host_more=", interface: data0").up()  # the engine's address is not on it
            assert places(c) == [("10.99.0.1", "data0"), ("10.99.0.2", "data0")]
            c.write(host_more=", interface: data0", more="network: {subnet: 10.99.0.0/24}").up()
            assert places(c) == [("10.99.0.1", "data0"), ("10.99.0.2", "data0")]
            environment = c.run("exec", "node-1", "--", "sh", "-c", "echo $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME").stdout
            assert environment == "=data0 data0\n"
            assert [row["state"] for row in rows(c, "interface")] == ["pass"]
            # The kernel takes another one, where the peer answers for all of its addresses: nothing fails, and nothing of the node's own
            # settings says so.
            on(lab, 2, "ip route add 10.99.0.1/32 dev eth0")
            odd = {row["subject"]: row for row in rows(c, "interface")}
            assert odd["node-1"]["state"] == "warn" and odd["node-0"]["state"] == "pass", odd
            assert_in("what goes to node-0 leaves by eth0", odd["node-1"]["text"])
        finally:
            on(lab, 2, "ip link delete data1; ip route delete 10.99.0.1/32 dev eth0 2>/dev/null || true")


def test_frames_that_one_side_or_the_switch_does_not_take_are_named(lab):
    # Offloading sends frames of any size through virtual interfaces.
    whole_frames = "ip link set data0 gso_max_segs 1"
    with second_network(lab, DATA, switch_mtu=1500), cluster(lab, "t-jumbo") as c:
        c.write(more="network: {subnet: 10.99.0.0/24}").up()
        assert [row["text"] for row in rows(c, "mtu")] == ["MTU 1500"]
        on(lab, 1, f"{whole_frames}; ip link set data0 mtu 9000")
        found = rows(c, "mtu")
        assert [row["state"] for row in found] == ["warn"], found
        assert_in("9000", found[0]["text"])
        on(lab, 2, f"{whole_frames}; ip link set data0 mtu 9000")
        report = json.loads(c.run("check", "-o", "json", code=1).stdout)["rows"]
        assert [row["text"] for row in report if row["check"] == "mtu"] == ["MTU 9000"]
        lost = [row for row in report if row["check"] == "path-mtu"]
        assert {row["state"] for row in lost} == {"fail"} and lost, report
        assert_in("small packets pass, and large ones are lost", lost[0]["text"])


def test_a_job_over_a_vpn_runs_and_check_says_so(lab):
    with vpn(lab, ("100.101.1.2", "100.72.3.4")), with_ranks(lab, "t-vpn") as (c, container):
        c.write(image=TORCH, container=container, more="network: {subnet: 100.64.0.0/10}").up()
        assert places(c) == [("100.101.1.2", "tailscale0"), ("100.72.3.4", "tailscale0")]
        answer = computes(c, "mpirun")
        assert (answer["MASTER_ADDR"], answer["NCCL_SOCKET_IFNAME"]) == ("100.101.1.2", "=tailscale0"), answer
        report = json.loads(c.run("check", "-o", "json").stdout)["rows"]
        told = {row["check"]: row for row in report}
        assert told["interface"]["state"] == "warn", told["interface"]
        assert_in("a tunnel, such as a VPN's", told["interface"]["text"])
        assert told["mtu"]["text"] == "MTU 1280"
        assert told["ports"]["state"] == "pass", told["ports"]


def test_a_cluster_that_has_ipv6_alone(lab):
    data = {1: "fd00:99::1/64", 2: "fd00:99::2/64"}
    serve = """setsid socat -t 31536000 TCP6-LISTEN:2375,bind=[fd00:99::1],fork,reuseaddr UNIX-CONNECT:/run/lab/docker.sock \
               >/dev/null 2>&1 & echo $! >/run/lab/socat6.pid"""
    with second_network(lab, data, machine="fd00:99::fe/64"), with_ranks(lab, "t-ipv6") as (c, container):
        ssh = Ssh(lab, c)
        with ssh.known_hosts.open("a") as known:
            known.writelines("fd00:99::2 " + line.split(" ", 1)[1] for line in ssh.known_hosts.read_text().splitlines(True)
                             if line.startswith(lab.addresses[1] + ","))
        write_hosts(c, "tcp://[fd00:99::1]:2375", "ssh://ops@[fd00:99::2]", more={"tcp://[fd00:99::1]:2375": ", insecure: true"})
        text = c.file.read_text().replace("dockdist-lab/busybox", TORCH).replace("container:", "container:\n  " + container.replace("\n", "\n  "))
        c.file.write_text(text)
        on(lab, 1, serve)
        try:
            with first_network_cut(lab, (1, 2)):
                c.up(**ssh.environment)
                nodes = json.loads(c.run("status", "-o", "json", **ssh.environment).stdout)["nodes"]
                assert [(node["address"], node["interface"]) for node in nodes] == [("fd00:99::1", "data0"), ("fd00:99::2", "data0")]
                for launcher in ("torchrun", "mpirun"):
                    done = c.run("run", "--launcher", launcher, "--", "ranks.py", "sum", **ssh.environment)
                    found = answers(done.stdout)
                    assert {rank: answer["sum"] for rank, answer in found.items()} == {0: 3.0, 1: 3.0}, done.stdout
                    assert found[1]["MASTER_ADDR"] == "fd00:99::1"
                refused = c.run("run", "--launcher", "mpirun", "--via", "mpich", "--", "true", code=None, **ssh.environment)
                assert_in("MPICH's mpirun does not support IPv6", refused.stderr)
                inside = c.run("exec", "node-0", "--", "sh", "-c", "echo $NCCL_SOCKET_FAMILY; ssh fd00:99::2 hostname; pdsh -w node-1 hostname",
                               **ssh.environment).stdout
                assert inside == "AF_INET6\nnode-1\nnode-1: node-1\n"
                report = json.loads(c.run("check", "-o", "json", **ssh.environment).stdout)["rows"]
                assert {row["check"]: row["state"] for row in report if row["layer"] == "network"} == {
                    "interface": "pass", "mtu": "pass", "names": "pass", "ssh": "pass", "ports": "pass", "latency": "pass"}, report
        finally:
            on(lab, 1, "kill $(cat /run/lab/socat6.pid)")


def test_two_machines_at_one_address_are_named_and_nothing_waits(lab):
    same = "ip link add tap0 type veth peer name tap0-end; ip address add 10.0.2.100/24 dev tap0; ip link set tap0 up; ip link set tap0-end up"
    with cluster(lab, "t-same-address") as c:
        for number in (1, 2):
            on(lab, number, same)
        try:
            c.write(more="network: {subnet: 10.0.2.0/24}")
            failed = c.run("up", "--no-check", code=None, timeout=20)
            assert failed.returncode != 0
            assert_in("it is at 10.0.2.100, and so is node-0 on another machine", failed.stderr)
            c.assert_clean()
        finally:
            for number in (1, 2):
                on(lab, number, "ip link delete tap0")


def test_ipv4_beside_ipv6_is_named_and_nothing_waits(lab):
    with second_network(lab, {1: "10.99.0.1/24", 2: "fd00:99::2/64"}), cluster(lab, "t-families") as c:
        c.write(more="network: {subnet: [10.99.0.0/24, 'fd00:99::/64']}")
        failed = c.run("up", "--no-check", code=None, timeout=20)
        assert failed.returncode != 0
        assert_in("node-0 is at IPv4 addresses, and node-1 at IPv6 addresses", failed.stderr)
        c.assert_clean()
