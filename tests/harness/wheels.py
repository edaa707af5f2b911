"""Packages of PyPI's that tests read or run, as they are packed; nothing of the machine's Python changes."""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = pathlib.Path(os.environ.get("DOCKDIST_BUILD", ROOT / "build")) / "python"


class NoWheel(Exception):
    """PyPI does not give it, and why."""


def wheel(package, version):
    """The file, downloaded once."""
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    WHEELS.mkdir(parents=True, exist_ok=True)
    found = next(WHEELS.glob(pattern), None)
    if found:
        return found
    with tempfile.TemporaryDirectory(dir=WHEELS) as fresh:
        got = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--retries=1", "--timeout=10",
                              "--dest", fresh, f"{package}=={version}"], capture_output=True, text=True, check=False)
        if got.returncode != 0:
            raise NoWheel(f"{package} {version} is not to be had: {got.stderr.strip().splitlines()[-1:]}")
        [file] = pathlib.Path(fresh).glob(pattern)
        return file.replace(WHEELS / file.name)


def unpacked(package, version):
    """The folder with what is in it."""
    folder = WHEELS / f"{package}-{version}"
    if not folder.exists():
        file = wheel(package, version)
        fresh = tempfile.mkdtemp(dir=WHEELS)
        zipfile.ZipFile(file).extractall(fresh)
        os.rename(fresh, folder)
    return folder
