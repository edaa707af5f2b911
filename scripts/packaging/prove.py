#!/usr/bin/env python3
"""prove.py PACKAGES [--suites SUITE,…] [--file CLUSTER.YAML]: installs each package where nothing of dockdist's making is, and runs it.

The tarball in a root file system with nothing but busybox; the .rpm in an empty one; the wheel in a virtual environment; the .deb in
bare Debians by mmdebstrap (bullseye, bookworm, trixie, sid; `--suites ''`: none, then no mirror is needed). Packages for another
architecture than this machine's are installed in the same ways, but their .deb in an empty root, and run by qemu-user. Everywhere:
--version, validate; with a cluster's file, whose engines must be reachable over TCP, also up, run and down."""

import argparse
import contextlib
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # the kernel's word, and Debian's
MINIMAL = "image: busybox\nhosts:\n  - {docker: 'tcp://10.0.0.1:2375', insecure: true}\n"


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"prove: {' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def use(what, program, folder, options, version):
    """`program`: the words that start it; `folder`: where it sees /root/cluster.yaml, below here."""
    said = run(*program, "--version").strip()
    if said != f"dockdist {version}":
        sys.exit(f"prove: {what}: it says {said!r}")
    file = folder / "cluster.yaml"
    file.write_text(pathlib.Path(options.file).read_text() if options.file else MINIMAL)
    steps = [("validate",)]
    if options.file:
        steps += [("up", "--no-check"), ("run", "--", "sh", "-c", "echo rank $RANK"), ("down",)]
    place = "/root/cluster.yaml" if program[0] == "chroot" else file
    for step in steps:
        told = run(*program, "--file", place, *step, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root" if program[0] == "chroot" else str(folder)})
        if step[0] == "run" and "rank 0" not in told:
            sys.exit(f"prove: {what}: run printed {told!r}")
    print(f"{what}: --version, {', '.join(step[0] for step in steps)}", flush=True)


@contextlib.contextmanager
def root_folder(scratch, name):
    folder = scratch / name
    for part in ("root", "tmp", "bin"):
        (folder / part).mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def inside(root, emulator):
    """The words before a program of that root file system."""
    if not emulator:
        return ["chroot", str(root)]
    shutil.copy(emulator, root / "tmp/emulator")
    return ["chroot", str(root), "/tmp/emulator"]


def prove_tarball(package, scratch, options, version, emulator):
    with root_folder(scratch, "busybox") as root:
        shutil.copy("/bin/busybox", root / "bin/busybox")
        for applet in ("sh", "tar", "gzip"):
            (root / "bin" / applet).symlink_to("busybox")
        shutil.copy(package, root / "tmp/package.tar.gz")
        run("chroot", root, "/bin/tar", "-xzf", "/tmp/package.tar.gz", "-C", "/")
        [top] = root.glob("dockdist-*")
        use(f"{package.name}, busybox alone", [*inside(root, emulator), f"/{top.name}/bin/dockdist"], root / "root", options, version)


def prove_rpm(package, scratch, options, version, emulator):
    with root_folder(scratch, "rpm") as root:
        run("rpm", "--root", root, "--initdb")
        run("rpm", "--root", root, "--install", "--nodeps", "--ignorearch", "--noscripts", package)
        if run("rpm", "--root", root, "--query", "dockdist").strip() != package.name.removesuffix(".rpm"):
            sys.exit("prove: rpm does not know the package")
        use(f"{package.name}, an empty root", [*inside(root, emulator), "/usr/bin/dockdist"], root / "root", options, version)


def prove_wheel(package, scratch, options, version, emulator):
    folder = scratch / "venv"
    install = ["install", "--quiet", "--no-index", "--no-deps", package]
    program = [str(folder / "bin/dockdist")]
    if emulator:
        program.insert(0, emulator)
        install += ["--target", folder, "--only-binary", ":all:", "--platform", package.stem.rpartition(".")[2]]
        run("/usr/bin/python3", "-m", "pip", *install)
    else:
        run("/usr/bin/python3", "-m", "venv", "--without-pip", folder)
        # pip of this machine, into that environment: the wheel needs nothing of PyPI's.
        run("/usr/bin/python3", "-m", "pip", "--python", folder / "bin/python", *install)
    use(f"{package.name}, a virtual environment", program, folder, options, version)
    shutil.rmtree(folder)


def prove_foreign_deb(package, scratch, options, version, emulator):
    with root_folder(scratch, "deb") as root:
        database = root / "var/lib/dpkg"
        for part in ("info", "updates", "triggers"):
            (database / part).mkdir(parents=True)
        for name in ("status", "available"):
            (database / name).touch()
        run("dpkg", f"--root={root}", "--force-architecture", "--install", package)
        use(f"{package.name}, an empty root", [*inside(root, emulator), "/usr/bin/dockdist"], root / "root", options, version)


def prove_deb(package, scratch, options, version, suite):
    root = scratch / suite
    # A mirror may hold a frozen day of sid.
    run("mmdebstrap", "--quiet", "--variant=essential", "--aptopt=Acquire::Check-Valid-Until \"false\"", suite, root)
    shutil.copy(package, root / "tmp/package.deb")
    run("chroot", root, "dpkg", "--install", "/tmp/package.deb")
    use(f"{package.name}, Debian's {suite}", ["chroot", str(root), "/usr/bin/dockdist"], root / "root", options, version)
    run("chroot", root, "dpkg", "--purge", "dockdist")
    if (root / "usr/bin/dockdist").exists():
        sys.exit("prove: the package leaves its program behind")
    shutil.rmtree(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--suites", default="bullseye,bookworm,trixie,sid")
    parser.add_argument("--file")
    options = parser.parse_args()

    def package(pattern):
        [found] = options.packages.glob(pattern)
        return found.resolve()

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        for tarball in sorted(options.packages.glob("*-linux-*.tar.gz")):
            _, version, _, machine = tarball.name.removesuffix(".tar.gz").split("-")
            emulator = None
            if machine != platform.machine():
                emulator = shutil.which(f"qemu-{machine}-static") or sys.exit(f"prove: {tarball.name}: qemu-{machine}-static is missing (qemu-user-static)")
            prove_tarball(tarball.resolve(), scratch, options, version, emulator)
            prove_rpm(package(f"*.{machine}.rpm"), scratch, options, version, emulator)
            prove_wheel(package(f"*_{machine}.whl"), scratch, options, version, emulator)
            deb = package(f"*_{ARCHITECTURES[machine]}.deb")
            if emulator:
                prove_foreign_deb(deb, scratch, options, version, emulator)
                continue
            for suite in filter(None, options.suites.split(",")):
                prove_deb(deb, scratch, options, version, suite)


main()
