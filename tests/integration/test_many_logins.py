"""Many hosts and many calls through one sshd with its usual limits."""

from harness import assert_in, cluster
from harness.ssh import Ssh, sshd
from harness.transports import write

USUAL = ("MaxStartups=10:30:100", "MaxSessions=10")


def test_64_hosts_behind_one_sshd_log_in_without_meeting_its_limit(lab):
    with cluster(lab, "t-many") as c, sshd(lab, 1, 2221, *USUAL) as server:
        ssh = Ssh(lab, c)
        ssh.know(1, 2221)
        ssh.write(*[(f"many-{i}", f"HostName {lab.addresses[0]}", "Port 2221") for i in range(64)])
        write(c, [f"docker: 'ssh://ops@many-{i}'" for i in range(64)])
        assert_in("nothing to remove", c.run("down", **ssh.environment).stdout)
        log = server.log()
        assert server.connections() == 64, server.connections()
        assert log.count("Accepted publickey") == 64
        assert "MaxStartups" not in log and "drop connection" not in log, log


def test_256_hosts_behind_one_jump_host_log_in_without_meeting_its_limit(lab):
    with cluster(lab, "t-jump") as c, sshd(lab, 1, 2224, *USUAL) as jump:
        ssh = Ssh(lab, c)
        ssh.know(1, 2224)
        way = ["HostName " + lab.addresses[1], f"ProxyJump ops@{lab.addresses[0]}:2224"]
        ssh.write(*[(f"far-{i:03}", *way) for i in range(1, 257)])
        c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n"
                          "  - {docker: 'ssh://ops@far-[001-256]', gpus: none}\n")
        assert_in("nothing to remove", c.run("down", **ssh.environment).stdout)
        log = jump.log()
        assert log.count("Accepted publickey") == 256
        assert jump.connections() == 256, jump.connections()
        assert "MaxStartups" not in log and "drop connection" not in log, log


def test_several_commands_at_once_get_past_an_sshd_that_turns_some_away(lab):
    with cluster(lab, "t-crowd") as c, sshd(lab, 1, 2222, "MaxStartups=4:50:8") as server:
        ssh = Ssh(lab, c)
        ssh.know(1, 2222)
        ssh.write(*[(f"many-{i}", f"HostName {lab.addresses[0]}", "Port 2222") for i in range(24)])
        write(c, [f"docker: 'ssh://ops@many-{i}'" for i in range(24)])
        clients = [c.start("down", **ssh.environment) for _ in range(2)]
        for client in clients:
            out, err = client.communicate(timeout=100)
            assert client.returncode == 0, err
            assert_in("nothing to remove", out)
        assert_in("MaxStartups", server.log())  # else nothing was tried


def test_twelve_nodes_join_through_an_sshd_that_forwards_no_sockets(lab):
    with cluster(lab, "t-dial-many") as c, sshd(lab, 2, 2223, "AllowStreamLocalForwarding=no", *USUAL) as server:
        ssh = Ssh(lab, c)
        ssh.know(2, 2223)
        write(c, [f"docker: 'ssh://ops@{lab.addresses[1]}:2223', nodes: 12"])
        assert_in("is up: 12 nodes", c.up(**ssh.environment).stdout)
        logins = server.connections()
        assert 2 <= logins <= 4, logins  # twelve streams and the kept connection, eight a login
        assert c.run("run", "--", "true", **ssh.environment).stdout == ""
        c.run("down", **ssh.environment)
        c.assert_clean()
