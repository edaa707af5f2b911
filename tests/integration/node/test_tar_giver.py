"""Handing the toolkit on, on loopback: what a host gives is the tar that it got, byte for byte, and what is taken is put together."""

import contextlib
import hashlib
import http.client
import io
import json
import os
import pathlib
import shutil
import stat
import subprocess
import tarfile
import tempfile

import pytest

PROGRAM = os.environ.get("DOCKDIST_INIT_UNDER_TEST", "dockdist-init-under-test")
TAR = pathlib.Path(os.environ.get("DOCKDIST_TOOLKIT_TAR", "toolkit.tar"))
TOKEN = "ab" * 32


@pytest.fixture
def root():
    made = tempfile.mkdtemp(prefix="dockdist-giver-")
    yield pathlib.Path(made)
    shutil.rmtree(made)


def unpack(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(TAR) as tar:
        tar.extractall(folder)


@contextlib.contextmanager
def giver(root, command="give"):
    process = subprocess.Popen([PROGRAM, "relay", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, "DOCKDIST_TEST_ROOT": str(root)})
    try:
        process.stdin.write(json.dumps({"token": TOKEN, "address": "127.0.0.1", "most_ahead": 0}).encode() + b"\n")
        process.stdin.flush()
        listening = json.loads(process.stdout.readline())
        assert (listening["type"], listening["address"], listening["engine_port"]) == ("listening", "127.0.0.1", 0)
        yield process, listening["peer_port"]
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def ask(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Length"), answer.read()


def said(process):
    return [json.loads(line) for line in process.stdout]


def test_what_a_host_gives_is_the_tar_that_it_was_given(root):
    unpack(root / "opt/dockdist")
    with giver(root) as (process, port):
        status, length, tar = ask(port, "/" + TOKEN)
        assert status == 200 and int(length) == len(tar) == TAR.stat().st_size
        assert hashlib.sha256(tar).digest() == hashlib.sha256(TAR.read_bytes()).digest()
        process.stdin.close()
        messages = said(process)
        assert messages[0] == {"type": "progress", "bytes": 0} and messages[-1] == {"type": "done"}, messages


def test_it_is_given_once_and_to_who_knows_the_path_alone(root):
    unpack(root / "opt/dockdist")
    with giver(root) as (_, port):
        for path, how in [("/", {}), ("/" + "ab" * 31 + "aa", {}), ("/" + TOKEN, {"Range": "bytes=5-"})]:
            assert ask(port, path, **how)[0] == 404, path
        assert ask(port, "/" + TOKEN, "HEAD")[0] == 404
        assert ask(port, "/" + TOKEN)[0] == 200
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(port, "/" + TOKEN)


@pytest.mark.parametrize("change", ["a byte", "a file more", "a mode"])
def test_a_toolkit_that_somebody_changed_is_not_the_same_tar(root, change):
    unpack(root / "opt/dockdist")
    file = root / "opt/dockdist/libexec/rsync"
    if change == "a byte":
        data = bytearray(file.read_bytes())
        data[1000] ^= 1
        file.write_bytes(data)
    elif change == "a mode":
        file.chmod(0o777)
    else:
        (root / "opt/dockdist/lib/more").write_bytes(b"x")
    with giver(root) as (_, port):
        assert hashlib.sha256(ask(port, "/" + TOKEN)[2]).digest() != hashlib.sha256(TAR.read_bytes()).digest()


def test_a_relay_gives_its_own_image(root):
    program = os.urandom(100_001)
    (root / "dockdist-relay").write_bytes(program)
    with giver(root, "give-self") as (_, port):
        status, length, tar = ask(port, "/" + TOKEN)
        assert status == 200 and int(length) == len(tar)
        with tarfile.open(fileobj=io.BytesIO(tar)) as given:
            shown = [(each.name, each.type, each.mode, each.uid, each.gid, each.size) for each in given]
            assert shown == [("dockdist-relay", tarfile.REGTYPE, 0o755, 0, 0, len(program)),
                             ("blobs", tarfile.DIRTYPE, 0o700, 65534, 65534, 0)]
            assert given.extractfile("dockdist-relay").read() == program


def shown(folder):
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (stat.S_IFMT(status.st_mode), path.is_symlink() or stat.S_IMODE(status.st_mode), content)
    return found


def test_a_toolkit_comes_out_of_its_image_whole_and_its_last_entry_last(root):
    unpack(root)  # as the image's root
    volume = root / "opt/dockdist"
    (volume / "bin").mkdir(parents=True)
    (volume / "bin/ssh").write_text("of an upload that was cut off")
    subprocess.run([PROGRAM, "relay", "unpack"], env={**os.environ, "DOCKDIST_TEST_ROOT": str(root)}, check=True)
    want = root / "want"
    unpack(want)
    assert shown(volume) == shown(want)
    changes = {path: path.lstat().st_ctime_ns for path in volume.rglob("*") if not path.is_dir() or path.is_symlink()}
    assert changes[volume / "bin/dockdist-init"] == max(changes.values())


def test_a_folder_without_a_toolkit_is_told(root):
    volume = root / "opt/dockdist"
    for name in ("bin", "lib", "libexec"):
        (volume / name).mkdir(parents=True)
    done = subprocess.run([PROGRAM, "relay", "give"], input=json.dumps({"token": TOKEN, "address": "127.0.0.1", "most_ahead": 0}) + "\n",
                          env={**os.environ, "DOCKDIST_TEST_ROOT": str(root)}, capture_output=True, text=True)
    assert done.returncode == 1 and "is not as a toolkit has it" in done.stderr, done
