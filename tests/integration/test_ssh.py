"""Hosts over ssh://, with real sshds: the lab's own, and others beside them with a log or a configuration of their own.

The user's ssh is a wrapper that reads the test's configuration: nobody's ~/.ssh is read or written.
"""

import contextlib
import json
import os
import pathlib
import pty
import shutil
import subprocess
import termios

from harness import assert_in, cluster, eventually
from harness.ssh import Ssh, sshd, write_hosts
from harness.transports import main_job, write_context


def refused(c, ssh, *wanted):
    done = c.run("up", code=1, **ssh.environment)
    for part in wanted:
        assert_in(part, done.stderr)
    c.assert_clean()
    return done.stderr


@contextlib.contextmanager
def agent(folder):
    """An ssh agent; it listens when its start returns."""
    socket = folder / "agent"
    told = subprocess.run(["ssh-agent", "-s", "-a", str(socket)], check=True, capture_output=True, text=True).stdout
    pid = told.split("SSH_AGENT_PID=")[1].split(";")[0]
    try:
        yield str(socket)
    finally:
        subprocess.run(["kill", pid], check=True)


def add_key(socket, key):
    subprocess.run(["ssh-add", "-q", str(key)], check=True, env={**os.environ, "SSH_AUTH_SOCK": socket}, stdin=subprocess.DEVNULL)


def make_key(path, *options, passphrase=""):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path), *options], check=True)
    return path


def test_the_main_job_runs_over_ssh_with_a_key(lab):
    with cluster(lab, "t-ssh") as c:
        ssh = Ssh(lab, c)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}", f"ssh://root@{lab.addresses[1]}")
        main_job(c, ssh.environment)


def test_an_ssh_host_has_one_tcp_connection_a_command(lab):
    with cluster(lab, "t-ssh-one") as c, sshd(lab, 1, 2201) as first, sshd(lab, 2, 2202) as second:
        ssh = Ssh(lab, c)
        ssh.know(1, 2201)
        ssh.know(2, 2202)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}:2201", f"ssh://ops@{lab.addresses[1]}:2202")
        commands = [["up"], ["up"], ["run", "--", "hostname"], ["exec", "node-0", "--", "true"], ["status"], ["down"]]
        made = [0, 0]
        for command in commands:
            c.run(*command, **ssh.environment)
            made = [made[0] + 1, made[1] + ("node-0" not in command)]  # a host of other nodes is not asked
            assert [first.connections(), second.connections()] == made, first.log()
        assert_in("Accepted publickey for ops", first.log())


def test_an_alias_of_the_ssh_configuration_names_a_host(lab):
    with cluster(lab, "t-ssh-alias") as c, sshd(lab, 2, 2203) as server:
        ssh = Ssh(lab, c)
        ssh.know(2, 2203)
        ssh.write(("gpu-1", f"HostName {lab.addresses[0]}", "User ops"),
                  ("gpu-2", f"HostName {lab.addresses[1]}", "User ops", "Port 2203"))
        write_hosts(c, "ssh://gpu-1", "ssh://gpu-2")
        main_job(c, ssh.environment)
        assert server.connections() > 0


def test_the_ssh_agents_key_is_used(lab):
    with cluster(lab, "t-ssh-agent") as c, agent(c.folder) as socket:
        ssh = Ssh(lab, c, key=False)
        add_key(socket, make_key(c.folder / "another"))
        add_key(socket, lab.env["LAB_SSH_KEY"])
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        refused(c, ssh, "does not let ops in: there was no key to try", "no ssh agent runs")
        main_job(c, {**ssh.environment, "SSH_AUTH_SOCK": socket})


def test_a_jump_host_stands_before_a_host(lab):
    with cluster(lab, "t-ssh-jump") as c, sshd(lab, 1, 2204) as jump:
        ssh = Ssh(lab, c)
        ssh.know(1, 2204)
        ssh.write((lab.addresses[1], f"ProxyJump ops@{lab.addresses[0]}:2204"))
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        main_job(c, ssh.environment)
        assert jump.connections() > 0
        ssh.write((lab.addresses[1], f"ProxyJump ops@{lab.addresses[0]}:2299"))
        refused(c, ssh, "node-1 (ssh://", f"through ops@[{lab.addresses[0]}]:2299", "Connection refused")


def test_a_proxy_command_is_the_way_to_a_host(lab):
    with cluster(lab, "t-ssh-proxy") as c:
        ssh = Ssh(lab, c)
        ssh.write((lab.addresses[1], f"ProxyCommand ssh -W %h:%p ops@{lab.addresses[0]}"))
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        main_job(c, ssh.environment)


