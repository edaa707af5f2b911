"""The join that PID 1 begins itself: the client asks for it on the container's own stdin, and reads the answers in its log."""

import json
import subprocess

import pytest

from harness.cleanup import WithCleanup
from harness.namespaces import ADDRESS, BUSYBOX, NEEDED, Host, Join, Node, members_list, notice_of, wait_for

pytestmark = NEEDED


class TestFirstJoin(WithCleanup):
    @pytest.fixture(autouse=True)
    def one_node(self, ending):
        host = Host()
        self.cleanup.callback(host.end)
        self.node = Node(host, "node-0", busybox=BUSYBOX, stdin=subprocess.PIPE)
        self.cleanup.callback(self.node.end)
        self.tell(json.dumps({"version": 2, "cluster": "test", "node": "node-0", "rank": 0, "address": ADDRESS}))
        wait_for("its hello", lambda: self.said()["type"] == "hello")
        self.record = self.said()

    def tell(self, line):
        self.node.process.stdin.write(line.encode() + b"\n")
        self.node.process.stdin.flush()

    def said(self):
        whole, _, _ = self.node.log().rpartition(b"\n")
        return json.loads(whole.splitlines()[-1])

    def joins(self):
        return "join --first" in self.node.processes()

    def test_it_is_ready_when_it_has_the_list(self):
        text = members_list([self.record])
        self.tell(notice_of(text))
        self.tell(text)
        wait_for("its own line", lambda: self.said()["type"] == "ready")
        assert self.said()["node"] == "node-0" and self.said()["members_hash"]
        wait_for("its end", lambda: not self.joins())
        assert len(self.node.log_lines()) == 3  # the one line says ready, not the join besides

    def test_one_whose_client_is_gone_says_nothing_more(self):
        self.node.process.stdin.close()
        wait_for("its end", lambda: not self.joins())
        assert self.said() == self.record

    def test_it_makes_way_for_another_join(self):
        other = Join(self.node, 0)
        self.cleanup.callback(other.end)
        record = other.line()
        assert (record["type"], record["host_key"], record["ssh_port"]) == ("hello", self.record["host_key"], self.record["ssh_port"])
        wait_for("the first one's end", lambda: not self.joins())
        other.send([record])
        assert other.line() == {"type": "ready"}
        assert self.said()["type"] == "ready"
