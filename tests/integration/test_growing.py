"""A cluster that grows while jobs run on it, and nodes that are made anew while the rest stays."""

import json
import re
import signal

import pytest

from harness import assert_in, cluster, eventually, read_until

# Lines with a number, and whose process it is, until it is let go.
COUNT = "echo started $$; i=0; until [ -e /tmp/go ]; do echo line $i of $$; i=$((i+1)); sleep 0.05; done; echo over"


def check_no_gap(text, nodes):
    for node in nodes:
        lines = re.findall(rf"^\[{node}\] line (\d+) of (\d+)$", text, re.M)
        assert [int(number) for number, _ in lines] == list(range(len(lines))) and len(lines) > 20, (node, lines[:5], len(lines))
        assert {pid for _, pid in lines} == set(re.findall(rf"^\[{node}\] started (\d+)$", text, re.M)), node


def test_running_jobs_do_not_notice_that_the_cluster_grows(lab):
    with cluster(lab, "t-grows") as c:
        # The new nodes share the machines of the old ones, whose setting is not to change for that.
        setting = {"host_more": ", slots: 2", "container": "ipc: host"}
        c.write(hosts=2, **setting).up()
        ids = {node: c.container(node)[1] for node in ("node-0", "node-1")}
        attached = c.start("run", "--name", "attached", "--gpus", "1", "--lease", "4s", "--", "sh", "-c", COUNT)
        lines = read_until(attached, "line 3 ", times=2)
        c.run("run", "--name", "detached", "--gpus", "1", "--detach", "--lease", "4s", "--", "sh", "-c", COUNT)
        # One that lives on an ssh between the nodes, which was dialled before.
        over_ssh = c.start("exec", "node-0", "--", "ssh", "node-1", COUNT)
        ssh_lines = [over_ssh.stdout.readline() for _ in range(5)]
        c.write(hosts=4, **setting)
        assert_in("is up: 4 nodes", c.up().stdout)
        # Old nodes and new ones know each other.
        assert c.run("exec", "node-0", "--", "ssh", "node-3", "hostname").stdout == "node-3\n"
        assert c.run("exec", "node-3", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        assert c.run("exec", "node-1", "--", "sh", "-c", "cat $WCOLL").stdout.split() == [f"node-{i}" for i in range(4)]
        lines += read_until(attached, "line 200 ", times=2)  # longer than the lease: whoever has lost hold of a job ends it
        for node in ("node-0", "node-1"):
            assert c.container(node)[1] == ids[node]
            c.run("exec", node, "--", "touch", "/tmp/go")
        out, err = attached.communicate(timeout=60)
        assert attached.returncode == 0, err
        check_no_gap("".join(lines) + out, ids)
        c.run("wait", "detached", timeout=60)
        check_no_gap(c.run("logs", "detached").stdout, ids)
        out, err = over_ssh.communicate(timeout=60)
        assert over_ssh.returncode == 0, err
        text = "".join(ssh_lines) + out
        numbers = [int(n) for n in re.findall(r"^line (\d+)", text, re.M)]
        assert numbers == list(range(len(numbers))) and text.endswith("over\n"), text
        assert c.run("run", "--gpus", "1", "--", "echo", "all").stdout.count("all\n") == 4


def test_a_line_that_goes_takes_nobody_else_s_node(lab):
    """Hosts without names: the first one's line goes, and what it leaves is named by plan, up and down."""
    with cluster(lab, "t-shrinks") as c:
        def write(*machines):
            c.write(machines=machines)
            c.file.write_text(re.sub(r"name: node-\d+, ", "", c.file.read_text()))
            return ["node-" + (lab.addresses + lab.containerd_addresses)[machine].replace(".", "-") for machine in machines]

        first, second, third = write(0, 1, 2)
        c.up()
        ids = {node: c.container(node)[1] for node in (first, second, third)}
        job = c.start("run", "--nodes", f"{second},{third}", "--lease", "4s", "--", "sh", "-c", COUNT)
        lines = read_until(job, "line 3 ", times=2)
        assert write(2, 1) == [third, second]
        orphan = rf"{first} +leave container dockdist-t-shrinks-{first} at {re.escape(lab.addresses[0])}  # its host is no longer in the file"
        planned = c.run("plan").stdout
        assert re.search(orphan, planned) and "container dockdist-t-shrinks-" + second not in planned, planned
        assert [left["node"] for left in json.loads(c.run("plan", "-o", "json").stdout)["orphans"]] == [first]
        told = c.up()
        assert_in(f"warning: {first} ({lab.addresses[0]}): its host is no longer in the file", told.stderr)
        assert {node: c.container(node)[1] for node in ids} == ids
        lines += read_until(job, "line 25 ", times=2)
        for node in (second, third):
            c.run("exec", node, "--", "touch", "/tmp/go")
        out, err = job.communicate(timeout=60)
        assert job.returncode == 0, err
        check_no_gap("".join(lines) + out, (second, third))
        # Its rank is another one now; by its place it is called, too; and it does not know who has gone.
        assert c.run("exec", "node-0", "--", "sh", "-c", "echo $DOCKDIST_NODE $DOCKDIST_NODE_RANK").stdout == f"{third} 0\n"
        assert c.run("exec", third, "--", "sh", "-c", "cat $WCOLL").stdout.split() == [third, second]
        assert c.run("plan").stdout == "nothing to do\n"
        down = c.run("down")
        assert_in(f"dockdist-t-shrinks-{first} may still run there", down.stderr)
        assert [x["Id"] for x in c.all_containers()] == [ids[first]]
        write(0)
        assert_in("1 container removed", c.run("down").stdout)


def test_a_job_of_mpirun_does_not_notice_that_the_cluster_grows(lab):
    with cluster(lab, "t-grows-mpi") as c:
        c.write(hosts=2, image="dockdist-lab/torch", container="ipc: host").up()
        client = c.start("run", "--launcher", "mpirun", "--", "sh", "-c", COUNT)
        lines = read_until(client, "line 3 ", times=2)
        c.write(hosts=3, image="dockdist-lab/torch", container="ipc: host").up()
        read_until(client, "line 1", times=2)
        for node in ("node-0", "node-1"):
            c.run("exec", node, "--", "touch", "/tmp/go")
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err
        assert out.count("over\n") == 2, out


def new_setting(c, image="dockdist-lab/busybox", more=""):
    """The file changes node 1, and that alone."""
    c.write(hosts=2, image=image, more=more)
    text = c.file.read_text().splitlines()
    text[4] = text[4].replace("gpus: none", "gpus: none, env: {NVIDIA_WHO: new}")
    c.file.write_text("\n".join(text) + "\n")


def check_as_before(c, ids):
    assert {x["Names"][0]: x["State"] for x in c.all_containers()} == {
        f"/dockdist-{c.name}-node-{i}": "running" for i in (0, 1)}
    assert [c.container(f"node-{i}")[1] for i in (0, 1)] == ids
    c.write(hosts=2)
    assert c.run("plan").stdout == "nothing to do\n"
    assert c.run("run", "--", "echo", "works").stdout.count("works\n") == 2
    assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
    assert c.run("exec", "node-1", "--", "ssh", "node-0", "hostname").stdout == "node-0\n"


def test_a_node_that_is_made_anew_takes_the_old_ones_place(lab):
    with cluster(lab, "t-anew") as c:
        c.write(hosts=2, more="ssh: {port: 2345}").up()
        ids = [c.container(f"node-{i}")[1] for i in (0, 1)]
        new_setting(c, more="ssh: {port: 2345}")
        assert_in("replace container dockdist-t-anew-node-1", c.run("plan").stdout)
        c.up()
        assert c.container("node-0")[1] == ids[0] and c.container("node-1")[1] != ids[1]
        assert len(c.all_containers()) == 2
        assert c.run("exec", "node-1", "--", "sh", "-c", "echo $NVIDIA_WHO").stdout == "new\n"
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


@pytest.mark.parametrize("how", ["create", "start", "join"])
def test_a_node_whose_new_container_fails_is_there_again_as_it_was(lab, how):
    with cluster(lab, "t-back") as c:
        c.write(hosts=2).up()
        ids = [c.container(f"node-{i}")[1] for i in (0, 1)]
        new_setting(c)
        text = c.file.read_text()
        broken, code = {"create": ("mounts: ['/no/such/folder:/data']", 1),
                        "start": ("mounts: ['/etc:/etc/passwd/below-a-file']", 1),
                        "join": ("user: nobody-of-that-name", 2)}[how]
        # For node 1 alone there is no such key, so it is for both: both come back.
        c.file.write_text(text + f"  {broken}\n")
        failed = c.run("up", "--no-check", code=code)
        assert "could not be brought back" not in failed.stderr, failed.stderr
        check_as_before(c, ids)


@pytest.mark.parametrize("call", ["rename", "create", "start", "stop"])
def test_a_client_that_is_killed_while_a_node_is_made_anew_leaves_what_the_next_up_mends(lab, call):
    with cluster(lab, "t-killed-anew") as c:
        c.write(hosts=2).up()
        ids = [c.container(f"node-{i}")[1] for i in (0, 1)]
        new_setting(c)
        wanted = {"rename": "create container", "create": "created", "start": "started", "stop": "stopped the old container"}[call]
        client = c.start("up", "--no-check", "-o", "json")
        for line in client.stdout:
            event = json.loads(line)
            if event.get("subject") == "node-1" and wanted in event.get("text", ""):
                break
        client.send_signal(signal.SIGKILL)
        client.communicate()
        assert c.container("node-0")[1] == ids[0]
        c.up("--break-lock")
        assert len(c.all_containers()) == 2 and c.container("node-0")[1] == ids[0]
        assert c.run("exec", "node-1", "--", "sh", "-c", "echo $NVIDIA_WHO").stdout == "new\n"
        assert c.run("plan").stdout == "nothing to do\n"
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
