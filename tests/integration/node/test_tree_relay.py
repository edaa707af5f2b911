"""Relays that carry the files of a tree, on loopback: a chain of the real program, with the client played by this file."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import threading

from harness import eventually
from harness.cleanup import WithCleanup
from harness.relay_process import PROGRAM, RelayProcess


def write(folder, tree):
    for name, data in tree.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, ns=(0, 1_600_000_000_000_000_007))


class Relay(RelayProcess):
    """One host: its relay, and the client's half of the talk with it."""

    def __init__(self, place, origin=False):
        self.place, self.origin = place, origin
        super().__init__()
        self.data = pathlib.Path(self.root, "data")
        self.data.mkdir()
        self.heard, self.ended = [], threading.Event()

    def start(self):
        self.begin({"tree": True, "origin": self.origin})
        assert self.listening["engine_port"] == 0  # there is no engine's door

    def words(self, kind):
        return [message for message in self.heard if message["type"] == kind]

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


class Transfer(WithCleanup):
    def begin(self, relays, tree, lie=None):
        """`tree` goes to all relays but an origin; `lie` is told as the digest of the file of that number."""
        self.relays, self.tree, self.lie = relays, list(tree.items()), lie
        for relay in relays:
            relay.start()
            self.cleanup.callback(relay.end)
        files = [{"number": i, "name": name, "size": len(data), "mode": 0o640, "time_ns": 1_600_000_000_000_000_007}
                 for i, (name, data) in enumerate(self.tree)]
        for i, relay in enumerate(relays):
            relay.peers(i, relays)
            relay.say({"files": files[:1], "last": False})
            relay.say({"files": files[1:], "last": True})
        for relay in relays:  # only now: digests come behind each one's list
            threading.Thread(target=self.serve, args=(relay,), daemon=True).start()

    def serve(self, relay):
        for line in relay.process.stdout:
            message = json.loads(line)
            relay.heard.append(message)
            with contextlib.suppress(OSError, ValueError):
                if message["type"] == "digest":
                    self.tell(message["of"], message["digest"])
                elif message["type"] == "want":
                    self.give(relay, message)
        relay.ended.set()

    def tell(self, number, digest):
        for relay in self.relays:
            if not relay.origin:
                with contextlib.suppress(OSError, ValueError):
                    relay.say({"of": number, "digest": "sha256:" + "0" * 64 if number == self.lie else digest})

    def give(self, relay, want):
        for number in range(want["first"], want["first"] + want["count"]):
            data = self.tree[number][1]
            if self.relays[0].origin or not data:
                relay.say({"file": number, "length": 0})
                continue
            self.tell(number, "sha256:" + hashlib.sha256(data).hexdigest())
            rest = data[want["offset"] if number == want["first"] else 0:]
            for begin in range(0, len(rest), 1 << 18):
                piece = rest[begin:begin + (1 << 18)]
                relay.say({"file": number, "length": len(piece)}, piece)

    def wait(self, *relays):
        for relay in relays:
            eventually(lambda relay=relay: relay.words("done"), f"the end of relay {relay.place}")

    def relays_of(self, count, origin):
        made = [Relay(i, origin=origin and i == 0) for i in range(count)]
        for relay in made:
            self.cleanup.callback(relay.remove)
        return made

    def assert_same(self, *relays):
        for relay in relays:
            there = {str(path.relative_to(relay.data)): path.read_bytes() for path in relay.data.rglob("*") if path.is_file()}
            assert {name: len(data) for name, data in there.items()} == {name: len(data) for name, data in self.tree}
            assert there == dict(self.tree)
            for path in relay.data.rglob("*"):
                if path.is_file():
                    assert (path.stat().st_mode & 0o7777, path.stat().st_mtime_ns) == (0o640, 1_600_000_000_000_000_007)


TREE = {"empty": b"", **{f"small/{i:03}": os.urandom(100 + i) for i in range(150)}, "weights": os.urandom((9 << 20) + 7)}


