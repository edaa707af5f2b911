"""The toolkit is made of the packages that its lock names, and of nothing else; the lock lacks no security update. Nor do the
libraries that are linked into the programs, of either architecture, and what installs, unpacks and links them takes newer ones."""

import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["DOCKDIST_BUILD"])
LOCK = ROOT / "src/client/toolkit/packages.lock"

sys.path.insert(0, str(ROOT / "scripts/packaging"))
import supply  # noqa: E402

spec = importlib.util.spec_from_file_location("sbom", ROOT / "src/client/toolkit/sbom.py")
sbom = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sbom)


def locked():
    return sbom.packages_of(LOCK.read_text())


def is_older(version, other):
    return subprocess.run(["dpkg", "--compare-versions", version, "lt", other], check=False).returncode == 0


def security_updates(packages, madison):
    """What `apt-cache madison` knows to be newer than `packages` in Debian 12's security archive: (name, locked, newer)."""
    versions = {one["name"]: one["version"] for one in packages}
    found = set()
    for line in madison.splitlines():
        name, version, source = (field.strip() for field in line.split("|"))
        if "bookworm-security" in source and name in versions and is_older(versions[name], version):
            found.add((name, versions[name], version))
    return sorted(found)


@pytest.fixture
def make(tmp_path):
    """Runs make-toolkit on a lock of one package; its archive is a folder."""
    (tmp_path / "cache").mkdir()

    def run(digest, path="debian/20260101T000000Z/pool/main/p/part/part_1-1_amd64.deb", version="1-1"):
        lock = tmp_path / "lock"
        lock.write_text(f"part {version} amd64 {digest} {path}\n")
        return subprocess.run(
            [ROOT / "scripts/make-toolkit", "--init", BUILD / "dockdist", "--output", tmp_path / "out.tar", "--lock", lock,
             "--cache", tmp_path / "cache"],
            check=False, capture_output=True, text=True,
            env={**os.environ, "DOCKDIST_DEBIAN_ARCHIVE": f"file://{tmp_path}/archive"})

    run.root = tmp_path
    run.file = tmp_path / "archive/debian/20260101T000000Z/pool/main/p/part/part_1-1_amd64.deb"
    run.file.parent.mkdir(parents=True)
    return run


def a_package(folder):
    (folder / "part/DEBIAN").mkdir(parents=True)
    (folder / "part/DEBIAN/control").write_text("Package: part\nVersion: 1-1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n")
    subprocess.run(["dpkg-deb", "--build", folder / "part", folder / "part.deb"], check=True, capture_output=True)
    return folder / "part.deb"


def test_a_package_that_is_not_the_locked_one_is_refused(make):
    shutil.copy(a_package(make.root), make.file)
    done = make("0" * 64)
    assert done.returncode == 1
    assert "part 1-1 is not what" in done.stderr and "SHA-256 differs" in done.stderr
    assert list((make.root / "cache").iterdir()) == []
    assert not (make.root / "out.tar").exists()


def test_another_file_in_the_cache_is_not_taken(make):
    package = a_package(make.root)
    (make.root / "cache/part_1-1_amd64.deb").write_bytes(b"from another day")
    shutil.copy(package, make.file)
    done = make(hashlib.sha256(package.read_bytes()).hexdigest())
    assert (make.root / "cache/part_1-1_amd64.deb").read_bytes() == package.read_bytes()
    assert "SHA-256" not in done.stderr  # it goes on, to fail for want of OpenSSH


def test_a_package_that_is_nowhere_is_named(make):
    done = make("0" * 64)
    assert done.returncode == 1
    assert "cannot get part 1-1" in done.stderr and "--update-lock" in done.stderr


def test_a_wheel_that_is_not_the_locked_one_is_refused_and_one_that_is_nowhere_named(make, monkeypatch):
    wheels = make.root / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    done = make("0" * 64, "pypi/part-1-py3-none-any.whl", "1")
    assert done.returncode == 1
    assert "cannot get part 1:" in done.stderr and "--update-lock" in done.stderr
    file = wheels / "part-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("part-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: part\nVersion: 1\n")
        wheel.writestr("part-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("part-1.dist-info/RECORD", "")
    done = make("0" * 64, "pypi/part-1-py3-none-any.whl", "1")
    assert done.returncode == 1
    assert "part 1 is not what" in done.stderr and "SHA-256 differs" in done.stderr
    assert list((make.root / "cache").iterdir()) == []
    done = make(hashlib.sha256(file.read_bytes()).hexdigest(), "pypi/part-1-py3-none-any.whl", "1")
    assert "SHA-256" not in done.stderr  # it goes on, to fail for want of OpenSSH


def test_every_library_of_the_toolkit_is_from_the_lock():
    assert len({(one["name"], one["architecture"]) for one in locked()}) == len(locked())
    for one in locked():
        file = BUILD / "toolkit-cache" / one["path"].rsplit("/", 1)[1]
        assert hashlib.sha256(file.read_bytes()).hexdigest() == one["sha256"], one["name"]


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_bill_of_materials_names_every_package(architecture):
    document = json.loads((BUILD / f"src/client/toolkit/toolkit.{architecture}.spdx.json").read_text())
    tar = (BUILD / f"src/client/toolkit/toolkit.{architecture}.tar").read_bytes()
    toolkit, *parts = document["packages"]
    assert toolkit["checksums"] == [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(tar).hexdigest()}]
    assert {(one["name"], one["versionInfo"], one["checksums"][0]["checksumValue"]) for one in parts} == \
        {(one["name"], one["version"], one["sha256"]) for one in locked() if one["architecture"] == architecture}
    ids = [one["SPDXID"] for one in document["packages"]]
    assert len(set(ids)) == len(ids)
    assert {one["relatedSpdxElement"] for one in document["relationships"]} == set(ids)


