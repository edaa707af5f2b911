"""What a machine without network and packages needs beside the checkout: dockdist's own programs as they are built here, and py-spy."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from gpu_day.paths import ROOT

BUILT = {"dockdist-init": "src/node/dockdist-init", "dockdist-init-under-test": "src/node/dockdist-init-under-test",
         "dockdist-probe": "src/probe/dockdist-probe", "gpu-answers": "tests/gpu_day/gpu-answers"}
PY_SPY, PY_SPY_SHA256 = "0.4.3", "8a4277225f470d394a85cca0cdd944bef87f0097b6f20150a6dd3ac2e92806b8"
MOST = 64 << 20  # bytes, with the checkout


def programs(packed, build):
    """{name: path, or None}: of what was brought along, else of what is built here."""
    found = {}
    for name in [*BUILT, "py-spy"]:
        places = [pathlib.Path(packed) / name] if packed else [pathlib.Path(build) / BUILT[name]] if name in BUILT else []
        there = [str(place) for place in places if os.access(place, os.X_OK)]
        found[name] = there[0] if there else None if name in BUILT else shutil.which(name)
    return found


def fetch_py_spy(folder):
    """From PyPI."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = pathlib.Path(scratch) / "requirements.txt"
        wanted.write_text(f"py-spy=={PY_SPY} --hash=sha256:{PY_SPY_SHA256}\n", encoding="utf-8")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:",
                        "--platform", "manylinux_2_5_x86_64", "-d", scratch, "-r", wanted], check=True)
        with zipfile.ZipFile(next(pathlib.Path(scratch).glob("py_spy-*.whl"))) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/scripts/py-spy"))
            (folder / "py-spy").write_bytes(archive.read(name))
    (folder / "py-spy").chmod(0o755)


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout if done.returncode == 0 else b""


def checkout_bytes():
    names = [name for name in git("ls-files", "-z").split(b"\0") if name]
    return sum(os.lstat(os.path.join(os.fsencode(ROOT), name)).st_size for name in names if os.path.lexists(os.path.join(os.fsencode(ROOT), name)))


def pack(folder, build):
    """Prints what it takes. FileNotFoundError where something is not built."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, place in BUILT.items():
        built = pathlib.Path(build) / place
        if not built.exists():
            raise FileNotFoundError(f"{built} is not built: scripts/build")
        shutil.copy(built, folder / name)
        subprocess.run(["strip", folder / name], check=True)
    fetch_py_spy(folder)
    commit = git("rev-parse", "HEAD").decode().strip() + ("+" if git("status", "--porcelain", "--untracked-files=no").strip() else "")
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.name != "manifest.json"}
    (folder / "manifest.json").write_text(json.dumps({"commit": commit, "py-spy": PY_SPY, "sha256": files}, indent=1) + "\n", encoding="utf-8")
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    total = sum(sizes.values()) + checkout_bytes()
    for name, size in sizes.items():
        print(f"{size / 1e6:8.1f} MB  {name}")
    print(f"{checkout_bytes() / 1e6:8.1f} MB  the checkout\n{total / 1e6:8.1f} MB  together, of {MOST / 1e6:.1f}")
    return total <= MOST


def commit(packed):
    """Of the programs, with "+" where files were changed."""
    try:
        return json.loads((pathlib.Path(packed) / "manifest.json").read_text(encoding="utf-8"))["commit"]
    except (OSError, TypeError):
        return git("rev-parse", "HEAD").decode().strip() or "unknown"
