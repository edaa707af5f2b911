#!/usr/bin/env python3
"""verify.py PACKAGES VERSION COMMIT: whether these are the packages of a release: all that scripts/package makes of VERSION and
nothing else, as their sums say; in each the one program, which says that it is built from COMMIT, and the templates of COMMIT; and
nothing of which Debian has a newer version by now, as far as apt knows. Says the first thing that is not so, and exits with 1."""

import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import sbom
import supply

COMMIT = re.compile(rb"dockdist of commit ([0-9a-f]{40})?\0")  # src/client/cli/itself/build_rows.cpp
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # rpm's word, and Debian's


def fail(text):
    sys.exit(f"verify: {text}")


def commit_of(program):
    """What a program says that it was built from; empty where that was not said when it was built, or not once."""
    found = COMMIT.findall(program)
    return found[0].decode() if len(found) == 1 else ""


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, **more)
    if done.returncode != 0:
        fail(f"{command[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def in_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {entry.name.removeprefix("./"): tar.extractfile(entry).read() for entry in tar if entry.isfile()}


def in_package(path):
    """{path in the package: bytes}."""
    if path.name.endswith(".tar.gz"):
        return {name.partition("/")[2]: data for name, data in in_tar(path.read_bytes()).items()}
    if path.suffix == ".deb":
        return in_tar(run("dpkg-deb", "--fsys-tarfile", path))
    if path.suffix == ".rpm":
        return in_tar(run("rpm2archive", "-", input=path.read_bytes()))
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    return in_tar(in_tar(path.read_bytes())["layer.tar"])


def names_of(version, machine):
    """(whole names, and the beginning and end of one that scripts/packaging/wheel.py decides on)"""
    architecture = ARCHITECTURES[machine]
    return {f"dockdist-{version}-linux-{machine}.tar.gz", f"dockdist_{version}_{architecture}.deb", f"dockdist-{version}-1.{machine}.rpm",
            f"dockdist-{version}-image-{architecture}.tar", f"dockdist-{version}-linux-{machine}.spdx.json"}


def check_names_and_sums(folder, version):
    """Returns the names, and the machines that there are packages for."""
    sums = {}
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        sums[name] = digest
    machines = [machine for machine in ARCHITECTURES if f"dockdist-{version}-linux-{machine}.tar.gz" in sums]
    wheels = {name for name in sums if re.fullmatch(rf"dockdist-{re.escape(version)}-py3-none-[\w.]+\.whl", name)}
    expected = wheels.union(*(names_of(version, machine) for machine in machines))
    if not machines or len(wheels) != len(machines) or sums.keys() != expected:
        fail(f"{folder} does not hold the packages of {version}, all of them and nothing else: {', '.join(sorted(sums.keys() ^ expected))}")
    for name, digest in sums.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            fail(f"{name} is not what SHA256SUMS says")
    return sums.keys(), machines


def check_package(path, bill_file, commit, templates):
    files = in_package(path)
    bill = json.loads(bill_file.read_text())
    programs = [data for name, data in files.items() if name.endswith(("bin/dockdist", "scripts/dockdist"))]
    if len(programs) != 1 or hashlib.sha256(programs[0]).hexdigest() != bill["packages"][0]["checksums"][0]["checksumValue"]:
        fail(f"the program in {path.name} is not the one that the bill of materials is of")
    if commit_of(programs[0]) != commit:
        fail(f"{path.name} is of {commit_of(programs[0]) or 'no commit that it knows'}, not of {commit} (scripts/build --release)")
    if [data for name, data in files.items() if name.endswith(".spdx.json")] not in ([], [bill_file.read_bytes()]):
        fail(f"{path.name} has another bill of materials than {bill_file.name}")
    brought = {name.partition("share/dockdist/")[2]: data for name, data in files.items() if "share/dockdist/" in name}
    if path.suffix != ".tar" and brought != templates:
        fail(f"{path.name} has other templates than {commit}: {', '.join(sorted(name for name in brought.keys() | templates.keys() if brought.get(name) != templates.get(name)))}")


def main():
    folder, version, commit = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    templates = {name.removeprefix("templates/"): data for name, data in in_tar(run("git", "archive", "--format=tar", commit, "templates")).items()}
    names, machines = check_names_and_sums(folder, version)
    for machine in machines:
        bill = folder / f"dockdist-{version}-linux-{machine}.spdx.json"
        for name in sorted(names):
            if not name.endswith(".json") and (machine in name or ARCHITECTURES[machine] in name):
                check_package(folder / name, bill, commit, templates)
        found = supply.outdated_by_apt(sbom.linked(json.loads(bill.read_text())))
        if found is None:
            fail("apt does not know of Debian's security archive: apt-get update")
        if found:
            fail("Debian has newer versions of what is in them; upgrade (scripts/install-packages) and build again: " +
                 ", ".join(f"{package.name} {package.version} ({package.architecture}): {newer}" for package, newer in found))


if __name__ == "__main__":
    main()