MADISON = """
   rsync | 3.2.7-1+deb12u4 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
   rsync | 3.2.7-1+deb12u2 | http://deb.debian.org/debian bookworm/main amd64 Packages
   rsync | 3.4.1-1 | http://deb.debian.org/debian trixie/main amd64 Packages
   pdsh | 2.34-0.2 | http://deb.debian.org/debian bookworm/main amd64 Packages
""".strip("\n")


@pytest.mark.parametrize("version,found", [
    ("3.2.7-1+deb12u2", [("rsync", "3.2.7-1+deb12u2", "3.2.7-1+deb12u4")]),
    ("3.2.7-1+deb12u4", []),
])
def test_a_security_update_that_the_lock_lacks_is_seen(version, found):
    assert security_updates([{"name": "rsync", "version": version}, {"name": "pdsh", "version": "2.0"}], MADISON) == found


def test_the_lock_has_every_security_update_that_apt_knows():
    madison = subprocess.run(["apt-cache", "madison", *(one["name"] for one in locked())],
                             check=True, capture_output=True, text=True).stdout
    if "bookworm-security" not in madison:
        pytest.skip("apt's lists are not those of Debian 12's security archive")
    missing = security_updates(locked(), madison)
    assert not missing, f"run scripts/make-toolkit --update-lock, for {missing}"


# --- what is linked into the programs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def used():
    return [package for package in supply.packages_used(BUILD, "dockdist") if supply.has_code(package)]


def test_every_library_in_the_programs_is_one_that_install_packages_keeps_new(used):
    assert {package.name for package in used} == set(supply.libraries())


def test_the_programs_for_both_architectures_have_their_libraries_from_packages_of_theirs(used):
    foreign = supply.setting(BUILD, "DOCKDIST_FOREIGN")
    for architecture in (supply.run("dpkg", "--print-architecture").stdout.strip(), foreign):
        names = {package.name for package in used if package.architecture == architecture}
        assert names >= {"libc6-dev", "libstdc++-12-dev", "libgcc-12-dev", "libssl-dev", "libsodium-dev"}, architecture


def test_debian_has_no_newer_version_of_any_library_in_the_programs(used):
    found = supply.outdated_by_apt(used)
    if found is None:
        pytest.skip("apt's lists are not those of Debian's security archive")
    assert not found, "run scripts/install-packages, then scripts/build"


POLICY = """
libssl-dev:
  Installed: 3.0.19-1~deb12u2
  Candidate: 3.0.22-1~deb12u2
  Version table:
     3.0.22-1~deb12u2 500
        500 http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
libbz2-dev:
  Installed: 1.0.8-5+b1
  Candidate: 1.0.8-5+b1
  Version table:
 *** 1.0.8-5+b1 500
linux-libc-dev:
  Installed: 6.1.1-1
  Candidate: 6.1.2-1
""".lstrip()


@pytest.mark.parametrize("package,newer", [
    (("libssl-dev", "3.0.19-1~deb12u2", "amd64"), ["3.0.22-1~deb12u2"]),
    (("libssl-dev", "3.0.22-1~deb12u1", "arm64"), ["3.0.22-1~deb12u2"]),
    (("libssl-dev", "3.0.22-1~deb12u2", "amd64"), []),
    (("libbz2-dev", "1.0.8-5", "arm64"), []),  # the same source, built once less
    (("linux-libc-dev", "6.1.1-1", "amd64"), []),  # numbers alone
    (("libxxhash-dev", "0.8.1-1", "amd64"), []),  # apt does not know it
])
def test_a_library_that_is_older_than_debian_s_is_seen(package, newer):
    assert [version for _, version in supply.outdated([supply.Package(*package)], POLICY)] == newer


