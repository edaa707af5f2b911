"""Rootless engines on the lab's hosts, beside the host's own: run by the user ops, with the image busybox, on a socket that
this machine sees too. They use storage driver vfs: in the lab's containers the kernel lets no user make overlay's whiteouts."""

import contextlib
import pathlib

from harness import Engine, eventually

# A rootless engine mounts /proc for its containers, which the kernel allows only who sees all of it: what Docker hides of a
# lab host's /proc and /sys is uncovered first, for the engine alone.
START = """
data=$1 image=$2 run=$3
rm -rf "$data" /run/user/1000 /run/lab/rootless
install -d -o ops /run/user/1000 /run/lab/rootless "$data"
mkdir -p /dev/net
[ -e /dev/net/tun ] || mknod -m 666 /dev/net/tun c 10 200
sh -c "$image" >/run/lab/rootless/image.tar
chmod 644 /run/lab/rootless/image.tar
setsid unshare --mount --propagation private sh -uc '
    while read -r _ where _; do
        case $where in /proc/* | /sys/firmware | /sys/devices/virtual/powercap) umount "$where" ;; esac
    done </proc/mounts
    cd /
    export HOME=/home/ops XDG_RUNTIME_DIR=/run/user/1000 PODMAN_IGNORE_CGROUPSV1_WARNING=1
    exec setpriv --reuid ops --regid ops --init-groups sh -uc "$1"' sh "$run" </dev/null >/run/lab/rootless/log 2>&1 &
echo $! >/run/lab/rootless/pid
"""

DOCKER = """exec /usr/share/docker.io/contrib/dockerd-rootless.sh --host unix:///run/lab/rootless/engine.sock --storage-driver vfs \
--data-root /var/lib/docker/ops --iptables=false --ip6tables=false --bridge=none"""

PODMAN = """podman="podman --root /var/lib/containers/ops --storage-driver vfs"
$podman load --quiet --input /run/lab/rootless/image.tar
exec $podman system service --time=0 unix:///run/lab/rootless/engine.sock"""


@contextlib.contextmanager
def rootless(lab, number, kind):
    """The socket of a rootless engine that answers, of "docker" or "podman", on a host that runs that kind."""
    socket = pathlib.Path(lab.env[f"LAB_HOST_{number}_SOCKET"]).parent / "rootless/engine.sock"
    data = {"docker": "/var/lib/docker/ops", "podman": "/var/lib/containers/ops"}[kind]
    lab.script("exec", str(number), "sh", "-euc", "chmod 755 /var/lib/docker /var/lib/containers 2>/dev/null || true\n" + START,
               "sh", data, f"{kind} save dockdist-lab/busybox", {"docker": DOCKER, "podman": PODMAN}[kind])
    try:
        eventually(socket.exists, f"the rootless engine of host {number} listens")
        if kind == "docker":
            lab.script("exec", str(number), "docker", "--host", "unix:///run/lab/rootless/engine.sock", "load", "--quiet",
                       "--input", "/run/lab/rootless/image.tar")
        yield Engine(str(socket))
    finally:
        lab.script("exec", str(number), "sh", "-euc", f"""pid=$(cat /run/lab/rootless/pid)
            kill -- "-$pid"
            while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.05; done
            rm -rf {data} /run/lab/rootless""")
