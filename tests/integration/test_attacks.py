"""What a stranger, another cluster, a key of yesterday and a thief of keys try on nodes of Docker 20.10, 26.1, Podman 4.3, 5.4."""

import contextlib
import json
import subprocess
import time
import urllib.parse

from harness import assert_in, cluster
from harness.gpus import uuids
from harness.ssh import sshd

KEYS = ("/run/dockdist/user/id_ed25519", "/run/dockdist/private/ssh_host_ed25519_key")
SSH = "/opt/dockdist/libexec/ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
KEPT = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "SYS_CHROOT": 18,
        "AUDIT_WRITE": 29, "SETFCAP": 31}

# Programs of a job's user that say who runs them, where the cluster's PATH begins.
PLANT = """mkdir -p /tmp/own; cd /tmp/own; for name in nvidia-smi getent python sh id; do
printf '#!/bin/sh\\n/bin/id -u >>/tmp/own/ran\\nexec /bin/%s "$@"\\n' $name >$name; chmod 755 $name; done"""


def write(c, addresses, more=""):
    """On any kinds of engine at once."""
    limits = f"memlock: {c.lab.memlock}, nofile: {c.lab.env['LAB_NOFILE']}, nproc: {c.lab.env['LAB_NPROC']}"
    hosts = "".join(f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: none}}\n" for i, address in enumerate(addresses))
    c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n{hosts}container:\n  ulimits: {{{limits}}}\n{more}")
    return c


def sh(c, node, script, code=0, input=None):
    return c.run("exec", node, "--", "sh", "-c", script, code=code, input=input)


def text(c, node, path):
    return sh(c, node, f"cat {path}").stdout


def record(c, node):
    return json.loads(text(c, node, "/run/dockdist/node.json"))


def put_key(c, node, key):
    sh(c, node, "umask 077; cat > /tmp/key", input=key)


def log_in(c, node, at):
    """As whoever has the key in /tmp of `node` does, at another's sshd."""
    command = f"{SSH} -i /tmp/key -p {at['ssh_port']} {at['user']}@{at['address']} hostname"
    return sh(c, node, command, code=None)


def assert_refused(done):
    assert done.returncode == 255, done
    assert_in("Permission denied (publickey)", done.stderr)


def told_by_engine(engine, cluster_name, since):
    """Everything that an engine says of a cluster's containers: events, inspect, logs, processes with their environment."""
    query = urllib.parse.urlencode({"since": since, "until": int(time.time()) + 1})
    told = engine.call("GET", f"/v1.40/events?{query}")[1]
    for found in engine.containers(cluster=cluster_name):
        told += json.dumps([found, engine.inspect(found["Id"]), engine.processes(found["Id"])]).encode()
        told += engine.call("GET", f"/v1.40/containers/{found['Id']}/logs?stdout=1&stderr=1")[1]
    return told


def check_rights(c, nodes):
    for node in nodes:
        status = dict(line.split(":\t", 1) for line in text(c, node, "/proc/1/status").splitlines())
        found = {bit for bit in range(64) if int(status["CapBnd"], 16) >> bit & 1}
        assert found == set(KEPT.values()), (node, found)
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) and status["NoNewPrivs"] == "1", (node, status)
        assert_in("not permitted", sh(c, node, "mknod /tmp/disk b 8 0", code=1).stderr)
        # sshd writes a session with a terminal into the kernel's audit log, or ends it.
        assert_in("/dev/pts/", sh(c, nodes[0], f"ssh -tt {node} tty").stdout)


