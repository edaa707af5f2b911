"""What dockdist asks of an engine and what the engine answers, as shapes: calls without their ids, the keys of queries and bodies with
the types of their values. So a recording of a real engine can be held against a stub, whatever the values are."""

import json
import re
import urllib.parse

from harness.hostile import HostilePeer, path_of
from harness.lab import ROOT

# Objects whose keys are names of somebody's own.
MAPS = {"Labels", "Attributes", "Tmpfs", "Options", "Runtimes", "LogConfig.Config", "Sysctls", "label"}
KINDS = {bool: "bool", int: "number", float: "number", str: "text", type(None): "null"}


def paths(value, at=""):
    """"HostConfig.Mounts[].Target text" and so on, of every branch and leaf."""
    if isinstance(value, dict):
        if any(at == name or at.endswith("." + name) for name in MAPS):
            return {f"{at} object"}
        found = {f"{at} object"}
        for key, inner in value.items():
            found |= paths(inner, f"{at}.{key}" if at else key)
        return found
    if isinstance(value, list):
        return {f"{at} list"}.union(*(paths(inner, at + "[]") for inner in value))
    return {f"{at} {KINDS[type(value)]}"}


def shape_of_text(text):
    """Of a body: JSON, or JSON a line, or neither."""
    try:
        return paths(json.loads(text))
    except ValueError:
        return {" text"} if text.strip() else set()


class Recorder(HostilePeer):
    """Between dockdist and one engine. What it has heard is in `calls`: call → {query, body, answers: {status: shape}}."""

    def __init__(self, number, address):
        super().__init__(number, address)
        self.lie, self.calls = self, {}

    def _channel(self, call):
        path, _, query = call.path.partition("?")
        entry = self.calls.setdefault(f"{call.method} {path_of(call)}", {"query": set(), "body": set(), "answers": {}})
        entry["query"] |= set(urllib.parse.parse_qs(query, keep_blank_values=True))
        head, _, body = call.text.partition(b"\r\n\r\n")
        if re.search(rb"(?i)content-type: application/json", head):
            entry["body"] |= shape_of_text(body)
        return super()._channel(call)

    def tell(self, _number, channel, _codec, message):
        if channel.startswith("http "):
            head, _, body = message.partition(b"\r\n\r\n")
            status = head.split(b" ", 2)[1].decode()
            self.calls[channel.removeprefix("http ")]["answers"].setdefault(status, set()).update(shape_of_text(body))
        elif channel in self.calls:  # a line of an answer that is a stream
            self.calls[channel]["answers"].setdefault("200", set()).update(shape_of_text(message))
        yield message


def merged(recorders):
    """Of all of them together, as sorted lists: what can be kept in a file."""
    whole = {}
    for recorder in recorders:
        for call, entry in recorder.calls.items():
            into = whole.setdefault(call, {"query": set(), "body": set(), "answers": {}})
            into["query"] |= entry["query"]
            into["body"] |= entry["body"]
            for status, shape in entry["answers"].items():
                into["answers"].setdefault(status, set()).update(shape)
    return {call: {"query": sorted(entry["query"]), "body": sorted(entry["body"]),
                   "answers": {status: sorted(shape) for status, shape in sorted(entry["answers"].items())}}
            for call, entry in sorted(whole.items())}


def keys_that_are_read():
    """Those that dockdist looks for in answers, from the files that do."""
    return {key for file in ("json_decode", "json_diff") for key in re.findall(r'"([A-Za-z]+)"', (ROOT / f"src/client/engine/{file}.cpp").read_text())}


def types(shape):
    found = {}
    for line in shape:
        at, _, kind = line.rpartition(" ")
        found.setdefault(at, set()).add(kind)
    return found


def differences(stub, real):
    """Where what was heard of a stub is not what is known of a real engine. Both as merged() gives them."""
    found = []
    for call in sorted(stub.keys() ^ real.keys()):
        found.append(f"{call}: only with {'the stub' if call in stub else 'the real engine'}")
    read = keys_that_are_read()
    for call in sorted(stub.keys() & real.keys()):
        ours, theirs = stub[call], real[call]
        for part in ("query", "body"):
            found += [f"{call}: {part}: {key}: only with {'the stub' if key in ours[part] else 'the real engine'}"
                      for key in sorted(set(ours[part]) ^ set(theirs[part]))]
        for status, shape in ours["answers"].items():
            if status not in theirs["answers"]:
                found.append(f"{call}: the stub answers {status}, a real engine one of {', '.join(theirs['answers'])}")
                continue
            said, known = types(shape), types(theirs["answers"][status])
            for at in sorted(said):
                if at not in known:
                    found.append(f"{call}: {status}: the stub has {at}, a real engine has not")
                elif not said[at] <= known[at] | {"null"} and known[at] != {"null"}:  # what is null has no type to differ in
                    found.append(f"{call}: {status}: {at} is {said[at]} of the stub, {known[at]} of a real engine")
            for at in sorted(known.keys() - said.keys()):
                names = re.sub(r"\[\]|^\.", "", at).split(".")
                if "[]" not in at and all(name in read for name in names):
                    found.append(f"{call}: {status}: the stub lacks {at}, which dockdist reads")
    return found
