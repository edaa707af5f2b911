"""A check's conversation with dockdist-init itself, on files that stand for what no test machine has: RDMA devices, CPU governors,
a kernel log with Xid errors, a mount that cannot be written."""

import json
import os
import signal
import stat

import pytest

from harness.node_process import DEADLINE, Node


class WithASession:
    @pytest.fixture(autouse=True)
    def node_that_has_joined(self):
        self.node = Node()
        self.write("/run/dockdist/node.json", json.dumps({"node": "node-0", "interface": "lo", "address": "127.0.0.1"}))
        yield
        self.node.end()

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.node.root + path), exist_ok=True)
        with open(self.node.root + path, "w") as file:
            file.write(text)

    def open(self):
        self.session = self.node.popen("check")
        return self.session

    def ask(self, line):
        """A question, or a line that is none; the answer."""
        self.session.stdin.write(((line if isinstance(line, str) else json.dumps(line)) + "\n").encode())
        answer = b""
        while not answer.endswith(b"\n"):
            piece = os.read(self.session.stdout.fileno(), 1 << 20)
            assert piece, "the session ended after %r" % answer
            answer += piece
        return json.loads(answer)

    def facts(self, **question):
        self.open()
        return self.ask({"ask": "facts", **question})

    def tokens(self, folder):
        return sorted(name for name in os.listdir(self.node.root + folder) if name.startswith(".dockdist-check-"))


class TestFacts(WithASession):
    def test_rdma_ports_are_told_with_state_and_rate_and_whether_they_are_inside(self):
        for device, state in (("mlx5_0", "4: ACTIVE\n"), ("mlx5_1", "1: DOWN\n")):
            place = "/sys/class/infiniband/%s/ports/1/" % device
            self.write(place + "state", state)
            self.write(place + "rate", "400 Gb/sec (4X NDR)\n")
            self.write(place + "link_layer", "InfiniBand\n")
        system = self.facts()["system"]
        assert ([(p["device"], p["port"], p["state"], p["mbps"], p["link"]) for p in system["rdma"]]
                == [("mlx5_0", 1, "ACTIVE", 400000, "InfiniBand"), ("mlx5_1", 1, "DOWN", 400000, "InfiniBand")])
        assert not system["rdma_inside"]
        os.makedirs(self.node.root + "/dev/infiniband")
        assert self.ask({"ask": "facts"})["system"]["rdma_inside"]

    def test_governors_are_counted_and_xids_are_read_where_there_is_a_kernel_log(self):
        for cpu, governor in (("cpu0", "powersave"), ("cpu1", "powersave"), ("cpu10", "performance")):
            self.write("/sys/devices/system/cpu/%s/cpufreq/scaling_governor" % cpu, governor + "\n")
        self.write("/sys/devices/system/cpu/cpufreq/scaling_governor", "none of a CPU\n")
        system = self.facts()["system"]
        assert system["machine"] == os.uname().machine
        assert system["governors"] == {"powersave": 2, "performance": 1}
        assert "xids" not in system
        self.write("/dev/kmsg", "4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
                                "4,2,3,-;NVRM: Xid (PCI:0000:3b:00): 79, again\n4,3,4,-;NVRM: Xid (PCI:half\n")
        assert self.ask({"ask": "facts"})["system"]["xids"] == [{"gpu": "0000:3b:00", "code": 79}]

    def test_the_interface_of_the_record_is_looked_at(self):
        network = self.facts()["network"]
        assert (network["there"], network["loopback"], network["address_there"]) == (True, True, True)
        assert network["mtu"] >= 1500
        self.write("/run/dockdist/node.json", json.dumps({"node": "node-0", "interface": "gone0", "address": "127.0.0.1"}))
        assert self.ask({"ask": "facts"})["network"] == {"interface": "gone0", "there": False}
        self.write("/run/dockdist/node.json", "not json")
        assert "error" in self.ask({"ask": "facts"})["network"]

    def test_programs_run_with_the_environment_and_their_codes_and_output_are_told(self):
        programs = self.facts(programs=[{"name": "yes", "argv": ["sh", "-c", "echo out; echo err >&2; exit 3"]},
                                        {"name": "no", "argv": ["is-not-there"]}])["programs"]
        assert programs["yes"] == {"code": 3, "output": "out\nerr\n"}
        assert programs["no"]["code"] == 127

    def test_a_program_that_dies_or_prints_what_is_no_text_leaves_the_rest_known(self):
        facts = self.facts(programs=[{"name": "dead", "argv": ["sh", "-c", "kill -9 $$"]},
                                     {"name": "bytes", "argv": ["printf", r"\377\376"]}])
        assert facts["programs"]["dead"]["code"] == 137
        assert facts["programs"]["bytes"]["code"] == 0
        assert "disk" in facts["system"]

    def test_names_are_resolved_by_the_machines_own_resolver(self):
        self.write("/run/dockdist/node.json", json.dumps({"node": "localhost", "interface": "lo", "address": "127.0.0.1"}))
        names = self.facts(names=["no-such-host.invalid"])["names"]
        assert names["by"] in ("getent", "python")
        assert set(names["addresses"]["localhost"]) & {"127.0.0.1", "::1"}, names
        assert names["addresses"]["no-such-host.invalid"] == []

    def test_a_node_without_ssh_says_why_nobody_logs_in(self):
        facts = self.facts(peers=["node-1"])
        assert [(login["peer"], login["ok"]) for login in facts["ssh"]] == [("node-1", False)]
        further = self.ask({"ask": "logins", "peers": ["node-2", "node-3"]})
        assert sorted((login["peer"], login["ok"]) for login in further["logins"]) == [("node-2", False), ("node-3", False)]
        assert "does not log in to itself" in facts["limits"]["error"]["message"]

    def test_lines_that_are_no_question_are_answered_and_the_session_goes_on(self):
        self.open()
        for line in ("", "x", "[]", "{}", '{"ask":1}', '{"ask":"facts","peers":1}', '{"ask":"facts","programs":[{"name":"x"}]}',
                     '{"ask":"facts","mounts":["/data"],"token":"../x"}', '{"ask":"facts","mounts":["data"],"token":"a1"}',
                     '{"ask":"look","mounts":["/data"],"token":"a1","nodes":["../../etc"]}', '{"ask":"nothing"}'):
            assert "error" in self.ask(line), line
        assert self.ask({"ask": "hello"})["answer"] == "hello"


