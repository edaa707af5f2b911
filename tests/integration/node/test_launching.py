"""What launchers find inside nodes: pdsh, rsync, and ranks that come by ssh. Whole nodes with the real toolkit."""

import json
import os
import subprocess

from harness.cleanup import WithCleanup
from harness.namespaces import BUSYBOX, NEEDED, Host, Node, TwoNodes, join
from harness.node_process import Stream

pytestmark = NEEDED
INIT = "/opt/dockdist/bin/dockdist-init"


def program(text):
    def write(path):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
    return write


class TestBareCommands(TwoNodes):
    def bare(self, *words, **variables):
        """As in a shell of node-0."""
        pairs = [word for pair in variables.items() for word in ("--env", "%s=%s" % pair)]
        return self.a.run(INIT, "with-environment", *pairs, "--", *words)

    def test_pdsh_reaches_every_node(self):
        done = self.bare("pdsh", "hostname")
        assert (done.returncode, done.stderr) == (0, b"")
        assert sorted(done.stdout.splitlines()) == [b"node-0: node-0", b"node-1: node-1"]

    def test_pdsh_works_without_the_node_s_variables_too(self):
        done = self.a.run("/opt/dockdist/bin/pdsh", "hostname")
        assert sorted(done.stdout.splitlines()) == [b"node-0: node-0", b"node-1: node-1"]

    def test_pdsh_answers_with_the_remote_code_when_it_is_asked_to(self):
        assert self.bare("pdsh", "-S", "-w", "node-1", "exit 7").returncode == 7
        assert self.bare("pdsh", "-w", "node-1", "exit 7").returncode == 0

    def test_a_user_s_own_arguments_for_ssh_are_kept(self):
        done = self.bare("pdsh", "-w", "node-1", "true", PDSH_SSH_ARGS_APPEND="-v")
        assert b"debug1: " in done.stderr

    def test_a_local_command_for_each_node_is_possible(self):
        done = self.bare("pdsh", "-R", "exec", "-w", "node-[3-4]", "echo", "for", "%h")
        assert sorted(done.stdout.splitlines()) == [b"node-3: for node-3", b"node-4: for node-4"]

    def test_rsync_carries_files_both_ways(self):
        self.a.run("sh", "-c", "mkdir -p /tmp/r && head -c 300000 /dev/urandom > /tmp/r/file")
        for words in (("-a", "/tmp/r/", "node-1:/tmp/there"), ("-az", "-e", "ssh", "node-1:/tmp/there/", "/tmp/back")):
            done = self.bare("rsync", *words)
            assert (done.returncode, done.stderr) == (0, b"")
        sums = self.a.run("sha256sum", "/tmp/r/file", "/tmp/back/file").stdout.split()
        assert sums[0] == sums[2]

    def test_scontrol_expands_host_lists(self):
        assert self.bare("scontrol", "show", "hostnames", "node-[0-1]").stdout == b"node-0\nnode-1\n"


class TestOtherImages(WithCleanup):
    def nodes(self, user="", **options):
        host = Host()
        self.cleanup.callback(host.end)
        nodes = [Node(host, name, busybox=BUSYBOX, **options) for name in ("node-0", "node-1")]
        for node in nodes:
            self.cleanup.callback(node.end)
        join(nodes, user=user)
        return nodes

    def test_the_image_s_own_rsync_is_used(self):
        node = self.nodes(files={"/bin/rsync": program("#!/bin/sh\necho image: \"$@\"\n")})[0]
        assert node.run(INIT, "with-environment", "--", "rsync", "a b", "c").stdout == b"image: a b c\n"

    def test_pdsh_of_an_unprivileged_user(self):
        node = self.nodes(user="4242:77")[0]
        done = node.run(INIT, "with-environment", "--", "pdsh", "id -u")
        assert (sorted(done.stdout.splitlines()), done.stderr) == ([b"node-0: 4242", b"node-1: 4242"], b"")


