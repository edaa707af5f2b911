"""A proxy of the tests' own between the client and one engine: it counts calls, loses answers, cuts, slows and slices.

It listens on loopback and understands just enough HTTP to tell one call from the next; after an upgrade it only passes
bytes. What it does is decided by attributes that a test may change at any time; hooks run in the proxy's own thread.
"""

import asyncio
import contextlib
import socket
import struct
import threading

CHUNK = 1 << 16


class Call:
    def __init__(self, head):
        self.method, self.path = head.split(b"\r\n", 1)[0].decode().split(" ")[:2]
        self.body = 0  # bytes of it that have come so far
        self.text = b""  # the first of all bytes

    def __repr__(self):
        return f"{self.method} {self.path}"


class Requests:
    """Finds the requests in what a client sends: `heard` gets each Call with the bytes that belong to it."""

    def __init__(self):
        self.buffer, self.call, self.left, self.chunked, self.raw = b"", None, 0, False, False

    def feed(self, data):
        """Yields (call, bytes, complete), in order; call is None after an upgrade."""
        self.buffer += data
        while self.buffer:
            if self.raw:
                part, self.buffer = self.buffer, b""
                yield None, part, False
            elif self.call is None:
                head, end, rest = self.buffer.partition(b"\r\n\r\n")
                if not end:
                    return
                headers = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
                self.call, self.left = Call(head), int(headers.get(b"content-length", 0))
                self.chunked = b"chunked" in headers.get(b"transfer-encoding", b"")
                self.raw, self.buffer = b"upgrade" in headers, rest
                body, self.buffer = (b"", rest) if not self.raw else (rest[:self.left], rest[self.left:])
                done = self.raw or (self.left == 0 and not self.chunked)
                yield from self._part(head + end + body, 0, done)
            elif self.chunked:
                # The client's chunks end with an empty one, and it waits for the answer before its next call.
                part, self.buffer = self.buffer, b""
                yield from self._part(part, len(part), part.endswith(b"0\r\n\r\n"))
            else:
                part, self.buffer = self.buffer[:self.left], self.buffer[self.left:]
                self.left -= len(part)
                yield from self._part(part, len(part), self.left == 0)

    def _part(self, part, body, done):
        call = self.call
        call.body += body
        call.text += part if len(call.text) < CHUNK else b""
        if done:
            self.call = None
        yield call, part, done


class Door:
    """A server on loopback with a loop and a thread of its own; each connection is a task of `serve`. Open until close()."""

    def __init__(self, limit=CHUNK):
        self._serving = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._connected, "127.0.0.1", 0, limit=limit))
        self.url = "tcp://127.0.0.1:%d" % self._server.sockets[0].getsockname()[1]

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)

    async def _connected(self, reader, writer):
        serving = asyncio.current_task()
        self._serving.add(serving)  # the loop itself holds tasks weakly
        serving.add_done_callback(self._serving.discard)
        with contextlib.suppress(asyncio.CancelledError):  # close()
            await self.serve(reader, writer)

    def close(self):
        async def end():
            self._server.close()
            while others := asyncio.all_tasks() - {asyncio.current_task()}:  # a client may just have come
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def doors(lab, hosts, make):
    """What `make` opens for each of the lab's first hosts, given its number and address."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(make(*host))) for host in enumerate(lab.addresses[:hosts])]


class Proxy(Door):
    """In front of `address`:`port`."""

    def __init__(self, address, port=2375):
        self.target = (address, port)
        self.delay = 0  # seconds that each piece waits, either way
        self.slice = 0  # bytes of an answer sent at once; 0: as they come
        self.patient = False  # the engine hears of a client's end only when it has answered
        self.on_part = lambda call: True  # a part of a request, not passed on yet; False: cut instead
        self.rewrite = lambda part: part  # what the engine gets of a request, instead of its own bytes
        self.on_answer = lambda call: True  # the engine has answered, and the client does not know; False: cut instead
        self.edit = lambda data: data  # an answer's bytes, which must stay as many
        self.on_bytes = lambda count: True  # so many more bytes from the engine; False: cut instead
        self.connections = 0
        super().__init__()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            engine_reader, engine_writer = await asyncio.open_connection(*self.target)
        except OSError:
            self._reset([writer])
            return
        pair = [writer, engine_writer]
        for end in pair:
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting = []  # the call whose answer has not begun to come
        tasks = [asyncio.ensure_future(self._requests(reader, engine_writer, waiting)),
                 asyncio.ensure_future(self._answers(engine_reader, writer, waiting))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self._reset(pair)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _requests(self, reader, writer, waiting):
        requests = Requests()
        while data := await reader.read(CHUNK):
            for call, part, complete in requests.feed(data):
                if call and not self.on_part(call):
                    raise EOFError
                if complete:
                    waiting.append(call)
                await asyncio.sleep(self.delay)
                writer.write(self.rewrite(part))
                await writer.drain()
        while self.patient and waiting:
            await asyncio.sleep(0.01)
        writer.write_eof()

    async def _answers(self, reader, writer, waiting):
        while data := await reader.read(CHUNK):
            if waiting and not self.on_answer(waiting.pop()) or not self.on_bytes(len(data)):
                raise EOFError
            data = self.edit(data)
            await asyncio.sleep(self.delay)
            step = self.slice or len(data)
            for begin in range(0, len(data), step):
                writer.write(data[begin:begin + step])
                await writer.drain()
        writer.write_eof()

    @staticmethod
    def _reset(ends):
        for end in ends:
            with contextlib.suppress(OSError):  # not there any more
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.transport.abort()


def proxies(lab, hosts=2):
    """One in front of each of the lab's first engines."""
    return doors(lab, hosts, lambda _, address: Proxy(address))


def write_through(c, made):
    """The cluster's file, with the way to each host leading through its proxy."""
    c.write(hosts=len(made))
    text = c.file.read_text()
    for proxy, address in zip(made, c.lab.addresses):
        text = text.replace(f"docker: 'tcp://{address}:2375', insecure: true", f"docker: '{proxy.url}', address: {address}")
    c.file.write_text(text)
    return c
