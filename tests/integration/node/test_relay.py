"""Image relays on loopback: a chain of the real program, with engines played by urllib and the client by this file."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from harness import eventually
from harness.cleanup import WithCleanup
from harness.relay_process import RelayProcess

PIECE = 256 * 1024


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Relay(RelayProcess):
    def __init__(self, blobs, disk=None, files=None):
        self.blobs, self.wants, self.gate, self.damage = blobs, [], None, False
        super().__init__()
        self.disk = self.root + "/blobs" if disk else None
        if disk:
            os.mkdir(self.disk)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk}", "tmpfs", self.disk], check=True)
        self.begin({"token": "t0ken", "most_ahead": 64 << 20},
                   preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))
        self.client = threading.Thread(target=self.serve, daemon=True)
        self.client.start()

    def image(self):
        self.say({"manifest": '{"schemaVersion":2}', "media_type": "application/x",
                  "blobs": [{"digest": digest, "size": len(data), "file": i} for i, (digest, data) in enumerate(self.blobs.items())]})

    def ahead(self, file, data):
        for begin in range(0, len(data), PIECE):
            piece = data[begin:begin + PIECE]
            self.say({"file": file, "length": len(piece)}, piece)

    def serve(self):
        """The client's part: gives what the relay wants; with a gate, a piece only when the gate is passed."""
        for line in self.process.stdout:
            wanted = json.loads(line)
            self.wants.append(wanted["digest"])
            data = self.blobs[wanted["digest"]][wanted["offset"]:]
            with contextlib.suppress(OSError, ValueError):
                for begin in range(0, len(data), PIECE):
                    if self.gate:
                        self.gate.acquire()
                    piece = data[begin:begin + PIECE]
                    piece = bytes(len(piece)) if self.damage else piece
                    self.say({"digest": wanted["digest"], "length": len(piece)}, piece)

    def open(self, path, token="t0ken", port="engine_port"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.listening[port]}{path}")
        if token:
            request.add_header("Authorization", "Basic " + base64.b64encode(f"dockdist:{token}".encode()).decode())
        return urllib.request.urlopen(request, timeout=30)

    def blob(self, digest):
        with self.open(f"/v2/dockdist/image/blobs/{digest}") as answer:
            return answer.read()

    def end(self):
        super().end()
        if self.disk:
            subprocess.run(["umount", self.disk], check=True)
        shutil.rmtree(self.root, ignore_errors=True)


def connect(address):
    host, port = address.split()
    return socket.create_connection((host, int(port)), timeout=30)


def read_all(connection):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            data += piece
    return data