class TestTreeRelay(Transfer):
    def test_files_go_from_their_host_down_the_chain(self):
        origin, first, second, third = relays = self.relays_of(4, origin=True)
        write(origin.data, TREE)
        for relay in relays[1:]:
            (relay.data / "small").mkdir()
        self.begin(relays, TREE)
        self.wait(first, second, third)
        self.assert_same(first, second, third)
        assert [relay.words("want") + relay.words("lost") for relay in relays] == [[]] * 4
        assert third.words("progress")[-1]["bytes"] == sum(map(len, TREE.values()))
        assert len(origin.words("digest")) == len(TREE) - 1  # each once, for all, but the empty one

    def test_files_go_from_the_client_to_the_first_and_from_there_to_the_others(self):
        first, second = relays = self.relays_of(2, origin=False)
        for relay in relays:
            (relay.data / "small").mkdir()
        self.begin(relays, TREE)
        self.wait(first, second)
        self.assert_same(first, second)
        assert second.words("want") == []
        wanted = sorted(n for want in first.words("want") for n in range(want["first"], want["first"] + want["count"]))
        assert wanted == list(range(1, len(TREE))), "each once"

    def test_a_transfer_that_was_cut_goes_on_where_it_was_and_damage_is_found(self):
        origin, first, second = relays = self.relays_of(3, origin=True)
        tree = {"whole": os.urandom(12 << 20), "damaged": os.urandom(1 << 20)}
        write(origin.data, tree)
        self.begin(relays, tree)
        self.wait(first, second)
        for relay in relays:
            relay.end()
        # As a cut leaves it: beside the place, under the same name as before.
        begun = {}
        for name, keep in (("whole", 5 << 20), ("damaged", 1 << 19)):
            (first.data / name).unlink()
            self.begin_alone(name, keep, tree, first, begun)
        with (first.data / begun["damaged"]).open("r+b") as file:
            file.write(b"damage")
        again = [Relay(0, origin=True), Relay(1)]
        for relay, old in zip(again, (origin, first)):
            relay.root, relay.data = old.root, old.data
        self.begin(again, tree)
        self.wait(again[1])
        self.assert_same(again[1])
        assert again[1].words("lost") == []

    def begin_alone(self, name, keep, tree, host, begun):
        """What a relay that is ended in the middle of the file leaves of it."""
        lone = Relay(0)
        lone.root, lone.data = host.root, host.data
        lone.start()
        number = list(tree).index(name)
        lone.say({"upstreams": [], "downstreams": []})
        lone.say({"files": [{"number": number, "name": name, "size": len(tree[name]), "mode": 0o640,
                             "time_ns": 1_600_000_000_000_000_007}], "last": True})
        want = json.loads(lone.process.stdout.readline())
        assert (want["type"], want["first"], want["offset"]) == ("want", number, 0)
        lone.say({"file": number, "length": keep}, tree[name][:keep])
        eventually(lambda: any(path.name.startswith(".dockdist-data-") and path.stat().st_size == keep for path in host.data.iterdir()),
                   f"{keep} bytes of {name}")
        (begun[name],) = (path.name for path in host.data.iterdir()
                          if path.name.startswith(".dockdist-data-") and path.name not in begun.values())
        lone.end()

    def test_what_is_not_as_the_client_says_takes_no_name(self):
        origin, first, second = relays = self.relays_of(3, origin=True)
        tree = {"good": os.urandom(1000), "other": os.urandom(3000)}
        write(origin.data, tree)
        write(second.data, {"other": b"what was there"})
        self.begin(relays, tree, lie=1)
        self.wait(first, second)
        assert (first.data / "good").read_bytes() == tree["good"] and not (first.data / "other").exists()
        assert (second.data / "other").read_bytes() == b"what was there"
        assert [message["file"] for message in first.words("lost")] == [1]

    def test_a_file_that_changes_where_it_comes_from_is_given_up(self):
        origin, first = relays = self.relays_of(2, origin=True)
        tree = {"a": os.urandom(1000), "b": os.urandom(1000), "c": os.urandom(1000)}
        write(origin.data, {**tree, "b": b"longer or shorter"})
        self.begin(relays, tree)
        self.wait(first)
        assert sorted(path.name for path in first.data.iterdir() if not path.name.startswith(".dockdist-data-")) == ["a", "c"]
        assert [message["file"] for message in first.words("lost")] == [1]

    def test_it_ends_when_the_client_does_and_tells_whose_the_folder_is(self):
        (relay,) = relays = self.relays_of(1, origin=False)
        owner = subprocess.run([PROGRAM, "relay", "owner"], env={**os.environ, "DOCKDIST_TEST_ROOT": relay.root}, capture_output=True, text=True)
        assert owner.stdout == f"{os.getuid()}:{os.getgid()}\n"
        self.begin(relays, {"x": b""})
        self.wait(relay)
        relay.process.stdin.close()
        assert relay.process.wait(20) == 0
