"""What goes wrong on real hosts: one clear error that names the host and says what to do, and nothing left behind."""

import contextlib
import json
import re
import socket
import subprocess
import threading

from harness import DOCKDIST, Cluster, assert_in, cluster


def fails(c, *wanted, code=1):
    done = c.run("up", code=code)
    for part in wanted:
        assert_in(part, done.stderr)
    assert done.stdout == ""
    c.assert_clean()
    return done.stderr


def replace(c, old, new):
    text = c.file.read_text()
    assert old in text
    c.file.write_text(text.replace(old, new))


def test_an_unreachable_host_is_named_and_nothing_is_made_on_the_others(lab):
    with cluster(lab, "t-unreachable") as c:
        c.write()
        replace(c, lab.addresses[1] + ":2375", lab.env["LAB_SUBNET"].rsplit(".", 1)[0] + ".99:2375")
        fails(c, "node-1 (tcp://")


def test_a_wrong_port_says_that_nothing_listens_there(lab):
    with cluster(lab, "t-port") as c:
        c.write()
        replace(c, lab.addresses[1] + ":2375", lab.addresses[1] + ":2399")
        fails(c, "node-1 (tcp://", "refused")


@contextlib.contextmanager
def server(answer):
    """Answers every connection on loopback with the same bytes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def test_a_port_where_something_else_than_docker_answers(lab):
    for answer in (b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 2\r\n\r\nhi", b"SSH-2.0-OpenSSH_9.2\r\n"):
        with server(answer) as port, cluster(lab, "t-not-docker") as c:
            c.write()
            replace(c, lab.addresses[1] + ":2375", f"127.0.0.1:{port}")
            fails(c, "node-1 (tcp://127.0.0.1", "Docker")


def test_an_image_that_is_nowhere(lab):
    with cluster(lab, "t-image") as c:
        c.write(image="dockdist-lab/no-such-image:1")
        text = fails(c, "node-0 (", "node-1 (", "no-such-image")
        assert text.count("error:") == 2, text  # every host's failure is told


def test_a_gpu_request_on_a_host_without(lab):
    with cluster(lab, "t-gpu") as c:
        c.write(gpus="9")
        fails(c, "node-0 (", "node-1 (", "9 GPUs are asked for, and the host has 2", "→ ", code=2)
        c.write(gpus="[0, 9]")
        fails(c, "node-0 (", "node-1 (", "unknown device", "→ ")


def test_a_mount_that_does_not_exist_on_one_host(lab):
    with cluster(lab, "t-mount") as c:
        lab.script("exec", "host-1", "mkdir", "-p", "/only-here")
        c.write(container="mounts: ['/only-here:/data']")
        text = fails(c, "node-1 (", "/only-here")
        assert "error: node-0" not in text
        lab.script("exec", "host-1", "rmdir", "/only-here")


@contextlib.contextmanager
def listener(engine, address, port):
    """A process that is not ours on a port of a host."""
    body = {"Image": "dockdist-lab/busybox", "Cmd": ["nc", "-ll", "-p", str(port), "-e", "/bin/cat"],
            "HostConfig": {"NetworkMode": "host"}}
    status, data = engine.call("POST", "/v1.40/containers/create", body)
    assert status == 201, data
    container = json.loads(data)["Id"]
    try:
        assert engine.call("POST", f"/v1.40/containers/{container}/start")[0] == 204

        def listens():
            with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=1):
                return True
            return False

        from harness import eventually
        eventually(listens, f"{address}:{port} listens")
        yield
    finally:
        engine.call("DELETE", f"/v1.40/containers/{container}?force=1")


def test_an_ssh_port_in_use_is_named_or_avoided(lab):
    with listener(lab.engines[1], lab.addresses[1], 2222), cluster(lab, "t-ssh-port") as c:
        c.write(more="ssh: {port: 2222}")
        fails(c, "node-1", "2222")
        c.write().run("up")
        ports = [node["ssh_port"] for node in json.loads(c.run("hostfile", "-o", "json").stdout)]
        assert ports[1] != 2222 and ports[1] >= 2222
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


def test_a_name_that_docker_refuses_is_found_before_any_host_is_touched(lab):
    with cluster(lab, "t-name") as c:
        c.write()
        replace(c, "name: t-name", "name: 'Bad Name/'")
        done = c.run("up", code=2)
        assert_in("cluster.yaml:1:", done.stderr)


def test_memlock_that_the_host_forbids(lab):
    with cluster(lab, "t-memlock") as c:
        c.write()
        replace(c, f"memlock: {lab.memlock}", "memlock: unlimited")
        fails(c, "node-0 (", "node-1 (", "memlock")
        replace(c, "memlock: unlimited", "memlock: auto")
        if lab.memlock != "unlimited":
            assert_in("node-0: its engine does not allow unlimited memlock", c.up().stderr)


def test_two_clusters_of_one_name_from_two_files(lab):
    with cluster(lab, "t-twin") as c:
        c.write().run("up")
        other = Cluster(lab, "t-twin")
        for other_one in ("OTHER", "NVIDIA_OTHER"):  # told in a join, or part of the container
            other.write(container=f"env: {{{other_one}: '1'}}")
            done = other.run("up", code=1)
            assert_in("a cluster named t-twin is there already, made by ", done.stderr)
            assert_in("--take-over", done.stderr)
        # Nor does anything else act on it, and what only looks may.
        assert_in("made by ", other.run("down", code=1).stderr)
        assert_in("--take-over", other.run("exec", "node-0", "--", "true", code=125).stderr)
        assert_in("--take-over", other.run("run", "--launcher", "plain", "--", "true", code=125).stderr)
        assert other.run("--take-over", "exec", "node-0", "--", "echo", "meant").stdout == "meant\n"
        other.run("jobs")
        assert len(c.all_containers()) == 2
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        other.run("up", "--take-over")
        assert other.run("exec", "node-0", "--", "sh", "-c", "echo $NVIDIA_OTHER").stdout == "1\n"
        c.run("down", code=1)
        c.run("down", "--take-over")
        assert c.all_containers() == []


def test_every_mistake_of_the_file_at_once_with_its_place(lab):
    with cluster(lab, "t-yaml") as c:
        c.write()
        c.file.write_text(c.file.read_text() + "bogus: 1\ncontaner: {}\n")
        done = c.run("validate", code=2)
        assert_in("`bogus`", done.stderr)
        assert_in("did you mean `container`?", done.stderr)
        report = json.loads(c.run("validate", "-o", "json", code=2).stdout)
        assert report["valid"] is False and len(report["errors"]) == 2


def test_what_is_not_done_yet_is_said_before_any_host_is_touched(lab):
    with cluster(lab, "t-not-yet") as c:
        c.write(container="entrypoint: image")
        assert_in("not supported yet", fails(c, "entrypoint", code=2))


def test_the_main_job_runs_over_tls(lab):
    with cluster(lab, "t-tls") as c:
        c.write()
        tls = lab.env["LAB_TLS_DIR"]
        for address in lab.addresses[:2]:
            replace(c, f"tcp://{address}:2375', insecure: true",
                    f"tcp://{address}:2376', tls: {{ca: {tls}/ca.pem, cert: {tls}/cert.pem, key: {tls}/key.pem}}")
        c.run("up")
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        assert sorted(c.run("run", "--", "hostname").stdout.splitlines()) == ["[node-0] node-0", "[node-1] node-1"]
        assert c.run("exec", "node-0", "--", "cat", input="half-closed\n").stdout == "half-closed\n"
        loop = 'while read -r word; do "$0" exec -n "$word" -- hostname; done'
        told = subprocess.run(["sh", "-c", loop, DOCKDIST], env=c.environment(), input="node-0\nnode-1\n", check=True, capture_output=True, text=True)
        assert told.stdout == "node-0\nnode-1\n"


def test_a_hung_engine_is_a_deadline_not_a_wait_for_ever(lab):
    with cluster(lab, "t-hung") as c:
        c.write()
        # The kernel accepts for a stopped process: the connection is there, the answer never comes.
        lab.script("exec", "host-2", "pkill", "-STOP", "-x", "dockerd")
        try:
            done = c.run("up", code=1, timeout=90)
            assert_in("node-1 (tcp://", done.stderr)
        finally:
            lab.script("exec", "host-2", "pkill", "-CONT", "-x", "dockerd")
        c.assert_clean()


def test_a_container_that_dies_at_once_tells_why(lab):
    with cluster(lab, "t-dies") as c:
        c.write(container="env: {BIG: '" + "x" * 140_000 + "'}")  # more than the kernel takes as one variable
        said = c.run("up", code=1).stderr
        for node in ("node-0", "node-1"):
            assert re.search(rf"error: {node} .*: its container ended with code \d+: .*argument list too long", said), said
        c.assert_clean()
