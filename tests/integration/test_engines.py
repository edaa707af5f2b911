"""Podman 4.3 and 5.4 as hosts, alone and in one cluster with Docker 20.10 and 26.1; and what engines lack."""

import json
import re

from harness import ROOT, assert_in, cluster, eventually, read_until
from harness.patience import DURATION
from harness.rootless import rootless
from harness.ssh import Ssh, sshd


def write(c, *hosts, image="dockdist-lab/busybox", container="", more=""):
    """Each of `hosts` is a URL, or a URL with more of the host's keys behind it."""
    lab = c.lab
    limits = f"memlock: {lab.memlock}, nofile: {lab.env['LAB_NOFILE']}, nproc: {lab.env['LAB_NPROC']}"
    lines = [f"name: {c.name}", f"image: {image}", "hosts:"]
    for i, host in enumerate(hosts):
        url, _, keys = host.partition(", ")
        insecure = ", insecure: true" if url.startswith("tcp:") else ""
        lines.append(f"  - {{name: node-{i}, docker: '{url}'{insecure}, {keys or 'gpus: none'}}}")
    lines += ["container:", f"  ulimits: {{{limits}}}", *("  " + line for line in container.splitlines()), *more.splitlines()]
    c.file.write_text("\n".join(lines) + "\n")
    return c


def podman(lab):
    return [f"tcp://{address}:2375" for address in lab.podman_addresses]


def docker(lab):
    return [f"tcp://{address}:2375" for address in lab.addresses[:2]]


def host_has(lab, number, path):
    return lab.script("exec", str(number), "sh", "-c", f"if [ -e {path} ]; then echo yes; fi") == "yes\n"


def main_job(c, **environment):
    assert_in("is up: 2 nodes", c.run("up", **environment).stdout)
    assert c.run("plan", **environment).stdout == "nothing to do\n"
    before = sorted(x["Id"] for x in c.all_containers())
    assert_in("is up already", c.run("up", **environment).stdout)
    assert sorted(x["Id"] for x in c.all_containers()) == before
    assert re.search(r"^node-1 +ready ", c.run("status", **environment).stdout, re.M)
    assert sorted(c.run("run", "--", "hostname", **environment).stdout.splitlines()) == ["[node-0] node-0", "[node-1] node-1"]
    assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname", **environment).stdout == "node-1\n"
    for node in ("node-0", "node-1"):
        assert c.run("exec", node, "--", "cat", input="half-closed\n", **environment).stdout == "half-closed\n"
        both = c.run("exec", node, "--", "sh", "-c", "echo out; echo err >&2; exit 7", code=7, **environment)
        assert (both.stdout, both.stderr) == ("out\n", "err\n")
    failed = c.run("run", "--", "sh", "-c", "echo last words; exit $((NODE_RANK + 3))", code=None, **environment)
    assert failed.returncode in (3, 4)
    assert_in("last words", c.run("logs", **environment).stdout)
    c.run("down", **environment)
    c.assert_clean()
    assert_in("last words", c.run("logs", **environment).stdout)  # of what the nodes have kept
    c.assert_clean()


def test_the_main_job_runs_on_podman_over_tcp_and_unix(lab):
    with cluster(lab, "t-podman") as c:
        main_job(write(c, podman(lab)[0], f"unix://{lab.podman_sockets[1]}"))
        # Podman makes what a mount names and the host lacks; asking for RDMA devices must not.
        assert not any(host_has(lab, number, "/dev/infiniband") for number in lab.podman)


def test_the_main_job_runs_on_podman_over_ssh(lab):
    with cluster(lab, "t-podman-ssh") as c:
        ssh = Ssh(lab, c)
        write(c, *[f"ssh://root@{address}/run/podman/podman.sock" for address in lab.podman_addresses])
        main_job(c, **ssh.environment)


def test_podman_is_reached_through_an_sshd_that_forwards_no_sockets(lab):
    address, port = lab.podman_addresses[0], 2231
    with sshd(lab, lab.podman[0], port, "AllowStreamLocalForwarding=no"), cluster(lab, "t-podman-dial") as c:
        ssh = Ssh(lab, c)
        key = next(line.split(" ", 1)[1] for line in ssh.known_hosts.read_text().splitlines() if line.startswith(address + ","))
        with ssh.known_hosts.open("a") as file:
            file.write(f"[{address}]:{port} {key}\n")
        write(c, f"ssh://root@{address}:{port}/run/podman/podman.sock, gpus: none, nodes: 2").up(**ssh.environment)
        assert c.run("exec", "node-0-0", "--", "ssh", "node-0-1", "cat", input="half-closed\n", **ssh.environment).stdout == "half-closed\n"
        c.run("down", **ssh.environment)
        c.assert_clean()


