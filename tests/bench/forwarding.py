"""The measurements of scripts/bench that are about ports and logins: how fast bytes get through, against a plain exec of the same
size over the same engine's connection, and against that connection's own way: a TCP connection to the host, or an ssh to it."""

import os
import socket
import subprocess
import time

import harness
from harness import ssh, transports
from harness.running import Running

# In the node: 'd' gives SIZE bytes, anything else is read to its end.
SERVER = """
import socket, sys
listener = socket.create_server(("", 29841))
print("serving", flush=True)
block = bytes(1 << 20)
while True:
    connection, _ = listener.accept()
    if connection.recv(1) == b"d":
        for _ in range(int(sys.argv[1]) >> 20):
            connection.sendall(block)
    else:
        while connection.recv(1 << 20):
            pass
    connection.close()
"""


def through(port, size, kind, address="127.0.0.1"):
    begin = time.perf_counter()
    with socket.create_connection((address, port)) as connection:
        connection.sendall(kind)
        if kind == b"d":
            left = size
            while part := connection.recv(1 << 20):
                left -= len(part)
            assert left == 0, left
        else:
            block = bytes(1 << 20)
            for _ in range(size >> 20):
                connection.sendall(block)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
    return time.perf_counter() - begin


def by(command, environment, size=0):
    """Seconds of a command; with so many bytes for it to read."""
    begin = time.perf_counter()
    given = subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE)
    subprocess.run(command, env=environment, check=True, stdin=given.stdout, stdout=subprocess.DEVNULL)
    given.wait()
    return time.perf_counter() - begin


def measure(lab, rounds, transport, size=1 << 30):
    """{"down", "up", "exec-down", "exec-up", "raw-down", "raw-up", "scp"}: seconds for the bytes, the start of an exec and of an ssh
    taken off. A unix socket has no raw way."""
    measured = {key: [] for key in ("down", "exec-down", "raw-down", "up", "exec-up", "raw-up", "scp")}
    with harness.cluster(lab, "bench-forward") as c:
        environment = ssh.Ssh(lab, c).environment if transport == "ssh" else {}
        environment["XDG_STATE_HOME"] = str(c.folder / "state")
        transports.write(c, transports.hosts_by(lab, transport)[:1])
        c.file.write_text(c.file.read_text().replace("dockdist-lab/busybox", "dockdist-lab/torch"))
        c.up(**environment)
        server = Running(c, "exec", "node-0", "--", "python3", "-c", SERVER, str(size), **environment)
        server.until("serving")
        forward = Running(c, "forward", "node-0", "0:29841", **environment)
        port = int(forward.until_err(r"127\.0\.0\.1:(\d+)")[0][1])
        entries, sent = c.folder / "entries", c.folder / "sent"
        entries.write_text(c.run("ssh-config", **environment).stdout)
        subprocess.run(["truncate", "-s", str(size), sent], check=True)

        def scp(file):
            begin = time.perf_counter()
            subprocess.run(["/usr/bin/scp", "-q", "-F", entries, file, "bench-forward.node-0:/tmp/sent"], check=True, env={**os.environ, **environment})
            return time.perf_counter() - begin

        def by_exec(script, given=0):
            return by(c.command("exec", "node-0", "--", "sh", "-c", script), c.environment(**environment), given)

        def by_ssh(script, given=0):
            return by(["ssh", f"ops@{lab.addresses[0]}", script], {**os.environ, **environment}, given)

        for _ in range(rounds):
            start = by_exec("true")
            measured["down"].append(through(port, size, b"d"))
            measured["exec-down"].append(by_exec(f"head -c {size} /dev/zero") - start)
            measured["up"].append(through(port, size, b"u"))
            measured["exec-up"].append(by_exec("cat >/dev/null", size) - start)
            if transport == "ssh":
                start = by_ssh("true")
                measured["raw-down"].append(by_ssh(f"head -c {size} /dev/zero") - start)
                measured["raw-up"].append(by_ssh("cat >/dev/null", size) - start)
            elif transport == "tcp":
                measured["raw-down"].append(through(29841, size, b"d", lab.addresses[0]))
                measured["raw-up"].append(through(29841, size, b"u", lab.addresses[0]))
            measured["scp"].append(scp(sent) - scp(c.file))
        forward.interrupt()
        forward.end(0)
        server.kill()
    return measured
