"""What a hostile node or engine says in place of a message: replaced, repeated, cut, out of order, too much, too large, with
escape sequences and with paths. A lie is one message's, or every message's of its kind, and is the same for the same seed."""

import copy
import itertools
import random
import time

from harness.messages import DEEP, MANY

FLOOD = 96 << 20  # bytes that an endless lie sends at most, to a reader that takes all

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\x00\r\b\x85"
NUMBERS = [0, 1, -1, -2, 255, 256, 1 << 16, (1 << 20) + 1, (1 << 31) - 1, 1 << 31, -(1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63,
           -(1 << 63), 1 << 64, -(1 << 64), 10 ** 30, 1e308, -1e308, 0.5, 1e-320, float("inf")]
PATHS = ["../../../evil", "/etc/evil", "..", ".", "", "a/../../evil", "./evil", "a//b", "x/", "~root/evil", "evil\x00.txt", "\\..\\evil", ".git/hooks/evil",
         "x?force=1", "x HTTP/1.1\r\nHost: evil\r\n\r\nDELETE /", "%2e%2e/evil", "C:evil", "-rf", "job-00000000", "n" * 300, "/" * 5000]
WORDS = ["", "a", "0", "true", "\ufeff", "\ud800", "\uffff", "x" * 70_000, "%s%n%d", "${HOME}", "$(touch evil)", "`touch evil`", "\n", "\r\n", "{}", "{0}",
         "2026-02-30T99:99:99Z", "0001-01-01T00:00:00Z", "99999-12-31T23:59:59.999999999999999999Z", "sha256:", "sha256:" + "0" * 64, "node-1", "exited",
         "Ω" * 10_000]
TYPES = [None, True, False, [], {}, [[]], [None], [{}], {"": None}, [0] * 50_000, {str(i): i for i in range(20_000)}, DEEP]


def in_time(count):
    """As range, and no longer than 5 s: a reader that is slow for what it does with a message is not one that never ends."""
    end = time.monotonic() + 5
    return itertools.takewhile(lambda _: time.monotonic() < end, range(count))


class Cut(Exception):
    """The stream ends here."""


def places(value):
    """Of every leaf and branch of a value below its root: the container and the key."""
    found = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs)[:400]:
        found.append((value, key))
        found += places(inner)
    return found


def hostile(rng, old):
    """In place of `old`."""
    pools = {"number": NUMBERS, "path": PATHS, "word": WORDS, "type": TYPES, "escapes": [ESCAPES]}
    if isinstance(old, str):
        choice = rng.choice(["path", "word", "escapes", "escapes", "added", "path", "number", "type"])
        if choice == "added":
            return old + rng.choice([ESCAPES, "/../../evil", "\n", "\x00", "x" * 5000])
    elif isinstance(old, (int, float)) and not isinstance(old, bool):
        choice = rng.choice(["number", "number", "number", "type", "word"])
    else:
        choice = rng.choice(list(pools))
    return copy.deepcopy(rng.choice(pools[choice]))


class Message:
    """One that is to be lied about: its bytes, its codec, and what else has been seen (kind → bytes) in that codec."""

    def __init__(self, rng, codec, data, seen):
        self.rng, self.codec, self.data, self.seen = rng, codec, data, seen

    def value(self):
        return copy.deepcopy(self.codec.open(self.data))


def changed(message):
    """Up to three fields are others."""
    value = message.value()
    for _ in range(message.rng.randint(1, 3)):
        if found := places(value):
            container, key = message.rng.choice(found)
            if isinstance(container, dict) and key not in container or isinstance(container, list) and key >= len(container):
                continue
            container[key] = hostile(message.rng, container[key])
    yield message.codec.close(value)


def field_missing(message):
    value = message.value()
    found = [(container, key) for container, key in places(value) if isinstance(container, dict)]
    if found:
        container, key = message.rng.choice(found)
        del container[key]
    yield message.codec.close(value)


def of_every_string(message, change):
    value = message.value()
    for container, key in places(value):
        if isinstance(container[key], str) and key not in ("kind", "type", "answer", "status", "size"):
            container[key] = change(container[key])
    yield message.codec.close(value)


def escaped(message):
    return of_every_string(message, lambda old: old + ESCAPES)


def climbing(message):
    return of_every_string(message, lambda old: message.rng.choice(PATHS))


def every_number(message):
    value = message.value()
    for container, key in places(value):
        if isinstance(container[key], int) and not isinstance(container[key], bool):
            container[key] = message.rng.choice(NUMBERS)
    yield message.codec.close(value)


