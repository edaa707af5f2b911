"""A hostile engine: a proxy of the tests' own before a real one, which understands its answers and the streams of the nodes in
them message by message, and says what a lie (harness/lies.py) makes of each.

Channels are named for where a message stands: `http GET /info` an answer of the engine, `job start`, `join`, `sync`, `check`,
`logs` … what a node says in such an exec; `job start: frames`, `… : chunks` what the engine puts around it."""

import asyncio
import collections
import contextlib
import json
import re

from harness.lies import Cut, Truth
from harness.messages import Answers, Chunks, JobFrames, Lines, StdioFrames, SyncMessages, TunnelFrames, Whole
from harness.proxy import CHUNK, Door, Requests, doors

INIT = "dockdist-init"
LONG = 1 << 24  # bytes of a head or a line
CODECS = {"job start": JobFrames, "job follow": JobFrames, "job stop": JobFrames, "sync": SyncMessages, "tunnel": TunnelFrames, "login": Whole,
          "command": Whole, "errors": Whole}


class Layer:
    """Finds the messages of one framing in what is fed, and passes on what is said in their place."""

    def __init__(self, peer, channel, codec, below):
        self.peer, self.channel, self.codec, self.below, self.buffer = peer, channel, codec, below, b""

    async def feed(self, data):
        self.buffer += data
        messages, self.buffer = self.codec.split(self.buffer)
        for message in messages:
            await self.say(message)

    async def say(self, message):
        for piece in self.peer.lie.tell(self.peer.number, self.channel, self.codec, message):
            if piece:
                await self.below(piece)

    async def end(self):
        if self.buffer:
            await self.below(self.buffer)


def path_of(call):
    """An endpoint's name: without version, query and what it names."""
    path = re.sub(r"^/v[\d.]+", "", call.path.split("?")[0])
    return re.sub(r"/(containers|exec|volumes|images)/(?!json|create|load|get|prune).+?(?=/(json|start|stop|exec|logs|attach|archive|changes|rename|resize|wait|tag|push|get)$|$)",
                  r"/\1/X", path)


class HostilePeer(Door):
    """In front of `address`:2375. `lie` may change at any time."""

    def __init__(self, number, address):
        self.number, self.target, self.lie = number, (address, 2375), Truth()
        self.execs = {}  # id → channel
        self.malformed = []  # request lines that no client of HTTP writes
        super().__init__(LONG)

    async def serve(self, reader, writer):
        try:
            from_engine, to_engine = await asyncio.open_connection(*self.target, limit=LONG)
        except OSError:
            writer.transport.abort()
            return
        calls = collections.deque()
        tasks = [asyncio.ensure_future(self._requests(reader, to_engine, calls)),
                 asyncio.ensure_future(self._answers(from_engine, writer, calls))]
        try:
            # The engine's end ends the connection; the client's end may be of one direction.
            await asyncio.wait([tasks[1]])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            writer.close()
            to_engine.transport.abort()

    async def _requests(self, reader, writer, calls):
        requests, known = Requests(), None
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                for call, part, _ in requests.feed(data):
                    if call and call is not known:
                        known = call
                        calls.append(call)
                        line = call.text.split(b"\r\n", 1)[0]
                        if not re.fullmatch(rb"[A-Z]+ /[!-~]* HTTP/1\.1", line):
                            self.malformed.append(line)
                    writer.write(part)
                    await writer.drain()
            writer.write_eof()

    def _channel(self, call):
        path = path_of(call)
        if path == "/exec/X/start":
            return self.execs.get(call.path.split("/")[-2], "command")
        return {"/containers/X/logs": "logs", "/containers/X/attach": "attach"}.get(path) or f"{call.method} {path}"

    def _learn(self, call, body):
        """Which exec is which."""
        if path_of(call) != "/containers/X/exec":
            return
        with contextlib.suppress(ValueError, KeyError, TypeError):
            words = json.loads(call.text.partition(b"\r\n\r\n")[2])["Cmd"]
            name = "command"
            if words and INIT in words[0]:
                name = " ".join(words[1:3] if words[1] == "job" else words[1:2])
            self.execs[json.loads(body)["Id"]] = name

    async def _answers(self, reader, writer, calls):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, Cut):
            while True:
                await self._answer(reader, writer, calls)

    async def _answer(self, reader, writer, calls):
        async def put(data):
            for begin in range(0, len(data), 1 << 20):
                writer.write(data[begin:begin + (1 << 20)])
                await writer.drain()

        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status < 200 and status != 101:
            await put(head)
            return
        call = calls.popleft()
        headers = {k.strip().lower(): v.strip().lower() for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        channel, kind = self._channel(call), headers.get(b"content-type", b"")
        answers = Layer(self, f"http {call.method} {path_of(call)}", Answers(), put)
        bodiless = call.method == "HEAD" or status in (204, 304)
        chunked = b"chunked" in headers.get(b"transfer-encoding", b"") and not bodiless
        streamed = status == 101 or chunked and (b"stream" in kind or b"tar" in kind or channel in ("POST /images/create", "POST /build", "logs", "attach"))
        if status != 101 and not streamed:
            body = b"" if bodiless else await self._body(reader, headers, chunked)
            self._learn(call, body)
            whole = re.sub(rb"(?i)\r\ntransfer-encoding:[^\r]*", b"", head) if chunked else head
            if chunked:
                whole = whole[:-2] + b"Content-Length: %d\r\n\r\n" % len(body)
            await answers.say(whole + body)
            return
        await answers.say(head)
        await self._stream(reader, channel, kind, chunked, put)

    async def _body(self, reader, headers, chunked):
        if not chunked:
            length = headers.get(b"content-length")
            return await reader.readexactly(int(length)) if length else b""
        whole = b""
        while part := await self._piece(reader, chunked):
            whole += part
        return whole

    @staticmethod
    async def _piece(reader, chunked):
        """What comes next of a body; b"" at its end."""
        if not chunked:
            return await reader.read(CHUNK)
        size = int(await reader.readuntil(b"\r\n"), 16)
        return (await reader.readexactly(size + 2))[:-2]

    async def _stream(self, reader, channel, kind, chunked, put):
        below, layers = put, []
        if chunked:
            chunks = Layer(self, channel + ": chunks", Chunks(), put)

            async def below(data):
                await chunks.say(b"%x\r\n" % len(data) + data + b"\r\n")

        codec = CODECS.get(channel, Whole if b"tar" in kind else Lines)()
        if b"stream" in kind or channel in CODECS or channel in ("logs", "attach", "join", "check", "probe", "job list"):
            frames = Layer(self, channel + ": frames", StdioFrames(), below)

            def framed(stream):
                async def wrap(data):
                    for begin in range(0, len(data), 1 << 20):
                        part = data[begin:begin + (1 << 20)]
                        await frames.say(bytes([stream, 0, 0, 0]) + len(part).to_bytes(4, "big") + part)
                return wrap

            inner = {1: Layer(self, channel, codec, framed(1)), 2: Layer(self, channel + ": stderr", Whole(), framed(2))}
            buffer = b""
            while data := await self._piece(reader, chunked):
                whole, buffer = StdioFrames().split(buffer + data)
                for frame in whole:
                    await inner[frame[0]].feed(frame[8:])
            layers = list(inner.values())
        else:
            plain = Layer(self, channel, codec, below)
            while data := await self._piece(reader, chunked):
                await plain.feed(data)
            layers = [plain]
        for layer in layers:
            await layer.end()
        if chunked:
            await put(b"0\r\n\r\n")
        else:
            raise Cut


def hostile_peers(lab, hosts=2):
    return doors(lab, hosts, HostilePeer)
