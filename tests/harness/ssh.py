"""The user's side of ssh:// hosts, and more sshds on them with a log or a configuration of their own.

The user's ssh is a wrapper that reads the test's configuration: nobody's ~/.ssh is read or written.
"""

import contextlib
import os
import shutil

from harness.waiting import eventually


class Ssh:
    """What a user of ssh has: a configuration, keys, known hosts; as environment for a cluster's commands."""

    def __init__(self, lab, c, key=True):
        self.lab, self.folder = lab, c.folder
        self.known_hosts = c.folder / "known_hosts"
        shutil.copy(lab.env["LAB_SSH_KNOWN_HOSTS"], self.known_hosts)
        self.config = c.folder / "ssh_config"
        self.lines = []
        programs = c.folder / "bin"
        programs.mkdir()
        (programs / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {self.config} "$@"\n')
        (programs / "ssh").chmod(0o755)
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}", "SSH_AUTH_SOCK": ""}
        self.common = [f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile /dev/null",
                       f"IdentityFile {lab.env['LAB_SSH_KEY'] if key else c.folder / 'no-key'}"]
        self.write()

    def write(self, *hosts):
        """Each of `hosts` is ("alias", "Key value", …)."""
        text = "".join(f"Host {name}\n" + "".join(f"  {line}\n" for line in lines) for name, *lines in hosts)
        self.config.write_text(text + "Host *\n" + "".join(f"  {line}\n" for line in self.common))

    def know(self, number, port):
        """Another sshd of a host has the host's keys, but known_hosts tells ports apart."""
        for line in self.known_hosts.read_text().splitlines():
            names, key = line.split(" ", 1)
            address = self.lab.addresses[number - 1]
            if names.startswith(address + ","):
                with self.known_hosts.open("a") as file:
                    file.write(f"[{address}]:{port} {key}\n")


def write_hosts(c, *urls, more=None):
    lines = [f"name: {c.name}", "image: dockdist-lab/busybox", "hosts:"]
    lines += [f"  - {{name: node-{i}, docker: '{url}', gpus: none{(more or {}).get(url, '')}}}" for i, url in enumerate(urls)]
    lines += ["container:", f"  ulimits: {{memlock: {c.lab.memlock}}}"]
    c.file.write_text("\n".join(lines) + "\n")


class Sshd:
    def __init__(self, lab, number, port):
        self.lab, self.number, self.port, self.files = lab, number, port, f"/run/test-sshd-{port}"

    def log(self):
        return self.lab.script("exec", str(self.number), "cat", self.files + ".log")

    def connections(self):
        # At the begin of a line: sshd's complaint that a client hung up has these words too.
        return sum(line.startswith("Connection from ") for line in self.log().splitlines())


@contextlib.contextmanager
def sshd(lab, number, port, *options):
    """One more sshd on a host, beside the lab's own."""
    server = Sshd(lab, number, port)
    words = [word for option in (*options, "LogLevel=VERBOSE", f"PidFile={server.files}.pid") for word in ("-o", option)]
    lab.script("exec", str(number), "sh", "-c", f"rm -f {server.files}.log")
    lab.script("exec", str(number), "/usr/sbin/sshd", "-E", server.files + ".log", "-p", str(port), *words)
    try:
        # Its start returns before it listens.
        eventually(lambda: "Server listening on" in server.log(), f"sshd listens on port {port}")
        yield server
    finally:
        lab.script("exec", str(number), "sh", "-c", f"kill $(cat {server.files}.pid); rm -f {server.files}.*")
