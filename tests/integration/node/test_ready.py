"""A job's service: when it counts as ready, by what its own node sees."""

import contextlib
import os
import socket

from harness.node_process import OnANode


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# Answers as each line of the answers file says, and opens its port when that is there.
SERVER = """
import os, socket, sys, time
port, answers = int(sys.argv[1]), sys.argv[2]
while not os.path.exists(answers):
    time.sleep(0.02)
with socket.create_server(("127.0.0.1", port)) as server:
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            print(connection.recv(4096).decode().split("\\r\\n")[0], flush=True)
            connection.sendall(open(answers).read().encode())
"""


class TestReady(OnANode):
    def service(self, port, probe, script=SERVER, **words):
        self.answers = self.node.root + "/answers"
        return self.node.start(["python3", "-c", script, str(port), self.answers], policy={"parts": [{"node": "n"}], "ready": probe, **words.pop("policy", {})},
                               env={}, **words)

    def says(self, text):
        with open(self.answers + ".new", "w") as file:
            file.write(text)
        os.rename(self.answers + ".new", self.answers)

    def test_it_is_ready_when_it_answers_well_and_its_summary_says_where(self):
        port = free_port()
        stream = self.service(port, f"http://:{port}/health?x=1")
        stream.until("started")
        assert "ready" not in self.node.list()[0]
        self.says("HTTP/1.1 503 Service Unavailable\r\n\r\n")
        stream.until_output(b"is answered with 503: the job is ready when it is 2xx")
        self.says("HTTP/1.1 204 No Content\r\n\r\n")
        assert stream.until("ready") == {"type": "ready", "attempt": 0, "address": f"http://127.0.0.1:{port}"}
        assert b"GET /health?x=1 HTTP/1.1\n" in stream.output()
        assert stream.output().count(b"503") == 1
        assert self.node.list()[0]["ready"] == f"http://127.0.0.1:{port}"
        self.node.stop("job-0")
        assert "ready" not in self.node.list()[0]

    def test_a_port_that_takes_connections_is_enough_for_tcp(self):
        port = free_port()
        stream = self.service(port, f"tcp://:{port}")
        self.says("")
        assert stream.until("ready")["address"] == f"tcp://127.0.0.1:{port}"
        self.node.stop("job-0")

    def test_each_attempt_is_ready_anew(self):
        port = free_port()
        stream = self.service(port, f"tcp://:{port}", script=SERVER.replace("while True:", "for _ in range(1):") + "\nsys.exit(7)",
                              stays=True, policy={"max_restarts": 1})
        self.says("x")
        assert stream.until("ready")["attempt"] == 0
        stream.until("ended")
        stream.send(type="begin", attempt=1)
        assert stream.until("ready")["attempt"] == 1
        stream.until("ended")
        stream.send(type="over")
        stream.result()

    def test_another_part_asks_nothing(self):
        port = free_port()
        stream = self.node.start(["sleep", "0.9"], part=1, policy={"parts": [{"node": "a"}, {"node": "b"}], "ready": f"tcp://:{port}"})
        with socket.create_server(("127.0.0.1", port)) as server:
            server.settimeout(0.6)
            with contextlib.suppress(TimeoutError):
                server.accept()
                raise AssertionError("somebody asks")
        stream.result()

    def test_somebody_else_s_service_on_the_port_is_no_answer_and_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            stream = self.service(port, f"tcp://:{port}")
            (failure,) = stream.result()["failures"]
            assert failure["code"] == 126
            assert failure["cause"].startswith(f"the port {port} that it wants is taken by process "), failure
