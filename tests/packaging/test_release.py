"""scripts/release, in a copy of the sources with a key of its own, of packages that hold another program than ours: a small one that
says of which commit it is as ours does."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

PACKAGES = pathlib.Path(os.environ["DOCKDIST_PACKAGES"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(dockdist VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NOBODY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t", "GIT_CONFIG_GLOBAL": "/dev/null"}


SOURCES = ("CMakeLists.txt", "CHANGELOG.md", "scripts/release", "scripts/packaging", "scripts/install-packages", "tests/golden/wire", "templates")
NEWER = "newer"  # a file: the packages of which apt knows a newer version, one a line


class Copy:
    def __init__(self, folder):
        self.folder = folder
        for name in SOURCES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
        changes = folder / "CHANGELOG.md"
        changes.write_text(re.sub(r"^## .*", f"## {VERSION}", changes.read_text(), count=1, flags=re.M))
        (folder / ".gitignore").write_text("/build/\n__pycache__/\n")
        shutil.copytree(folder / "tests/golden/wire/next", folder / "tests/golden/wire" / VERSION, dirs_exist_ok=True)
        self.key = folder.parent / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.sign_with(self.key)
        self.git("init", "-q")
        self.commit()
        self.tools = folder.parent / "tools"
        self.tools.mkdir()
        (self.tools / NEWER).touch()
        apt = self.tools / "apt-cache"
        apt.write_text(f'#!/bin/sh\necho "release a=stable-security"\nwhile read -r name; do\n'
                       f'printf "%s:\\n  Installed: 1\\n  Candidate: 99:1\\n" "$name"\ndone <{self.tools / NEWER}\n')
        apt.chmod(0o755)

    def sign_with(self, key):
        public = key.with_suffix(".pub").read_text()
        (self.folder / "scripts/packaging/allowed_signers").write_text(f"release@dockdist {public}")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.folder, env={**os.environ, **NOBODY}, check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def head(self):
        return self.git("rev-parse", "HEAD").strip()

    def packages(self, commit, name="packages", templates=None):
        """Packages whose program says that it is of that commit."""
        made, stage = self.folder.parent / name, self.folder.parent / f"stage-{name}"
        made.mkdir()
        with tarfile.open(next(PACKAGES.glob("*.tar.gz"))) as tar:
            tar.extractall(stage)
        [top] = stage.iterdir()
        (stage / "root").mkdir()
        top.rename(stage / "root/usr")
        if templates:
            templates(stage / "root/usr/share/dockdist")
        program = stage / "root/usr/bin/dockdist"
        program.write_bytes(pathlib.Path("/bin/true").read_bytes() + b"\0dockdist of commit " + commit.encode() + b"\0")
        subprocess.run([sys.executable, ROOT / "scripts/packaging/pack.py", PACKAGES.parents[1], stage, made], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        write_sums(made)
        return made

    def release(self, *words, packages=None, code=0):
        """`packages`: made for this commit, unless they are given."""
        packages = packages or self.packages(self.head(), f"packages-{self.head()}")
        return self.run("--packages", packages, *words, code=code)

    def run(self, *words, code=0):
        done = subprocess.run(["scripts/release", VERSION, "--key", self.key, *words], cwd=self.folder,
                              env={**os.environ, **NOBODY, "PATH": f"{self.tools}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


def write_sums(folder):
    (folder / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                                               for path in sorted(folder.glob("dockdist*"))))


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "copy")


def test_a_release_is_signed_noted_and_tagged(copy):
    output = copy.folder / copy.release().strip()
    assert copy.git("tag", "--list").strip() == f"v{VERSION}"
    notes = (output / "notes.md").read_text()
    assert "\n### Added\n" in notes and "\n- " in notes and not re.search(r"(?m)^##? ", notes)
    check = ["ssh-keygen", "-Y", "verify", "-f", copy.folder / "scripts/packaging/allowed_signers", "-I", "release@dockdist", "-n", "file", "-s",
             output / "SHA256SUMS.sig"]
    sums = (output / "SHA256SUMS").read_bytes()
    assert subprocess.run(check, input=sums, capture_output=True, check=False).returncode == 0
    assert subprocess.run(check, input=sums + b"x", capture_output=True, check=False).returncode != 0
    assert "is there already" in copy.run(code=1)


def test_a_dry_run_tags_nothing(copy):
    copy.release("--dry-run")
    assert copy.git("tag", "--list") == ""


def test_what_is_not_ready_is_told_and_tags_nothing(copy):
    (copy.folder / "scripts/new").write_text("x")
    assert "not committed" in copy.run(code=1)
    copy.commit()
    changes = copy.folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace(f"## {VERSION}\n", f"## {VERSION} (unreleased)\n"))
    copy.commit()
    assert "has no section" in copy.run(code=1)
    changes.write_text(changes.read_text().replace(" (unreleased)\n", "\n", 1))
    recorded = next((copy.folder / "tests/golden/wire" / VERSION).iterdir())
    recorded.write_bytes(recorded.read_bytes() + b" ")
    copy.commit()
    assert "is not what nodes of this release say" in copy.run(code=1)
    assert copy.git("tag", "--list") == ""


def test_a_key_of_somebody_else_signs_no_release(copy, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    copy.sign_with(other)
    copy.commit()
    assert "the signature of SHA256SUMS is not one of" in copy.release(code=1)
    assert copy.git("tag", "--list") == ""


def test_packages_of_another_commit_are_refused(copy):
    of_none, of_another = copy.packages("", "none"), copy.packages("0" * 40, "another")
    assert "of no commit that it knows" in copy.release(packages=of_none, code=1)
    assert f"of {'0' * 40}, not of {copy.head()}" in copy.release(packages=of_another, code=1)
    assert "of no commit that it knows" in copy.release(packages=PACKAGES, code=1)  # those of an ordinary build
    assert copy.git("tag", "--list") == ""


def test_one_package_of_another_commit_is_refused(copy, tmp_path):
    made, other = copy.packages(copy.head()), copy.packages("1" * 40, "other")
    for kind in ("*.deb", "*.rpm", "*.whl", "*.tar", "*.tar.gz", "*.json"):
        mixed = shutil.copytree(made, tmp_path / "mixed", dirs_exist_ok=True)
        shutil.copy(next(other.glob(kind)), mixed)
        write_sums(mixed)
        assert "is not the one that the bill of materials is of" in copy.release(packages=mixed, code=1), kind


def test_what_else_lies_beside_packages_is_refused(copy):
    made = copy.packages(copy.head())
    (made / f"dockdist-{VERSION}-extra.tar.gz").write_text("x")
    write_sums(made)
    assert f"dockdist-{VERSION}-extra.tar.gz" in copy.release(packages=made, code=1)
    (made / f"dockdist-{VERSION}-extra.tar.gz").unlink()
    next(made.glob("*.rpm")).unlink()
    write_sums(made)
    assert f"dockdist-{VERSION}-1.x86_64.rpm" in copy.release(packages=made, code=1)
    sums = made / "SHA256SUMS"
    sums.write_text(sums.read_text() + "0" * 64 + "  ../key\n")
    assert "SHA256SUMS names ../key" in copy.release(packages=made, code=1)


def test_packages_with_templates_of_another_commit_are_refused(copy):
    made = copy.packages(copy.head(), templates=lambda folder: (folder / "minimal.yaml").write_text("hosts: []\n"))
    assert "other templates than" in copy.release(packages=made, code=1)


def test_libraries_of_which_debian_has_newer_ones_are_refused(copy):
    made = copy.packages(copy.head())
    [bill] = made.glob("*.json")
    versions = {each["name"]: each["versionInfo"] for each in json.loads(bill.read_text())["packages"]}
    (copy.tools / NEWER).write_text("libssl-dev\nlintian\n")
    said = copy.release(packages=made, code=1)
    assert f"libssl-dev {versions['libssl-dev']} (amd64): 99:1" in said and "lintian" not in said
    (copy.tools / "apt-cache").write_text("#!/bin/sh\n")
    assert "apt does not know of Debian's security archive" in copy.release(packages=made, code=1)


BUILD = """#!/bin/sh
[ "$*" = "--release dockdist" ] && [ -z "$(git status --porcelain --ignored)" ] && [ -z "$CXXFLAGS" ] && [ "$CCACHE_DISABLE" = 1 ] && mkdir build
"""
PACKAGE = """#!/bin/sh
[ "$1" = --prove ] && mkdir -p "$2" && git rev-parse HEAD >{place}/built && cp {place}/packages/* "$2"
"""


def test_a_release_is_built_of_the_commit_alone_in_a_fresh_folder(copy, monkeypatch):
    """Stand-ins for scripts/build and scripts/package look at where they are."""
    place = copy.folder.parent
    for name, text in (("build", BUILD), ("package", PACKAGE.format(place=place)), ("install-packages", "#!/bin/sh\n")):
        (copy.folder / "scripts" / name).write_text(text)
        (copy.folder / "scripts" / name).chmod(0o755)
    apt = copy.tools / "apt-get"
    apt.write_text("#!/bin/sh\n")
    apt.chmod(0o755)
    copy.commit()
    copy.packages(copy.head())
    (copy.folder / "build/package").mkdir(parents=True)
    (copy.folder / "build/package/of-another-day").write_text("x")
    monkeypatch.setenv("CXXFLAGS", "-DX")
    output = copy.folder / copy.run().strip()
    assert (place / "built").read_text().strip() == copy.head()
    assert copy.git("tag", "--list").strip() == f"v{VERSION}"
    assert not (output.parent / "sources").exists() and not list(output.glob("of-another-day"))


def test_the_release_image_s_base_is_named_by_its_digest():
    text = (ROOT / "docker/release/Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert bases == ["$base"]
    assert re.search(r"^ARG base=debian:bookworm-\d{8}@sha256:[0-9a-f]{64}$", text, re.M)
