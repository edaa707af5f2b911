"""forward and run --forward: a node's ports on this machine, over the engine's own connection."""

import hashlib
import http.client
import json
import resource
import socket
import threading

from harness import assert_in, cluster, eventually
from harness.running import Running
from harness.ssh import Ssh, write_hosts
from harness.transports import tls_keys

# In the node, on its loopback: GET /SIZE gives so many bytes; a request of another kind is read to its end, and answered
# with its digest: whoever half-closes gets it.
SERVER = """
import hashlib, socket, sys, threading
listener = socket.create_server((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1", int(sys.argv[1])), backlog=128)
print("serving", flush=True)
def serve(connection):
    first = connection.recv(65536)
    if first.startswith(b"GET /"):
        size = int(first.split()[1][1:])
        connection.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % size)
        block = bytes(range(256)) * 256
        while size > 0:
            connection.sendall(block[:size])
            size -= len(block[:size])
    else:
        digest = hashlib.sha256()
        while first:
            digest.update(first)
            first = connection.recv(65536)
        connection.sendall(digest.hexdigest().encode())
    connection.close()
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"""


def pattern(size):
    return (bytes(range(256)) * (size // 256 + 1))[:size]


def get(port, size, host="127.0.0.1"):
    connection = http.client.HTTPConnection(host, port, timeout=60)
    connection.request("GET", f"/{size}")
    body = connection.getresponse().read()
    connection.close()
    return body


def half_closed(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(4096):
            answer += part
    return answer.decode()


def serve(c, node, *words):
    server = Running(c, "exec", node, "--", "python3", "-c", SERVER, *map(str, words))
    server.until("^serving$")
    return server


def listeners(lab, number):
    """The addresses that a host listens at."""
    rows = map(str.split, lab.script("exec", str(number), "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines())
    return sorted(row[1] for row in rows if row[3] == "0A")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def answers_with(port, size):
    try:
        return get(port, size) == pattern(size)
    except (OSError, http.client.HTTPException):
        return False


def closed(port):
    """A connection that is accepted here and comes to nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            return connection.recv(1) == b""
        except ConnectionResetError:
            return True


def test_a_node_s_ports_are_reached_from_here_and_taken_up_again_after_a_restart(lab):
    with cluster(lab, "t-forward") as c:
        c.write(hosts=2, image="dockdist-lab/torch").up()
        peer = lab.addresses[1]
        servers = [serve(c, "node-0", 29801), serve(c, "node-1", 29802, peer)]
        own, before = free_port(), listeners(lab, 1)
        forward = Running(c, "forward", "node-0", f"{own}:29801", "0:node-1:29802", "0:29803", "0:no-such-host.invalid:1")
        ports = [int(match[1]) for match in forward.until_err(r"127\.0\.0\.1:(\d+) → ", times=4)]
        assert ports[0] == own
        assert_in(f"http://127.0.0.1:{own} → node-0 port 29801\n", forward.err)
        assert_in(f"127.0.0.1:{ports[1]} → node-1 port 29802 as node-0 sees it\n", forward.err)
        # 64 MB each way, and 50 connections at once.
        body = pattern(64_000_000)
        assert hashlib.sha256(get(own, len(body))).digest() == hashlib.sha256(body).digest()
        assert half_closed(own, body) == hashlib.sha256(body).hexdigest()
        assert half_closed(ports[1], b"through the node") == hashlib.sha256(b"through the node").hexdigest()
        answers = {}

        def ask(number):
            answers[number] = get(own, 200_000 + number) if number % 2 else half_closed(own, b"%d" % number)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for number in range(50):
            wanted = pattern(200_000 + number) if number % 2 else hashlib.sha256(b"%d" % number).hexdigest()
            assert answers.get(number) == wanted, number
        # A reader that stands still holds up no other.
        with socket.create_connection(("127.0.0.1", own)) as idle:
            idle.sendall(b"GET /64000000\r\n\r\n")
            assert len(get(own, 1_000_000)) == 1_000_000
        # What is not there is said once for each port.
        assert all(closed(ports[2]) and closed(ports[3]) for _ in range(3))
        said = forward.until_err("nothing listens on port 29803 of node-0's loopback")
        assert len(said) == 1, forward.err
        assert len(forward.until_err("node-0 does not know the name no-such-host.invalid")) == 1, forward.err
        # Nothing but loopback listens, and nothing on the host.
        with open("/proc/net/tcp") as table:
            listens = [line.split()[1] for line in table if f":{own:04X} " in line and line.split()[3] == "0A"]
        assert listens == [f"0100007F:{own:04X}"], listens
        assert listeners(lab, 1) == before
        # The port is somebody's: ours.
        busy = c.run("forward", "node-0", f"{own}:29801", code=1).stderr
        assert_in(f"port {own}: it is in use on this machine, by dockdist (pid {forward.process.pid})", busy)
        assert_in("0:29801 takes any that is free", busy)
        # The container is restarted under an open connection.
        with socket.create_connection(("127.0.0.1", own)) as held:
            held.sendall(b"some of a request")
            engine, container = c.container("node-0")
            engine.call("POST", f"/v1.40/containers/{container}/restart?t=1")
            forward.until_err(r"node-0: the tunnel's end in the node is gone.* \(.*open connections? w.*closed\)")
            held.settimeout(30)
            try:
                assert held.recv(1) == b""
            except ConnectionResetError:
                pass
        forward.until_err("node-0: forwarding again")
        # The node has not joined again: its engine starts what listens there.
        _, made = engine.call("POST", f"/v1.40/containers/{container}/exec", {"Cmd": ["python3", "-c", SERVER, "29801"]})
        engine.call("POST", f"/v1.40/exec/{json.loads(made)['Id']}/start", {"Detach": True})
        eventually(lambda: answers_with(own, 1000), "an answer of the restarted node")
        forward.interrupt()
        forward.end(0)
        for server in servers:
            server.kill()


def test_ports_are_forwarded_through_a_jump_host_by_podman_and_over_tls_and_told_to_programs(lab):
    with cluster(lab, "t-forward-ssh") as c:
        ssh = Ssh(lab, c)
        ssh.write((lab.addresses[0], f"ProxyJump ops@{lab.addresses[1]}"))
        by_tls = f"tcp://{lab.addresses[1]}"
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}", f"ssh://root@{lab.podman_addresses[1]}/run/podman/podman.sock", by_tls,
                    more={by_tls: f", {tls_keys(lab.env['LAB_TLS_DIR'])}"})
        c.up(**ssh.environment)
        for node in ("node-0", "node-1", "node-2"):
            served = Running(c, "exec", node, "--", "sh", "-c",
                             "mkdir -p /tmp/www; head -c 3000000 /dev/zero >/tmp/www/file; exec httpd -f -p 127.0.0.1:29811 -h /tmp/www", **ssh.environment)
            forward = Running(c, "-o", "json", "forward", node, "0:29811", **ssh.environment)
            forward.until('"type":"forward"')
            told = [json.loads(line) for line in forward.out.splitlines()]
            told = next(line for line in told if line["type"] == "forward")
            port = told["ports"][0]
            assert (told["node"], port["host"], port["port"], port["url"]) == (node, None, 29811, f"http://127.0.0.1:{port['local']}")
            assert port["addresses"][0] == "127.0.0.1"
            eventually(lambda port=port: status(port["local"], "/file") == (200, 3_000_000), f"the page of {node}")
            forward.process.terminate()
            forward.end(0)
            served.interrupt()
            served.end(130)


def status(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def test_a_job_s_port_is_forwarded_while_it_runs_and_a_browser_is_started(lab):
    with cluster(lab, "t-forward-run") as c:
        c.write(hosts=2, image="dockdist-lab/torch").up()
        own = free_port()
        serve_on_first = f'[ "$DOCKDIST_NODE_RANK" = 0 ] || exec sleep 600; exec python3 -c \'{SERVER}\' 29821'
        job = Running(c, "run", "--forward", f"{own}:29821", "--", "sh", "-c", serve_on_first)
        job.until_err(f"http://127.0.0.1:{own} → node-0 port 29821")
        eventually(lambda: answers_with(own, 1000), "the job's answer")
        job.interrupt()
        job.end(130)
        with socket.socket() as gone:
            assert gone.connect_ex(("127.0.0.1", own)) != 0
        with socket.create_server(("127.0.0.1", own)):
            refused = c.run("run", "--forward", str(own), "--", "true", code=125)
            assert_in(f"port {own}: it is in use on this machine, by ", refused.stderr)
        # The words are judged before any node is asked.
        assert_in("`80:` is not a port to forward", c.run("run", "--forward", "80:", "--", "true", code=2).stderr)
        assert_in("asked for twice", c.run("forward", "node-0", "8080:1", "8080:2", code=2).stderr)
        seen = c.folder / "seen"
        browser = c.folder / "browser"
        browser.write_text(f'#!/bin/sh\necho "$* $(ulimit -n)" > {seen}.new; mv {seen}.new {seen}\n')
        browser.chmod(0o755)
        opened = Running(c, "forward", "--open", "node-1", "0:29821", BROWSER=f"{c.folder}/no-such:{browser} --at %s --new")
        eventually(seen.exists, "the browser")
        url = opened.until_err(r"(http://127\.0\.0\.1:\d+) → node-1 port 29821")[0][1]
        # With as many descriptors as the login has, which dockdist has raised for itself.
        assert seen.read_text() == f"--at {url} --new {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}\n"
        opened.kill()
        eventually(lambda: not c.processes("dockdist-init tunnel"), "the end of the tunnels' ends, that of a killed client too")
        programs = c.folder / "no-programs"
        programs.mkdir()
        none = Running(c, "forward", "--open", "node-1", "0:29821", BROWSER="", PATH=str(programs))
        none.until_err("no browser was found here .*: open http://127.0.0.1:[0-9]+ yourself")
        none.interrupt()
        none.end(0)
