"""An image to N hosts over links of 100 Mbit, from this machine's engine: the lab's own, outside its hosts."""

import contextlib
import os
import subprocess
import time

SIZE = 64 << 20  # bytes, in LAYERS layers that no compression makes smaller
LAYERS = 8
RATE = 100_000_000 / 8  # bytes a second
NAME = "dockdist-bench/image:1"
SHAPE = "tbf rate 100mbit burst 128kb latency 200ms"


def docker(lab, *arguments, input=None):
    command = ["docker", "--host", lab.env["LAB_DOCKER_HOST"], *arguments]
    return subprocess.run(command, check=True, input=input, capture_output=True).stdout


@contextlib.contextmanager
def slow_links(lab):
    link = lab.link()
    try:
        subprocess.run(["tc", "qdisc", "replace", "dev", link, "root", *SHAPE.split()], check=True)
        for host in range(1, lab.count + 1):
            lab.script("exec", str(host), "tc", "qdisc", "replace", "dev", "eth0", "root", *SHAPE.split())
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", link, "root"], capture_output=True)
        for host in range(1, lab.count + 1):
            subprocess.run(lab.command("exec", str(host), "tc", "qdisc", "del", "dev", "eth0", "root"), capture_output=True)


@contextlib.contextmanager
def image(lab, size=SIZE):
    """Made anew: no engine has seen its layers."""
    import io
    import tarfile

    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        lines = ["FROM scratch"]
        for i in range(LAYERS):
            entry = tarfile.TarInfo(f"blob{i}")
            entry.size = size // LAYERS
            tar.addfile(entry, io.BytesIO(os.urandom(entry.size)))
            lines.append(f"ADD blob{i} /")
        text = "\n".join(lines).encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    docker(lab, "build", "--tag", NAME, "-", input=context.getvalue())
    try:
        yield
    finally:
        docker(lab, "rmi", "--force", NAME)
        forget(lab)


def forget(lab):
    for engine in lab.engines:
        engine.call("DELETE", f"/v1.40/images/{NAME}?force=1")


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def push(lab, c, hosts):
    c.write(hosts=hosts, image=NAME)
    return seconds(lambda: c.run("image", "push", "--from", "local", DOCKER_HOST=lab.env["LAB_DOCKER_HOST"], timeout=300))


def start_push(lab, c):
    return c.start("image", "push", "--from", "local", DOCKER_HOST=lab.env["LAB_DOCKER_HOST"])


def save_and_load(lab, hosts):
    """`docker save | docker load` to every host at once, as a careful person's script would."""

    def all_at_once():
        running = []
        for i in range(hosts):
            save = subprocess.Popen(["docker", "--host", lab.env["LAB_DOCKER_HOST"], "save", NAME], stdout=subprocess.PIPE)
            load = subprocess.Popen(["docker", "--host", f"tcp://{lab.addresses[i]}:2375", "load", "--quiet"], stdin=save.stdout,
                                    stdout=subprocess.DEVNULL)
            save.stdout.close()
            running += [save, load]
        assert all(process.wait(300) == 0 for process in running)

    return seconds(all_at_once)
