#!/usr/bin/env python3
"""clang-tidy over every source of src/ in the compile database of a build folder.

A file that passed is not looked at again until it, a header that it includes, its command, .clang-tidy or clang-tidy
itself changes. The build must be there: Ninja's record of it says which headers a file includes.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

TIDY = "clang-tidy-19"


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "dockdist-tidy"


def ninja_dependencies(build):
    """{object file: [every file that it was made from]}"""
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    return parse_dependencies(build, text)


def parse_dependencies(build, text):
    dependencies = {}
    files = []
    for line in text.splitlines():
        if line.startswith("    "):
            files.append(os.path.normpath(build / line.strip()))
        elif ": #deps" in line and "STALE" not in line:
            files = dependencies.setdefault(line.split(":")[0], [])
        elif line:
            files = []
    return dependencies


def cache_key(root, build, version, command, files):
    """Files of ours by content, others by size and time, which a package's update changes. The same source in another
    checkout is the same source, so neither folder's own path counts; nor do a launcher before the compiler and flags
    that change no diagnosis."""

    def placed(text):
        return text.replace(str(build), "BUILD").replace(str(root), "ROOT")

    words = shlex.split(command)
    compiler = next((i for i, word in enumerate(words) if "clang" in pathlib.Path(word).name), 0)
    flags = [placed(word) for word in words[compiler:] if not word.startswith(("-g", "-O"))]
    digest = hashlib.sha256()
    settings = [path.read_text() for path in (root / ".clang-tidy", root / "tests/.clang-tidy") if path.exists()]
    for word in (version, *flags, *settings):
        digest.update(word.encode() + b"\0")
    for name, path in sorted((placed(name), pathlib.Path(name)) for name in set(files)):
        digest.update(name.encode() + b"\0")
        if name.startswith(("BUILD", "ROOT")):
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        else:
            stat = path.stat()
            digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    return digest.hexdigest()


def object_of(entry):
    """The object file of an entry of the compile database, as Ninja names it. CMake before 3.26 has no "output"."""
    words = shlex.split(entry["command"])
    return entry.get("output") or words[words.index("-o") + 1]


def is_ours(root, path, folders):
    return any(path.is_relative_to(root / folder) for folder in folders)


def check(build, source):
    start = time.monotonic()
    result = subprocess.run([TIDY, "-p", str(build), "--quiet", str(source)], capture_output=True, text=True, check=False)
    # stderr counts warnings of system headers; what matters is on stdout.
    words = result.stdout.strip() if result.stdout.strip() else result.stderr.strip()
    return result.returncode == 0, words, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, with compile_commands.json")
    parser.add_argument("--all", action="store_true", help="the tests' sources too, which takes half as long again")
    parser.add_argument("--only", default="", help="only sources whose path contains this")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    build = options.build.resolve()
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    dependencies = ninja_dependencies(build)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)

    folders = ("src", "tests") if options.all or options.only else ("src",)
    todo = {}  # source → where to note that it passed; a source may stand in the database twice
    known = 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not is_ours(root, source, folders) or options.only not in str(source) or source in todo:
            continue
        files = dependencies.get(object_of(entry))
        passed = cache / cache_key(root, build, version, entry["command"], files) if files else None
        if passed and passed.exists():
            os.utime(passed)
            known += 1
        else:
            todo[source] = passed

    start = time.monotonic()
    failed = 0
    # The largest first: they take longest.
    order = sorted(todo, key=lambda source: -source.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, (good, words, seconds) in zip(order, pool.map(lambda each: check(build, each), order)):
            if good and todo[source]:
                todo[source].touch()
            if not good:
                failed += 1
                print(words)
            print(f"{'passed' if good else 'FAILED'} {source.relative_to(root)} ({seconds:.1f} s)", flush=True)
    prune(cache)
    print(f"{len(todo)} checked in {time.monotonic() - start:.0f} s, {known} unchanged, {failed} failed")
    return 1 if failed else 0


def prune(cache):
    """What has not been of use for a month goes."""
    old = time.time() - 30 * 24 * 3600
    for path in cache.iterdir():
        if path.stat().st_mtime < old:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
