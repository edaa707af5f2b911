"""Jobs of several parts: who carries them, what a part does until the job is over everywhere, restarts, and jobs that
need no client. Real programs and processes; the parts of one job are nodes with a root folder each, and `ssh` between
them is a script that runs its command in the other's. They share a /proc, in which a job ends what bears its name: so each
part has its own, job-0.1 for the second, and the script says which is the coordinator's."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time

import pytest

from harness.cleanup import WithCleanup
from harness.node_process import DEADLINE, PROGRAM, Node, Stream, kill, marked
from harness.patience import Watch


def policy(parts, **more):
    return {"parts": [{"node": "node-%d" % i} for i in range(parts)], "backoff_ms": 1, "grace_ms": 2000, **more}


class Lines:
    """A process that speaks in JSON lines: the coordinator's end of a link."""

    def __init__(self, process):
        self.process, self.buffer = process, b""

    def send(self, **line):
        self.process.stdin.write((json.dumps(line) + "\n").encode())
        self.process.stdin.flush()

    def next(self, skip=("ping",)):
        deadline = time.monotonic() + DEADLINE
        while True:
            while b"\n" in self.buffer:
                line, self.buffer = self.buffer.split(b"\n", 1)
                told = json.loads(line)
                if told["type"] not in skip:
                    return told
            readable, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            assert readable, "nothing is said"
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return None
            self.buffer += piece


class OnSeveralNodes(WithCleanup):
    def nodes(self, count):
        """node-0 … with an `ssh` from each to each."""
        made = []
        for _ in range(count):
            node = Node()
            self.cleanup.callback(node.end)
            made.append(node)
        for node in made:
            libexec = node.root + "/opt/dockdist/libexec"
            os.makedirs(libexec)
            os.symlink(PROGRAM, libexec + "/dockdist-init")
            with open(libexec + "/ssh", "w") as ssh:
                # The last two words are the node and the command: PROGRAM job link JOB PART TERM.
                ssh.write('#!/bin/sh\nfor last; do to=$word word=$last; done\n'
                          'case $to in %s esac\n'
                          'for end in %s $DOCKDIST_TEST_ROOT; do [ -e $end/cut ] && { echo "no route to $to" >&2; exit 255; }; done\n'
                          'set -- $last\nexec %s job link "${4%%.*}.${to#node-}" "$5" "$6"\n'
                          % (" ".join("node-%d) export DOCKDIST_TEST_ROOT=%s;;" % (i, other.root) for i, other in enumerate(made)),
                             node.root, PROGRAM))
            os.chmod(libexec + "/ssh", 0o755)
        return made

    def start(self, nodes, script, job="job-0", lease_ms=30000, **settings):
        """One stream a part; the script sees its part as $PART."""
        streams = []
        for part, node in enumerate(nodes):
            stream = node.start(["sh", "-c", script], job="%s.%d" % (job, part), lease_ms=lease_ms, env={"PART": str(part)},
                                policy=policy(len(nodes), **settings), part=part, stays=True)
            stream.until("started")
            streams.append(stream)
        return streams

    def result(self, node, part, job="job-0"):
        stream = node.follow("%s.%d" % (job, part))
        return stream.result(), stream.output()

    def detach(self, streams):
        for stream in streams:
            stream.send(type="detach")
        for stream in streams:
            stream.until("detached")
            stream.close()