def test_check_names_podman_and_what_it_does_in_its_own_way(lab):
    with cluster(lab, "t-podman-check") as c:
        # Podman is asked for the label, whether it tells of SELinux or not, and takes it; no inspect of a running container shows that.
        mounts = "mounts: ['/shared:/shared:z']"
        c.write()
        assert c.run("plan").stderr == ""
        write(c, *podman(lab), container=mounts)
        warning = "creates a folder of `container.mounts` that is missing on its host"
        assert_in("Podman 4.3.1 " + warning, c.run("plan").stderr)
        assert_in("Podman 5.4.2 " + warning, c.run("up").stderr)
        report = json.loads(c.run("check", "-o", "json").stdout)
        rows = [(row["state"], row["text"]) for row in report["rows"] if row["check"] == "engine"]
        for version, node in (("4.3.1", 0), ("5.4.2", 1)):
            url = re.escape(podman(lab)[node])
            assert [s for s, text in rows if re.fullmatch(rf"Podman {version}, API 1\.41, {url}, round trip {DURATION}", text)] == ["pass"]
            assert [s for s, text in rows if text.startswith(f"Podman {version} {warning}")] == ["warn"]
        assert [row["text"] for row in report["rows"] if row["check"] == "clock"] == ["as on this machine"]
        assert [row["state"] for row in report["rows"] if row["check"] == "ssh"] == ["pass"]


def test_what_an_engine_lacks_is_said_for_every_host_before_anything_starts(lab):
    with cluster(lab, "t-lacks") as c:
        old, new = podman(lab)
        write(c, docker(lab)[0] + ", gpus: all, cdi: true", docker(lab)[1] + ", gpus: all, cdi: true", old + ", gpus: all",
              new + ", gpus: all, cdi: false", container="runtime: nvidia")
        for command in ("plan", "up"):
            said = c.run(command, code=2).stderr
            for node, url, text in ((0, docker(lab)[0], "Engine 20.10.24+dfsg1 does not support CDI names"),
                                    (1, docker(lab)[1], "CDI is off in Engine 26.1.5+dfsg1"),
                                    (2, old, "Podman 4.3.1 ignores all GPU requests of its Docker-compatible API"),
                                    (2, old, "Podman 4.3.1 ignores `container.runtime`"),
                                    (3, new, "Podman 5.4.2 ignores GPU requests that are not CDI names"),
                                    (3, new, "Podman 5.4.2 ignores `container.runtime`")):
                assert_in(f"error: node-{node} ({url}): {text}\n  → ", said)
        c.assert_clean()


def test_a_client_killed_at_each_phase_leaves_podman_as_the_next_up_needs_it(lab):
    for phase in ("create", "start", "join"):
        with cluster(lab, f"t-podman-{phase}") as c:
            client = write(c, *podman(lab)).start("up", "-o", "json")
            read_until(client, f'"{phase}"')
            client.kill()
            client.communicate()
            assert_in("is up", c.run("up").stdout)
            assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
            c.run("down")
            c.assert_clean()


def test_of_two_ups_at_once_on_podman_one_wins(lab):
    with cluster(lab, "t-podman-two") as c:
        first, second = (write(c, *podman(lab)).start("up") for _ in range(2))
        said = [client.communicate(timeout=60) for client in (first, second)]
        codes = sorted((first.returncode, second.returncode))
        if codes == [0, 1]:
            assert_in("has been changing this cluster for", "".join(err for _, err in said))
        else:  # one began when the other was done
            assert codes == [0, 0], said
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


def test_two_downs_at_once_on_podman_both_end_well(lab):
    with cluster(lab, "t-podman-downs") as c:
        for _ in range(3):
            write(c, *podman(lab)).up()
            clients = [c.start("down") for _ in range(2)]
            for client in clients:
                _, err = client.communicate(timeout=60)
                assert client.returncode == 0, err
            c.assert_clean()


def test_a_name_that_is_taken_on_podman_is_a_conflict_and_stays(lab):
    with cluster(lab, "t-podman-name") as c:
        engine = lab.podman_engines[0]
        stranger = f"dockdist-{c.name}-node-0"
        status, data = engine.call("POST", f"/v1.40/containers/create?name={stranger}", {"Image": "dockdist-lab/busybox"})
        assert status == 201, data
        try:
            said = write(c, *podman(lab)).run("up", code=1).stderr
            assert_in(f"a container named {stranger} exists that does not belong to this cluster", said)
            assert engine.inspect(stranger)["Id"] == json.loads(data)["Id"]
            c.assert_clean()
        finally:
            engine.call("DELETE", f"/v1.40/containers/{stranger}?force=1")


