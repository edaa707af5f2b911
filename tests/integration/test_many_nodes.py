"""Many nodes on few hosts: what they cost when they join, and what is said when some cannot be reached."""

import json

import pytest

from harness import assert_in, cluster


def write(lab, c, each, more=""):
    """`each` nodes on each of two hosts."""
    lines = [f"name: {c.name}", "image: dockdist-lab/busybox", "hosts:"]
    lines += [f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: none, nodes: {each}}}" for i, address in enumerate(lab.addresses[:2])]
    lines += ["container:", f"  ulimits: {{memlock: {lab.memlock}}}", *more.splitlines()]
    c.file.write_text("\n".join(lines) + "\n")
    return c


def accepted(lab):
    """TCP connections that anything on the two hosts has accepted so far."""
    total = 0
    for number in (1, 2):
        names, values = [line.split() for line in lab.script("exec", str(number), "cat", "/proc/net/snmp").splitlines() if line.startswith("Tcp:")]
        total += int(values[names.index("PassiveOpens")])
    return total


def processor_ms(c):
    """What one node has taken of the processors since it was started, in the mean: the same on a busy machine and an idle one."""
    used = [engine.get(f"/v1.41/containers/{each['Id']}/stats?stream=0&one-shot=1")["cpu_stats"]["cpu_usage"]["total_usage"] / 1e6
            for engine in c.lab.engines for each in engine.containers(cluster=c.name)]
    return sum(used) / len(used)


def test_sixteen_nodes_make_few_connections_and_all_know_all(lab):
    with cluster(lab, "t-sixteen") as c:
        write(lab, c, 8)
        before = accepted(lab)
        c.up()
        # Between nodes at most four a node; each node's own sshd, its client, and the engines' calls.
        assert accepted(lab) - before <= (4 + 1 + 1) * 16 + 12
        lists = {line.split("]")[1] for line in c.run("run", "--", "sha256sum", "/run/dockdist/members.json").stdout.splitlines()}
        assert len(lists) == 1, lists
        assert c.run("exec", "node-1-7", "--", "ssh", "node-0-0", "hostname").stdout == c.run("exec", "node-0-0", "--", "hostname").stdout
        assert c.run("plan").stdout == "nothing to do\n"
        c.run("down")
        c.assert_clean()


def test_nodes_that_cannot_be_reached_are_one_error_and_taken_back(lab):
    with cluster(lab, "t-unreached") as c:
        write(lab, c, 4)
        # From the other host, that is: nodes of one host reach each other all the same.
        rule = ["OUTPUT", "-p", "tcp", "--dport", "2223", "!", "-o", "lo", "-j", "REJECT", "--reject-with", "tcp-reset"]
        lab.script("exec", "1", "iptables", "-I", *rule)
        try:
            done = c.run("up", "--ready-timeout", "3s", code=1)
        finally:
            lab.script("exec", "1", "iptables", "-D", *rule)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(errors) == 1, done.stderr
        assert_in(f" cannot reach it at {lab.addresses[1]}:2223: Connection refused", errors[0])
        c.assert_clean()


@pytest.mark.exclusive
def test_sixty_four_nodes_on_two_hosts(lab):
    with cluster(lab, "t-sixty-four") as c:
        write(lab, c, 4).up("--no-check")
        small = processor_ms(c)
        c.run("down")
        done = write(lab, c, 32).up("--no-check", "-o", "json")
        assert "pass on the list" not in done.stdout  # nobody had to ask for it
        large = processor_ms(c)
        print(f"\n{small:.0f} ms a node of 8, {large:.0f} ms a node of 64")
        assert large <= 2 * small
        assert c.run("run", "--", "true").stdout == ""
        # That each login ends in time is a matter of what else two processors have to do: every node is told of, though.
        rows = json.loads(c.run("check", "-o", "json", code=None).stdout)["rows"]
        assert sum(row["check"] == "container" for row in rows) == 64, rows
        c.run("down")
        c.assert_clean()