def test_an_unknown_or_changed_host_key_is_never_taken(lab):
    with cluster(lab, "t-ssh-keys") as c:
        ssh = Ssh(lab, c)
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        first, second = ssh.known_hosts.read_text().splitlines()[:2]
        ssh.known_hosts.write_text(first + "\n")
        text = refused(c, ssh, "node-1 (ssh://", "is not known: it shows ssh-ed25519 SHA256:", "connect once with `ssh ops@")
        assert "error: node-0" not in text
        ssh.known_hosts.write_text(first + "\n" + second.split(" ")[0] + " " + first.split(" ", 1)[1] + "\n")
        refused(c, ssh, "node-1 (ssh://", "has changed", f"{ssh.known_hosts}:2", "ssh-keygen -R")
        assert ssh.known_hosts.read_text().count("\n") == 2


def test_check_host_ip_asks_about_the_address_as_well(lab):
    with cluster(lab, "t-ssh-ip") as c, sshd(lab, 1, 2210):
        ssh = Ssh(lab, c)
        first, second = (line.split(" ", 1)[1] for line in ssh.known_hosts.read_text().splitlines()[:2])
        ssh.known_hosts.write_text(f"gpu-1 {first}\n[{lab.addresses[0]}]:2210 {second}\n")
        write_hosts(c, "ssh://ops@gpu-1")
        way = [f"HostName {lab.addresses[0]}", "Port 2210", "HostKeyAlias gpu-1"]
        ssh.write(("gpu-1", *way, "CheckHostIP yes"))
        refused(c, ssh, "your own ssh does not reach gpu-1", "differs from the key for the IP address")
        ssh.write(("gpu-1", *way, "CheckHostIP no"))
        c.up(**ssh.environment)


def test_a_refused_key_is_named_with_the_user(lab):
    with cluster(lab, "t-ssh-refused") as c:
        ssh = Ssh(lab, c)
        key = make_key(c.folder / "stranger")
        ssh.write((lab.addresses[1], f"IdentityFile {key}", "IdentitiesOnly yes"))
        ssh.common = ssh.common[:2]
        ssh.write((lab.addresses[0], f"IdentityFile {lab.env['LAB_SSH_KEY']}"), (lab.addresses[1], f"IdentityFile {key}"))
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        refused(c, ssh, "node-1 (ssh://", "does not let ops in: it refused ", str(key), "ssh-copy-id")


def test_a_server_that_forwards_no_sockets_runs_dockers_own_dial_command(lab):
    with cluster(lab, "t-ssh-dial") as c, sshd(lab, 1, 2205, "AllowStreamLocalForwarding=no") as server:
        ssh = Ssh(lab, c)
        ssh.know(1, 2205)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}:2205", f"ssh://ops@{lab.addresses[1]}")
        main_job(c, ssh.environment)
        assert_in("refused streamlocal", server.log())


def test_a_user_who_may_not_use_docker_is_told_how(lab):
    with cluster(lab, "t-ssh-group") as c:
        ssh = Ssh(lab, c)
        lab.script("exec", "2", "useradd", "--create-home", "--password", "*", "outsider")
        try:
            write_hosts(c, f"ssh://ops@{lab.addresses[0]}", f"ssh://outsider@{lab.addresses[1]}")
            refused(c, ssh, "node-1 (ssh://", "outsider may not use /var/run/docker.sock", "usermod -aG docker outsider")
        finally:
            lab.script("exec", "2", "userdel", "--remove", "outsider")


def test_a_socket_path_in_the_address_is_the_one_that_is_used(lab):
    with cluster(lab, "t-ssh-path") as c:
        ssh = Ssh(lab, c)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}/run/lab/docker.sock", f"ssh://ops@{lab.addresses[1]}/nowhere.sock")
        text = refused(c, ssh, "node-1 (ssh://", "there is no socket /nowhere.sock", "is Docker installed and running there?")
        assert "error: node-0" not in text


def test_an_ssh_port_where_nothing_listens(lab):
    with cluster(lab, "t-ssh-port") as c:
        ssh = Ssh(lab, c)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}", f"ssh://ops@{lab.addresses[1]}:2299")
        refused(c, ssh, "node-1 (ssh://", "refused the connection to port 2299", "does sshd run there")


QUESTION = b"Enter passphrase for"


