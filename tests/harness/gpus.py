"""The lab's simulated GPUs, as the files of their hosts have them (scripts/lab --help), and who holds them there."""

import contextlib
import json
import re

BOARD = "/var/lib/docker/volumes/dockdist-gpus/_data/board.json"


def uuids(lab, number):
    """Of a host's GPUs, in their order."""
    return re.findall(r"^uuid=(.+)$", lab.script("exec", str(number), "sh", "-c", "cat /dev/nvidia[0-9]*"), re.M)


@contextlib.contextmanager
def gpu_lines(lab, number, gpu, *lines):
    """Other lines in a GPU's file, in place of those of the same fields; the containers see the same file."""
    path = f"/dev/nvidia{gpu}"
    before = lab.script("exec", str(number), "cat", path)
    fields = {line.partition("=")[0] for line in lines}
    kept = [line for line in before.splitlines() if line.partition("=")[0] not in fields]
    write(lab, number, path, [*kept, *lines])
    try:
        yield
    finally:
        write(lab, number, path, before.splitlines())


@contextlib.contextmanager
def added_gpus(lab, number, *gpus):
    """A host with more GPUs than the lab has given it, for containers that are made meanwhile."""
    lines = lab.script("exec", str(number), "cat", "/dev/nvidia0").splitlines()
    for gpu in gpus:
        new = {"uuid": f"GPU-{gpu:08}-0000-4000-8000-000000000000", "pci.bus_id": f"00000000:{0xC0 + gpu:02X}:00.0"}
        write(lab, number, f"/dev/nvidia{gpu}", [f"{field}={new.get(field, value)}" for field, _, value in (line.partition("=") for line in lines)])
    try:
        yield
    finally:
        lab.script("exec", str(number), "rm", *(f"/dev/nvidia{gpu}" for gpu in gpus))


def write(lab, number, path, lines):
    # Not anew: what is mounted into the containers is this file.
    lab.script("exec", str(number), "sh", "-c", 'printf "%s\\n" "$@" >/tmp/gpu; cat /tmp/gpu >"$0"; rm /tmp/gpu', path, *lines)


@contextlib.contextmanager
def docker_with_cdi(lab, number):
    """A host whose Docker takes CDI names; it is restarted for it, and again at the end."""
    def restart(features):
        script = """mkdir -p /etc/docker; [ -e /etc/docker/daemon.json ] || echo '{}' >/etc/docker/daemon.json
            jq "$1" /etc/docker/daemon.json >/tmp/daemon.json; mv /tmp/daemon.json /etc/docker/"""
        lab.script("exec", str(number), "sh", "-euc", script, "sh", features)
        lab.script("stop-engine", str(number))
        lab.script("start-engine", str(number))
    restart(".features.cdi = true")
    try:
        yield
    finally:
        restart("del(.features.cdi)")


@contextlib.contextmanager
def written_anew(lab, number):
    """The host's CDI file, by what its GPUs are now."""
    def write_file():
        lab.script("exec", str(number), "nvidia-ctk", "cdi", "generate", "--output=/etc/cdi/nvidia.yaml")
    write_file()
    try:
        yield
    finally:
        write_file()


def entries(lab, number):
    """Who holds, and who waits, by the host's own board: {job: entry}. Entries of the dead may still stand there."""
    text = lab.script("exec", str(number), "sh", "-c", f"cat {BOARD} 2>/dev/null || true")
    return {entry["who"]["job"]: entry for entry in json.loads(text or '{"entries": []}')["entries"]}