class TestAPartThatStays(OnSeveralNodes):
    @pytest.fixture(autouse=True)
    def one_node(self, ending):
        (self.node,) = self.nodes(1)

    def test_it_waits_for_the_others_after_its_command(self):
        (stream,) = self.start([self.node], "echo done; exit 3")
        assert stream.until("ended")["code"] == 3
        assert self.node.list()[0]["running"]
        stream.send(type="over", first={"node": "node-9", "failure": {"rank": 4, "code": 3}})
        result = stream.result()
        assert (result["code"], result["stopped"], stream.output()) == (3, False, b"done\n")
        assert (result["first"]["node"], result["first"]["failure"]["rank"]) == ("node-9", 4)
        assert self.node.list()[0]["result"]["first"]["node"] == "node-9"

    def test_at_the_end_goes_what_came_from_other_nodes_too(self):
        (stream,) = self.start([self.node], "true")
        stream.until("ended")
        stray = subprocess.Popen(["sleep", "1000"], env={**os.environ, "DOCKDIST_JOB": "job-0.0"}, start_new_session=True)
        self.cleanup.callback(stray.wait)
        self.cleanup.callback(stray.kill)
        stream.send(type="over")
        stream.result()
        assert stray.wait(DEADLINE) == -15

    def test_a_client_that_never_comes_back_does_not_keep_it(self):
        (stream,) = self.start([self.node], "true", lease_ms=300)
        stream.until("ended")
        assert stream.result()["code"] == 0

    def test_halted_and_begun_anew_it_knows_the_attempt(self):
        script = 'echo "attempt $DOCKDIST_RESTART_COUNT $TORCHELASTIC_RESTART_COUNT"; [ $DOCKDIST_RESTART_COUNT = 1 ] || sleep 1000'
        (stream,) = self.start([self.node], script, max_restarts=1)
        stream.until_output(b"attempt 0 0\n")
        stream.send(type="halt", attempt=0, grace_ms=5000)
        ended = stream.until("ended")
        assert (ended["attempt"], ended["stopped"]) == (0, True)
        stream.send(type="begin", attempt=1)
        stream.send(type="begin", attempt=1)  # an order may come twice
        assert stream.until("started")["attempt"] == 1
        ended = stream.until("ended")
        assert (ended["attempt"], ended["code"], ended["stopped"]) == (1, 0, False)
        stream.send(type="over")
        assert stream.result()["attempt"] == 1
        assert b"attempt 1 1\n" in stream.output(stream=1)

    def test_begun_while_it_still_ends_it_waits_for_the_end(self):
        (stream,) = self.start([self.node], "trap 'sleep 0.3; echo bye; exit' TERM; echo up; while :; do sleep 0.05; done", max_restarts=1)
        stream.until_output(b"up\n")
        stream.send(type="halt", attempt=0, grace_ms=5000)
        stream.send(type="begin", attempt=1)
        stream.until_output(b"bye\n")
        assert stream.until("started")["attempt"] == 1

    def test_a_new_attempt_finds_its_files_as_they_were(self):
        scratch = self.node.scratch("job-0")
        stream = self.node.start(["sh", "-c", "cd %s; ls left; cat list; echo used > list; touch left" % scratch], policy=policy(1), stays=True,
                                 files={scratch + "/list": "fresh\n"})
        stream.until("ended")
        stream.send(type="begin", attempt=1)
        stream.until("ended")
        stream.send(type="over")
        stream.result()
        assert stream.output(stream=1) == b"fresh\nfresh\n"

    def test_begun_with_another_start_it_runs_that(self):
        scratch = self.node.scratch("job-0")
        lost = policy(2, members=[0], relaunch="x")
        lost["parts"][1]["lost"] = True
        stream = self.node.start(["sh", "-c", "echo old $RANK $OLD; exit 3"], policy=policy(2), stays=True, secrets={"MINE": "kept"},
                                 env={"RANK": "1", "OLD": "there"}, files={scratch + "/list": "two nodes\n"})
        stream.until("ended")
        now = {"argv": ["sh", "-c", "echo new $RANK $MINE [$OLD]; cat %s/list" % scratch], "env": {"RANK": "0", "MINE": "not ours"},
               "files": {scratch + "/list": "one node\n"}, "stays": True, "part": 0, "policy": lost}
        stream.send(type="begin", attempt=1, start=now)
        ended = stream.until("ended")
        assert (ended["attempt"], ended["code"], ended["left_out"]) == (1, 0, ["node-1"])
        stream.send(type="begin", attempt=2)  # the same once more
        assert stream.until("ended")["left_out"] == ["node-1"]
        stream.send(type="over")
        stream.result()
        assert stream.output(stream=1) == b"old 1 there\n" + 2 * b"new 0 kept []\none node\n"
        assert "relaunch" not in self.node.list()[0]["policy"]

    def test_a_follower_that_comes_later_hears_of_the_last_attempt_only(self):
        (stream,) = self.start([self.node], "exit 7", max_restarts=1)
        stream.until("ended")
        stream.send(type="begin", attempt=1)
        stream.until("ended")
        again = self.node.follow("job-0.0")
        assert again.until("started")["attempt"] == 1
        again.send(type="over")
        assert again.result()["attempt"] == 1


