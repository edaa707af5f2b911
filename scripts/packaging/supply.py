#!/usr/bin/env python3
"""supply.py BUILD [TARGET]: the Debian packages that the program (TARGET: dockdist, dockdist-arm64) and the programs in it are made
of, by the linker's and the compiler's own records, with their versions. Exits with 1 where Debian has a newer one of any, as far as
apt knows, naming it and what to do."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import typing

# They tell the kernel's numbers and the compiler's own words; no code of theirs becomes part of a program.
INTERFACES = {"linux-libc-dev", "libclang-common-19-dev"}


class Package(typing.NamedTuple):
    name: str
    version: str
    architecture: str


def run(*command):
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})


def setting(build, name):
    return re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1]


def files_used(build, target):
    """Those outside of the project that the target and what goes into it are made of: headers by Ninja's record, archives by the
    linker's (src/CMakeLists.txt), as far as something of them was taken."""
    commands = run("ninja", "-C", build, "-t", "commands", target).stdout
    objects = set(re.findall(r" -o (\S+\.o)\b", commands))
    found = set()
    for record in re.findall(r"-Wl,--print-archive-stats=(\S+)", commands):
        for line in pathlib.Path(record).read_text().splitlines()[1:]:
            _, extracted, archive = line.split("\t")
            if int(extracted):
                found.add(archive)
    wanted = False
    for line in run("ninja", "-C", build, "-t", "deps").stdout.splitlines():
        if not line.startswith(" "):
            wanted = line.split(":")[0] in objects
        elif wanted:
            found.add(line.strip())
    own = (f"{build.resolve()}/", f"{pathlib.Path(__file__).resolve().parents[2]}/")
    foreign = f"{foreign_root(build)}/"
    resolved = {os.path.realpath(build / name) for name in found}
    return {name for name in resolved if name.startswith(foreign) or not name.startswith(own)}


def foreign_root(build):
    """Where the packages for the other architecture are unpacked; nowhere, where none are."""
    found = re.search(r"^DOCKDIST_FOREIGN_ROOT:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
    return os.path.realpath(found[1]) if found else "/nonexistent"


def libraries():
    """Those that scripts/install-packages keeps new."""
    return run(pathlib.Path(__file__).resolve().parents[1] / "install-packages", "--libraries").stdout.split()


def is_built_with_what_is_installed(build, target):
    """cmake/libraries.cmake has put a digest of the versions into every command, and nothing is left to do for these commands."""
    installed = hashlib.sha1(run("dpkg-query", "--show", *libraries()).stdout.encode()).hexdigest()[:8]
    commands = run("ninja", "-C", build, "-t", "commands", target).stdout
    plan = build / "dry-run.ninja"  # of build.ninja itself Ninja says no more than that CMake may have to be run again
    plan.write_text("include build.ninja\n", encoding="utf-8")
    left = run("ninja", "-C", build, "-f", plan.name, "-n", target)
    return f"-DDOCKDIST_LIBRARIES=0x{installed} " in commands and left.returncode == 0 and not re.search(r"(Building|Linking) CXX", left.stdout)


def packages_used(build, target):
    """Fails where a file is of no package, as nobody would hear of its holes."""
    if not is_built_with_what_is_installed(build, target):
        sys.exit("supply: libraries or sources have changed since the last scripts/build: run it again")
    root = pathlib.Path(foreign_root(build))
    files = files_used(build, target)
    names, unknown = set(), set()
    result = set()
    if unpacked := {name for name in files if name.startswith(f"{root}/")}:
        versions = dict(line.split() for line in (root / "versions").read_text().splitlines())
        owners = {}
        for line in (root / "files").read_text().splitlines():
            package, _, name = line.partition(" ")
            owners[os.path.realpath(root / name)] = package
        unknown |= unpacked - owners.keys()
        result |= {Package(owners[name], versions[owners[name]], setting(build, "DOCKDIST_FOREIGN")) for name in unpacked - unknown}
    told = run("dpkg-query", "--search", *sorted(files - unpacked))
    for line in told.stdout.splitlines():
        if not line.startswith("diversion"):
            names.update(each.strip() for each in line.rpartition(": ")[0].split(","))
    unknown.update(re.findall(r"no path found matching pattern (.*)", told.stderr))
    if unknown:
        sys.exit(f"supply: of no Debian package: {', '.join(sorted(unknown))}")
    shown = run("dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Architecture}\n", *sorted(names)).stdout
    return sorted(result | {Package(*line.split()) for line in shown.splitlines()})


def has_code(package):
    return package.name not in INTERFACES


def is_older(version, other):
    """Versions of Debian's; a rebuild of the same source (+b1), which architectures do not share, is not another one."""
    version, other = (re.sub(r"\+b\d+$", "", each) for each in (version, other))
    return run("dpkg", "--compare-versions", version, "lt", other).returncode == 0


def outdated(packages, policy):
    """Those of the packages of which `apt-cache policy` has a newer candidate: (package, newer version)."""
    candidates = dict(re.findall(r"^(\S+):\n(?: .*\n)*?  Candidate: (\S+)", policy, re.M))
    return sorted((each, candidates[each.name]) for each in packages
                  if has_code(each) and is_older(each.version, candidates.get(each.name, "0")))


def outdated_by_apt(packages):
    """None where apt does not know of Debian's security archive."""
    if "-security" not in run("apt-cache", "policy").stdout:
        return None
    return outdated(packages, run("apt-cache", "policy", *sorted({each.name for each in packages})).stdout)


def main():
    build, target = pathlib.Path(sys.argv[1]).resolve(), (sys.argv[2:] or ["dockdist"])[0]
    packages = packages_used(build, target)
    for each in packages:
        print(*each)
    found = outdated_by_apt(packages)
    if found is None:
        sys.exit("supply: apt does not know of Debian's security archive: apt-get update")
    if found:
        sys.exit("supply: Debian has newer ones; run scripts/install-packages, then scripts/build:\n" +
                 "\n".join(f"  {name} {version} ({architecture}): {newer}" for (name, version, architecture), newer in found))


if __name__ == "__main__":
    main()
