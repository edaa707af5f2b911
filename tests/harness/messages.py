"""The messages in what an engine sends: one codec for each framing, which finds them in bytes, opens one as a value of dicts,
lists, numbers and strings, and makes bytes of a value again, whatever has become of it. Texts that need not be UTF-8 are
latin-1 there. The framings are described in src/shared/wire and in the Engine API."""

import json
import re
import struct

DEEP = "@deep@"  # in a value: 100,000 arrays in each other, which no JSON library writes
NESTED = b"[" * 100_000
MANY = "@many@"  # four million objects, each of which takes far more memory than its text
OBJECTS = b"[" + b"{}," * (4 << 20) + b"{}]"


def to_json(value):
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return text.replace(b'"' + DEEP.encode() + b'"', NESTED).replace(b'"' + MANY.encode() + b'"', OBJECTS)


def packed(layout, *fields):
    """As struct.pack, but numbers too large are cut, and what is no number is 0."""
    sizes = {"B": 8, "H": 16, "I": 32, "i": 32, "Q": 64, "q": 64}
    whole = []
    for kind, field in zip(layout.lstrip("<>"), fields, strict=True):
        number = int(field) & ((1 << sizes[kind]) - 1) if isinstance(field, (int, bool)) else 0
        whole.append(number - (1 << sizes[kind]) if kind in "iq" and number >> (sizes[kind] - 1) else number)
    return struct.pack(layout, *whole)


def latin(text):
    """Bytes of a field that a lie may have made anything."""
    if isinstance(text, str):
        return text.encode("latin-1", "ignore") if all(ord(c) < 256 for c in text) else text.encode("utf-8", "surrogatepass")
    return to_json(text)


def by_length(buffer, head, length_of):
    """The messages that begin with their length: `length_of` the first `head` bytes of one is its whole length. And the rest."""
    found = []
    while len(buffer) >= head and len(buffer) >= (end := length_of(buffer)):
        found.append(buffer[:end])
        buffer = buffer[end:]
    return found, buffer


class Whole:
    """Bytes as they come."""

    def split(self, buffer):
        return ([buffer], b"") if buffer else ([], b"")

    def kind(self, message):
        return "bytes"

    def open(self, message):
        return {"bytes": message.decode("latin-1")}

    def close(self, value):
        return latin(value["bytes"]) if isinstance(value, dict) and "bytes" in value else to_json(value)


class Lines(Whole):
    """JSON objects, one a line; other lines too."""

    def split(self, buffer):
        *lines, rest = buffer.split(b"\n")
        return [line + b"\n" for line in lines], rest

    def kind(self, message):
        value = self.open(message)
        for key in ("type", "answer", "probe", "stream", "status", "job"):
            if isinstance(value, dict) and key in value:
                return f"{key} {value[key]}" if key in ("type", "answer") else key
        return "line"

    def open(self, message):
        try:
            return json.loads(message)
        except ValueError:
            return {"bytes": message.decode("latin-1")}

    def close(self, value):
        return super().close(value) + (b"" if isinstance(value, dict) and "bytes" in value else b"\n")


class JobFrames(Whole):
    """src/shared/wire/frame.hpp"""

    layout = "<BBHiIIQ"

    def split(self, buffer):
        return by_length(buffer, 24, lambda buffer: 24 + struct.unpack_from("<I", buffer, 8)[0])

    def kind(self, message):
        value = self.open(message)
        return {"O": "output", "P": "pong"}.get(value["kind"]) or "control " + str(value["payload"].get("type"))

    def open(self, message):
        kind, stream, high, rank, _, low, position = struct.unpack_from(self.layout, message)
        payload = message[24:]
        return {"kind": chr(kind), "stream": stream, "rank": rank, "time": high << 32 | low, "position": position,
                "payload": json.loads(payload) if kind == ord("C") else payload.decode("latin-1")}

    def close(self, value):
        payload = value.get("payload", "")
        payload = latin(payload) if isinstance(payload, str) and payload not in (DEEP, MANY) else to_json(payload)
        time = value.get("time", 0) if isinstance(value.get("time", 0), int) else 0
        kind = latin(value.get("kind", "C"))[:1] or b"\0"
        return packed(self.layout, kind[0], value.get("stream", 0), time >> 32, value.get("rank", -1), value.get("length", len(payload)),
                      time & 0xFFFFFFFF, value.get("position", 0)) + payload


