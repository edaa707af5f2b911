"""Whole nodes with the real toolkit: first process, join, sshd, sessions. Root only; 77 (skipped) where it can't run."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import pytest

from harness.cleanup import WithCleanup
from harness.namespaces import (ADDRESS, BUSYBOX, DEADLINE, NEEDED, ODD_VALUE, SHARED, Host, Join, Node, TwoNodes, join, members_list, only_child,
                                wait_for)

pytestmark = NEEDED


class TestAfterJoin(TwoNodes):
    def test_the_log_s_last_line_is_the_node_s_record(self):
        last = self.a.log_lines()[-1]
        assert (last["type"], last["node"], last["host_key"]) == ("ready", "node-0", self.records[0]["host_key"])

    def test_nodes_of_one_host_have_ports_of_their_own(self):
        assert sorted(record["ssh_port"] for record in self.records) == [2222, 2223]

    def test_bare_ssh_lands_in_the_node(self):
        for node in self.nodes:
            done = self.a.ssh(node.name, "hostname")
            assert (done.stdout.decode().strip(), done.stderr) == (node.name, b"")

    def test_keys_are_fresh_for_each_node(self):
        keys = [record[key] for record in self.records for key in ("user_key", "host_key")]
        assert len(set(keys)) == 4

    def test_keys_are_as_ssh_keygen_reads_them(self):
        for path, key in (("/run/dockdist/private/ssh_host_ed25519_key", "host_key"), ("/run/dockdist/user/id_ed25519", "user_key")):
            done = self.a.run("/opt/dockdist/bin/ssh-keygen", "-y", "-P", "", "-f", path)
            assert done.stdout.decode().split() == self.records[0][key].split(), done

    def test_private_files_have_the_modes_that_ssh_wants(self):
        done = self.a.run("stat", "-c", "%a %u %n", "/run/dockdist/private", "/run/dockdist/private/ssh_host_ed25519_key",
                          "/run/dockdist/user", "/run/dockdist/user/id_ed25519", "/run/dockdist/environ")
        assert ([line.split()[:2] for line in done.stdout.decode().splitlines()]
                == [["700", "0"], ["600", "0"], ["700", "0"], ["600", "0"], ["640", "0"]])

    def test_its_own_name_does_not_resolve_to_loopback(self):
        lines = self.a.run("cat", "/etc/hosts").stdout.decode().splitlines()
        assert "127.0.0.1 localhost" in lines
        assert ADDRESS + "\tnode-0 node-0.example.org" in lines
        assert not [line for line in lines if line.startswith("127.0.1.1")]

    def test_sshd_listens_on_the_cluster_s_address_only(self):
        table = self.a.run("cat", "/proc/net/tcp").stdout.decode()
        listening = sorted(line.split()[1] for line in table.splitlines()[1:] if line.split()[3] == "0A")
        assert listening == ["01004D0A:08AE", "01004D0A:08AF"]

    def test_a_stranger_is_refused(self):
        done = self.a.run("/opt/dockdist/libexec/ssh", "-F", "none", "-i", "/dev/null", "-oBatchMode=yes",
                          "-oUserKnownHostsFile=/run/dockdist/known_hosts", "-p", str(self.records[1]["ssh_port"]),
                          "root@" + ADDRESS, "true", environment={"LD_PRELOAD": "", "LD_LIBRARY_PATH": ""})
        assert b"Permission denied (publickey)" in done.stderr

    def test_joining_again_keeps_the_keys_and_the_port(self):
        again = join(self.nodes)
        for before, after in zip(self.records, again):
            assert {**before, "clock_ms": 0} == {**after, "clock_ms": 0}


    def test_what_the_file_says_since_is_what_sessions_find(self):
        def told(**settings):
            joins = [Join(node, rank, settings="abcd") for rank, node in enumerate(self.nodes)]
            records = [one.line() for one in joins]
            assert [record["settings"] for record in records] == ["abcd", "abcd"]
            text = members_list(records)
            for one in joins:
                one.notice(text, first=2, settings=settings)
                one.tell(text)
            assert [one.line()["type"] for one in joins] == ["ready", "ready"]
            assert all(one.end() == 0 for one in joins)
            return self.a.ssh("node-1", "echo $LATE,${ODD:-none},$PWD").stdout.decode().strip()

        assert told(env={"LATE": "1"}, unset=["ODD"], workdir="/made/by/join") == "1,none,/made/by/join"
        assert self.a.run("/opt/dockdist/bin/dockdist-init", "with-environment", "--", "sh", "-c", "echo $LATE").stdout == b"1\n"
        again = told(env={"LATE": "2"})
        assert again.startswith("2,a  ") or again.startswith("2,a "), again  # what the container was created with
        assert told().startswith(",a "), "nothing of an earlier join stays"


class TestSessions(TwoNodes):
    def variables(self, text):
        return dict(entry.split("=", 1) for entry in text.decode().split("\0") if "=" in entry)

    def test_a_session_sees_what_an_exec_sees_byte_for_byte(self):
        there = self.variables(self.a.ssh("node-1", "cat /proc/self/environ").stdout)
        for name, value in self.b.environment.items():
            assert there[name] == ("/opt/dockdist/bin:/bin" if name == "PATH" else value)

    def test_a_shell_without_a_command_sees_the_same(self):
        there = self.variables(self.a.run("/opt/dockdist/bin/ssh", "node-1", input=b"cat /proc/self/environ\n").stdout)
        assert there["ODD"] == ODD_VALUE
        assert there["PATH"] == "/opt/dockdist/bin:/bin"

    def test_the_node_s_own_variables_are_there(self):
        there = self.variables(self.a.ssh("node-1", "cat /proc/self/environ").stdout)
        assert (there["DOCKDIST_NODE"], there["NCCL_SOCKET_IFNAME"], there["HOME"]) == ("node-1", "=lo", "/root")

    def test_exit_codes_and_quotes_pass(self):
        done = self.a.ssh("node-1", "echo 'a  b' \"$ODD\"; exit 7")
        assert (done.returncode, done.stdout.decode()) == (7, "a  b " + ODD_VALUE + "\n")

    def test_a_node_reaches_itself(self):
        assert self.b.ssh("node-1", "hostname").stdout == b"node-1\n"

    def test_scp_and_sftp_carry_files_both_ways(self):
        self.a.run("sh", "-c", "head -c 300000 /dev/urandom > /tmp/out")
        for command in (["scp", "-q", "/tmp/out", "node-1:/tmp/there"], ["scp", "-q", "node-1:/tmp/there", "/tmp/back"],
                        ["scp", "-q", "-O", "node-1:/tmp/there", "/tmp/back-rcp"]):
            done = self.a.run("/opt/dockdist/bin/" + command[0], *command[1:],
                              environment={"PATH": "/opt/dockdist/bin:/bin"})
            assert (done.returncode, done.stderr) == (0, b"")
        sums = self.a.run("sha256sum", "/tmp/out", "/tmp/back", "/tmp/back-rcp").stdout.split()
        assert len(set(sums[::2])) == 1
        done = self.a.run("/opt/dockdist/bin/sftp", "-q", "node-1", input=b"ls /tmp\n")
        assert b"/tmp/there" in done.stdout

    def test_a_job_s_mark_and_variables_travel(self):
        done = self.a.ssh("node-1", "echo $DOCKDIST_JOB $WANDB", environment={
            "DOCKDIST_JOB": "j", "DOCKDIST_JOB_ENV": "WANDB=a%20b"})
        assert done.stdout == b"j a b\n"

    def test_a_job_s_remote_processes_end_with_their_connection(self):
        client = subprocess.Popen(self.a.exec_command(
            "/opt/dockdist/bin/ssh", "node-1", "echo up; sh -c 'sleep 4321 & wait'", environment={"DOCKDIST_JOB": "k"}),
            stdout=subprocess.PIPE)
        assert client.stdout.readline() == b"up\n"
        os.kill(only_child(client.pid), signal.SIGKILL)  # nsenter stands before it
        client.wait(DEADLINE)
        client.stdout.close()
        wait_for("the remote processes to end", lambda: "4321" not in self.b.processes())

    def test_what_belongs_to_no_job_ends_with_its_connection_too_but_for_what_was_set_free(self):
        client = subprocess.Popen(self.a.exec_command(
            "/opt/dockdist/bin/ssh", "node-1", "sleep 4323 & (trap '' HUP; echo up; exec sleep 4324 >/dev/null 2>&1) & wait"), stdout=subprocess.PIPE)
        assert client.stdout.readline() == b"up\n"
        os.kill(only_child(client.pid), signal.SIGKILL)
        client.wait(DEADLINE)
        client.stdout.close()
        wait_for("the remote processes to end", lambda: "4323" not in self.b.processes())
        assert "4324" in self.b.processes()

    def test_a_job_s_stop_finds_its_remote_processes(self):
        client = subprocess.Popen(self.a.exec_command(
            "/opt/dockdist/bin/ssh", "node-1", "echo up; exec sleep 5432", environment={"DOCKDIST_JOB": "l"}),
            stdout=subprocess.PIPE)
        assert client.stdout.readline() == b"up\n"
        done = self.b.run("/opt/dockdist/bin/dockdist-init", "job", "stop", '{"job":"l","grace_ms":5000}')
        assert done.returncode == 0
        assert "5432" not in self.b.processes()
        client.wait(DEADLINE)
        client.stdout.close()


class TestTheFirstProcess(WithCleanup):
    @pytest.fixture(autouse=True)
    def one_host(self, ending):
        self.host = Host()
        self.cleanup.callback(self.host.end)
        self.shared = self.cleanup.enter_context(tempfile.TemporaryDirectory(prefix="dockdist-shared-"))

    def node(self, name="node-0", **options):
        options.setdefault("busybox", BUSYBOX)
        node = Node(self.host, name, **options)
        self.cleanup.callback(node.end)
        return node

    def test_it_ends_everything_and_itself_on_term(self):
        node = self.node()
        join([node])
        stubborn = node.popen("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
        assert stubborn.stdout.readline() == b"up\n"
        os.kill(node.pid, signal.SIGTERM)
        assert node.process.wait(DEADLINE) == 0
        assert stubborn.wait(DEADLINE) == -signal.SIGKILL
        stubborn.stdout.close()
        assert node.log_lines()[-1]["type"] == "stopping"

    def test_it_reaps_orphans(self):
        node = self.node()
        node.run("sh", "-c", "(sleep 0.1 &) ; (true &)")
        wait_for("the orphans", lambda: "sleep" not in node.processes())
        assert "Z" not in [line.split()[2] for line in node.processes().splitlines()]

    def test_a_killed_sshd_comes_back_and_the_log_says_so(self):
        node = self.node()
        join([node])
        node.run("sh", "-c", "kill -9 $(ps | sed -n 's/^ *\\([0-9]*\\).*listener.*/\\1/p')".replace(
            "sed -n 's/^ *\\([0-9]*\\).*listener.*/\\1/p'", "{ while read pid rest; do case $rest in *listener*) echo $pid;; esac; done; }"))
        wait_for("ready again", lambda: [line["type"] for line in node.log_lines()] == [
            "starting", "ready", "sshd_ended", "ready"])
        assert node.ssh("node-0", "hostname").stdout == b"node-0\n"

    def test_two_nodes_are_never_given_one_port(self):
        assert join([self.node("node-0"), self.node("node-1")])[0]["user"] == "root"
        third = Join(self.node("node-2"), 2, ssh_port=2222)
        answer = third.line()
        third.end()
        assert answer["message"] == f"port 2222 of {ADDRESS} is in use, by a process outside this container"

    def test_a_port_is_a_node_s_from_its_choice_on_and_while_sshd_starts_again(self):
        holder, other = (self.node(name, mounts={SHARED: self.shared}) for name in ("node-0", "node-1"))
        one = Join(holder, 0)
        self.cleanup.callback(one.end)
        hello = one.line()
        def listeners():
            return [line.split()[0] for line in holder.processes().splitlines() if "listener" in line]
        wait_for("sshd", listeners)
        self.cleanup.callback(os.kill, holder.pid, signal.SIGCONT)
        os.kill(holder.pid, signal.SIGSTOP)  # who would start it again
        holder.run("kill", "-KILL", *listeners())
        listening = re.compile(r":%04X [0-9A-F]+:0000 0A" % hello["ssh_port"])
        wait_for("sshd's end", lambda: not listening.search(holder.run("cat", "/proc/net/tcp").stdout.decode()))
        two = Join(other, 1)
        self.cleanup.callback(two.end)
        assert two.line()["ssh_port"] == hello["ssh_port"] + 1
        refused = Join(other, 1, ssh_port=hello["ssh_port"])
        self.cleanup.callback(refused.end)
        assert refused.line()["message"] == f"port {hello['ssh_port']} of {ADDRESS} is in use, by another node or a program of this host"
        place = 0xcbf29ce484222325  # FNV-1a of the address: see node/gpus/board_file.cpp
        for byte in ADDRESS.encode():
            place = ((place ^ byte) * 0x100000001b3) % (1 << 64)
        with open(os.path.join(self.shared, "ports"), "r+") as ports:  # as a node that has chosen its port, and not bound it yet
            fcntl.lockf(ports, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, (place % (1 << 46)) << 16 | 2600)
            early = Join(other, 1, ssh_port=2600)
            self.cleanup.callback(early.end)
            assert early.line()["message"] == f"port 2600 of {ADDRESS} is in use, by another node or a program of this host"

    def test_names_that_anybody_may_take_stop_nobody(self):
        self.host.squat("dockdist/ssh/%d" % port for port in range(2222, 4223))
        assert join([self.node()])[0]["ssh_port"] == 2222
        assert join([self.node("node-1")], ssh_port=2300)[0]["ssh_port"] == 2300

    def test_a_busy_port_is_named_before_anything_starts(self):
        node = self.node()
        listener = subprocess.Popen(self.host.command(sys.executable, "-c", (
            "import socket; s = socket.socket(); s.bind(('%s', 2300)); s.listen(); print('up', flush=True); input()" % ADDRESS)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert listener.stdout.readline() == b"up\n"
        one = Join(node, 0, ssh_port=2300)
        answer = one.line()
        one.end()
        listener.communicate(b"\n")
        assert (answer["type"], answer["kind"]) == ("error", "conflict")
        assert "port 2300 of " + ADDRESS in answer["message"]

    def test_an_unreachable_peer_is_named_with_its_cause(self):
        one = Join(self.node(), 0, ready_timeout_ms=300)
        own = one.line()
        one.send([own, {**own, "node": "node-1", "rank": 1, "ssh_port": 2999}])
        answer = one.line()
        one.end()
        assert answer["message"] == "node-0 cannot reach node-1 (%s:2999: Connection refused)" % ADDRESS

    def test_a_peer_that_closes_each_connection_is_told_from_one_that_is_no_sshd(self):
        for answer, cause, hint in ((b"", "it accepted the connection and closed it", "closed: /etc/hosts.deny or hosts.allow"),
                                    (b"HTTP/1.1 400\r\n", "what answers there is not sshd", "another program holds that port")):
            turns_away = subprocess.Popen(self.host.command(sys.executable, "-c", (
                "import socket; s = socket.create_server(('%s', 2999)); print('up', flush=True)\n"
                "while True: c, _ = s.accept(); c.sendall(%r); c.close()" % (ADDRESS, answer))), stdout=subprocess.PIPE)
            assert turns_away.stdout.readline() == b"up\n"
            one = Join(self.node(), 0, ready_timeout_ms=300)
            own = one.line()
            one.send([own, {**own, "node": "node-1", "rank": 1, "ssh_port": 2999}])
            told = one.line()
            one.end()
            turns_away.kill()
            turns_away.communicate()
            assert cause in told["message"] and hint in told["hint"], told

    def test_members_that_would_inject_a_line_change_nothing(self):
        node = self.node()
        one = Join(node, 0)
        own = one.line()
        one.send([own, {**own, "node": "x\nHost *", "rank": 1, "ssh_port": 2999}])
        assert one.line()["kind"] == "protocol"
        one.end()
        assert b"ssh_config" not in node.run("ls", "/run/dockdist").stdout

    def test_who_was_a_member_and_is_not_is_remembered(self):
        def known(node):
            told = node.run("/opt/dockdist/bin/dockdist-init", "members").stdout.split(b"\n")
            return [[one["node"] for one in json.loads(line)["nodes"]] if line else None for line in told[:2]]

        nodes = [self.node(name) for name in ("node-0", "node-1", "node-2")]
        assert known(nodes[0]) == [None, None]
        join(nodes)
        assert known(nodes[1]) == [["node-0", "node-1", "node-2"], []]
        join(nodes[1:])
        assert known(nodes[1]) == [["node-1", "node-2"], ["node-0"]]
        join(nodes[1:])
        assert known(nodes[2]) == [["node-1", "node-2"], ["node-0"]]
        join(nodes)
        assert known(nodes[2]) == [["node-0", "node-1", "node-2"], []]

    def test_a_link_planted_at_the_state_s_place_is_refused(self):
        def plant(path):
            os.rmdir(path)
            os.symlink("/etc", path)

        node = self.node(files={"/run/dockdist": plant})
        assert node.log_lines()[0]["type"] == "error"
        assert "/run/dockdist is not a folder" in node.log_lines()[0]["message"]

    def test_an_unprivileged_user_that_nobody_could_log_in_as(self):
        accounts = {"/etc/passwd": b"root:x:0:0:root:/root:/bin/bash\nalice:x:1234:1234::/home/alice:/usr/sbin/nologin\n",
                    "/etc/group": b"root:x:0:\nalice:x:1234:\nvideo:x:44:alice\n",
                    "/etc/shadow": b"root:*:1:0:99999:7:::\nalice:!:1:0:99999:7:::\n"}
        nodes = [self.node(name, files=accounts) for name in ("node-0", "node-1")]
        join(nodes, user="alice")
        done = nodes[0].run("/opt/dockdist/bin/dockdist-init", "with-environment", "--", "ssh", "node-1", "id; echo $HOME")
        assert done.stdout.decode() == "uid=1234(alice) gid=1234(alice) groups=44(video),1234(alice)\n/home/alice\n"
        refused = nodes[0].run("/opt/dockdist/bin/ssh", "-l", "root", "node-1", "true")
        assert b"Permission denied" in refused.stderr

    def noisy(self, path):
        """A shell that prints something before it does what it is to do, as bash by BASH_ENV."""
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n$BASH_ENV\nexec /bin/sh \"$@\"\n")
        os.chmod(path, 0o755)

    def test_what_a_shell_prints_before_a_command_reaches_no_protocol(self):
        files = {"/etc/passwd": b"root:x:0:0:root:/root:/bin/zsh\n", "/bin/zsh": self.noisy}
        nodes = [self.node(name, files=files, environment={"BASH_ENV": "echo welcome"}) for name in ("node-0", "node-1")]
        join(nodes)
        done = nodes[0].ssh("node-1", "cat; echo \"$0\" >&2; exit 7", input=b"bytes\0of a protocol")
        assert (done.returncode, done.stdout) == (7, b"bytes\0of a protocol")
        assert done.stderr.startswith(b"welcome\n"), done.stderr
        done = nodes[0].run("/opt/dockdist/bin/dockdist-init", "with-environment", "--line", "echo only; ls /proc/self/fd")
        assert (done.returncode, done.stdout.split()) == (0, [b"only", b"0", b"1", b"2", b"3"]), done
        # For itself it reads lines, and says what it likes.
        assert nodes[0].run("/opt/dockdist/bin/ssh", "node-1", input=b"echo line\n").stdout == b"welcome\nline\n"

    def test_a_nologin_of_the_image_keeps_nobody_out(self, tmp_path):
        files = {"/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nalice:x:1234:1234::/home/alice:/bin/sh\n",
                 "/etc/nologin": b"System is booting up.\n"}
        nodes = [self.node(name, files=files) for name in ("node-0", "node-1")]
        join(nodes, user="alice")
        done = nodes[0].run("/opt/dockdist/bin/dockdist-init", "with-environment", "--", "ssh", "node-1", "id -u")
        assert (done.stdout, done.stderr) == (b"1234\n", b"")
        del files["/etc/nologin"]
        one = Join(self.node("node-0", files=files, mounts={"/etc/nologin": str(tmp_path)}), 0, user="alice", mounts=["/etc/nologin"])
        told = one.line()
        one.end()
        assert told["message"] == ("/etc/nologin is mounted into the container: while it is there sshd lets in nobody but root, and so not alice")

    def test_a_uid_that_the_image_does_not_know(self):
        nodes = [self.node(name) for name in ("node-0", "node-1")]
        join(nodes, user="4242:77")
        done = nodes[0].run("/opt/dockdist/bin/dockdist-init", "with-environment", "--", "ssh", "node-1", "id -u; id -g")
        assert done.stdout == b"4242\n77\n"

    def test_an_image_without_a_shell(self):
        nodes = [self.node(name, applets=("env", "cat")) for name in ("node-0", "node-1")]
        join(nodes)
        assert (nodes[0].ssh("node-1", "cat '/etc/passwd'").stdout.splitlines()[0]
                == b"root:x:0:0:root:/root:/opt/dockdist/libexec/dockdist-init")
        assert b"this image has no shell" in nodes[0].ssh("node-1", "cat x | cat").stderr