def check_sshd(c, node, peers):
    """What sshd itself says of its configuration, and where it listens."""
    at = record(c, node)
    says = sh(c, node, "/opt/dockdist/libexec/sshd -T -f /run/dockdist/sshd_config").stdout.splitlines()
    settings = {}
    for line in says:
        key, _, value = line.partition(" ")
        settings.setdefault(key, []).append(value)
    wanted = {"passwordauthentication": "no", "kbdinteractiveauthentication": "no", "hostbasedauthentication": "no",
              "gssapiauthentication": "no", "permitemptypasswords": "no", "pubkeyauthentication": "yes", "usepam": "no",
              "authenticationmethods": "publickey", "permitrootlogin": "without-password", "disableforwarding": "yes",
              "allowtcpforwarding": "no", "allowstreamlocalforwarding": "no", "allowagentforwarding": "no", "x11forwarding": "no",
              "gatewayports": "no", "permittunnel": "no", "permituserenvironment": "no", "permituserrc": "no", "strictmodes": "yes",
              "allowusers": at["user"], "authorizedkeysfile": "/run/dockdist/authorized_keys",
              "forcecommand": "/opt/dockdist/libexec/dockdist-init session", "maxauthtries": "3", "logingracetime": "30",
              "listenaddress": f"{at['address']}:{at['ssh_port']}", "persourcemaxstartups": "66",
              "maxstartups": f"{256 + 2 * peers}:30:{512 + 4 * peers}"}
    assert {key: settings.get(key) for key in wanted} == {key: [value] for key, value in wanted.items()}
    # Lines of /proc/net/tcp: "0: 0100000A:08AE 00000000:0000 0A …", 0A for listening.
    listening = [line.split()[1] for line in text(c, node, "/proc/net/tcp /proc/net/tcp6").splitlines() if line.split()[3] == "0A"]
    address = bytes(reversed([int(part) for part in at["address"].split(".")])).hex().upper()
    assert at["ssh_port"] != 22
    assert [place for place in listening if place.endswith(f":{at['ssh_port']:04X}")] == [f"{address}:{at['ssh_port']:04X}"]


