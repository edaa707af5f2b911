"""Asks NCCL's RAS: TCP, lines of ASCII; the server closes after a report. Newer versions than 2.28.3 know `SET FORMAT json`, 2.29.2 and newer `MONITOR`."""

import dataclasses
import re
import socket
import time

handshake = 1  # seconds; the kernel may give the connection to a process that is stopped, which never answers


@dataclasses.dataclass
class Report:
    transcript: str  # what was sent, with "> " before it, and what came
    body: str        # of the report alone
    ms: float
    tries: int       # connections, the last of which has answered

    @property
    def answered(self):
        return bool(self.body)


class Silent(Exception):
    pass


class Line:
    """One connection."""

    def __init__(self, address, limit):
        self.deadline = time.monotonic() + limit
        self.socket = socket.create_connection(address, timeout=handshake)
        self.heard, self.said = b"", []

    def send(self, words):
        self.said.append(f"> {words}\n")
        self.socket.sendall(words.encode() + b"\n")

    def answer(self):
        """A line."""
        until = time.monotonic() + handshake
        while b"\n" not in self.heard:
            self.receive(until)
        line, _, self.heard = self.heard.partition(b"\n")
        text = line.decode(errors="replace") + "\n"
        self.said.append(text)
        return text.strip()

    def rest(self):
        """Up to the end that the server makes, or the limit."""
        try:
            while self.receive(self.deadline):
                pass
        except Silent:
            pass
        text = self.heard.decode(errors="replace")
        self.said.append(text)
        return text

    def receive(self, until):
        self.socket.settimeout(max(until - time.monotonic(), 0.001))
        try:
            piece = self.socket.recv(1 << 16)
        except TimeoutError as error:
            raise Silent from error
        if not piece and b"\n" not in self.heard and until != self.deadline:
            raise Silent
        self.heard += piece
        return piece


def ask(port, *lines, limit=12, tries=24):
    """The lines before the last are answered by one each; the last one brings a report. With a rank of two that is stopped the kernel gives it every other
    connection, by chance: of 24, not all."""
    begun = time.monotonic()
    transcript = ""
    for attempt in range(1, tries + 1):
        line = None
        try:
            line = Line(("127.0.0.1", port), limit)
            for words in lines[:-1]:
                line.send(words)
                line.answer()
            line.send(lines[-1])
            body = line.rest()
            return Report(transcript + "".join(line.said), body, (time.monotonic() - begun) * 1000, attempt)
        except (OSError, Silent) as error:
            transcript += "".join(line.said if line else ["(no connection)\n"]) + f"({type(error).__name__ if not str(error) else error})\n"
        finally:
            if line:
                line.socket.close()
    return Report(transcript, "", (time.monotonic() - begun) * 1000, tries)


# Each begins with what is answered at once: who gives the connection up after that has not waited long for a process that is stopped.
HELLO = "CLIENT PROTOCOL 2"
TEXT = (HELLO, "STATUS")
VERBOSE = (HELLO, "VERBOSE STATUS")
JSON = (HELLO, "TIMEOUT 5", "SET FORMAT json", "STATUS")
MONITOR = (HELLO, "SET FORMAT json", "MONITOR all")


def mended(body):
    """As JSON, also where 2.28 leaves out a comma: between a number and the key `status`, of ranks that are missing."""
    return re.sub(r'(\d)(\s*"status")', r"\1,\2", body)
