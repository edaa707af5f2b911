"""Hosts from ranges, files, commands and inventories; groups of them; and clusters of which some are missing."""

import contextlib
import json
import re
import select
import socket
import stat

from harness import assert_in, cluster
from harness.patience import Watch


def write(c, hosts, more=""):
    c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n{hosts}"
                      f"container:\n  ulimits: {{memlock: {c.lab.memlock}}}\n{more}")


def listed(c, source, more=""):
    """The lab's hosts by a list; they listen on tcp."""
    write(c, f"  - {{from: {source}, docker: 'tcp://%h:2375', insecure: true, gpus: none}}\n", more)


def names(c, *arguments):
    rows = json.loads(c.run("status", "-o", "json", *arguments, code=None).stdout.splitlines()[0])["nodes"]
    return [(row["node"], row["state"]) for row in rows]


def executable(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@contextlib.contextmanager
def silent_engine():
    """Takes connections, and answers none of them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_a_range_makes_nodes_that_are_named_after_their_machines(lab):
    with cluster(lab, "t-range") as c:
        net, first = lab.addresses[0].rsplit(".", 1)
        last = lab.addresses[1].rsplit(".", 1)[1]
        assert int(last) == int(first) + 1
        nodes = [f"node-{address.replace('.', '-')}" for address in lab.addresses[:2]]
        write(c, f"  - {{docker: 'tcp://{net}.[{first}-{last}]:2375', insecure: true, gpus: none}}\n",
              f"groups: {{second: {nodes[1]}}}\n")
        assert_in("is up: 2 nodes", c.up().stdout)
        assert names(c) == [(node, "ready") for node in nodes]
        assert names(c, "--node", "@second") == [(nodes[1], "ready")]
        assert c.run("run", "--nodes", "@second", "--", "hostname").stdout.split()[-1] == nodes[1]
        assert c.run("exec", "@second", "--", "hostname").stdout.strip() == nodes[1]
        assert_in(nodes[1], c.run("check", "--node", "@second", code=None).stdout)
        both = f"node-{net.replace('.', '-')}-[{first}-{last}]"
        assert len(c.run("run", "--nodes", both, "--", "true").stderr) > 0
        wrong = c.run("run", "--nodes", "@thrid", "--", "true", code=2)
        assert_in("there is no group `@thrid`", wrong.stderr)
        assert_in("groups: second", wrong.stderr)
        c.run("down")
        c.assert_clean()


def test_an_inventory_names_hosts_users_and_groups(lab):
    with cluster(lab, "t-inventory") as c:
        (c.folder / "inventory.ini").write_text(
            f"[gpu:children]\nrack1\nrack2\n[rack1]\nalpha ansible_host={lab.addresses[0]}\n"
            f"[rack2]\nbeta ansible_host={lab.addresses[1]}\n[db]\nnowhere.example\n")
        listed(c, "{file: inventory.ini, format: ansible, group: gpu}")
        assert_in("is up: 2 nodes", c.up().stdout)
        assert names(c) == [("alpha", "ready"), ("beta", "ready")]
        assert c.run("exec", "@rack2", "--", "hostname").stdout == "beta\n"
        refused = c.run("exec", "@gpu", "--", "hostname", code=2)
        assert_in("`@gpu` is 2 nodes, and one is wanted here", refused.stderr)
        c.run("down")


def test_a_command_lists_the_hosts_and_its_failure_is_told_in_its_words(lab):
    with cluster(lab, "t-command") as c:
        program = c.folder / "who"
        executable(program, 'test "$1" = "--rack=a b" && echo "' + " ".join(lab.addresses[:2]) + '"\n')
        listed(c, "{command: [./who, '--rack=a b']}")
        assert_in("valid, 2 hosts", c.run("validate").stdout)
        executable(program, "echo 'the lease of rack a has ended' >&2; exit 3\n")
        said = c.run("up", code=2).stderr
        assert_in("failed with exit code 3: the lease of rack a has ended", said)
        executable(program, "echo '10.0.0.[5-1]'\n")
        assert_in("line 1: `5-1` counts down", c.run("status", code=2).stderr)
        marker = c.folder / "was-run"
        executable(program, f"touch {marker}; echo a\n")
        c.file.chmod(0o666)
        assert_in("the command is not run: everybody may write to ", c.run("status", code=2).stderr)
        assert not marker.exists()
        c.file.chmod(0o644)
        c.file.write_text(c.file.read_text() + "no_such_key: 1\n")
        assert_in("unknown key `no_such_key`", c.run("status", code=2).stderr)
        assert not marker.exists()  # what else is wrong is told before anything is run
        listed(c, "{command: ./not-there}")
        assert_in("not-there", c.run("validate", code=2).stderr)


def three_hosts(c, third, more=""):
    hosts = "".join(f"  - {{name: {name}, docker: '{url}', insecure: true, gpus: none}}\n" for name, url in
                    [("a", f"tcp://{c.lab.addresses[0]}:2375"), ("b", f"tcp://{c.lab.addresses[1]}:2375"), ("c", third)])
    write(c, hosts, more)


def test_a_cluster_comes_up_without_a_host_that_fails_and_a_later_up_adds_it(lab):
    with cluster(lab, "t-missing") as c:
        here = f"tcp://{lab.addresses[0]}:2375"
        three_hosts(c, f"tcp://{lab.addresses[0]}:2399", "min_nodes: 2\n")
        up = c.up()
        assert_in("is up: 2 of 3 nodes", up.stdout)
        assert_in("refused the connection", up.stderr)
        assert_in("1 of 3 nodes left out: c", up.stderr)
        assert names(c) == [("a", "ready"), ("b", "ready"), ("c", "unreachable")]
        job = c.run("run", "--", "sh", "-c", "echo $WORLD_SIZE ranks")
        assert job.stdout.count("2 ranks") == 2
        assert_in("refused the connection", job.stderr)
        again = c.up()
        assert_in("is up already: 2 of 3 nodes", again.stdout)
        before = c.container("a")[1]
        three_hosts(c, here, "min_nodes: 2\n")
        assert_in("is up: 3 nodes", c.up().stdout)
        assert c.container("a")[1] == before
        assert c.run("exec", "a", "--", "ssh", "c", "hostname").stdout == "c\n"
        c.run("down")
        c.assert_clean()


def test_without_min_nodes_only_keep_going_leaves_a_host_out(lab):
    with cluster(lab, "t-keep-going") as c:
        three_hosts(c, f"tcp://{lab.addresses[0]}:2399")
        assert_in("or go on without it: `dockdist up --keep-going`", c.run("up", "--no-check", code=1).stderr)
        c.assert_clean()
        done = c.run("up", "--keep-going", "-o", "json")  # with the check, which asks those that are there
        result = json.loads(done.stdout.splitlines()[-1])
        assert [node["node"] for node in result["nodes"]] == ["a", "b"]
        assert [missing["where"].split()[0] for missing in result["missing"]] == ["c"]
        assert result["check"]["failed"] == 0, result["check"]
        assert_in("or run without it: --keep-going", c.run("run", "--", "true", code=125).stderr)
        for words in (["--keep-going"], ["--nodes", "2"]):
            job = c.run("run", *words, "--", "sh", "-c", "echo $WORLD_SIZE ranks")
            assert job.stdout.count("2 ranks") == 2
            lost = [line for line in job.stderr.splitlines() if "c (tcp://" in line]
            assert len(lost) == 1 and re.fullmatch(r"warning: c \(tcp://\S+\): refused the connection", lost[0]), job.stderr
        assert_in("or run on what is ready: --nodes 2", c.run("run", "--nodes", "3", "--", "true", code=125).stderr)
        assert_in("or leave it out of --nodes", c.run("run", "--nodes", "a,c", "--", "true", code=125).stderr)
        # Of a job that has no part there it is a warning, and what is there is there.
        assert_in("2 ranks", c.run("logs").stdout)
        c.run("wait", re.search(r"job-\w{8}", job.stderr)[0])
        assert c.run("hostfile", code=1).stdout == "a slots=1\nb slots=1\n"
        (c.folder / "code").mkdir()
        c.file.write_text(c.file.read_text() + "sync: ['code:/code']\nsetup: ['touch /root/done']\n")
        assert_in("2 nodes", c.run("sync", code=1).stdout)
        assert_in("1 of 1 command run", c.run("setup", code=1).stdout)
        here = lab.env["LAB_MACHINE_ADDRESS"]
        with socket.create_server((here, 0)) as listening:
            c.file.write_text(re.sub(r"(name: c, docker: )\S+", rf"\1'tcp://{here}:{listening.getsockname()[1]}',", c.file.read_text()))
            for line in ("run --nodes a,b -- true", "run --nodes a,c --exclude c -- true", "run --exclude c -- true", "exec a -- true", f"cp a:/etc/hostname {c.folder}", "sync --node b", "logs --node a"):
                c.run(*line.split())
            assert select.select([listening], [], [], 0)[0] == [], "a host that nobody needs was asked"


def test_a_host_that_hangs_is_named_after_its_deadline_and_the_others_come_up(lab):
    with cluster(lab, "t-hangs") as c, silent_engine() as silent:
        three_hosts(c, silent, "min_nodes: 2\n")
        watch = Watch()
        up = c.up()
        assert watch.within(60), watch
        assert_in("is up: 2 of 3 nodes", up.stdout)
        assert_in("1 of 3 nodes left out: c", up.stderr)