def with_terminal(c, environment, *answers, command=("up",)):
    """On a terminal that answers each question in turn; what the terminal showed, and the exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(c.command()[0], c.command(*command), c.environment(**environment))
    shown, given = b"", 0
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 4096):
            shown += part
            if given < len(answers) and shown.count(QUESTION) > given:
                os.write(terminal, answers[given].encode() + b"\n")
                given += 1
    assert termios.tcgetattr(terminal)[3] & termios.ECHO  # as it was
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def processes(word):
    """Those of this machine whose command line has it."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and word in (folder / "cmdline").read_text():
                found.append(folder.name)
    return found


def test_a_passphrase_is_asked_for_on_a_terminal_once_and_nowhere_else(lab):
    with cluster(lab, "t-ssh-passphrase") as c:
        ssh = Ssh(lab, c, key=False)
        (c.folder / "run").mkdir(mode=0o700)
        ssh.environment["XDG_RUNTIME_DIR"] = str(c.folder / "run")
        key = c.folder / "no-key"
        shutil.copy(lab.env["LAB_SSH_KEY"], key)
        subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "open sesame", "-f", str(key)], check=True)
        write_hosts(c, *[f"ssh://ops@{address}" for address in lab.addresses[:2]])
        done = subprocess.run(c.command("up"), env=c.environment(**ssh.environment), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, start_new_session=True, timeout=60)
        assert done.returncode == 1
        assert_in("no-key has a passphrase", done.stderr)
        assert_in("Permission denied", done.stderr)
        assert_in("ssh-add", done.stderr)
        asked = QUESTION.decode()
        shown, code = with_terminal(c, ssh.environment, "wrong", "open sesame")
        assert code == 0, shown
        assert shown.count(asked) == 2 and "sesame" not in shown, shown
        shown, code = with_terminal(c, ssh.environment, "wrong", "wrong", "wrong")
        assert code == 1 and "Permission denied" in shown, shown
        assert shown.count(asked) == 3, shown
        # So it is of a jump host's key, where the host behind it takes another one.
        plain = f"IdentityFile {lab.env['LAB_SSH_KEY']}"
        ssh.write((lab.addresses[1], plain, f"ProxyJump ops@{lab.addresses[0]}"))
        shown, code = with_terminal(c, ssh.environment, "open sesame", command=("plan",))
        assert code == 0 and shown.count(asked) == 1, shown
        ssh.write()
        shown, code = with_terminal(c, ssh.environment, "\x03")  # Ctrl-C
        assert code == 130, shown
        assert list((c.folder / "run").iterdir()) == [] and processes(str(c.folder / "run")) == []
        # An ssh before 8.4 knows no SSH_ASKPASS_REQUIRE.
        program = c.folder / "bin/ssh"
        program.write_text(program.read_text().replace("exec", "unset SSH_ASKPASS_REQUIRE\nexec"))
        shown, code = with_terminal(c, ssh.environment, "open sesame")
        assert code == 0 and shown.count(asked) == 1, shown
        # Nor of somebody who has pressed Tab.
        shown, code = with_terminal(c, ssh.environment, command=("__complete", "--", "dockdist logs "))
        assert (shown, code) == (":none\r\n", 0), shown


HARDENED = ("MACs=hmac-sha2-512-etm@openssh.com", "Ciphers=aes256-gcm@openssh.com")


def test_the_main_job_runs_over_the_users_own_ssh(lab):
    with cluster(lab, "t-ssh-own") as c, sshd(lab, 1, 2207, *HARDENED) as one, sshd(
            lab, 2, 2208, *HARDENED, "AllowStreamLocalForwarding=no") as two:
        ssh = Ssh(lab, c)
        ssh.know(1, 2207)
        ssh.know(2, 2208)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}:2207", f"ssh://ops@{lab.addresses[1]}:2208")
        main_job(c, ssh.environment)
        assert one.connections() > 0 and two.connections() > 0
        c.up(**ssh.environment)
        why = "your own ssh, since libssh2 "
        assert_in(why, c.run("status", "-v", **ssh.environment).stdout)
        nodes = json.loads(c.run("status", "-o", "json", **ssh.environment).stdout)["nodes"]
        assert [why in node["reached_by"] for node in nodes] == [True, True]
        rows = json.loads(c.run("check", "-o", "json", **ssh.environment).stdout)["rows"]
        assert sum(row["check"] == "engine" and " by " + why in row["text"] for row in rows) == 2, rows


