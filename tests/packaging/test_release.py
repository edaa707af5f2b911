"""scripts/release, in a copy of the sources with a key of its own, of packages that are made already."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

PACKAGES = pathlib.Path(os.environ["DOCKDIST_PACKAGES"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"^project\(dockdist VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
NOBODY = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t", "GIT_CONFIG_GLOBAL": "/dev/null"}


class Copy:
    def __init__(self, folder):
        self.folder = folder
        for name in ("CMakeLists.txt", "CHANGELOG.md", "scripts/release", "tests/golden/wire"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / name)
        changes = folder / "CHANGELOG.md"
        changes.write_text(re.sub(r"^## .*", f"## {VERSION}", changes.read_text(), count=1, flags=re.M))
        (folder / ".gitignore").write_text("/build/\n")
        shutil.copytree(folder / "tests/golden/wire/next", folder / "tests/golden/wire" / VERSION, dirs_exist_ok=True)
        self.key = folder.parent / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        self.sign_with(self.key)
        self.git("init", "-q")
        self.commit()

    def sign_with(self, key):
        public = key.with_suffix(".pub").read_text()
        (self.folder / "scripts/packaging").mkdir(exist_ok=True)
        (self.folder / "scripts/packaging/allowed_signers").write_text(f"release@dockdist {public}")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.folder, env={**os.environ, **NOBODY}, check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def release(self, *words, code=0):
        done = subprocess.run(["scripts/release", VERSION, "--key", self.key, "--packages", PACKAGES, *words], cwd=self.folder,
                              env={**os.environ, **NOBODY}, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "copy")


def test_a_release_is_signed_noted_and_tagged(copy):
    output = copy.folder / copy.release().strip()
    assert copy.git("tag", "--list").strip() == f"v{VERSION}"
    notes = (output / "notes.md").read_text()
    assert notes.strip().startswith("- ") and "## " not in notes
    check = ["ssh-keygen", "-Y", "verify", "-f", copy.folder / "scripts/packaging/allowed_signers", "-I", "release@dockdist", "-n", "file", "-s",
             output / "SHA256SUMS.sig"]
    sums = (output / "SHA256SUMS").read_bytes()
    assert subprocess.run(check, input=sums, capture_output=True, check=False).returncode == 0
    assert subprocess.run(check, input=sums + b"x", capture_output=True, check=False).returncode != 0
    assert "is there already" in copy.release(code=1)


def test_a_dry_run_tags_nothing(copy):
    copy.release("--dry-run")
    assert copy.git("tag", "--list") == ""


def test_what_is_not_ready_is_told_and_tags_nothing(copy):
    (copy.folder / "scripts/new").write_text("x")
    assert "not committed" in copy.release(code=1)
    copy.commit()
    changes = copy.folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace(f"## {VERSION}\n", f"## {VERSION} (unreleased)\n"))
    copy.commit()
    assert "has no section" in copy.release(code=1)
    changes.write_text(changes.read_text().replace(" (unreleased)\n", "\n", 1))
    recorded = next((copy.folder / "tests/golden/wire" / VERSION).iterdir())
    recorded.write_bytes(recorded.read_bytes() + b" ")
    copy.commit()
    assert "is not what nodes of this release say" in copy.release(code=1)
    assert copy.git("tag", "--list") == ""


def test_a_key_of_somebody_else_signs_no_release(copy, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    copy.sign_with(other)
    copy.commit()
    assert "the signature of SHA256SUMS is not one of" in copy.release(code=1)
    assert copy.git("tag", "--list") == ""
