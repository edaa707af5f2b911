"""check's ways between nodes, on real machines with real firewalls and a real queue discipline."""

import contextlib
import json

import pytest

from harness import assert_in, cluster, eventually


def report_of(c, *arguments, code=0):
    return json.loads(c.run("check", "-o", "json", *arguments, code=code).stdout)


def rows_of(report, check):
    return [row for row in report["rows"] if row["check"] == check]


@contextlib.contextmanager
def on_host(lab, number, begin, end):
    lab.script("exec", str(number), "sh", "-euc", begin)
    try:
        yield
    finally:
        lab.script("exec", str(number), "sh", "-uc", end)


def four_machines(lab, c):
    """A node on each of four hosts, whatever engine they have."""
    addresses = lab.addresses + lab.podman_addresses
    assert len(addresses) == 4, addresses
    c.write(hosts=1)
    text = c.file.read_text()
    first = next(line for line in text.splitlines() if addresses[0] in line)
    text = text.replace(first, "\n".join(first.replace(addresses[0], address).replace("node-0", f"node-{i}") for i, address in enumerate(addresses)))
    # Podman raises those by itself, further than the lab's hosts may.
    limits = f"memlock: {lab.memlock}, nofile: {lab.env['LAB_NOFILE']}, nproc: {lab.env['LAB_NPROC']}"
    c.file.write_text(text.replace(f"memlock: {lab.memlock}", limits))
    return addresses


def test_every_node_meets_every_other_on_a_rendezvous_port(lab):
    with cluster(lab, "t-ways") as c:
        four_machines(lab, c)
        c.up()
        report = report_of(c)
        assert [(row["state"], row["subject"], row["text"]) for row in rows_of(report, "ports")] == [
            ("pass", "all nodes", "rendezvous ports open both ways, large packets pass")], report["rows"]
        assert_in("round trip", rows_of(report, "latency")[0]["text"])
        assert not rows_of(report, "bandwidth")
        # What listened went with the check.
        for node in ("node-0", "node-1", "node-2", "node-3"):
            engine, container = c.container(node)
            eventually(lambda: not [line for line in engine.processes(container) if line.endswith("dockdist-init check")],
                       "the session has ended")


def connections_made(lab):
    """By whatever runs on the hosts' network, since they are up."""
    made = 0
    for number in range(1, lab.count + 1):
        names, values = (line.split() for line in lab.script("exec", str(number), "cat", "/proc/net/snmp").splitlines()
                         if line.startswith("Tcp:"))
        made += int(values[names.index("ActiveOpens")])
    return made


def test_the_connections_of_a_quick_check_grow_with_the_nodes_and_not_with_their_pairs(lab):
    nodes = 6
    with cluster(lab, "t-some-ways") as c:
        c.write(hosts=nodes).up()
        before = connections_made(lab)
        report = report_of(c)
        # Two logins and two meetings a node, and a login of each node to itself, for the limits of a session.
        assert 0 < connections_made(lab) - before <= 5 * nodes
        for row, text in (("ssh", "each logs in to some others (12 of 30 pairs; `check --deep` tries all), slowest "),
                          ("ports", "rendezvous ports open both ways, large packets pass (12 of 30 pairs; `check --deep` tries all)")):
            ((state, subject, told),) = [(each["state"], each["subject"], each["text"]) for each in rows_of(report, row)]
            assert (state, subject) == ("pass", "all nodes"), report["rows"]
            assert_in(text, told)
        before = connections_made(lab)
        report = report_of(c, "--deep", code=None)  # the bandwidths are what this machine has left
        assert connections_made(lab) - before >= 2 * nodes * (nodes - 1)
        assert len(report["links"]) == nodes * (nodes - 1)
        assert_in("each logs in to every other, slowest ", rows_of(report, "ssh")[0]["text"])
        assert rows_of(report, "ports")[0]["text"] == "rendezvous ports open both ways, large packets pass"


