#!/usr/bin/env python3
"""`dockdist-init sync` itself, spoken to byte by byte: what a client may ask for, and what it may not."""

import json
import os
import pathlib
import stat
import struct
import subprocess
import tempfile

import pytest

INIT = os.environ.get("DOCKDIST_INIT_UNDER_TEST", "build/src/node/dockdist-init-under-test")
IS_ROOT = os.geteuid() == 0


def message(kind, name=b"", text=b"", mode=0, size=0, time=0, type=0):
    name, text = (x.encode() if isinstance(x, str) else x for x in (name, text))
    body = struct.pack("<cBIQqH", kind.encode(), type, mode, size, time, len(name)) + name + text
    return struct.pack("<I", len(body)) + body


def parse(data):
    found = []
    while data:
        length, kind, kind_of, mode, size, time, name = struct.unpack("<IcBIQqH", data[:28])
        rest = data[28:4 + length]
        found.append({"kind": kind.decode(), "type": chr(kind_of), "mode": mode, "size": size, "time": time,
                      "name": rest[:name].decode(), "text": rest[name:]})
        data = data[4 + length:]
    return found


def file(name, content, mode=0o644, time=5):
    return message("F", name, mode=mode, size=len(content), time=time) + message("B", text=content) + message("E", size=1)


class TestSync:
    @pytest.fixture(autouse=True)
    def folder(self):
        with tempfile.TemporaryDirectory(prefix="dockdist-sync-") as folder:
            self.path = pathlib.Path(folder)
            self.path.chmod(0o755)
            self.target = self.path / "new" / "target"
            yield

    def talk(self, data, **opening):
        done = subprocess.run([INIT, "sync", json.dumps(opening)], input=data, capture_output=True, timeout=60, check=False,
                              env={**os.environ, "DOCKDIST_TEST_ROOT": str(self.path / "root")})
        return parse(done.stdout)

    def sync(self, *messages, make=1, **opening):
        return self.talk(message("O", text=str(self.target), size=make) + b"".join(messages) + message("."), **opening)

    def problems(self, answers):
        return [a["text"].decode().split("\n")[0] for a in answers if a["kind"] == "p"]

    def test_a_tree_is_written_and_listed(self):
        answers = self.sync(message("D", "d", mode=0o755), file("d/f", b"abc", 0o751, 7), message("K", "d/l", "f"))
        assert [a["kind"] for a in answers] == ["o", "!"]
        assert (self.target / "d/f").read_bytes() == b"abc"
        entries = [a for a in self.sync(message("L", "d"), message("H", "d/f")) if a["kind"] in "eh"]
        assert [(e["name"], e["type"], e["mode"], e["size"], e["time"]) for e in entries[:1]] == [("d/f", "f", 0o751, 3, 7)]
        assert (entries[1]["name"], entries[1]["text"]) == ("d/l", b"f")
        assert len(entries[2]["text"]) == 16

    def test_names_that_lead_out_end_the_conversation(self):
        for name in ("../evil", "/tmp/evil-sync", "a/../../evil", "./x", "a//b"):
            answers = self.sync(file(name, b"bad"))
            assert [a["kind"] for a in answers] == ["o", "p", "!"], name
            assert "leads out of its folder" in self.problems(answers)[0]
            assert not (self.path / "new/evil").exists()

    def test_nothing_is_written_through_a_link(self):
        victim = self.path / "victim"
        victim.mkdir()
        (victim / "f").write_text("safe")
        self.target.mkdir(parents=True)
        (self.target / "d").symlink_to(victim)
        answers = self.sync(file("d/f", b"bad"), file("d/new", b"bad"), message("D", "d/x", mode=0o777), message("R", "d/f"),
                            message("M", "d/f", mode=0o777), message("K", "d/l", "f"), message("K", "out", "/etc/passwd"),
                            message("K", "up", "../x"), message("L", "d"))
        assert len(self.problems(answers)) == 8, answers
        assert [p.name for p in victim.iterdir()] == ["f"]
        assert (victim / "f").read_text() == "safe"
        assert os.listdir(self.target) == ["d"]

    def test_a_file_that_is_cut_off_leaves_nothing(self):
        self.sync(file("f", b"old"))
        self.talk(message("O", text=str(self.target), size=1) + message("F", "f", size=100) + message("B", text=b"half"))
        assert os.listdir(self.target) == ["f"]
        assert (self.target / "f").read_bytes() == b"old"

    def test_a_folder_that_is_not_to_be_made_is_not(self):
        answers = self.sync(message("L"), make=0)
        assert [(a["kind"], a["size"] & 1) for a in answers] == [("o", 0), ("!", 0)]
        assert not self.target.exists()

    def test_a_target_that_is_a_file_or_not_absolute_is_told(self):
        self.target.parent.mkdir()
        self.target.write_text("x")
        assert "a file is there" in self.problems(self.sync())[0]
        assert "not an absolute path" in self.problems(self.talk(message("O", text="here") + message(".")))[0]

    def test_garbage_is_refused(self):
        for data in (b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", message("x"), message("L")[:-1] + b"\x09"):
            answers = self.talk(data + message("."))
            assert self.problems(answers) or answers == [], data

    def test_fetch_sends_a_tree_and_warns_of_the_rest(self):
        self.sync(message("D", "d", mode=0o755), file("d/f", b"abc" * 200000), message("K", "l", "d"))
        os.mkfifo(self.target / "pipe")
        (self.target / "out").symlink_to("/etc")
        answers = self.talk(message("G", text=str(self.target)) + message("."))
        assert "".join(a["kind"] for a in answers) == "eDFBBBEMKww!"
        assert b"".join(a["text"] for a in answers if a["kind"] == "B") == b"abc" * 200000
        one = self.talk(message("G", text="d/f") + message("."), workdir=str(self.target))
        assert [(a["kind"], a["name"]) for a in one][:2] == [("e", ""), ("F", "f")]
        assert self.talk(message("G", text="/nowhere") + message("."))[0]["size"] == 3
        assert self.talk(message("G", text=str(self.target / "pipe")) + message("."))[0]["kind"] == "p"

    def test_a_token_is_seen_by_who_shares_the_folder(self):
        token = ".dockdist-sync-token-1"
        assert self.sync(message("W", text=token))[-1]["size"] == 0
        assert [a["size"] for a in self.sync(message("Q", text=token), message("L")) if a["kind"] in "se"] == [1]
        self.sync(message("U", text=token))
        assert [a["size"] for a in self.sync(message("Q", text=token)) if a["kind"] == "s"] == [0]
        assert self.problems(self.sync(message("W", text="../token")))

    @pytest.mark.skipif(not (IS_ROOT), reason="needs root")
    def test_files_are_the_users_and_what_is_not_is_told(self):
        (self.path / "root/etc").mkdir(parents=True)
        (self.path / "root/etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nada:x:4242:4243::/home/ada:/bin/sh\n")
        assert self.problems(self.sync(file("f", b"x"), user="ada")) == []
        for path in (self.target, self.target / "f", self.target.parent):
            assert (path.stat().st_uid, path.stat().st_gid) == (4242, 4243), path
        assert stat.S_IMODE(self.target.stat().st_mode) == 0o755
        secret = self.path / "secret"
        secret.mkdir(mode=0o700)
        (secret / "f").write_text("s")
        self.target = secret
        assert "the user ada may not write there" in self.problems(self.sync(user="ada"))[0]
        assert "Permission denied" in self.problems(self.talk(message("G", text=str(secret / "f")) + message("."), user="ada"))[0]
        assert "nobody-here" in self.problems(self.sync(user="nobody-here"))[0]