def test_the_users_own_ssh_goes_with_a_client_that_is_killed(lab):
    with cluster(lab, "t-ssh-killed") as c, sshd(lab, 1, 2209, *HARDENED):
        ssh = Ssh(lab, c)
        ssh.know(1, 2209)
        run = c.folder / "run"
        run.mkdir(mode=0o700)
        ssh.environment["XDG_RUNTIME_DIR"] = str(run)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}:2209")
        c.up(**ssh.environment)
        assert list(run.iterdir()) == [] and processes(str(run)) == []
        client = subprocess.Popen(c.command("exec", "node-0", "--", "sh", "-c", "echo begun; sleep 1000"),
                                  env=c.environment(**ssh.environment), stdout=subprocess.PIPE, text=True)
        assert client.stdout.readline() == "begun\n"
        assert len(processes(str(run))) == 1  # one for the host
        client.kill()
        client.wait()
        eventually(lambda: processes(str(run)) == [], "its ssh has gone")
        c.run("status", **ssh.environment)
        assert list(run.iterdir()) == []


def test_a_login_that_ended_is_made_again_by_the_next_call(lab):
    with cluster(lab, "t-ssh-again") as c, sshd(lab, 1, 2206) as server:
        ssh = Ssh(lab, c)
        ssh.know(1, 2206)
        write_hosts(c, f"ssh://ops@{lab.addresses[0]}:2206", f"ssh://ops@{lab.addresses[1]}")
        c.up(**ssh.environment)
        script = "for i in 1 2 3 4; do echo line $i; done; until [ -e /tmp/go ]; do sleep 0.1; done; for i in 5 6 7 8; do echo line $i; done"
        job = subprocess.Popen(c.command("run", "--", "sh", "-c", script), env=c.environment(**ssh.environment), stdout=subprocess.PIPE,
                               text=True)
        lines = [job.stdout.readline()]
        before = server.connections()
        # Only the sessions: the listener stays.
        lab.script("exec", "1", "sh", "-c", f"pkill -P $(cat {server.files}.pid)")
        eventually(lambda: server.connections() > before, "the job's client has logged in again")
        for node in ("node-0", "node-1"):
            c.run("exec", node, "--", "touch", "/tmp/go", **ssh.environment)
        lines += job.stdout.read().splitlines(keepends=True)
        assert job.wait(timeout=60) == 0, lines
        for node in ("node-0", "node-1"):
            assert [line for line in lines if node in line] == [f"[{node}] line {i}\n" for i in range(1, 9)], lines
        assert server.connections() >= 3
        eventually(lambda: "Disconnected from user ops" in server.log() or "done" in server.log(), "the last login has ended")


def test_an_address_that_ssh_would_take_for_an_option_is_refused(lab):
    with cluster(lab, "t-ssh-option") as c:
        write_hosts(c, "ssh://-oProxyCommand=touch${IFS}pwned@h")
        c.file.write_text(c.file.read_text().replace("${IFS}", ""))
        assert_in("is not a", c.run("up", code=2).stderr)


def test_contexts_of_the_docker_command_line_name_hosts(lab):
    with cluster(lab, "t-context") as c:
        ssh = Ssh(lab, c)
        write_context(c.folder, "by-ssh", f"ssh://ops@{lab.addresses[0]}")
        write_context(c.folder, "by-tls", f"tcp://{lab.addresses[1]}:2376", lab.env["LAB_TLS_DIR"])
        write_hosts(c, "x", "y")
        c.file.write_text(c.file.read_text().replace("docker: 'x'", "context: by-ssh").replace("docker: 'y'", "context: by-tls"))
        environment = {**ssh.environment, "DOCKER_CONFIG": str(c.folder)}
        main_job(c, environment)
        c.file.write_text(c.file.read_text().replace("context: by-tls", "context: nowhere"))
        done = c.run("up", code=2, **environment)
        assert_in("node-1: there is no context 'nowhere' in ", done.stderr)


def test_a_file_without_hosts_means_the_engine_that_docker_would_use(lab):
    with cluster(lab, "t-current") as c:
        c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\ncontainer: {{ulimits: {{memlock: {lab.memlock}}}}}\n")
        write_context(c.folder, "here", f"unix://{lab.sockets[0]}")
        (c.folder / "config.json").write_text('{"currentContext": "here"}')
        config = {"DOCKER_CONFIG": str(c.folder)}
        assert_in("is up: 1 node", c.run("up", **config).stdout)
        assert [found["Names"] for found in c.all_containers()] == [[f"/dockdist-{c.name}-node-0"]]
        assert_in("is up already", c.run("up", **config, DOCKER_CONTEXT="here").stdout)
        assert_in("is up already", c.run("up", DOCKER_HOST=f"unix://{lab.sockets[0]}").stdout)
        c.run("down", **config)
        c.assert_clean()