def wrong_length(message):
    value = message.value()
    value["length" if "size" not in value else "size"] = message.rng.choice([0, 1, -1, 1 << 20, (1 << 20) + 1, 1 << 30, (1 << 31) - 1, (1 << 32) - 1])
    if "content" in value:  # a chunk's is text
        value["size"] = message.rng.choice(["", "0", "-1", "7fffffff", "ffffffffffffffff", "1" + "0" * 40, "zz", "5;" + "x" * 100_000, " 5"])
    yield message.codec.close(value)


def another(message):
    yield message.seen[message.rng.choice(sorted(message.seen))]


def another_first(message):
    yield message.seen[message.rng.choice(sorted(message.seen))]
    yield message.data


def repeated(message):
    for _ in range(message.rng.choice([2, 3, 1000])):
        yield message.data


def dropped(message):
    yield b""


def truncated(message):
    yield message.data[:message.rng.randrange(len(message.data) + 1)]
    raise Cut


def shortened(message):
    yield message.data[:message.rng.randrange(len(message.data) + 1)]


def flipped(message):
    data = bytearray(message.data)
    for _ in range(message.rng.randint(1, 8)):
        data[message.rng.randrange(len(data))] = message.rng.randrange(256)
    yield bytes(data)


def garbage(message):
    yield message.rng.randbytes(message.rng.choice([1, 23, 24, 4096, 1 << 20]))


def endless_message(message):
    many = message.data * max(1, (256 << 10) // max(1, len(message.data)))
    for _ in in_time(FLOOD // max(1, len(many))):
        yield many


def endless_line(message):
    piece = message.rng.choice([b"a", b'"', b"[", b"\x00", b'{"a":', b" "]) * (64 << 10)
    for _ in in_time(FLOOD // len(piece)):
        yield piece


def endless_field(message):
    """A string of 24 MiB in a message that is right for the rest."""
    value = message.value()
    found = [(container, key) for container, key in places(value) if isinstance(container[key], str)]
    if found:
        container, key = message.rng.choice(found)
        container[key] = "y" * (24 << 20)
    yield message.codec.close(value)


def many_objects(message):
    value = message.value()
    found = places(value)
    if found:
        container, key = message.rng.choice(found)
        container[key] = MANY
    yield message.codec.close(value)


def ended(message):
    yield message.data
    raise Cut


LIES = [changed, changed, changed, changed, field_missing, field_missing, escaped, escaped, climbing, every_number, every_number, wrong_length, another,
        another, another_first, repeated, dropped, truncated, shortened, flipped, garbage, endless_message, endless_line, endless_field, many_objects,
        ended]


class Truth:
    """Says nothing else, and remembers what was said: `kinds` counts the messages of each (host, channel, kind)."""

    def __init__(self):
        self.kinds, self.seen, self.told = {}, {}, 0

    def tell(self, host, channel, codec, data):
        kind = codec.kind(data)
        self.kinds[host, channel, kind] = self.kinds.get((host, channel, kind), 0) + 1
        self.seen.setdefault(type(codec).__name__, {})[kind] = data
        yield data


class Lie:
    """In place of the `nth` message of (host, channel, kind), and of all after it where it is `stubborn`."""

    def __init__(self, seed, truth, targets, changes=LIES):
        self.rng = random.Random(seed)
        self.seen = truth.seen
        self.target = self.rng.choice(targets)
        self.nth = self.rng.randrange(min(4, truth.kinds[self.target]))
        self.change = self.rng.choice(changes)
        self.stubborn = self.rng.random() < 0.4
        self.told = 0
        self.name = f"seed {seed}: {self.target[1]}, {self.target[2]} #{self.nth}{'…' * self.stubborn} of host {self.target[0]}: {self.change.__name__}"

    def tell(self, host, channel, codec, data):
        try:
            kind = codec.kind(data)
        except (ValueError, KeyError, AttributeError, IndexError):
            kind = ""
        if (host, channel, kind) != self.target:
            yield data
            return
        self.nth -= 1
        if self.nth >= 0 or (self.nth < -1 and not self.stubborn):
            yield data
            return
        self.told += 1
        yield from self.change(Message(self.rng, codec, data, self.seen.get(type(codec).__name__, {})))
        if channel.startswith("http ") or channel.endswith(": chunks"):
            raise Cut  # or the client waits out its deadline for what is missing: tests/integration/test_silence.py
