#!/usr/bin/env python3
"""clang-tidy over every source of src/ in the compile database of a build folder.

Sources that are compiled together are looked at together, as one text: most of the time goes to the headers that they
share. What passed is not looked at again until it, a header that it includes, its command, .clang-tidy or clang-tidy
itself changes. The build must be there: Ninja's record of it says which headers a file includes. clang-tidy comes from
PyPI: since 22 it leaves out what system headers declare, which took it four fifths of its time.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness.wheels import unpacked  # noqa: E402

VERSION = "22.1.8"


@functools.cache
def program():
    found = unpacked("clang-tidy", VERSION) / "clang_tidy/data/bin/clang-tidy"
    found.chmod(0o755)
    return str(found)


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


INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def sources_of(file):
    """What one entry of the compile database compiles: the file itself, or those that CMake's unity file includes."""
    if "Unity" not in file.parts:
        return [file]
    return [pathlib.Path(name) for name in INCLUDED.findall(file.read_text())]


def join(sources, target):
    """One text of them all; not by #include, since some checks look at the main file alone. [(first line, source)]"""
    lines = []
    places = []
    for source in sources:
        places.append((len(lines) + 1, source))
        lines += source.read_text().splitlines()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n")
    return places


def mapped(words, joined, places):
    """clang-tidy's words with the places in the joined text as places in the sources."""

    def place(match):
        line = int(match[1])
        first, source = max(found for found in places if found[0] <= line)
        return f"{source}:{line - first + 1}:"

    return re.sub(re.escape(str(joined)) + r":(\d+):", place, words)


def compiler_flags(command):
    words = shlex.split(command)
    compiler = next((i for i, word in enumerate(words) if "clang" in pathlib.Path(word).name), 0)
    output = words.index("-o")
    return [word for word in words[compiler + 1 : output] + words[output + 2 : -1] if word != "-c"]


def check(build, batch):
    start = time.monotonic()
    joined = build / "tidy" / f"{batch.name}.cpp"
    places = join(batch.sources, joined)
    command = [program(), "--quiet", f"--config-file={batch.config}", str(joined), "--", *compiler_flags(batch.command)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build)
    # stderr counts warnings of system headers; what matters is on stdout.
    words = result.stdout.strip() if result.stdout.strip() else result.stderr.strip()
    return result.returncode == 0, mapped(words, joined, places), time.monotonic() - start


@dataclasses.dataclass
class Batch:
    name: str  # of its object file
    sources: list
    command: str
    config: pathlib.Path
    passed: pathlib.Path | None  # where to note that it passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, with compile_commands.json")
    parser.add_argument("--all", action="store_true", help="the tests' sources too, which takes half as long again")
    parser.add_argument("--only", default="", help="only sources whose path contains this")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    build = options.build.resolve()
    dependencies = ninja_dependencies(build)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)

    folders = ("src", "tests") if options.all or options.only else ("src",)
    todo = []
    seen = set()  # a source may stand in the database twice
    known = 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "--target=" in entry["command"]:
            continue  # the same sources once more, for another machine
        sources = sources_of(pathlib.Path(entry["directory"], entry["file"]))
        sources = [source for source in sources if is_ours(root, source, folders) and source not in seen]
        if not any(options.only in str(source) for source in sources):
            continue
        seen.update(sources)
        name = object_of(entry)
        files = dependencies.get(name)
        passed = cache / cache_key(root, build, VERSION, entry["command"], files) if files else None
        if passed and passed.exists():
            os.utime(passed)
            known += len(sources)
        else:
            in_tests = sources[0].is_relative_to(root / "tests") and (root / "tests/.clang-tidy").exists()
            config = root / ("tests/.clang-tidy" if in_tests else ".clang-tidy")
            todo.append(Batch(name.replace("/", "-"), sources, entry["command"], config, passed))

    start = time.monotonic()
    failed = 0
    program()  # not first in two threads
    # The largest first: they take longest.
    todo.sort(key=lambda batch: -sum(source.stat().st_size for source in batch.sources))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, (good, words, seconds) in zip(todo, pool.map(lambda each: check(build, each), todo)):
            if good and batch.passed:
                batch.passed.touch()
            if not good:
                failed += 1
                print(words)
            names = " ".join(str(source.relative_to(root)) for source in batch.sources)
            print(f"{'passed' if good else 'FAILED'} {names} ({seconds:.1f} s)", flush=True)
    prune(cache)
    print(f"{sum(len(batch.sources) for batch in todo)} sources checked in {time.monotonic() - start:.0f} s, {known} unchanged, {failed} of {len(todo)} batches failed")
    return 1 if failed else 0


def prune(cache):
    """What has not been of use for a month goes."""
    old = time.time() - 30 * 24 * 3600
    for path in cache.iterdir():
        if path.stat().st_mtime < old:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
