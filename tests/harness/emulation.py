"""Containers of arm64 on a machine that is none: qemu's user emulation, and an image for it."""

import contextlib
import fcntl
import hashlib
import io
import json
import pathlib
import platform
import subprocess
import tarfile
import tempfile

from harness.lab import ROOT

EMULATOR = pathlib.Path("/usr/libexec/qemu-binfmt/aarch64-binfmt-P")  # Debian's qemu-user-static; told argv[0] as it is
FORMATS = pathlib.Path("/proc/sys/fs/binfmt_misc")
ENTRY = FORMATS / "dockdist-lab-aarch64"
# An ELF file of 64 bits, little-endian, for machine 183, to be executed or a position-independent one.
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"


@contextlib.contextmanager
def arm64_runs_here():
    """The kernel starts programs of arm64, in every container too: the emulator is opened now (F), not where they run. What it is told
    is all containers' and all tests': one test at a time."""
    if platform.machine() == "aarch64":
        yield
        return
    with open("/run/dockdist-emulation.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with told_of_arm64():
            yield


@contextlib.contextmanager
def told_of_arm64():
    mounted = not (FORMATS / "register").exists()
    if mounted:
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", FORMATS], check=True)
    theirs = (FORMATS / "qemu-aarch64").exists()  # the machine has it already
    if not theirs and not ENTRY.exists():
        (FORMATS / "register").write_text(f":{ENTRY.name}:M::{MAGIC}:{MASK}:{EMULATOR}:FP")
    try:
        yield
    finally:
        if ENTRY.exists():
            ENTRY.write_text("-1")
        if mounted:
            subprocess.run(["umount", FORMATS], check=True)


def busybox():
    """The program of Debian's busybox-static for arm64."""
    folder = ROOT / "build/foreign/busybox"
    if not folder.exists():
        subprocess.run([ROOT / "scripts/make-toolkit", "--architecture", "arm64", "--unpack", folder, "busybox-static"], check=True,
                       capture_output=True)
    return next(path for path in (folder / "bin/busybox", folder / "usr/bin/busybox") if path.exists())


def busybox_image(name):
    """A tar as `docker save` writes it: /bin/busybox and its names."""
    program = busybox()
    emulator = [] if platform.machine() == "aarch64" else ["qemu-aarch64-static"]
    names = subprocess.run([*emulator, program, "--list"], check=True, capture_output=True, text=True).stdout.split()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for folder in ("bin", "tmp", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        tar.add(program, "bin/busybox", filter=owned_by_root)
        for applet in names:
            if applet != "busybox":
                entry = tarfile.TarInfo(f"bin/{applet}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(entry)
    config = json.dumps({"architecture": "arm64", "os": "linux", "config": {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    image = io.BytesIO()
    with tarfile.open(fileobj=image, mode="w") as tar:
        for path, content in (("config.json", config), ("layer.tar", layer.getvalue()), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return image.getvalue()


def owned_by_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755
    return entry