class TestMounts(WithASession):
    @pytest.fixture(autouse=True)
    def data(self, node_that_has_joined):
        os.makedirs(self.node.root + "/data")

    def test_a_token_is_left_seen_and_removed_when_it_is_asked_for(self):
        self.write("/file", "no folder")
        mounts = self.facts(mounts=["/data", "/file", "/gone"], token="ab12")["mounts"]
        assert mounts == {"/data": {"folder": True, "written": True}, "/file": {"folder": False}, "/gone": {"folder": False}}
        assert self.tokens("/data") == [".dockdist-check-ab12-node-0"]
        assert stat.S_IMODE(os.stat(self.node.root + "/data/.dockdist-check-ab12-node-0").st_mode) == 0o600
        self.write("/data/.dockdist-check-ab12-node-2", "")
        seen = self.ask({"ask": "look", "mounts": ["/data"], "token": "ab12", "nodes": ["node-0", "node-1", "node-2"]})["seen"]
        assert seen == {"/data": ["node-0", "node-2"]}
        self.ask({"ask": "forget"})
        assert self.tokens("/data") == [".dockdist-check-ab12-node-2"]

    def test_one_folder_that_is_mounted_at_two_places_is_written_at_both(self):
        os.symlink("data", self.node.root + "/again")
        mounts = self.facts(mounts=["/data", "/again"], token="ab12")["mounts"]
        assert [mount["written"] for mount in mounts.values()] == [True, True]
        self.ask({"ask": "forget"})
        assert self.tokens("/data") == []

    def test_the_end_of_the_client_removes_it(self):
        self.facts(mounts=["/data"], token="ab12")
        self.session.stdin.close()
        self.session.wait(DEADLINE)
        assert self.tokens("/data") == []

    def test_a_client_that_has_gone_while_it_was_asked_for_leaves_none_either(self):
        session = self.open()
        question = {"ask": "facts", "mounts": ["/data"], "token": "ab12",
                    "programs": [{"name": "slow", "argv": ["sh", "-c", "echo > %s/begun; read x < %s/go" % ((self.node.root,) * 2)]}]}
        os.mkfifo(self.node.root + "/go")
        session.stdin.write((json.dumps(question) + "\n").encode())
        self.node.wait_for(self.node.root + "/begun")
        self.node.wait_for(self.node.root + "/data/.dockdist-check-ab12-node-0")
        session.stdout.close()
        session.stdin.close()
        with open(self.node.root + "/go", "w") as go:
            go.write("\n")
        session.wait(DEADLINE)
        assert session.returncode != -signal.SIGPIPE
        assert self.tokens("/data") == []

    def test_a_link_in_the_place_of_the_token_is_not_followed(self):
        self.write("/outside", "kept")
        os.symlink(self.node.root + "/outside", self.node.root + "/data/.dockdist-check-ab12-node-0")
        mount = self.facts(mounts=["/data"], token="ab12")["mounts"]["/data"]
        assert not mount["written"]
        with open(self.node.root + "/outside") as file:
            assert file.read() == "kept"

    def test_what_cannot_be_written_is_told_with_the_names_in_it(self):
        os.makedirs(self.node.root + "/other")
        self.write("/data/a", "1")
        self.write("/other/a", "2")
        for folder in ("/data", "/other"):  # in its token's place: that stands for a file system which is read-only
            os.mkdir(self.node.root + folder + "/.dockdist-check-ab12-node-0")
        mounts = self.facts(mounts=["/data", "/other"], token="ab12")["mounts"]
        assert mounts["/data"]["why"] == "File exists"
        assert mounts["/data"]["listing"] == mounts["/other"]["listing"]
        self.write("/other/b", "")
        self.session.stdin.close()
        self.session.wait(DEADLINE)
        for folder in ("/data", "/other"):
            os.mkdir(self.node.root + folder + "/.dockdist-check-cd34-node-0")
        mounts = self.facts(mounts=["/data", "/other"], token="cd34")["mounts"]
        assert mounts["/data"]["listing"] != mounts["/other"]["listing"]
