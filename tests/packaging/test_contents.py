"""What scripts/package makes: what is in it, what checkers say of it, and that it comes out the same every time."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import tarfile
import zipfile

PACKAGES = pathlib.Path(os.environ["DOCKDIST_PACKAGES"])
AGAIN = pathlib.Path(os.environ["DOCKDIST_PACKAGES_AGAIN"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(dockdist VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
SHARED = {"share/bash-completion/completions/dockdist", "share/zsh/site-functions/_dockdist", "share/fish/vendor_completions.d/dockdist.fish",
          "share/man/man1/dockdist.1", "share/man/man1/dockdist-up.1", "share/man/man5/dockdist-cluster.yaml.5", "share/doc/dockdist/LICENSE",
          "share/doc/dockdist/dockdist.spdx.json", "share/dockdist/cluster.schema.json", "bin/dockdist"}


def package(pattern):
    [found] = PACKAGES.glob(pattern)
    return found


def said(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_same_commit_gives_the_same_bytes():
    first = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PACKAGES.iterdir()}
    again = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in AGAIN.iterdir()}
    assert first == again


def test_every_package_is_in_the_sums():
    lines = (PACKAGES / "SHA256SUMS").read_text().splitlines()
    assert {line.split()[1] for line in lines} == {path.name for path in PACKAGES.iterdir()} - {"SHA256SUMS"}
    assert len(lines) == 6
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=PACKAGES)


def test_the_tarball_has_the_program_its_pages_and_its_completions():
    with tarfile.open(package("*-linux-*.tar.gz")) as tar:
        names = {"/".join(entry.name.split("/")[1:]) for entry in tar if entry.isfile()}
        assert all(entry.uname == entry.gname == "" and entry.uid == entry.gid == 0 for entry in tar)
    assert names >= SHARED
    assert not [name for name in names if name.startswith(("include", "lib"))]


def test_the_program_without_its_toolkits_is_small(tmp_path):
    with tarfile.open(package("*-linux-*.tar.gz")) as tar:
        [program] = [entry for entry in tar if entry.name.endswith("/bin/dockdist")]
        tar.extract(program, tmp_path)
    file = tmp_path / program.name
    build = PACKAGES.parents[1]
    payload = sum(path.stat().st_size for path in (build / "src/client/toolkit").glob("*.tar.zst"))
    assert payload > 1_000_000
    assert program.size - payload <= 16_300_000, f"{program.size} - {payload}"
    assert "INTERP" not in said("readelf", "--program-headers", file)  # no other program or library is needed to start it
    assert str(ROOT).encode() not in file.read_bytes()


def test_lintian_finds_no_error():
    found = subprocess.run(["lintian", "--fail-on", "error", "--tag-display-limit", "0", package("*.deb")], capture_output=True, text=True, check=False)
    assert found.returncode == 0 and "E: " not in found.stdout, found.stdout + found.stderr
    names = said("dpkg-deb", "--contents", package("*.deb"))
    for name in ("usr/bin/dockdist", "usr/share/man/man1/dockdist-run.1.gz", "usr/share/zsh/vendor-completions/_dockdist"):
        assert f" ./{name}\n" in names, names
    assert "Depends" not in said("dpkg-deb", "--info", package("*.deb"))


def test_the_rpm_needs_nothing():
    file = package("*.rpm")
    assert said("rpm", "--query", "--package", file).strip() == file.name.removesuffix(".rpm")
    assert not [line for line in said("rpm", "--query", "--package", "--requires", file).splitlines() if not line.startswith("rpmlib(")]
    assert "/usr/bin/dockdist\n" in said("rpm", "--query", "--package", "--list", file)
    assert len(set(said("rpm", "--query", "--package", "--queryformat", "[%{FILEMTIMES}\n]", file).split())) == 1  # not the checkout's


def test_the_wheel_is_whole():
    with zipfile.ZipFile(package("*.whl")) as wheel:
        assert wheel.testzip() is None
        record = wheel.read(f"dockdist-{VERSION}.dist-info/RECORD").decode().splitlines()
        assert {line.split(",")[0] for line in record} == set(wheel.namelist())
        assert wheel.getinfo(f"dockdist-{VERSION}.data/scripts/dockdist").external_attr >> 16 == 0o100755
        assert {name.partition("/share/dockdist/")[2] for name in wheel.namelist() if "/share/dockdist/" in name} == {
            path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*") if path.is_file()}


def test_the_bill_names_what_is_linked_in_and_the_toolkit_s_packages():
    bill = json.loads(package("*.spdx.json").read_text())
    names = {each["name"] for each in bill["packages"]}
    assert names >= {"dockdist", "libssl-dev", "libssh2-1-dev", "libarchive-dev", "libsodium-dev", "libyaml-cpp-dev", "libc6-dev", "nlohmann-json3-dev",
                     "libcli11-dev", "libzstd-dev", "openssh-server", "pdsh", "rsync"}
    known = {each["SPDXID"] for each in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    assert len(known) == len(bill["packages"]) + 1
    assert not [each for each in bill["relationships"] if not {each["spdxElementId"], each["relatedSpdxElement"]} <= known]