def test_a_cut_rendezvous_port_is_named_from_and_to(lab):
    ports = "INPUT -p tcp --syn --dport 20000:29999 -s " + lab.addresses[0]
    for target, words in (("DROP", "silently dropped"), ("REJECT", "refused")):
        with cluster(lab, "t-cut-port") as c:
            c.write().up()
            with on_host(lab, 2, f"iptables -I {ports} -j {target}", f"iptables -D {ports} -j {target}"):
                rows = rows_of(report_of(c, code=1), "ports")
            assert len(rows) == 1, rows
            assert rows[0]["state"] == "fail" and rows[0]["subject"] == "node-0 → node-1", rows
            assert_in(words, rows[0]["text"])
            assert_in("20000-29999", rows[0]["hint"])


def test_large_packets_that_are_lost_are_told_from_a_closed_port(lab):
    large = "INPUT -p tcp --dport 20000:29999 -m length --length 1200:65535 -j DROP"
    with cluster(lab, "t-mtu") as c:
        c.write().up()
        with on_host(lab, 2, f"iptables -I {large}", f"iptables -D {large}"):
            report = report_of(c, code=1)
        assert [row["subject"] for row in rows_of(report, "path-mtu")] == ["node-0 → node-1"], report["rows"]
        assert_in("large ones are lost", rows_of(report, "path-mtu")[0]["text"])
        assert [row["state"] for row in rows_of(report, "ports")] == ["pass"]


@contextlib.contextmanager
def slow_links(lab, addresses, queue_of):
    """The machines share two real processors, which are their usual limit: queues that are slower than that make them links.
    `queue_of(place)` is what follows `tc qdisc add dev $d`; four machines."""
    numbers = [*range(1, len(lab.addresses) + 1), *lab.podman] if lab.podman else [1, 2, 3, 4]
    with contextlib.ExitStack() as stack:
        for place, number in enumerate(numbers):
            device = f"d=$(ip -o -4 addr show | awk '/{addresses[place]}\\//{{print $2}}')"
            stack.enter_context(on_host(lab, number, f"{device}; tc qdisc add dev $d {queue_of(place)}",
                                        f"{device}; tc qdisc del dev $d root"))
        yield


@pytest.mark.exclusive
def test_a_throttled_machine_is_named_among_four(lab):
    with cluster(lab, "t-slow") as c:
        addresses = four_machines(lab, c)
        c.up()
        with slow_links(lab, addresses, lambda place: f"root tbf rate {40 if place == 1 else 400}mbit burst 256kb latency 50ms"):
            report = report_of(c, "--deep", code=1)
        rows = [row for row in rows_of(report, "bandwidth") if row["state"] == "fail"]
        assert [row["subject"] for row in rows] == ["node-1"], rows_of(report, "bandwidth")
        assert_in("sends 3", rows[0]["text"])  # about 38 Mbit/s
        assert_in("ethtool", rows[0]["hint"])


@pytest.mark.exclusive
def test_a_throttled_link_is_named_among_four(lab):
    with cluster(lab, "t-slow-link") as c:
        addresses = four_machines(lab, c)
        c.up()
        # Only what goes from the first machine to the third one waits longer.
        throttled = ("root handle 1: htb default 1 r2q 10; tc class add dev $d parent 1: classid 1:1 htb rate 400mbit; "
                     "tc class add dev $d parent 1: classid 1:3 htb rate 40mbit; "
                     f"tc filter add dev $d parent 1: protocol ip u32 match ip dst {addresses[2]} flowid 1:3")
        with slow_links(lab, addresses,
                        lambda place: "root tbf rate 400mbit burst 256kb latency 50ms" if place else throttled):
            report = report_of(c, "--deep", code=1)
        rows = {row["subject"]: row["text"] for row in rows_of(report, "bandwidth") if row["state"] == "fail"}
        # The way back may be named as well: its acknowledgements wait in the same queue.
        assert {"node-0 → node-2"} <= set(rows) <= {"node-0 → node-2", "node-2 → node-0"}, rows_of(report, "bandwidth")
        assert float(rows["node-0 → node-2"].split(" Mbit/s")[0]) < 45, rows
        assert_in("other links of both nodes reach", rows["node-0 → node-2"])


def test_a_deep_check_without_gpus_measures_tcp_and_fails_for_nothing(lab):
    with cluster(lab, "t-deep-cpu") as c:
        c.write().up()
        done = c.run("check", "--deep")
        assert_in("no node has a GPU: there is nothing to measure with NCCL", done.stdout)
        assert_in("bit/s", done.stdout)
        assert_in("TCP bandwidth", done.stderr)  # it says what it is at