class TestADetachedJob(OnSeveralNodes):
    def test_it_goes_on_to_its_end_without_a_client(self):
        nodes = self.nodes(3)
        streams = self.start(nodes, "read x < %s/go; echo over $PART" % nodes[0].root if os.mkfifo(nodes[0].root + "/go") is None else "")
        self.detach(streams)
        with open(nodes[0].root + "/go", "w") as go:
            go.write("\n\n\n")
        for part, node in enumerate(nodes):
            result, output = self.result(node, part)
            assert (result["code"], result["reason"], output) == (0, "", b"over %d\n" % part)

    def test_a_failure_ends_it_everywhere_and_every_node_knows_it(self):
        nodes = self.nodes(3)
        os.mkfifo(nodes[0].root + "/go")
        self.detach(self.start(nodes, "[ $PART = 2 ] || exec sleep 1000; read x < %s/go; exit 7" % nodes[0].root))
        with open(nodes[0].root + "/go", "w") as go:
            go.write("\n")
        watch = Watch()
        for part, node in enumerate(nodes):
            first = self.result(node, part)[0]["first"]
            assert (first["node"], first["failure"]["code"]) == ("node-2", 7)
            assert marked("job-0.%d" % part) == []
        assert watch.within(5), watch

    def test_it_is_begun_anew_without_a_client(self):
        nodes = self.nodes(2)
        os.mkfifo(nodes[0].root + "/go")
        script = "[ $DOCKDIST_RESTART_COUNT = 2 ] && exit 0; [ $PART = 1 ] || exec sleep 1000; [ $DOCKDIST_RESTART_COUNT = 1 ] || read x < %s/go; exit 7"
        self.detach(self.start(nodes, script % nodes[0].root, max_restarts=2))
        with open(nodes[0].root + "/go", "w") as go:
            go.write("\n")
        for part, node in enumerate(nodes):
            result, output = self.result(node, part)
            assert (result["code"], result["attempt"], "first" in result) == (0, 2, False)
            assert b"attempt 3 begins" in output
        assert b"node-1: the command exited with 7: attempt 3 of 3 begins" in self.result(nodes[0], 0)[1]

    def test_a_stop_on_one_node_ends_it_on_all(self):
        for stopped in (0, 1):
            nodes = self.nodes(2)
            job = "job-%d" % stopped
            self.detach(self.start(nodes, "exec sleep 1000", job=job))
            link_of(nodes[0], 1)
            nodes[stopped].stop("%s.%d" % (job, stopped))
            assert self.result(nodes[1 - stopped], 1 - stopped, job)[0]["stopped"]

    def test_a_link_that_breaks_is_dialled_again(self):
        nodes = self.nodes(2)
        os.mkfifo(nodes[0].root + "/go")
        self.detach(self.start(nodes, "[ $PART = 1 ] || exec sleep 1000; read x < %s/go; exit 7" % nodes[0].root, lease_ms=20000))
        first = link_of(nodes[0], 1)
        kill(first)
        kill(link_of(nodes[0], 1, gone=first))
        with open(nodes[0].root + "/go", "w") as go:
            go.write("\n")
        assert self.result(nodes[0], 0)[0]["first"]["failure"]["code"] == 7

    def test_a_part_that_is_cut_off_ends_after_the_lease_and_so_do_the_others(self):
        nodes = self.nodes(3)
        self.detach(self.start(nodes, "exec sleep 1000", lease_ms=2000))
        link = link_of(nodes[0], 2)
        open(nodes[2].root + "/cut", "w").close()
        kill(link)
        cut, output = self.result(nodes[2], 2)
        assert cut["reason"] == "lease"
        assert b"no route to node-0" in output
        for part, node in enumerate(nodes[:2]):
            result, _ = self.result(node, part)
            assert result["stopped"]
            assert result["first"]["node"] == "node-2"
            assert "nothing was heard of node-2" in result["first"]["failure"]["finding"]

    def test_a_lost_member_is_left_out_and_never_rejoins(self):
        nodes = self.nodes(3)
        script = "echo try $DOCKDIST_RESTART_COUNT rank $RANK of $WORLD_SIZE; [ $DOCKDIST_RESTART_COUNT = 1 ] || exec sleep 1000; until [ -e %s/go ]; do sleep 0.05; done" % nodes[0].root
        launch = {"launcher": "plain", "job": "job-0", "command": ["sh", "-c", script],
                  "nodes": [{"name": "node-%d" % i, "address": "10.0.0.%d" % i, "ports": [20000 + i]} for i in range(3)]}
        self.detach(self.start(nodes, "exec sleep 1000", lease_ms=4000, max_restarts=1, members=[0, 1, 2], min_nodes=2,
                               relaunch=json.dumps(launch)))
        link = link_of(nodes[0], 1)
        open(nodes[1].root + "/cut", "w").close()
        kill(link)
        followed = [nodes[part].follow("job-0.%d" % part) for part in (0, 2)]
        for stream, rank in zip(followed, (b"0", b"1")):
            stream.until_output(b"try 1 rank " + rank + b" of 2\n")
        # It dials again, and is told to stop.
        again = Lines(nodes[0].popen("job", "link", "job-0.0", "1", "0"))
        assert again.next()["type"] == "stop"
        assert self.result(nodes[1], 1)[0]["reason"] == "lease"
        open(nodes[0].root + "/go", "w").close()
        for stream in followed:
            result = stream.result()
            assert (result["code"], result["attempt"], result["left_out"]) == (0, 1, ["node-1"])
        assert (b"node-1: lost: nothing was heard of node-1 for 4 s: attempt 2 of 2 begins without it on 2 nodes, once its ranks have ended"
                in self.result(nodes[0], 0)[1])

    def test_without_its_coordinator_the_rest_ends_after_the_lease(self):
        nodes = self.nodes(2)
        self.detach(self.start(nodes, "exec sleep 1000", lease_ms=2000))
        link_of(nodes[0], 1)
        for pid in supervisors(nodes[0]):
            kill(pid)
        assert self.result(nodes[1], 1)[0]["reason"] == "lease"

    def start_with_a_spare(self, nodes, script, lease_ms=4000):
        """Of the nodes the last one is spare; the script knows its node by $HERE."""
        def launched(i):
            return {"name": "node-%d" % i, "address": "10.0.0.%d" % i, "ports": [20000 + i]}
        launch = {"launcher": "plain", "job": "job-0", "command": ["sh", "-c", script], "nodes": [launched(i) for i in range(len(nodes))]}
        streams = []
        for part, node in enumerate(nodes):
            is_spare = part == len(nodes) - 1
            settings = policy(len(nodes), max_restarts=2, members=list(range(len(nodes) - 1)), min_nodes=len(nodes) - 1, relaunch=json.dumps(launch))
            settings["parts"][-1]["hosts_remote_ranks"] = True
            stream = node.start([] if is_spare else ["sh", "-c", script], job="job-0.%d" % part, lease_ms=lease_ms,
                                secrets={"HERE": node.root}, policy=settings, part=part, stays=True)
            stream.until("started")
            streams.append(stream)
        self.detach(streams)

    @pytest.mark.parametrize("trouble", ["killed", "frozen", "cut"])
    def test_without_its_coordinator_the_next_part_carries_it_on(self, trouble):
        nodes = self.nodes(3)
        script = 'echo $DOCKDIST_RESTART_COUNT >>$HERE/runs; [ $DOCKDIST_RESTART_COUNT != 0 ] || exec sleep 1000; until [ -e $HERE/go ]; do sleep 0.05; done'
        self.start_with_a_spare(nodes, script)
        links = [link_of(nodes[0], part) for part in (1, 2)]
        (supervisor,) = supervisors(nodes[0])
        if trouble == "killed":
            kill(supervisor)
        elif trouble == "frozen":
            os.kill(supervisor, signal.SIGSTOP)
            self.cleanup.callback(wake, supervisor)
        else:
            open(nodes[0].root + "/cut", "w").close()
            for link in links:
                kill(link)
        followed = [nodes[part].follow("job-0.%d" % part) for part in (1, 2)]
        for stream in followed:
            while stream.until("started")["attempt"] == 0:
                pass
        if trouble == "frozen":
            os.kill(supervisor, signal.SIGCONT)
        if trouble != "killed":  # of two that fall silent it may miss the one before the other, and halt for that
            assert self.result(nodes[0], 0)[0]["reason"] in (("lease", "stop") if trouble == "cut" else ("lease",))
        for node in nodes[1:]:
            open(node.root + "/go", "w").close()
        for stream in followed:
            result = stream.result()
            assert (result["code"], result["attempt"], result["left_out"]) == (0, 1, ["node-0"])
        assert b"node-1 carries the job from now on, in place of node-0" in self.result(nodes[1], 1)[1]
        for node, runs in zip(nodes, ("0\n", "0\n1\n", "1\n")):
            with open(node.root + "/runs") as log:
                assert log.read() == runs

    def test_a_coordinator_whose_container_is_stopped_is_followed_at_once(self):
        nodes = self.nodes(3)
        self.start_with_a_spare(nodes, "[ $DOCKDIST_RESTART_COUNT = 0 ] && exec sleep 1000; exit 0", lease_ms=600000)
        for part in (1, 2):
            link_of(nodes[0], part)
        os.kill(supervisors(nodes[0])[0], signal.SIGTERM)
        for part in (1, 2):
            result, output = self.result(nodes[part], part)
            assert (result["code"], result["attempt"], result["left_out"]) == (0, 1, ["node-0"])
        assert self.result(nodes[0], 0)[0]["reason"] == "shutdown"

    def test_a_member_that_comes_when_all_is_over_is_told_so(self):
        (node,) = self.nodes(1)
        link = Lines(node.popen("job", "link", "job-0", "1", "0"))
        assert link.next() == {"type": "over"}
        assert link.process.wait(DEADLINE) == 0

    def test_who_looks_on_changes_nothing_and_a_single_part_needs_no_coordinator(self):
        (node,) = self.nodes(1)
        os.mkfifo(node.root + "/go")
        stream = node.start(["sh", "-c", "read x < %s/go; exit 7" % node.root], lease_ms=300)
        stream.until("started")
        self.detach([stream])
        looking = node.follow("job-0")
        looking.until("started")
        self.detach([looking])
        with open(node.root + "/go", "w") as go:
            go.write("\n")
        assert node.follow("job-0").result()["code"] == 7


def processes(wanted, root):
    """pid of those whose command line has these words, with that test root."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as line, open("/proc/%s/environ" % pid, "rb") as environ:
                if wanted in line.read().replace(b"\0", b" ") and root.encode() in environ.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wake(pid):
    with contextlib.suppress(ProcessLookupError):  # it may have ended
        os.kill(pid, signal.SIGCONT)


def link_of(coordinator, part, gone=None):
    """The coordinator's end of a member's link, when it is there; `gone`: of a former one, which may still be ending."""
    watch = Watch()
    while watch.within(DEADLINE):
        if found := [pid for pid in processes(b".0 %d " % part, coordinator.root) if pid != gone]:
            return found[0]
        time.sleep(0.02)
    raise AssertionError(f"no link came: {watch}")


def supervisors(node):
    """A supervisor keeps the command line of the `job start` that it came from."""
    return [pid for pid in processes(b"job start", node.root) if os.getsid(pid) != os.getsid(0)]