def test_keys_and_rights_of_a_cluster_are_its_own(lab):
    since = int(time.time()) - 1
    with contextlib.ExitStack() as ending:
        one, other = (ending.enter_context(cluster(lab, name)) for name in ("t-attacked", "t-neighbour"))
        write(one, lab.addresses[:2] + lab.podman_addresses)
        write(other, lab.addresses[:2])
        ups = [c.up("-o", "json") for c in (one, other)]
        nodes = [f"node-{i}" for i in range(4)]
        check_rights(one, nodes)
        check_sshd(one, "node-1", len(nodes))

        # Keys are fresh for each cluster and node, and nobody tells the private halves.
        keys = [text(c, node, path) for c, names in ((one, nodes), (other, nodes[:2])) for node in names for path in KEYS]
        bodies = ["".join(key.splitlines()[1:-1])[-160:] for key in keys]
        assert len(set(bodies)) == 12 and min(len(body) for body in bodies) == 160
        told = "".join(up.stdout + up.stderr for up in ups).encode()
        for engine in lab.all_engines:
            told += b"".join(told_by_engine(engine, c.name, since) for c in (one, other))
        environments = sh(one, "node-0", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /run/dockdist/environ").stdout.encode()
        assert b"t-attacked" in told and b"ssh-ed25519" in told and b"DOCKDIST" in environments
        for key in keys:
            for line in key.splitlines()[1:-1]:
                assert line.encode() not in told + environments

        # An impostor who answers at a peer's address does not have its host key.
        with sshd(lab, 2, 2251):
            done = sh(one, "node-0", "ssh -p 2251 node-1 hostname", code=255)
            assert_in("Host key verification failed", done.stderr)
        assert sh(one, "node-0", "ssh node-1 hostname").stdout == "node-1\n"

        # A key of another cluster is refused, from a peer's own address; so is a key of this one from elsewhere.
        target = record(one, "node-1")
        put_key(other, "node-0", keys[8])
        assert_refused(log_in(other, "node-0", target))
        stolen = one.folder / "stolen"
        stolen.touch(0o600)
        stolen.write_text(keys[0])
        outside = subprocess.run(["ssh", *SSH.split()[1:], "-i", str(stolen), "-p", str(target["ssh_port"]),
                                  f"{target['user']}@{target['address']}", "hostname"], capture_output=True, text=True, timeout=60)
        assert_refused(outside)
        put_key(other, "node-0", keys[0])
        assert log_in(other, "node-0", target).stdout == "node-1\n"  # the address was all that was wrong with it

        # 64 logins at once, as a script's or a launcher's, are within what sshd takes.
        many = "for i in $(seq 64); do ssh node-1 echo in >> /tmp/ins 2>&1 & done; wait; cat /tmp/ins"
        assert sh(one, "node-0", many).stdout == "in\n" * 64

        # `down` ends what an old key opens: the next cluster of that name has others.
        one.run("down")
        one.assert_clean()
        done = log_in(other, "node-0", target)
        assert done.returncode == 255, done
        assert_in("Connection refused", done.stderr)
        write(one, lab.addresses[:2]).up()
        assert_refused(log_in(other, "node-0", record(one, "node-1")))


def volumes_in(c, node):
    """{volume: (where it is mounted, options)} in a node, as its root sees it."""
    lines = [line.split() for line in text(c, node, "/proc/1/mountinfo").splitlines()]
    return {line[3].split("/volumes/")[1].split("/")[0]: (line[4], line[5].split(",")) for line in lines if "/volumes/" in line[3]}


def test_no_account_reaches_what_root_of_another_cluster_leaves_on_its_host(lab):
    with cluster(lab, "t-planter") as planter, cluster(lab, "t-account") as account:
        addresses = lab.addresses[:2] + lab.podman_addresses
        write(planter, addresses).up()
        write(account, addresses, more="  user: '1000:1000'\n").up()
        for node in (f"node-{i}" for i in range(len(addresses))):
            volumes = volumes_in(account, node)
            own = f"dockdist-store-t-account_{node}"
            assert sorted(name.partition("-toolkit-")[0] for name in volumes) == ["dockdist", "dockdist-gpus", own], volumes
            written = [name for name, (_, options) in volumes.items() if "ro" not in options]
            assert sorted(written) == ["dockdist-gpus", own]
            place = volumes_in(planter, node)["dockdist-gpus"][0]
            sh(planter, node, f"cp /bin/busybox {place}/planted && chmod 4755 {place}/planted && chmod 755 {place}")
            there, options = volumes["dockdist-gpus"]
            done = sh(account, node, f"id -u; ls {there}; {there}/planted id -u; cd {there}", code=None)
            assert (done.stdout, done.stderr.count("Permission denied")) == ("1000\n", 3), (node, done)
            if node in ("node-2", "node-3"):  # Podman; Docker mounts no folder with options
                assert {"nosuid", "nodev", "noexec"} <= set(options), (node, options)
            sh(planter, node, f"rm {place}/planted")


def test_what_a_job_s_user_puts_first_in_path_root_neither_runs_nor_believes(lab):
    with cluster(lab, "t-own-path") as c:
        c.write(gpus="all", container="user: '1000:1000'\nenv: {PATH: '/tmp/own:/usr/local/bin:/usr/bin:/bin'}").up()
        c.run("run", "--launcher", "plain", "--", "/bin/sh", "-c", PLANT)
        c.up()
        shown = json.loads(c.run("gpus", "-o", "json").stdout)["hosts"]
        assert [[gpu["id"] for gpu in host["gpus"]] for host in shown] == [uuids(lab, 1), uuids(lab, 2)], shown
        seen = c.run("run", "--launcher", "plain", "--gpus", "1", "--", "/bin/sh", "-c", "echo $CUDA_VISIBLE_DEVICES").stdout
        assert sorted(line.split()[-1] for line in seen.splitlines()) == sorted([uuids(lab, 1)[0], uuids(lab, 2)[0]]), seen
        c.run("check", code=None)
        for node in ("node-0", "node-1"):
            assert c.run("exec", "--user", "root", node, "--", "sh", "-c", "id -u").stdout == "0\n"
            assert sh(c, node, "id -u; sort -u /tmp/own/ran").stdout.split() == ["1000", "1000"]