def test_ctrl_c_ends_every_process_of_a_job_on_podman(lab):
    with cluster(lab, "t-podman-stop") as c:
        write(c, *podman(lab)).up()
        client = c.start("run", "--", "sh", "-c", "echo started; sleep 4331 & exec sleep 4331")
        read_until(client, "started", times=2)
        client.send_signal(2)
        client.communicate(timeout=30)
        assert client.returncode == 130

        def processes():
            return [line for engine in lab.podman_engines for found in engine.containers(cluster=c.name)
                    for line in engine.processes(found["Id"])]
        eventually(lambda: not any("sleep 4331" in line for line in processes()), "no process of the job is left", timeout=5)
        assert len([line for line in processes() if "dockdist-init" in line]) >= 2  # the question was one that finds processes


def test_docker_20_10_and_26_1_and_podman_train_as_one_cluster(lab):
    with cluster(lab, "t-mixed") as c:
        folder = lab.shared / c.name
        folder.mkdir(exist_ok=True)
        (folder / "train.py").write_text((ROOT / "templates/train.py").read_text())
        write(c, *docker(lab), *podman(lab), image="dockdist-lab/torch",
              container=f"mounts: ['/shared/{c.name}:/workspace']\nworkdir: /workspace", more="launcher: torchrun").up()
        engines = [json.loads(c.run("check", "-o", "json").stdout)["rows"][i]["text"].split(",")[0] for i in range(3)]
        assert engines == ["Engine 20.10.24+dfsg1", "Engine 26.1.5+dfsg1", "Podman 4.3.1"], engines
        done = c.run("run", "--", "train.py", "--epochs", "3")
        for rank in range(4):
            losses = [float(x) for x in re.findall(rf"^\[node-{rank}(?::\d+ *)?\] epoch \d loss ([\d.]+)$", done.stdout, re.M)]
            assert len(losses) == 3 and losses[-1] < losses[0], (rank, losses, done.stdout)
        c.run("down")
        c.assert_clean()


def test_a_rootless_podman_is_a_node_beside_docker(lab):
    with rootless(lab, lab.podman[0], "podman") as engine, cluster(lab, "t-rootless") as c:
        own = f"unix://{engine.address}, gpus: none, address: {lab.podman_addresses[0]}"
        write(c, docker(lab)[1], own, container="mounts: ['/shared:/shared']")
        main_job(c)
        assert engine.containers(cluster=c.name) == []
        assert_in("Podman 4.3.1, rootless", c.run("plan").stderr)


def test_rootless_docker_is_refused_among_several_hosts_and_works_alone(lab):
    with rootless(lab, 2, "docker") as engine, cluster(lab, "t-rootless-docker") as c:
        write(c, docker(lab)[0], f"unix://{engine.address}, gpus: none, address: {lab.addresses[1]}")
        assert_in(f"error: node-1 (unix://{engine.address}): Engine 26.1.5+dfsg1, rootless: the host network of its containers "
                  "is RootlessKit's", c.run("up", code=2).stderr)
        assert engine.containers(cluster=c.name) == []
        c.assert_clean()
        write(c, f"unix://{engine.address}, gpus: none, nodes: 2").up()
        assert c.run("exec", "node-0-0", "--", "ssh", "node-0-1", "hostname").stdout == "node-0-1\n"
        c.run("down")
        assert engine.containers(cluster=c.name) == []


def test_what_an_older_node_kept_in_its_container_is_its_history_afterwards(lab):
    with cluster(lab, "t-handed-over") as c:
        write(c, docker(lab)[0], podman(lab)[0]).up()
        c.run("run", "--name", "night", "--", "sh", "-c", "echo kept-$RANK")
        for node in ("node-0", "node-1"):  # as a node without a store would have it
            engine, container = c.container(node)
            archive = f"/v1.40/containers/{container}/archive?path=/var/lib/dockdist"
            status, jobs = engine.call("GET", archive + "/store/jobs")
            assert status == 200, jobs
            assert engine.call("PUT", archive, jobs)[0] == 200
            c.run("exec", node, "--", "rm", "-rf", "/var/lib/dockdist/store/jobs/night")
        assert c.run("logs", "night", code=None).returncode != 0
        write(c, docker(lab)[0], podman(lab)[0], container="shm_size: 32m")
        assert_in("brought the history of 1 job", c.up().stderr)
        kept = c.run("logs", "night", "--raw").stdout.splitlines()
        assert sorted(line.split()[-1] for line in kept) == ["kept-0", "kept-1"]
        assert "incoming" not in c.run("exec", "node-0", "--", "ls", "/var/lib/dockdist/store").stdout
