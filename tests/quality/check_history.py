#!/usr/bin/env python3
"""Subjects of commits are `area: imperative`, as CONTRIBUTING.md has them. Merges are not looked at, nor what is older than the rule."""

import argparse
import pathlib
import re
import subprocess
import sys

SINCE = 1795860000  # 28 November 2026, 10:00 UTC; older subjects are as they are
LOOKED_AT = 200  # the latest; all of a shallow clone's
LONGEST = 100

SUBJECT = re.compile(r"^(?P<areas>[a-z0-9][\w./+-]*(?:,? [a-z0-9][\w./+-]*){0,3}): (?P<what>.+)$")
REVERT = re.compile(r'^Revert "')
VERB = re.compile(r"^[a-z]+(?:-[a-z]+)?$")
OTHER_FORM = re.compile(r"(?:ed|ing|[^su]s)$")  # added, adding, adds
VERBS = {"bring", "embed", "exceed", "feed", "need", "ping", "proceed", "ring", "seed", "shed", "speed", "spring", "string", "swing", "alias", "bias", "canvas"}
NO_VERBS = set(
    "a an the one two three no not what which who whose whom where when while how why it its they of from for in on at by with without to and or but"
    " if so as more less most each every all any some new other another also only own same such than that there these this those".split()
)


def mistake(subject):
    """What is wrong with a subject, or None."""
    if REVERT.match(subject):
        return None
    parts = SUBJECT.match(subject)
    if not parts:
        return "is not `area: imperative`"
    first = parts["what"].split()[0].rstrip(",;:")
    if not VERB.match(first):
        return f"begins behind its area with `{first}`, which is no verb in small letters"
    if first in NO_VERBS or (OTHER_FORM.search(first) and first not in VERBS):
        return f"begins behind its area with `{first}`: say what the commit does as an order (`add`, not `added` or `adds`)"
    if subject.endswith("."):
        return "ends with a full stop"
    if len(subject) > LONGEST:
        return f"has {len(subject)} characters; {LONGEST} at most"
    return None


def problems(root):
    """None where there is no history: in a source archive, or without git."""
    try:
        run = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-prefix"], capture_output=True, text=True, check=False)
        if run.returncode != 0 or run.stdout.strip():
            return None
        words = ["git", "-C", str(root), "log", f"-{LOOKED_AT}", "--no-merges", "--format=%ct%x09%h%x09%s"]
        run = subprocess.run(words, capture_output=True, text=True, check=False, errors="replace")
    except FileNotFoundError:
        return None
    if run.returncode != 0:
        return None
    commits = [line.split("\t", 2) for line in run.stdout.splitlines()]
    return [f"{name}: the subject {wrong}: {subject}" for time, name, subject in commits if int(time) > SINCE and (wrong := mistake(subject))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    found = problems(parser.parse_args().root)
    if found is None:
        print("there is no history here", file=sys.stderr)
        return 0
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
