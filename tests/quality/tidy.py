#!/usr/bin/env python3
"""clang-tidy over every source of src/ in the compile database of a build folder.

Sources that are compiled together are looked at together, as one text: most of the time goes to the headers that they
share. What passed is not looked at again, in whichever checkout, until it, a header of ours that it includes, its flags,
.clang-tidy or clang-tidy itself changes; that is kept in ~/.cache/dockdist-tidy, beside ccache's. clang-tidy comes from
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
LATELY = 6 * 3600  # seconds: what lands together is made in less
MONTH = 30 * 24 * 3600


@functools.cache
def program():
    found = unpacked("clang-tidy", VERSION) / "clang_tidy/data/bin/clang-tidy"
    found.chmod(0o755)
    return str(found)


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "dockdist-tidy"


def changed_files(root):
    """What the commits of the last hours brought, counted from HEAD's own time, and what is not committed; None where git cannot
    tell. What came before was looked at when it landed."""

    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout

    try:
        before = int(git("log", "-1", "--format=%ct")) - LATELY
        base = git("rev-list", "-1", "--first-parent", f"--before={before}", "HEAD").strip()
        told = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard") if base else None
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return {root / name for name in told.splitlines()} if told is not None else None


QUOTED = re.compile(r'^[ \t]*#[ \t]*include "(.+)"', re.MULTILINE)


class Includes:
    """Which files of ours a source is made of: by the quoted includes, which are of ours alone."""

    def __init__(self, roots):
        self.roots = roots
        self.known = {}

    def direct(self, file):
        if file not in self.known:
            names = QUOTED.findall(file.read_text(errors="replace"))
            candidates = ([file.parent / name, *(root / name for root in self.roots)] for name in names)
            self.known[file] = {pathlib.Path(os.path.normpath(found)) for each in candidates if (found := next(filter(pathlib.Path.exists, each), None))}
        return self.known[file]

    def closure(self, source):
        found, todo = {source}, [source]
        while todo:
            more = self.direct(todo.pop()) - found
            found |= more
            todo += more
        return found


def cache_key(root, build, version, flags, files):
    """The same source in another checkout is the same source, so neither folder's own path counts; nor do flags that change no
    diagnosis. Headers of packages count by the digest of their versions among the flags (cmake/libraries.cmake)."""

    def placed(text):
        return text.replace(str(build), "BUILD").replace(str(root), "ROOT")

    digest = hashlib.sha256()
    settings = [path.read_text() for path in (root / ".clang-tidy", root / "tests/.clang-tidy") if path.exists()]
    for word in (version, *(placed(flag) for flag in flags if not flag.startswith(("-g", "-O"))), *settings):
        digest.update(word.encode() + b"\0")
    for name, path in sorted((placed(str(path)), path) for path in files):
        digest.update(name.encode() + b"\0" + hashlib.sha256(placed(path.read_text(errors="replace")).encode()).digest())
    return digest.hexdigest()


def is_ours(root, path, folders):
    return any(path.is_relative_to(root / folder) for folder in folders)


def sources_of(file):
    """What one entry of the compile database compiles: the file itself, or those that CMake's unity file includes."""
    if "Unity" not in file.parts:
        return [file]
    return [pathlib.Path(name) for name in QUOTED.findall(file.read_text())]


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
    """Without a launcher and the compiler before them, and without the names of what is read and written."""
    words = iter(shlex.split(command))
    next(word for word in words if "clang" in pathlib.Path(word).name)
    flags = []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-c"):
            next(words)
        elif word != "-MD":
            flags.append(word)
    return flags


def check(build, batch):
    start = time.monotonic()
    joined = build / "tidy" / f"{batch.name}.cpp"
    places = join(batch.sources, joined)
    command = [program(), "--quiet", f"--config-file={batch.config}", str(joined), "--", *batch.flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build)
    # stderr counts warnings of system headers; what matters is on stdout.
    words = result.stdout.strip() if result.stdout.strip() else result.stderr.strip()
    return result.returncode == 0, mapped(words, joined, places), time.monotonic() - start


@dataclasses.dataclass
class Batch:
    name: str  # of what it is compiled as
    sources: list
    flags: list
    config: pathlib.Path
    passed: list  # where to note that each has passed


def batches(root, build, options, changed):
    """(what is to be looked at, how many sources passed before, how many have not changed of late)"""
    cache = cache_folder()
    folders = ("src", "tests") if options.all or options.only else ("src",)
    includes = Includes([root / "src", root / "tests", build])
    everything = changed is None or any(path.name == ".clang-tidy" for path in changed)
    todo, seen, known, left = [], set(), 0, 0
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "--target=" in entry["command"]:
            continue  # the same sources once more, for another machine
        file = pathlib.Path(entry["directory"], entry["file"])
        flags = compiler_flags(entry["command"])
        sources, passed = [], []
        for source in sources_of(file):
            if source in seen or not is_ours(root, source, folders) or options.only not in str(source):
                continue
            seen.add(source)  # a source may stand in the database twice
            files = includes.closure(source)
            note = cache / cache_key(root, build, VERSION, flags, files)
            if note.exists():
                os.utime(note)
                known += 1
            elif not everything and not files & changed:
                left += 1
            else:
                sources.append(source)
                passed.append(note)
        if sources:
            in_tests = sources[0].is_relative_to(root / "tests") and (root / "tests/.clang-tidy").exists()
            name = str(file.relative_to(root) if file.is_relative_to(root) else file.name).replace("/", "-")
            todo.append(Batch(name, sources, flags, root / ("tests/.clang-tidy" if in_tests else ".clang-tidy"), passed))
    return todo, known, left


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="the build folder, with compile_commands.json")
    parser.add_argument("--all", action="store_true", help="the tests' sources too, which takes half as long again")
    parser.add_argument("--changed", action="store_true", help="only what has changed in the last six hours of commits, or is not committed: "
                        "sources, and those that include a header that has; DOCKDIST_TIDY=all in the environment overrides it")
    parser.add_argument("--only", default="", help="only sources whose path contains this")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    build = options.build.resolve()
    cache_folder().mkdir(parents=True, exist_ok=True)
    changed = changed_files(root) if options.changed and os.environ.get("DOCKDIST_TIDY") != "all" else None
    todo, known, left = batches(root, build, options, changed)

    start = time.monotonic()
    failed = 0
    if todo:
        program()  # not first in two threads
    # The largest first: they take longest.
    todo.sort(key=lambda batch: -sum(source.stat().st_size for source in batch.sources))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, (good, words, seconds) in zip(todo, pool.map(lambda each: check(build, each), todo)):
            for note in batch.passed if good else []:
                note.touch()
            if not good:
                failed += 1
                print(words)
            names = " ".join(str(source.relative_to(root)) for source in batch.sources)
            print(f"{'passed' if good else 'FAILED'} {names} ({seconds:.1f} s)", flush=True)
    prune(cache_folder())
    print(f"{sum(len(batch.sources) for batch in todo)} sources checked in {time.monotonic() - start:.0f} s, {known} passed before, "
          f"{left} not changed of late, {failed} of {len(todo)} batches failed")
    return 1 if failed else 0


def prune(cache):
    """What has not been of use for a month goes."""
    old = time.time() - MONTH
    for path in cache.iterdir():
        if path.stat().st_mtime < old:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
