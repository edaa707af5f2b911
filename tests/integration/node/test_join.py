"""join, which an engine may start before the container's first process listens."""

import json
import os
import select
import socket

from harness.node_process import DEADLINE, OnANode


class TestJoin(OnANode):
    def test_it_waits_for_a_first_process_that_is_still_preparing(self):
        private = self.node.root + "/run/dockdist/private"
        os.makedirs(private)
        join = self.node.popen("join", json.dumps({"version": 2, "cluster": "c", "node": "node-0", "rank": 0, "address": "127.0.0.1", "slots": 1}))
        silent, _, _ = select.select([join.stdout], [], [], 0.5)  # where it gives up it does so at once, and says why
        assert not silent
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(private + "/init.sock")
            listener.listen()
            listener.settimeout(DEADLINE)
            channel, _ = listener.accept()
            with channel:
                assert json.loads(channel.recv(65536))["do"] == "status"
                channel.send(json.dumps({"ok": False, "error": {"kind": "conflict", "message": "as played"}}).encode())
        assert "as played" in join.stdout.read().decode()