class Wire:
    """Stands between two relays and writes down what each connection carries, there and back."""

    def __init__(self, to):
        self.to, self.there, self.back = to, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1 {self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                front, _ = self.listener.accept()
                back = connect(self.to)
                for record, source, sink in ((self.there, front, back), (self.back, back, front)):
                    record.append(b"")
                    threading.Thread(target=self.carry, args=(record, len(record) - 1, source, sink), daemon=True).start()

    def carry(self, record, place, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                record[place] += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class TestImageRelay(WithCleanup):
    def relays(self, count, *contents, disk=None, files=None, known=True):
        self.data = contents
        self.digests = [digest_of(data) for data in contents]
        made = [Relay(dict(zip(self.digests, contents)), disk, files) for _ in range(count)]
        for relay in made:
            self.cleanup.callback(relay.end)
        for i, relay in enumerate(made):
            relay.peers(i, made)
            if known:
                relay.image()
        return made

    def wait_ahead(self, relay, count):
        """Until so many bytes have come to the relay ahead, and lie on its disk."""
        eventually(lambda: sum(file.stat().st_size for file in pathlib.Path(relay.root, "blobs").glob("ahead-*")) == count,
                   f"{count} bytes that came ahead")

    def test_what_comes_before_the_image_is_known_goes_down_the_chain_and_is_asked_of_nobody(self):
        first, second, third = relays = self.relays(3, os.urandom(5 << 20), os.urandom(PIECE), known=False)
        first.ahead(0, self.data[0])
        first.ahead(1, self.data[1][:1000])  # then the image is known
        self.wait_ahead(third, len(self.data[0]) + 1000)
        seen = []
        asking = [threading.Thread(target=lambda relay=relay: seen.append([relay.blob(digest) for digest in self.digests]))
                  for relay in relays]
        for thread in asking:
            thread.start()  # who asks too early waits
        for relay in (second, third, first):
            relay.image()
        for thread in asking:
            thread.join(30)
        assert seen == [list(self.data)] * 3
        assert [relay.wants for relay in relays] == [[self.digests[1]], [], []]

    def test_what_came_ahead_and_is_damaged_is_fetched_anew(self):
        first, second = self.relays(2, os.urandom(2 * PIECE), known=False)
        first.ahead(0, bytes(2 * PIECE))
        self.wait_ahead(second, 2 * PIECE)
        for relay in (first, second):
            relay.image()
            assert relay.blob(self.digests[0]) == self.data[0]
        assert [first.wants, second.wants] == [self.digests, []]

    def test_blobs_go_down_the_chain_and_are_asked_of_the_client_once(self):
        relays = self.relays(4, os.urandom(5 << 20), os.urandom(300))
        for relay in reversed(relays):
            assert [relay.blob(digest) for digest in self.digests] == list(self.data)
        assert [sorted(relay.wants) for relay in relays] == [sorted(self.digests), [], [], []]

    def test_what_no_engine_asks_for_is_fetched_from_nowhere(self):
        first, second = self.relays(2, os.urandom(1000), os.urandom(2000))
        second.blob(self.digests[0])
        assert first.wants == [self.digests[0]]

    def test_a_relay_that_dies_in_the_middle_is_passed_over(self):
        first, second, third = self.relays(3, os.urandom(8 * PIECE))
        first.gate = threading.Semaphore(2)
        with third.open(f"/v2/dockdist/image/blobs/{self.digests[0]}") as answer:
            begin = answer.read(PIECE)  # it is under way through the second
            second.process.kill()
            first.gate.release(100)
            assert begin + answer.read() == self.data[0]
        assert (len(first.wants), third.wants) == (1, [])

    def test_without_any_relay_before_it_the_client_is_asked_where_it_stopped(self):
        first, second = self.relays(2, os.urandom(8 * PIECE))
        first.gate = threading.Semaphore(2)
        with second.open(f"/v2/dockdist/image/blobs/{self.digests[0]}") as answer:
            begin = answer.read(PIECE)
            first.process.kill()
            assert begin + answer.read() == self.data[0]
        assert second.wants == self.digests

    def test_damaged_bytes_are_passed_to_nobody_as_whole(self):
        (relay,) = self.relays(1, os.urandom(4 * PIECE))
        relay.damage = True
        with pytest.raises(http.client.IncompleteRead):
            relay.blob(self.digests[0])
        with pytest.raises((http.client.HTTPException, OSError)):
            relay.blob(self.digests[0])  # nor later

    @pytest.mark.skipif(not (os.geteuid() == 0), reason="mounts a small file system")
    def test_a_full_disk_is_told(self):
        (relay,) = self.relays(1, os.urandom(4 * PIECE), disk="128k")
        with pytest.raises(http.client.IncompleteRead):
            relay.blob(self.digests[0])
        assert relay.process.stderr.readline() == b"keep what came: No space left on device\n"

    def test_the_engines_port_asks_for_the_login(self):
        (relay,) = self.relays(1, b"x")
        for token in (None, "other", "t0ke", "t0kenn"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                relay.open(f"/v2/dockdist/image/blobs/{self.digests[0]}", token)
            assert refused.value.code == 401
        with pytest.raises((http.client.HTTPException, OSError)):
            relay.open(f"/v2/dockdist/image/blobs/{self.digests[0]}", port="peer_port")  # no engine, whatever it says
        assert relay.open("/v2/").read() == b"{}"
        with relay.open("/v2/dockdist/image/manifests/sha256:00") as answer:
            assert (answer.read(), answer.headers["Content-Type"]) == (b'{"schemaVersion":2}', "application/x")
        for path in ("/v2/x/blobs/sha256:00", "/v2/x/blobs/../../etc/passwd", "/etc/passwd"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                relay.open(path)
            assert refused.value.code == 404

    def test_it_ends_when_the_client_does(self):
        (relay,) = self.relays(1, b"x")
        relay.process.stdin.close()
        assert relay.process.wait(20) == 0

    def test_between_relays_nothing_is_readable_and_nothing_recorded_is_of_use(self):
        image = b"an image that nobody else may see " * 40000
        first, second = [Relay({digest_of(image): image}) for _ in range(2)]
        for relay in (first, second):
            self.cleanup.callback(relay.end)
        self.data, self.digests = [image], [digest_of(image)]
        first.peers(0, [first, second])
        with Wire(first.address) as wire:
            second.peers(1, [first, second], front=wire.address)
            for relay in (first, second):
                relay.image()
            assert second.blob(self.digests[0]) == image
            assert (first.wants, second.wants) == (self.digests, [])
        assert len(wire.there) > 1 and sum(map(len, wire.back)) > len(image)
        for said in (*wire.there, *wire.back):
            assert b"nobody else" not in said and b"t0ken" not in said and b"sha256:" not in said
        for said in wire.there:
            with connect(first.address) as connection:
                connection.sendall(said)
                connection.settimeout(30)
                assert len(read_all(connection)) == 32  # as long as what it says to anybody who has the number of a pair

    @pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2048, reason="opens 1,200 connections")
    def test_idle_connections_keep_neither_the_engine_nor_the_next_relay_out(self):
        first, second = self.relays(2, os.urandom(5 << 20), os.urandom(300), files=256)
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
        self.cleanup.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for relay in (first, second):
            for port in ("engine_port", "peer_port"):
                for _ in range(300):
                    self.cleanup.enter_context(connect(f"127.0.0.1 {relay.listening[port]}"))
        for relay in (second, first):
            assert [relay.blob(digest) for digest in self.digests] == list(self.data)
        assert (sorted(first.wants), second.wants) == (sorted(self.digests), [])
