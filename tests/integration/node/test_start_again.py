"""A job's start that is said again, because the client could not know whether it had arrived: the job runs once."""

import os

import pytest

from harness.node_process import OnANode, marked


class TestSaidAgain(OnANode):
    token = "c0ffee"

    def again(self, argv, **opening):
        """The opening and the start in one breath, as a client says them after its stream has broken."""
        stream = self.node.open(job="job-0", token=self.token, **opening)
        stream.send(argv=argv)
        return stream

    def count(self):
        return ["sh", "-c", f"echo run >>{self.node.root}/runs; echo up; read x <{self.node.root}/go; echo down; exit 3"]

    def runs(self):
        with open(self.node.root + "/runs") as runs:
            return runs.read().count("run")

    def let_go(self):
        with open(self.node.root + "/go", "w") as go:
            go.write("go\n")

    @pytest.fixture(autouse=True)
    def make_gate(self, own_node):
        os.mkfifo(self.node.root + "/go")

    def test_a_job_that_runs_is_followed_from_its_beginning(self):
        first = self.again(self.count())
        first.until_output(b"up\n")
        first.process.stdin.close()
        second = self.again(self.count())
        second.until_output(b"up\n")
        self.let_go()
        assert (second.result()["code"], second.output(), self.runs()) == (3, b"up\ndown\n", 1)

    def test_a_job_that_has_ended_is_told_whole(self):
        first = self.again(self.count())
        first.until_output(b"up\n")
        self.let_go()
        first.result()
        second = self.again(self.count())
        assert (second.result()["code"], second.output(), self.runs()) == (3, b"up\ndown\n", 1)

    def test_an_order_behind_it_reaches_the_job(self):
        first = self.again(["sh", "-c", "echo up; exec sleep 1000"])
        first.until_output(b"up\n")
        second = self.node.open(job="job-0", token=self.token)
        second.send(argv=["true"])
        second.send(type="stop", grace_ms=5000)
        result = second.result()
        assert (result["stopped"], result["reason"], marked("job-0")) == (True, "stop", [])

    def test_another_start_of_that_name_is_refused(self):
        first = self.again(self.count())
        first.until_output(b"up\n")
        for token in ("", "another"):
            event = self.node.open(job="job-0", token=token).until("error")
            assert (event["kind"], event["message"]) == ("conflict", "a job job-0 was started on this node before")
        self.let_go()
        first.result()

    def test_it_gets_the_ports_that_it_had_and_no_others(self):
        first = self.node.open(job="job-0", token=self.token, ports=2)
        ports = first.until("prepared")["ports"]
        taken = self.node.open(job="job-0", token=self.token, same_ports=ports).until("error")
        assert taken["kind"] == "conflict"
        assert f"TCP port {ports[0]}" in taken["message"]
        first.process.stdin.close()
        first.process.wait()
        assert self.node.open(job="job-0", token=self.token, same_ports=ports).until("prepared")["ports"] == ports
