"""Hosts that fall silent: every command ends within its deadline, and says which host and what to do."""

import subprocess
import time

from harness import assert_in, cluster, eventually, read_until
from harness.faults import cut, stopped_engine
from harness.ssh import Ssh, sshd
from harness.transports import hosts_by, write


class Client:
    """One command by one transport, with a file of its own for the same cluster."""

    def __init__(self, c, name, hosts, *command, **environment):
        self.file = c.folder / f"{name}.yaml"
        write(c, hosts, self.file)
        self.name, self.begin = name, time.monotonic()
        self.process = c.start("-f", str(self.file), "--take-over", *command, **environment)

    def ends(self, code, within, *wanted):
        try:
            out, err = self.process.communicate(timeout=self.begin + within - time.monotonic())
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"{self.name}: no end within {within} s: {self.process.communicate()}") from None
        assert self.process.returncode == code, (self.name, self.process.returncode, out, err)
        for part in wanted:
            assert part in err, f"{self.name}: {part!r} is not in:\n{err}"


def test_an_engine_that_hangs_is_told_within_the_deadline_over_every_transport(lab):
    with cluster(lab, "t-hung") as c:
        ssh = Ssh(lab, c)
        with stopped_engine(lab, 1):
            clients = [Client(c, way, hosts_by(lab, way)[:1], "down", **ssh.environment) for way in ("tls", "unix", "tcp", "ssh")]
            for client in clients:
                if client.name == "tls":
                    client.ends(1, 15, "node-0", "did not answer the TLS handshake", "is the Docker daemon there stuck?")
                else:
                    client.ends(1, 40, "node-0", "the engine accepted GET /_ping and did not answer within 30 s", "is the Docker daemon on that host stuck?")
        c.write(hosts=1).run("down")


def test_a_host_that_drops_packets_is_told_while_it_is_connected(lab):
    with cluster(lab, "t-dropped") as c:
        ssh = Ssh(lab, c)
        with cut(lab, 2):
            clients = [Client(c, way, hosts_by(lab, way), "down", **ssh.environment) for way in ("tcp", "tls", "ssh")]
            for client in clients:
                client.ends(1, 12, "node-1", f"{lab.addresses[1]}", "within 5.00 s", "does a firewall drop packets to that port?")


def test_a_host_that_drops_packets_is_told_during_a_call(lab):
    with cluster(lab, "t-call") as c, sshd(lab, 2, 2210) as server:
        ssh = Ssh(lab, c)
        ssh.know(2, 2210)
        by_ssh = [f"docker: 'ssh://ops@{lab.addresses[1]}:2210'"]
        with stopped_engine(lab, 2):
            clients = [Client(c, "tcp", hosts_by(lab, "tcp")[1:], "down", **ssh.environment), Client(c, "ssh", by_ssh, "down", **ssh.environment)]
            established = ["ss", "-Htn", "state", "established", "dst", lab.addresses[1]]
            eventually(lambda: ":2375" in subprocess.run(established, check=True, capture_output=True, text=True).stdout, "connected by tcp")
            eventually(lambda: "Accepted publickey" in server.log(), "logged in by ssh")
            with cut(lab, 2):
                for client in clients:
                    client.ends(1, 40, "node-0", "GET /_ping", "within 30 s")


def test_a_host_that_drops_packets_is_told_during_a_long_stream(lab):
    with cluster(lab, "t-stream") as c:
        ssh = Ssh(lab, c)
        c.write().up()
        command = ("exec", "node-1", "--", "sh", "-c", "echo begun; exec sleep 600")
        clients = [Client(c, way, hosts_by(lab, way), *command, **ssh.environment) for way in ("tcp", "tls", "ssh")]
        for client in clients:
            read_until(client.process, "begun")
        with cut(lab, 2):
            for client in clients:
                client.begin = time.monotonic()
            for client in clients:
                client.ends(125, 60, "node-1", "is the machine up, and the network to it?")
        c.run("down")