class TunnelFrames(Whole):
    """src/shared/wire/tunnel.hpp"""

    layout = "<BII"

    def split(self, buffer):
        return by_length(buffer, 9, lambda buffer: 9 + struct.unpack_from("<I", buffer, 5)[0])

    def kind(self, message):
        return "tunnel " + chr(message[0])

    def open(self, message):
        kind, channel, _ = struct.unpack_from(self.layout, message)
        payload = message[9:]
        return {"kind": chr(kind), "channel": channel, "payload": json.loads(payload) if kind == ord("F") else payload.decode("latin-1")}

    def close(self, value):
        payload = value.get("payload", "")
        payload = latin(payload) if isinstance(payload, str) and payload not in (DEEP, MANY) else to_json(payload)
        kind = latin(value.get("kind", "D"))[:1] or b"\0"
        return packed(self.layout, kind[0], value.get("channel", 0), value.get("length", len(payload))) + payload


class SyncMessages(Whole):
    """src/shared/wire/tree.hpp"""

    layout = "<BBIQqH"

    def split(self, buffer):
        return by_length(buffer, 28, lambda buffer: 4 + struct.unpack_from("<I", buffer)[0])

    def kind(self, message):
        return "sync " + chr(message[4])

    def open(self, message):
        kind, entry, mode, size, time, name = struct.unpack_from(self.layout, message, 4)
        return {"kind": chr(kind), "type": chr(entry), "mode": mode, "size": size, "time": time,
                "name": message[28:28 + name].decode("latin-1"), "text": message[28 + name:].decode("latin-1")}

    def close(self, value):
        name, text = latin(value.get("name", ""))[:65535], latin(value.get("text", ""))
        kind, entry = (latin(value.get(key, ""))[:1] or b"\0" for key in ("kind", "type"))
        body = packed(self.layout, kind[0], entry[0], value.get("mode", 0), value.get("size", 0), value.get("time", 0), len(name)) + name + text
        return packed("<I", value.get("length", len(body))) + body


class StdioFrames(Whole):
    """Of stdout and stderr in one stream."""

    def split(self, buffer):
        return by_length(buffer, 8, lambda buffer: 8 + struct.unpack_from(">I", buffer, 4)[0])

    def kind(self, message):
        return "frame"

    def open(self, message):
        return {"stream": message[0], "length": len(message) - 8, "bytes": message[8:].decode("latin-1")}

    def close(self, value):
        content = latin(value.get("bytes", ""))
        return packed(">BBBB", value.get("stream", 1), 0, 0, 0) + packed(">I", value.get("length", len(content))) + content


class Chunks(Whole):
    """Of HTTP; a message is a chunk with its length."""

    def kind(self, message):
        return "chunk"

    def open(self, message):
        size, _, content = message.partition(b"\r\n")
        return {"size": size.decode("latin-1"), "content": content[:-2].decode("latin-1")}

    def close(self, value):
        return latin(value.get("size", "")) + b"\r\n" + latin(value.get("content", "")) + b"\r\n"


class Answers(Whole):
    """Of HTTP, with the body where it is not a stream."""

    def kind(self, message):
        return "answer"

    def open(self, message):
        head, _, body = message.partition(b"\r\n\r\n")
        status, *headers = head.decode("latin-1").split("\r\n")
        headers = [line for line in headers if not re.match("content-length:", line, re.IGNORECASE)]
        try:
            content = json.loads(body)
        except ValueError:
            content = body.decode("latin-1")
        return {"status": status, "headers": headers, "body": content}

    def close(self, value):
        body = value.get("body", "")
        body = latin(body) if isinstance(body, str) and body not in (DEEP, MANY) else to_json(body)
        headers = value.get("headers", [])
        lines = [value.get("status", ""), *(headers if isinstance(headers, list) else [headers])]
        upgraded = isinstance(lines[0], str) and " 101" in lines[0]
        if not upgraded and not any("chunked" in str(line).lower() for line in lines):
            lines.append(f"Content-Length: {len(body)}")
        return b"\r\n".join(latin(line) for line in lines) + b"\r\n\r\n" + body
