"""dockdist-init tunnel: the node's end of forwarded connections, against a client that is played here."""

import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import time

from harness.node_process import DEADLINE, PROGRAM, OnANode
from harness.patience import patient
from harness.waiting import eventually

NEVER = 3_600_000  # a lease
WINDOW = 128 << 10  # of a channel at first


def frame(kind, channel=0, payload=b""):
    return struct.pack("<BII", ord(kind), channel, len(payload)) + payload


class Tunnel:
    def __init__(self, node, lease_ms=NEVER, **environment):
        self.process = subprocess.Popen([PROGRAM, "tunnel", json.dumps({"lease_ms": lease_ms})], env={**node.environment, **environment},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.buffer = b""
        assert self.next() == ("H", 0, b"")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait(DEADLINE)

    def send(self, kind, channel=0, payload=b""):
        self.process.stdin.write(frame(kind, channel, payload))

    def open(self, channel, port, host=""):
        self.send("O", channel, json.dumps({"host": host, "port": port}).encode())

    def next(self):
        """(kind, channel, payload) of the next frame; nothing at the end."""
        deadline = time.monotonic() + DEADLINE
        while True:
            if len(self.buffer) >= 9:
                kind, channel, length = struct.unpack("<BII", self.buffer[:9])
                if len(self.buffer) >= 9 + length:
                    payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
                    return chr(kind), channel, payload
            readable, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            assert readable, f"no frame; {self.buffer[:80]!r}"
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return None
            self.buffer += piece

    def data(self, channel, size):
        """So many bytes of a channel, windows left out."""
        data = b""
        while len(data) < size:
            kind, of, payload = self.next()
            assert (kind, of) in (("D", channel), ("W", channel)), (kind, of, payload[:80])
            data += payload if kind == "D" else b""
        return data


def children_of(pid):
    """Those that have ended and were not waited for among them."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout.split()
    return [child for child, parent in zip(listed[::2], listed[1::2]) if parent == str(pid)]


class TestTunnel(OnANode):
    def listener(self):
        made = socket.create_server(("127.0.0.1", 0))
        made.settimeout(DEADLINE)
        return made, made.getsockname()[1]

    def test_a_connection_speaks_both_ways_and_each_way_ends_by_itself(self):
        listener, port = self.listener()
        with listener, Tunnel(self.node) as tunnel:
            tunnel.open(1, port)
            peer, _ = listener.accept()
            peer.settimeout(DEADLINE)
            assert tunnel.next() == ("A", 1, b"")
            tunnel.send("D", 1, b"request")
            tunnel.send("E", 1)
            assert peer.makefile("rb").read() == b"request"
            peer.sendall(b"answer")
            assert tunnel.next() == ("D", 1, b"answer")
            peer.close()
            assert tunnel.next() == ("E", 1, b"")

    def test_why_there_is_no_connection_is_told_for_each(self):
        listener, port = self.listener()
        listener.close()
        with Tunnel(self.node) as tunnel:
            for channel, host, wanted in [(1, "", "refused"), (2, "127.0.0.1", "refused"), (3, "no-such-host.invalid", "unknown_name"), (4, "-x", "unknown_name")]:
                tunnel.open(channel, port, host)
                kind, of, payload = tunnel.next()
                assert (kind, of) == ("F", channel)
                assert json.loads(payload)["kind"] == wanted, payload

    def test_a_name_is_what_the_image_takes_it_for(self):
        listener, port = self.listener()
        programs = pathlib.Path(self.node.root, "programs")
        programs.mkdir()

        def answer(host):
            with Tunnel(self.node, PATH=str(programs)) as tunnel:
                tunnel.open(1, port, host)
                kind, _, payload = tunnel.next()
                return kind, json.loads(payload)["message"] if kind == "F" else ""

        with listener:
            # An image without getent: its /etc/hosts, and what is no name.
            pathlib.Path(self.node.root, "etc/hosts").write_text("127.0.0.2 in-the-file\n127.0.0.1 in-the-file\n")
            assert answer("in-the-file") == answer("localhost") == answer("127.0.0.1") == ("A", "")
            kind, message = answer("of-dns")
            assert kind == "F" and "the image has no getent" in message and "write its address" in message
            # musl's knows no options, and every word behind the first is a name.
            getent = programs / "getent"
            getent.write_text('#!/bin/sh\n[ "$#:$1:$2" = 2:ahosts:of-dns ] || exit 2\necho "127.0.0.1       STREAM of-dns"\necho "127.0.0.1       DGRAM"\n')
            getent.chmod(0o755)
            assert answer("of-dns") == ("A", "")
            assert answer("another") == ("F", "no address is known")
            assert answer("-x") == ("F", "it begins with a dash")
            # One that hangs is ended with its connection, and leaves nothing.
            getent.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
            with Tunnel(self.node, PATH=str(programs)) as tunnel:
                tunnel.open(1, port, "of-dns")
                eventually(lambda: children_of(tunnel.process.pid), "the look-up")
                tunnel.send("R", 1)
                eventually(lambda: not children_of(tunnel.process.pid), "the end of the look-up")

    def test_who_reads_nothing_gets_a_window_and_holds_up_no_other(self):
        listener, port = self.listener()
        with listener, Tunnel(self.node) as tunnel:
            tunnel.open(1, port)
            slow, _ = listener.accept()
            assert tunnel.next() == ("A", 1, b"")
            tunnel.open(2, port)
            other, _ = listener.accept()
            assert tunnel.next() == ("A", 2, b"")
            slow.setblocking(False)
            sent = 0
            try:  # until the kernel takes no more: this client opens no window
                while True:
                    sent += slow.send(bytes(1 << 20))
            except BlockingIOError:
                pass
            assert sent > WINDOW
            assert len(tunnel.data(1, WINDOW)) == WINDOW
            other.sendall(b"there")
            assert tunnel.next() == ("D", 2, b"there")
            tunnel.send("W", 1, struct.pack("<I", 10))
            assert tunnel.next() == ("D", 1, bytes(10))

    def test_a_connection_that_is_reset_is_reset_on_the_other_side(self):
        listener, port = self.listener()
        with listener, Tunnel(self.node) as tunnel:
            for channel in (1, 2):
                tunnel.open(channel, port)
                peer, _ = listener.accept()
                peer.settimeout(DEADLINE)
                assert tunnel.next() == ("A", channel, b"")
                if channel == 1:
                    tunnel.send("R", 1)
                    try:
                        assert peer.recv(1) != b"", "it ended as in order"
                    except ConnectionResetError:
                        pass
                else:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    peer.close()
                    assert tunnel.next() == ("R", 2, b"")

    def test_it_ends_with_its_client_and_so_do_the_connections(self):
        listener, port = self.listener()
        with listener:
            for lease_ms, end in [(NEVER, lambda tunnel: tunnel.process.stdin.close()), (700, lambda tunnel: None), (NEVER, lambda tunnel: tunnel.process.kill())]:
                with Tunnel(self.node, lease_ms) as tunnel:
                    tunnel.open(1, port)
                    peer, _ = listener.accept()
                    peer.settimeout(DEADLINE)
                    assert tunnel.next() == ("A", 1, b"")
                    tunnel.open(2, port)
                    whole, _ = listener.accept()
                    whole.settimeout(DEADLINE)
                    assert tunnel.next() == ("A", 2, b"")
                    for channel in (1, 2):
                        tunnel.send("D", channel, b"bytes")
                    tunnel.send("E", 2)
                    assert whole.makefile("rb").read() == b"bytes"
                    assert peer.recv(5) == b"bytes"
                    end(tunnel)
                    try:  # a part is no whole
                        raise AssertionError(f"it ended as in order: {peer.recv(1)!r}")
                    except ConnectionResetError:
                        pass
                    assert tunnel.process.wait(DEADLINE) in (0, -9)

    def test_pings_hold_the_lease_and_are_answered(self):
        lease = patient(0.5)
        with Tunnel(self.node, int(lease * 1000)) as tunnel:
            begin = time.monotonic()
            while time.monotonic() - begin < 1.5 * lease:
                tunnel.send("P")
                assert tunnel.next() == ("P", 0, b"")
                assert not select.select([tunnel.process.stdout], [], [], 0.2)[0]
            assert tunnel.process.poll() is None

    def test_what_is_no_frame_ends_it_with_words(self):
        for bytes_ in (b"GET / HTTP/1.0\r\n\r\n", frame("D", 1, b"x"), frame("H"), frame("O", 2, b"{}"), frame("O", 1, b"no json")):
            with Tunnel(self.node) as tunnel:
                tunnel.process.stdin.write(bytes_)
                assert tunnel.process.wait(DEADLINE) == 1
                assert b"tunnel" in tunnel.process.stderr.read()
        done = subprocess.run([PROGRAM, "tunnel", "{}"], env=self.node.environment, capture_output=True, timeout=DEADLINE)
        assert done.returncode == 2