def test_a_library_of_no_package_is_refused(monkeypatch, tmp_path):
    (tmp_path / "libown.a").write_text("")
    monkeypatch.setattr(supply, "files_used", lambda *_: {str(tmp_path / "libown.a"), "/usr/include/stdio.h"})
    monkeypatch.setattr(supply, "is_built_with_what_is_installed", lambda *_: True)
    with pytest.raises(SystemExit, match="of no Debian package: .*libown.a"):
        supply.packages_used(BUILD, "dockdist")


def test_programs_that_were_built_before_an_upgrade_are_refused(monkeypatch):
    monkeypatch.setattr(supply, "libraries", lambda: ["libc6-dev"])  # other versions than those of the build, as they are less
    with pytest.raises(SystemExit, match="changed since the last scripts/build"):
        supply.packages_used(BUILD, "dockdist")


class Tools:
    """Stand-ins for programs, first in PATH; what was called stands in `calls`."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        self.calls = folder / "calls"
        self.calls.write_text("")
        self.environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

    def add(self, name, script):
        file = self.folder / "bin" / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.calls}\n{script}\n')
        file.chmod(0o755)


def test_only_libraries_are_upgraded_and_only_where_apt_knows_newer_ones(tmp_path):
    tools = Tools(tmp_path)
    install = ROOT / "scripts/install-packages"
    names = subprocess.run([install, "--list"], check=True, capture_output=True, text=True).stdout.split()
    assert set(supply.libraries()) < set(names)
    tools.add("dpkg-query", f"for name in {' '.join(names)}; do echo \"installed $name\"; done")
    tools.add("apt-get", "")
    tools.add("apt-cache", "for name in \"$@\"; do case $name in policy) ;; *)\n"
              "case $name in libssl-dev | clang-19) new=2 ;; *) new=1 ;; esac\n"
              "printf '%s:\\n  Installed: 1\\n  Candidate: %s\\n  Version table:\\n     1 500\\n' \"$name\" $new ;; esac; done")
    done = subprocess.run([install], check=False, capture_output=True, text=True, env=tools.environment)
    assert done.returncode == 0, done.stderr
    installs = [line for line in tools.calls.read_text().splitlines() if line.startswith("apt-get install")]
    assert len(installs) == 1 and installs[0].endswith("--only-upgrade libssl-dev"), installs


FOREIGN = """
cmake_minimum_required(VERSION 3.25)
project(foreign LANGUAGES NONE)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER_ID Clang)
set(DOCKDIST_STATIC ON)
set(DOCKDIST_LIBRARY_PACKAGES libssl-dev libfmt-dev libstdc++-12-dev)
include({cmake}/foreign.cmake)
"""


def test_the_other_architecture_s_libraries_are_had_again_when_debian_has_newer_ones(tmp_path):
    tools = Tools(tmp_path)
    project = tmp_path / "project"
    (project / "scripts").mkdir(parents=True)
    (project / "CMakeLists.txt").write_text(FOREIGN.format(cmake=ROOT / "cmake"))
    tools.add("aarch64-linux-gnu-strip", "")
    tools.add("dpkg-query", "printf '%s\\n' 'libssl-dev:amd64: /usr/lib/libssl.a' 'libstdc++-12-dev:amd64: /usr/lib/libstdc++.a'")
    tools.add("apt-cache", f"cat {tmp_path}/policy")
    tools.add("make-toolkit", f'[ ! -e {tmp_path}/offline ] || exit 1; mkdir -p "$4" && cp {tmp_path}/policy "$4/versions"')
    (project / "scripts/make-toolkit").symlink_to(tmp_path / "bin/make-toolkit")
    folders = project / "build/foreign"

    def configure(version):
        (tmp_path / "policy").write_text(f"libssl-dev:\n  Installed: 1\n  Candidate: {version}\n")
        done = subprocess.run(["cmake", "-S", project, "-B", project / "build"], check=False, capture_output=True, text=True, env=tools.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        [folder] = folders.iterdir()
        return folder, done.stderr

    first, _ = configure(1)
    [call] = [line for line in tools.calls.read_text().splitlines() if line.startswith("make-toolkit")]
    assert call.endswith(f"{first} libssl-dev libstdc++-12-dev libc6 linux-libc-dev")  # what has archives
    assert configure(1)[0] == first
    assert tools.calls.read_text().count("make-toolkit") == 1
    (tmp_path / "offline").touch()
    stays, said = configure(2)
    assert stays == first and "stay as old as they are" in said
    (tmp_path / "offline").unlink()
    newer, _ = configure(2)
    assert newer != first and "Candidate: 2" in (newer / "versions").read_text()


def test_what_is_unpacked_leads_to_no_file_of_this_machine():
    """A link to /lib/… in it, followed by whoever writes there, changed this machine's."""
    root = pathlib.Path(supply.foreign_root(BUILD))
    links = [path for path in root.rglob("*") if path.is_symlink()]
    assert len(links) > 10
    assert not [path for path in links if os.readlink(path).startswith("/")]