class TestRanksBySsh(TwoNodes, WithCleanup):
    """node-1 has a part of the job without a command; what runs there comes from node-0."""

    def part(self, job, **start):
        process = self.b.popen(INIT, "job", "start", stdin=subprocess.PIPE, bufsize=0)
        stream = Stream(process)
        opening = {"job": job, "env": {"TOKEN": "a \"b\"\n"}, "unset": ["ODD"], "secrets": {"HIDDEN": "s3cret"}}
        for line in (opening, {"argv": [], "env": {"NODE_RANK": "1"}, **start}):
            stream.send(**line)
        stream.until("started")
        self.cleanup.callback(stream.close)
        self.cleanup.callback(self.stop, job)
        return stream

    def stop(self, job):
        assert self.b.run(INIT, "job", "stop", json.dumps({"job": job, "grace_ms": 5000})).returncode == 0

    def from_node_0(self, job, *words):
        """A launcher on node-0, with that node's variables."""
        return self.a.run(INIT, "with-environment", "--env", "DOCKDIST_JOB=" + job, "--env",
                          "DOCKDIST_JOB_ENV=NODE_RANK=0 SENT=1", "--", *words)

    def test_a_session_sees_its_node_s_part(self):
        self.part("seen")
        done = self.from_node_0("seen", "ssh", "node-1", "echo $DOCKDIST_JOB $NODE_RANK \"$TOKEN\" \"$ODD$SENT\"")
        assert done.stdout == b"seen 1 a \"b\"\n \n"

    def test_a_rank_s_output_and_code_go_to_its_own_node_s_supervisor(self):
        stream = self.part("hosted", rank_command=["sh", "-c", "echo $DOCKDIST_NODE $NODE_RANK %h; exit 7"])
        done = self.from_node_0("hosted", "pdsh", "-S", "-w", "node-1", "RANK=3 LOCAL_RANK=0 DOCKDIST_NODE=node-0 dockdist-init rank")
        assert done.returncode == 7
        failure = stream.until("rank_failed")
        assert (failure["rank"], failure["code"], failure["tail"]) == (3, 7, "node-1 1 %h\n")

    def test_secrets_that_are_for_ranks_are_in_no_session(self):
        stream = self.part("hiding", rank_secrets=True, rank_command=["sh", "-c", "echo rank $HIDDEN"])
        done = self.from_node_0("hiding", "ssh", "node-1", "echo session $HIDDEN; env | grep -c s3cret; RANK=0 dockdist-init rank")
        assert done.stdout == b"session\n0\n"
        stream.until_output(b"rank s3cret\n")

    def test_pkill_of_a_job_ends_nothing_of_another(self):
        streams = [self.part(job, argv=["sh", "-c", "echo up; exec sleep 4711"]) for job in ("mine", "other")]
        for stream in streams:
            stream.until_output(b"up\n")
        # The session is the job's too, and may end with it: its code says nothing.
        self.from_node_0("mine", "ssh", "node-1", "pkill -f '[s]leep 4711'")
        assert streams[0].until("exited")["signal"] == 15
        assert self.from_node_0("third", "ssh", "node-1", "pkill -f '[s]leep 4711'").returncode == 1
        self.from_node_0("other", "ssh", "node-1", "pkill -f '[s]leep 4711'")
        assert streams[1].until("exited")["signal"] == 15

    def test_the_first_address_that_hostname_tells_is_the_cluster_s(self):
        address = json.loads(self.b.run("cat", "/run/dockdist/node.json").stdout)["address"]
        done = self.a.ssh("node-1", "/opt/dockdist/bin/hostname -I")
        assert done.stderr == b""
        assert done.stdout.split()[0].decode() == address

    def test_a_node_without_a_part_refuses_to_run_a_rank(self):
        done = self.from_node_0("elsewhere", "ssh", "node-1", "dockdist-init rank")
        assert done.returncode == 125
        assert b"this node has no part of job elsewhere" in done.stderr

    def test_the_part_is_gone_with_the_job(self):
        stream = self.part("gone")
        assert json.loads(self.b.run("cat", "/run/dockdist/jobs/gone/part.json").stdout)["env"]["NODE_RANK"] == "1"
        self.stop("gone")
        stream.until("exited")
        assert self.b.run("ls", "/run/dockdist/jobs").stdout == b""
