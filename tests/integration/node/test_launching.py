"""What launchers find inside nodes: pdsh, rsync, and ranks that come by ssh. Whole nodes with the real toolkit."""

import json
import os
import subprocess

from harness.cleanup import WithCleanup
from harness.namespaces import ADDRESS, BUSYBOX, NEEDED, Host, Node, TwoNodes, join, wait_for
from harness.node_process import DEADLINE, Stream

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
        for words in (["node-[0-1]"], []):  # without a list: the nodes that there are
            assert self.bare("scontrol", "show", "hostnames", *words).stdout == b"node-0\nnode-1\n"
        assert self.bare("scontrol", "show", "hostlist", "node-0,node-1").stdout == b"node-[0-1]\n"

    def test_the_address_that_hostname_tells_is_the_cluster_s(self):
        assert self.bare("hostname", "--ip-address").stdout == ADDRESS.encode() + b"\n"

    def port(self, node):
        return next(record["ssh_port"] for record in self.records if record["node"] == node)

    def write_ssh_config(self):
        text = "Host worker2\n  HostName %s\n  Port %d\n  User nobody\n  StrictHostKeyChecking ask\n" % (ADDRESS, self.port("node-1"))
        assert self.a.run("sh", "-c", "mkdir -p /root/.ssh /tmp && cat > /root/.ssh/config", input=text.encode()).returncode == 0

    def test_whatever_the_user_s_configuration_leads_to_a_node_is_that_node(self):
        self.write_ssh_config()
        port = str(self.port("node-1"))
        for words in (["worker2"], ["root@worker2"], ["-F", "/root/.ssh/config", "worker2"], ["-p", port, ADDRESS],
                      ["-o", "Port=" + port, ADDRESS], ["%s:%s" % (ADDRESS, port)], ["ssh://%s:%s" % (ADDRESS, port)]):
            done = self.bare("ssh", *words, "hostname; id -u")
            assert (done.stdout, done.stderr) == (b"node-1\n0\n", b""), words
        assert self.a.run("ls", "/root/.ssh").stdout == b"config\n"  # no known_hosts of the user's

    def test_such_a_name_works_under_every_program_that_goes_by_ssh(self):
        self.write_ssh_config()
        self.a.run("sh", "-c", "echo carried > /tmp/carried; echo 'put /tmp/carried /tmp/by-sftp' > /tmp/batch")
        for words in (["scp", "/tmp/carried", "worker2:/tmp/by-scp"], ["sftp", "-b", "/tmp/batch", "worker2"],
                      ["rsync", "/tmp/carried", "worker2:/tmp/by-rsync"],
                      ["rsync", "-e", "ssh -p %d" % self.port("node-1"), "/tmp/carried", ADDRESS + ":/tmp/by-port"]):
            done = self.bare(*words)
            assert (done.returncode, done.stderr) == (0, b""), words
        done = self.bare("pdsh", "-w", "worker2", "cat /tmp/by-scp /tmp/by-sftp /tmp/by-rsync /tmp/by-port")
        assert (done.stdout, done.stderr) == (b"worker2: carried\n" * 4, b"")

    def test_what_the_user_s_configuration_leads_elsewhere_is_not_touched(self):
        self.write_ssh_config()
        for words in (["-p", "1", ADDRESS], ["-p", "1", "worker2"], ["-o", "ProxyCommand=false", "worker2"]):
            done = self.bare("ssh", "-o", "BatchMode=yes", *words, "hostname")
            assert (done.returncode, done.stdout) == (255, b""), words

    def test_ssh_copy_id_says_that_it_is_not_needed(self):
        self.write_ssh_config()
        for words in (["node-1"], ["-i", "/root/.ssh/id_rsa.pub", "worker2"], ["-p", str(self.port("node-1")), "root@" + ADDRESS]):
            done = self.bare("ssh-copy-id", *words)
            assert (done.returncode, done.stderr) == (
                0, b"ssh-copy-id: not needed: node-1 lets in every node of this cluster, by keys that dockdist made\n"), words
        elsewhere = self.bare("ssh-copy-id", "elsewhere.example")
        assert (elsewhere.returncode, elsewhere.stderr) == (
            127, b"ssh-copy-id: not found in this image; between the nodes of this cluster it is not needed\n")

    def test_pdsh_s_targets_with_ports_are_told_with_what_to_type(self):
        self.write_ssh_config()
        done = self.bare("pdsh", "-w", "node-0,worker2:%d" % self.port("node-1"), "hostname")
        assert (done.returncode, done.stdout, done.stderr.decode()) == (
            1, b"", "pdsh: worker2:%d: pdsh does not support ports; type `-w node-0,node-1`, and such names in a hostfile: dockdist's ssh "
            "knows the nodes' ports\n" % self.port("node-1"))


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

    def test_pdsh_and_srun_of_an_unprivileged_user(self):
        node = self.nodes(user="4242:77")[0]
        done = node.run(INIT, "with-environment", "--", "srun", "-l", "id", "-u")
        assert (sorted(done.stdout.splitlines()), done.stderr) == ([b"0: 4242", b"1: 4242"], b"")
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

    def words_on_node_0(self, job, *words):
        return [INIT, "with-environment", "--env", "DOCKDIST_JOB=" + job, "--env", "DOCKDIST_JOB_ENV=NODE_RANK=0 SENT=1", "--", *words]

    def from_node_0(self, job, *words):
        """A launcher on node-0, with that node's variables."""
        return self.a.run(*self.words_on_node_0(job, *words))

    def test_a_session_sees_its_node_s_part(self):
        self.part("seen")
        done = self.from_node_0("seen", "ssh", "node-1", "echo $DOCKDIST_JOB $NODE_RANK \"$TOKEN\" \"$ODD$SENT\"")
        assert done.stdout == b"seen 1 a \"b\"\n \n"

    def test_a_rank_s_output_and_code_go_to_its_own_node_s_supervisor(self):
        stream = self.part("hosted", rank_command=["sh", "-c", "echo $DOCKDIST_NODE $NODE_RANK %h; exit 7"])
        line = "RANK=3 LOCAL_RANK=0 DOCKDIST_NODE=node-0 dockdist-init rank"
        pdsh = self.a.popen(*self.words_on_node_0("hosted", "pdsh", "-S", "-w", "node-1", line), stdin=subprocess.DEVNULL)
        failure = stream.until("rank_failed")
        assert (failure["rank"], failure["code"], failure["tail"]) == (3, 7, "node-1 1 %h\n")
        assert pdsh.poll() is None  # it hears of it when the job has ended the others
        self.stop("hosted")
        assert pdsh.wait(DEADLINE) != 0

    def test_a_rank_whose_way_from_its_launcher_breaks_is_its_supervisor_s_to_end(self):
        stream = self.part("cut", rank_command=["sh", "-c", "trap 'echo told; exit' TERM; echo up; while :; do sleep 0.1; done"])
        self.a.popen(*self.words_on_node_0("cut", "ssh", "node-1", "RANK=0 LOCAL_RANK=0 dockdist-init rank; true"),
                     stdin=subprocess.DEVNULL)
        stream.until_output(b"up\n")
        ways = [line.split()[0] for line in self.a.processes().splitlines() if "node-1" in line and "ssh" in line]
        assert ways and self.a.run("kill", *ways).returncode == 0
        wait_for("the end of the session", lambda: "dockdist-init session" not in self.b.processes())
        assert stream.output(rank=0) == b"up\n"
        self.stop("cut")
        stream.until("exited")
        assert stream.output(rank=0) == b"up\ntold\n"

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
        assert b"this node has no part in job elsewhere" in done.stderr

    def test_the_part_is_gone_with_the_job(self):
        stream = self.part("gone")
        assert json.loads(self.b.run("cat", "/run/dockdist/jobs/gone/part.json").stdout)["env"]["NODE_RANK"] == "1"
        self.stop("gone")
        stream.until("exited")
        assert self.b.run("ls", "/run/dockdist/jobs").stdout == b""
