"""ssh-config and proxy: a person's own OpenSSH logs in to nodes, on every kind of engine and over every way to it."""

import contextlib
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess

from harness import assert_in, cluster, eventually
from harness.faults import cut
from harness.lab import DOCKDIST
from harness.ssh import Ssh
from harness.terminal import Terminal
from harness.transports import hosts_by

# In a node: a port of its loopback that says a word to whoever connects.
GREETER = """
import socket
listener = socket.create_server(("127.0.0.1", 29831))
while True:
    connection, _ = listener.accept()
    connection.sendall(b"from the node")
    connection.close()
"""


# There as well: calls by what -R has brought back.
CALLER = """
import socket
socket.create_connection(('127.0.0.1', 29832)).sendall(b'from there')
by_socket = socket.socket(socket.AF_UNIX)
by_socket.connect('/tmp/back.sock')
by_socket.sendall(b'from there')
"""


def write(c, *hosts):
    hosts = "".join(f"  - {{name: node-{i}, {host}, gpus: none}}\n" for i, host in enumerate(hosts))
    limits = f"memlock: {c.lab.memlock}, nofile: {c.lab.env['LAB_NOFILE']}, nproc: {c.lab.env['LAB_NPROC']}"  # Podman's hosts
    c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n{hosts}container:\n  env: {{MARK: marked}}\n  ulimits: {{{limits}}}\n")


