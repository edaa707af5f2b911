"""A relay on loopback: the real program, with its client and the chain's other relays played by whoever starts it."""

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile

PROGRAM = os.environ.get("DOCKDIST_INIT_UNDER_TEST", "dockdist-init-under-test")


def key_of(asking, asked):
    """Of two relays, by their places in the chain."""
    return hashlib.sha256(f"{asking} asks {asked}".encode()).hexdigest()


class RelayProcess:
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="dockdist-relay-")

    def begin(self, opening, **how):
        self.process = subprocess.Popen([PROGRAM, "relay"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "DOCKDIST_TEST_ROOT": self.root}, **how)
        self.say({"address": "127.0.0.1", **opening})
        self.listening = json.loads(self.process.stdout.readline())

    @property
    def address(self):
        return f"{self.listening['address']} {self.listening['peer_port']}"

    def say(self, line, data=b""):
        self.process.stdin.write(json.dumps(line).encode() + b"\n" + data)
        self.process.stdin.flush()

    def peers(self, place, chain, front=None):
        """`front` stands before the nearest relay."""
        upstreams = [{"asking": place, "key": key_of(place, i), "address": chain[i].address} for i in reversed(range(place))]
        if front:
            upstreams[0]["address"] = front
        downstreams = [{"asking": i, "key": key_of(i, place)} for i in range(place + 1, len(chain))]
        self.say({"upstreams": upstreams, "downstreams": downstreams})

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr, self.process.stdin):
            with contextlib.suppress(OSError):
                stream.close()
