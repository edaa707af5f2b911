#!/usr/bin/env python3
"""closing.py BUILD CTEST…: runs ctest, and puts before its closing lines what who reads only the end wants to know: of each test that
failed its last lines, and which tests of the lab failed at first and passed then (tries.py)."""

import pathlib
import re
import signal
import subprocess
import sys

import tries

CLOSING = re.compile(rb"\d+% tests passed, \d+ tests? failed out of \d+")
FAILED = re.compile(r"^\t *\d+ - (.*) \([^()]*\)$")
MOST = 25  # of so many the lines are shown; the others are named


def outputs(log, names):
    """{name: what it printed} of ctest's log."""
    found = {}
    name = lines = None
    for line in log:
        begun = re.match(r"\d+/\d+ Test: (.*)\n", line)
        if begun:
            name, lines = begun[1], None
        elif line == "Output:\n":
            lines = []
        elif line == "<end of output>\n" and lines is not None:
            if name in names:
                found[name] = "".join(lines[1:])  # without a rule
            lines = None
        elif lines is not None:
            lines.append(line)
    return found


def failures(closing):
    """The names in the list that ctest ends with; what did not run for want of something else is in another one."""
    lines = closing.decode(errors="replace").splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("The following tests FAILED")), len(lines))
    return [found[1] for line in lines[begin:] if (found := FAILED.match(line))]


def report(build, closing, ctest):
    """Whether a test of the lab has failed."""
    tried = tries.notes(ctest)
    texts = {}
    names = [name for name in failures(closing) if not name.startswith("lab/second-try-")]
    log = build / "Testing/Temporary/LastTest.log"
    if names and log.exists():
        with log.open(errors="replace") as file:
            texts = outputs(file, set(names))
    for each in tried:
        if each["state"] != "flaky":  # one without a second try counts by its first
            names.append(each["name"])
            logs = sorted(tries.folder_of(each["name"]).glob("*.log"))
            texts[each["name"]] = logs[-1].read_text(errors="replace") if logs else ""
    for name in names[:MOST]:
        print(f"\n===== failed: {name}\n{tries.last_lines(texts.get(name, '')) or 'it printed nothing'}")
    if names:
        print(f"\n{len(names)} failed:")
        for name in names:
            print(f"  {name}")
    for each in tried:
        if each["state"] == "flaky":
            print(f"flaky: {each['name']} (both logs in {tries.FOLDER}/)")
    return any(each["state"] != "flaky" for each in tried)


def main():
    build, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    tries.FOLDER = build / "flaky"
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    signal.signal(signal.SIGINT, lambda *_: None)  # ctest has it, too, and ends
    closing = b""
    for line in process.stdout:
        if closing or CLOSING.match(line):
            closing += line
        else:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    code = process.wait()
    failed = report(build, closing, process.pid)
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\n" + closing)
    sys.stdout.buffer.flush()
    if code == 0 and failed:  # whose second try was left out
        return 8
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
