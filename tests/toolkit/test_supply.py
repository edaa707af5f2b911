"""The toolkit is made of the packages that its lock names, and of nothing else; the lock lacks no security update."""

import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ["DOCKDIST_BUILD"])
LOCK = ROOT / "src/toolkit/packages.lock"

spec = importlib.util.spec_from_file_location("sbom", ROOT / "src/toolkit/sbom.py")
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

    def run(digest, path="debian/20260101T000000Z/pool/main/p/part/part_1-1_amd64.deb"):
        lock = tmp_path / "lock"
        lock.write_text(f"part 1-1 amd64 {digest} {path}\n")
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


def test_every_library_of_the_toolkit_is_from_the_lock():
    assert len({(one["name"], one["architecture"]) for one in locked()}) == len(locked())
    for one in locked():
        file = BUILD / "toolkit-cache" / one["path"].rsplit("/", 1)[1]
        assert hashlib.sha256(file.read_bytes()).hexdigest() == one["sha256"], one["name"]


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_bill_of_materials_names_every_package(architecture):
    document = json.loads((BUILD / f"src/toolkit/toolkit.{architecture}.spdx.json").read_text())
    tar = (BUILD / f"src/toolkit/toolkit.{architecture}.tar").read_bytes()
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
