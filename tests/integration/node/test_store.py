"""What outlives a node's container: whose it is, of which version, and what a full or read-only disk does to it."""

import json
import os
import subprocess

import pytest

from harness.cleanup import WithCleanup
from harness.namespaces import BUSYBOX, NEEDED, Host, Join, Node, join, wait_for

pytestmark = NEEDED

STORE = "/var/lib/dockdist/store"
RELEASED = "another container has this node's store"


class TestStore(WithCleanup):
    @pytest.fixture(autouse=True)
    def one_host(self, tmp_path):
        self.host = Host()
        self.cleanup.callback(self.host.end)
        self.volume = tmp_path / "volume"
        self.volume.mkdir()

    def node(self, **words):
        node = Node(self.host, "node-0", busybox=BUSYBOX, mounts={STORE: str(self.volume)}, **words)
        self.cleanup.callback(lambda: os.path.exists(node.root) and node.end())
        return node

    def run_job(self, node, job):
        opening = json.dumps({"job": job, "grace_ms": 1000, "lease_ms": 30000})
        done = node.run("/opt/dockdist/bin/dockdist-init", "job", "start", input=(opening + "\n" + json.dumps({"argv": ["true"]}) + "\n").encode())
        assert b'"exited"' in done.stdout, done

    def jobs(self, node):
        said = node.run("/opt/dockdist/bin/dockdist-init", "job", "list")
        return [json.loads(line)["job"] for line in said.stdout.splitlines()]

    def test_what_jobs_left_is_there_for_the_next_container(self):
        first = self.node()
        join([first])
        self.run_job(first, "night")
        first.end()
        again = self.node()
        join([again])
        assert self.jobs(again) == ["night"]
        assert {entry.name for entry in self.volume.iterdir()} >= {"version", "lock", "jobs"}
        assert (self.volume.stat().st_mode & 0o777, (self.volume / "jobs/night").stat().st_mode & 0o777) == (0o700, 0o700)

    def test_of_two_containers_the_new_one_waits_until_the_old_one_lets_go(self):
        old = self.node()
        join([old])
        new = self.node()
        waiting = Join(new, 0)
        self.cleanup.callback(waiting.end)
        wait_for("its wait", lambda: b"join" in new.run("ps").stdout)
        old.end()
        assert waiting.line()["type"] == "hello"

    def test_one_that_does_not_let_go_is_told_with_what_to_do(self):
        holder = subprocess.Popen(["python3", "-c", "import fcntl, struct, sys\n"
                                   "file = open(sys.argv[1], 'w')\n"
                                   "fcntl.fcntl(file, 37, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))\n"
                                   "print('held', flush=True); sys.stdin.read()", str(self.volume / "lock")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.cleanup.callback(holder.communicate)
        assert holder.stdout.readline() == b"held\n"
        refused = Join(self.node(), 0)
        self.cleanup.callback(refused.end)
        said = refused.line()
        assert (said["type"], said["kind"]) == ("error", "conflict")
        assert RELEASED in said["message"] and "--filter volume=" in said["hint"]

    def test_one_of_a_newer_release_is_left_as_it_is(self):
        (self.volume / "version").write_text("2 0.9.0\n")
        refused = Join(self.node(), 0)
        self.cleanup.callback(refused.end)
        said = refused.line()
        assert (said["type"], said["kind"]) == ("error", "config")
        assert "is of format 2, made by dockdist 0.9.0" in said["message"] and "knows format 1" in said["message"]
        assert [entry.name for entry in self.volume.iterdir()] == ["version"]

    def test_a_read_only_volume_is_told_as_that(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(self.volume)], check=True)
        self.cleanup.callback(subprocess.run, ["umount", str(self.volume)])
        refused = Join(self.node(), 0)
        self.cleanup.callback(refused.end)
        said = refused.line()
        assert said["type"] == "error" and "Read-only file system" in said["message"]
        assert "is a volume (dockdist-store-" in said["hint"]

    def test_on_a_full_disk_the_end_of_a_job_is_recorded_and_no_earlier_record_is_lost(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.volume)], check=True)
        self.cleanup.callback(subprocess.run, ["umount", str(self.volume)])
        node = self.node()
        self.cleanup.callback(node.end) # before the volume is unmounted
        join([node])
        self.run_job(node, "before")
        opening = json.dumps({"job": "full", "grace_ms": 1000, "lease_ms": 30000})
        fill = "cat /dev/zero > %s/filler; exit 3" % STORE
        done = node.run("/opt/dockdist/bin/dockdist-init", "job", "start",
                        input=(opening + "\n" + json.dumps({"argv": ["sh", "-c", fill]}) + "\n").encode())
        assert b'"code":3' in done.stdout, done
        said = node.run("/opt/dockdist/bin/dockdist-init", "job", "list")
        assert {job["job"]: job["result"]["code"] for job in map(json.loads, said.stdout.splitlines())} == {"before": 0, "full": 3}