class Own:
    """The user's side: the state of dockdist in the test's folder, the entries in a file that ssh is told to read."""

    def __init__(self, c, **environment):
        self.c = c
        self.more = {"XDG_STATE_HOME": str(c.folder / "my state"), "SSH_AUTH_SOCK": "", **environment}
        self.config = c.folder / "entries"
        self.renew()

    def renew(self):
        self.config.write_text(self.c.run("ssh-config", **self.more).stdout)

    def environment(self):
        return {**os.environ, **self.more}

    def argv(self, program, *words):
        path = f"/usr/bin/{program}"  # PATH has the wrapper of harness.ssh for dockdist's own
        return ["rsync", "-e", f"/usr/bin/ssh -F {self.config}", *words] if program == "rsync" else [path, "-F", str(self.config), *words]

    def run(self, program, *words, code=0, input=None):
        done = subprocess.run(self.argv(program, *words), env=self.environment(), input=input, capture_output=True, timeout=120)
        assert code is None or done.returncode == code, f"{program} {words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done

    def start(self, program, *words):
        return subprocess.Popen(self.argv(program, *words), env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def log_in(own, host, node):
    """What OpenSSH's clients and an editor's server need, each once."""
    c = own.c
    assert own.run("ssh", host, "cat; hostname; exit 7", code=7, input=b"by stdin\n").stdout == f"by stdin\n{node}\n".encode()
    # The environment is the container's, as by exec.
    of_exec = c.run("exec", node, "--", "sh", "-c", "echo $PATH $DOCKDIST_NODE $MARK", **own.more).stdout
    assert own.run("ssh", host, "echo $PATH $DOCKDIST_NODE $MARK").stdout.decode() == of_exec
    assert_in("marked", of_exec)
    terminal = Terminal([*own.argv("ssh", "-tt", host), "stty size; tty; exit 5"], own.environment())
    assert terminal.end() == 5
    assert_in("/dev/pts/", terminal.seen)
    sent = c.folder / f"sent-{node}"
    sent.write_bytes(os.urandom(3_000_000))
    back = c.folder / f"back-{node}"
    own.run("scp", str(sent), f"{host}:/tmp/by-scp")
    own.run("scp", "-O", f"{host}:/tmp/by-scp", str(back))  # the protocol before sftp
    assert back.read_bytes() == sent.read_bytes()
    batch = f"put {sent} /tmp/by-sftp\nget /tmp/by-sftp {back}-2\nrm /tmp/by-sftp\n"
    own.run("sftp", "-b", "-", host, input=batch.encode())
    assert (c.folder / f"back-{node}-2").read_bytes() == sent.read_bytes()
    own.run("rsync", "-a", str(sent), f"{host}:/tmp/by-rsync")
    own.run("rsync", "-a", f"{host}:/tmp/by-rsync", f"{back}-3")
    assert (c.folder / f"back-{node}-3").read_bytes() == sent.read_bytes()


def test_openssh_s_clients_log_in_to_docker_and_podman_over_ssh_tls_and_a_socket(lab):
    with cluster(lab, "t-own-ssh") as c:
        ssh = Ssh(lab, c)
        ssh.write((lab.podman_addresses[0], f"ProxyJump ops@{lab.addresses[0]}"))
        write(c, hosts_by(lab, "ssh")[0], hosts_by(lab, "tls")[1], f"docker: 'ssh://root@{lab.podman_addresses[0]}/run/podman/podman.sock'",
              f"docker: 'unix://{lab.podman_sockets[1]}', address: {lab.podman_addresses[1]}")
        c.up(**ssh.environment)
        own = Own(c, PATH=ssh.environment["PATH"])
        for node in range(4):
            log_in(own, f"t-own-ssh.node-{node}", f"node-{node}")
        # 200 MB, over ssh in ssh.
        large = c.folder / "large"
        large.write_bytes(os.urandom(1_000_000) * 200)
        own.run("scp", "-q", str(large), "t-own-ssh.node-0:/tmp/large")
        digest = own.run("ssh", "t-own-ssh.node-0", "sha256sum /tmp/large").stdout.split()[0].decode()
        assert digest == hashlib.sha256(large.read_bytes()).hexdigest()
        # Only the node's own host is asked: another that is away is not waited for.
        lab.script("stop-engine", "2")
        try:
            assert own.run("ssh", "t-own-ssh.node-0", "echo there").stdout == b"there\n"
            assert_in("node-1", own.run("ssh", "t-own-ssh.node-1", "true", code=255).stderr.decode())
        finally:
            lab.script("start-engine", "2")


def test_ports_and_the_agent_are_forwarded_for_these_logins_alone(lab):
    with cluster(lab, "t-own-ports") as c:
        c.write(hosts=1, image="dockdist-lab/torch", container="env: {MARK: marked}").up()
        own = Own(c)
        host = "t-own-ports.node-0"
        log_in(own, host, "node-0")
        own.run("ssh", host, "touch /tmp/back.sock")
        with contextlib.ExitStack() as ending:
            greeter = own.start("ssh", host, f"exec python3 -c '{GREETER}'")
            ending.callback(greeter.kill)
            local, socks, agent = free_port(), free_port(), c.folder / "agent"
            told = subprocess.run(["ssh-agent", "-s", "-a", str(agent)], check=True, capture_output=True, text=True).stdout
            ending.callback(os.kill, int(told.split("SSH_AGENT_PID=")[1].split(";")[0]), signal.SIGTERM)
            with socket.create_server(("127.0.0.1", 0)) as here:
                back = here.getsockname()[1]
                session = subprocess.Popen(
                    own.argv("ssh", "-A", "-o", "ExitOnForwardFailure=yes", "-L", f"{local}:127.0.0.1:29831", "-D", f"127.0.0.1:{socks}",
                             "-R", f"29832:127.0.0.1:{back}", "-R", f"/tmp/back.sock:127.0.0.1:{back}", host, "echo agent $SSH_AUTH_SOCK; exec cat"),
                    env={**own.environment(), "SSH_AUTH_SOCK": str(agent)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                ending.callback(session.kill)
                assert_in("/agent.", session.stdout.readline().decode())
                # -L, -D, and the name that an editor's server is reached by.
                eventually(lambda: said(local) == b"from the node", "the greeter by -L")
                assert said(socks, b"\5\1\0", b"\5\1\0\3\x09localhost" + (29831).to_bytes(2, "big")).endswith(b"from the node")
                # -R: the host's loopback leads here, and a socket that the node's user alone may use, where an earlier one was left.
                here.settimeout(60)
                caller = own.start("ssh", host, f"python3 -c \"{CALLER}\"; stat -c %a /tmp/back.sock")
                for _ in range(2):
                    connection, _ = here.accept()
                    with connection:
                        assert connection.recv(100) == b"from there"
                assert caller.communicate(timeout=60)[0] == b"600\n"
            session.stdin.close()
            assert session.wait(60) == 0
        # The network's sshd neither takes this key nor forwards for the one that it takes.
        port = json.loads(c.run("exec", "node-0", "--", "cat", "/run/dockdist/node.json").stdout)["ssh_port"]
        key = next((c.folder / "my state/dockdist/ssh").glob("t-own-ports-*/id_ed25519"))
        known = c.folder / "known"
        known.write_text((key.parent / "known_hosts").read_text())
        refused = subprocess.run(["/usr/bin/ssh", "-F", "none", "-i", str(key), "-p", str(port), "-o", "HostKeyAlias=node-0", "-o", "BatchMode=yes",
                                  "-o", f"UserKnownHostsFile={known}", "-o", "StrictHostKeyChecking=yes", f"root@{lab.addresses[0]}", "true"],
                                 env=own.environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert refused.returncode == 255, refused
        assert_in("Permission denied (publickey)", refused.stderr)
        inside = c.run("exec", "node-0", "--", "ssh", "-o", "ExitOnForwardFailure=yes", "-R", "29833:127.0.0.1:1", "node-0", "true", code=255)
        assert_in("remote port forwarding failed", inside.stderr)
        # And the login's sshd takes this key alone.
        other = c.folder / "other"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
        entries = own.config.read_text()
        own.config.write_text(entries.replace(str(key), str(other)))
        assert_in("Permission denied (publickey)", own.run("ssh", host, "true", code=255).stderr.decode())
        own.config.write_text(entries)
        # Nothing of it stands in the node.
        left = c.run("exec", "node-0", "--", "sh", "-c", f"grep -rlF '{(key.parent / 'id_ed25519.pub').read_text().split()[1]}' /run /etc /root /var /tmp || true").stdout
        assert left == "", left


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def said(port, *words):
    """What comes after each of the words was answered, to the end."""
    heard = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            for word in words:
                connection.sendall(word)
                heard += connection.recv(2)
            while part := connection.recv(4096):
                heard += part
    except ConnectionResetError:
        pass
    return heard


def test_a_login_ends_with_its_client_and_a_node_with_another_key_is_refused(lab):
    with cluster(lab, "t-own-end") as c:
        write(c, hosts_by(lab, "tcp")[0], f"docker: 'tcp://{lab.podman_addresses[1]}:2375', insecure: true")
        c.up()
        own = Own(c)
        # Nothing is left here either where nothing is heard of the node.
        session = own.start("ssh", "t-own-end.node-0", "echo there; exec sleep 4811")
        assert session.stdout.readline() == b"there\n"
        assert proxies(c)
        with cut(lab, 1):
            session.kill()
            eventually(lambda: not proxies(c), "the end of its ProxyCommand")
        # A terminal that is closed does not end what nohup holds, the ProxyCommand neither.
        session = subprocess.Popen(["nohup", *own.argv("ssh", "t-own-end.node-0", "echo there; exec cat")], env=own.environment(), start_new_session=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert session.stdout.readline() == b"there\n"
        os.killpg(session.pid, signal.SIGHUP)
        assert session.communicate(b"still\n", timeout=60)[0] == b"still\n"
        for node in range(2):
            host = f"t-own-end.node-{node}"
            session = own.start("ssh", host, "echo there; sleep 4811 & wait")
            assert session.stdout.readline() == b"there\n"
            session.kill()
            eventually(lambda node=node: not running(c, node), "the end of the login with its ssh")
            eventually(lambda: not proxies(c), "the end of its ProxyCommand")
            # A container that is made anew has a new key; the entries stay as they are, and lead to it.
            before = (own.config.read_text(), known_hosts(own))
            engine, container = c.container(f"node-{node}")
            engine.call("DELETE", f"/v1.40/containers/{container}?force=1&v=1")
            assert_in("not up", own.run("ssh", host, "true", code=255).stderr.decode())
            c.up()
            assert own.run("ssh", host, "echo again").stdout == b"again\n"
            assert before[0] == own.config.read_text()
            assert before[1] != known_hosts(own)
            # Its sshd shows another key than the one that it told when it joined.
            c.run("exec", f"node-{node}", "--", "sh", "-c",
                  "cd /run/dockdist/private && rm ssh_host_ed25519_key && ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key")
            assert_in("Host key verification failed", own.run("ssh", host, "true", code=255).stderr.decode())
        c.run("down", **own.more)
        assert known_hosts(own) is None
        # The entries are still in the test's own file.
        gone = own.run("ssh", "t-own-end.node-0", "true", code=255).stderr.decode()
        assert_in("node-0", gone)
        assert_in("dockdist up", gone)


def proxies(c):
    """The ProxyCommands on this machine for this cluster."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            found += [words] if b"proxy" in words and os.fsencode(c.file) in words else []
    return found


def running(c, node):
    engine, container = c.container(f"node-{node}")
    return [line for line in engine.processes(container) if "sleep 4811" in line or "sshd -i" in line or "sshd: " in line and "listener" not in line]


def known_hosts(own):
    for path in (own.c.folder / "my state/dockdist/ssh").glob("*/known_hosts"):
        return path.read_text()
    return None


# What people have in theirs, and would keep them from a node.
ODD = """User nobody
Host *
    ProxyCommand none
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    IdentityFile /nonexistent
    IdentityAgent /nonexistent
    PreferredAuthentications password
    HostKeyAlgorithms ssh-rsa
    ControlMaster auto
    ControlPath ~/.ssh/mux-%C
    CanonicalizeHostname always
Match all
    ProxyJump nowhere.invalid
    User nobody
"""


def test_entries_are_installed_once_kept_by_up_and_gone_with_down(lab):
    with cluster(lab, "t-own-install") as c:
        home = c.folder / "home"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        config = home / ".ssh/config"
        config.write_text(ODD)
        config.chmod(0o640)

        # ssh reads the home of the account, whatever HOME says: the test's stands in its place, for the command alone.
        def at_home(*words, code=0):
            done = subprocess.run(["unshare", "-m", "sh", "-c", f'mount --bind {home} /root && exec "$@"', "sh", *words], capture_output=True,
                                  text=True, timeout=120, env=c.environment(HOME="/root", XDG_STATE_HOME="", SSH_AUTH_SOCK=""), stdin=subprocess.DEVNULL)
            assert done.returncode == code, done
            return done

        def dockdist(*words, code=0):
            return at_home(*c.command(*words), code=code)

        c.write(hosts=1)
        dockdist("up", "--no-check")
        assert_in("no such", at_home("ssh", "t-own-install.node-0", "true", code=255).stderr.replace("Could not resolve hostname", "no such"))
        for _ in range(2):
            installed = dockdist("ssh-config", "--install")
            assert_in("1 host, included by ~/.ssh/config", installed.stdout)
            assert_in("`ssh t-own-install.node-0` logs in", installed.stderr)
        assert config.read_text().count("Include") == 1
        assert config.read_text().endswith(ODD)
        assert config.stat().st_mode & 0o777 == 0o640
        assert at_home("ssh", "t-own-install.node-0", "hostname").stdout == "node-0\n"
        # Another file's cluster of the same name: told, and it may have another one.
        other = c.folder / "other" / "cluster.yaml"
        other.parent.mkdir()
        other.write_text(c.file.read_text())
        assert_in("another cluster's entries have this name", dockdist("-f", str(other), "ssh-config", "--install", code=1).stderr)
        dockdist("-f", str(other), "ssh-config", "--install", "--as", "second")
        assert_in(f"made by root@{os.uname().nodename}:{c.file}, and not from this file", at_home("ssh", "second.node-0", "hostname", code=255).stderr)
        # One more node: `up` enters it.
        c.write(hosts=2)
        dockdist("up", "--no-check")
        assert at_home("ssh", "t-own-install.node-1", "hostname").stdout == "node-1\n"
        # The other file is moved: what it has left goes with whatever is removed next.
        moved = other.rename(c.folder / "moved.yaml")
        removed = dockdist("-f", str(moved), "ssh-config", "--remove")
        assert_in("nothing to remove", removed.stdout)
        assert_in(f"entries of {other}, which no longer exists, were removed", removed.stderr)
        assert at_home("ssh", "t-own-install.node-1", "hostname").stdout == "node-1\n"
        down = dockdist("down")
        assert_in("t-own-install's ssh key and host keys were removed from this machine; its entries stay for the next `up`", down.stderr)
        assert not list((home / ".local/state/dockdist/ssh").glob("t-own*"))
        dockdist("up", "--no-check")  # nodes with other host keys, and on other ports perhaps
        assert at_home("ssh", "t-own-install.node-1", "hostname").stdout == "node-1\n"
        dockdist("down")
        dockdist("ssh-config", "--remove")
        assert config.read_text() == ODD
        assert not list((home / ".ssh").glob("dockdist*")) and not list((home / ".local/state/dockdist/ssh").glob("t-own*"))


def test_who_logs_in_is_the_user_of_jobs(lab):
    with cluster(lab, "t-own-user") as c:
        # Without hosts: the engine is the one that the docker command line would use here.
        c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/debian12\ncontainer:\n  ulimits: {{memlock: {lab.memlock}}}\n"
                          "  user: '1234:100'\n  env: {MARK: '${OWN_MARK}', PASSED: }\n")
        shell = {"DOCKER_HOST": f"tcp://{lab.addresses[1]}:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": lab.env["LAB_TLS_DIR"],
                 "OWN_MARK": "marked", "PASSED": "on"}
        c.up(**shell)
        own = Own(c, **shell)
        log_in(own, "t-own-user.node-0", "node-0")
        assert own.run("ssh", "t-own-user.node-0", "id -u; id -g").stdout == b"1234\n100\n"
        # Asked for through links, from another folder; and used by an editor, which has not the shell's environment.
        place = c.folder / "else where"
        place.mkdir()
        (place / "dockdist").symlink_to(DOCKDIST)
        (place / "named.yaml").symlink_to(c.file)
        made = subprocess.run(["./dockdist", "-f", "named.yaml", "ssh-config"], cwd=place, env=own.environment(), check=True, capture_output=True)
        assert_in(f"'{place}/dockdist' -f '{place}/named.yaml' proxy node-0\n", made.stdout.decode())
        assert_in("the file is read with OWN_MARK: whatever starts ssh, an editor say, must have it set too", made.stderr.decode())
        own.config.write_bytes(made.stdout)
        own.more = {"SSH_AUTH_SOCK": "", "DOCKDIST_FILE": "/nonexistent", "OWN_MARK": "marked"}
        assert own.run("ssh", "t-own-user.node-0", "id -u").stdout == b"1234\n"
        assert_in("Permission denied", own.run("ssh", "-l", "root", "t-own-user.node-0", "true", code=255).stderr.decode())
