#!/usr/bin/env python3
"""A lab test that fails is run once more, alone, when all others of its lab are over (cmake/lab.cmake).

tries.py first NAME SECONDS COMMAND…   runs a test. What fails, or takes longer, is kept for a second try, and ctest calls the test
                                       skipped: what became of it, lab/second-try-LAB says
tries.py second LAB                    runs those again; fails where one fails again, or more than three have failed: that many are no
                                       chance, and none is run again

Both logs of a test lie in DOCKDIST_TRIES/NAME. What earlier runs of ctest have left there does not count."""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

FOLDER = pathlib.Path(os.environ.get("DOCKDIST_TRIES", "build/flaky"))
SKIPPED = 77  # SKIP_RETURN_CODE
MOST = 3
SHOWN = 40  # the last lines of a log


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, where ctest kills this program


def run(command, log, seconds):
    """The exit code; 124 where its time was over. What it prints goes to stdout and into the log."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                               preexec_fn=die_with_parent)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.killpg(process.pid, number))
    with log.open("wb") as file:

        def copy():
            while data := process.stdout.read1():
                file.write(data)
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()

        reader = threading.Thread(target=copy, daemon=True)
        reader.start()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = 124
        reader.join(10)  # longer only where something that it has left behind holds its output
        if code == 124:
            file.write(f"\nnot over after {seconds:g} s, and killed\n".encode())
    return code


def folder_of(name):
    return FOLDER / re.sub(r"[^\w.\[\]-]+", "-", name)


def note(name, **changes):
    file = folder_of(name) / "test.json"
    told = json.loads(file.read_text()) if file.exists() else {"name": name}
    file.write_text(json.dumps(told | changes))


def notes(ctest):
    """What this run of ctest, by its process id, has noted of tests that failed: {name, lab, seconds, command, state}."""
    every = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("*/test.json"))]
    return [each for each in every if each["ctest"] == ctest]


def last_lines(text):
    return "\n".join(text.splitlines()[-SHOWN:])


def first(name, seconds, *command):
    folder = folder_of(name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    code = run(command, folder / "first.log", float(seconds))
    if code in (0, SKIPPED):
        shutil.rmtree(folder)
        return code
    lab = os.environ["DOCKDIST_LAB"]
    note(name, lab=lab, seconds=seconds, command=command, ctest=os.getppid(), state="failed once")
    print(f"\nfailed ({code}); lab/second-try-{lab} runs it again, alone")
    return SKIPPED


def second(lab):
    ctest = os.getppid()
    mine = [each for each in notes(ctest) if each["lab"] == lab]
    too_many = len(notes(ctest)) > MOST
    for each in mine:
        folder = folder_of(each["name"])
        if too_many or run(each["command"], folder / "second.log", float(each["seconds"])) not in (0, SKIPPED):
            note(each["name"], state="failed")
        else:
            note(each["name"], state="flaky")
    states = {each["name"]: each["state"] for each in notes(ctest) if each["lab"] == lab}
    for name, state in states.items():
        print(f"{name}: {'failed once and passed then' if state == 'flaky' else 'failed' if too_many else 'failed twice'}, in {folder_of(name)}")
    if too_many:
        print(f"{len(notes(ctest))} tests of the lab have failed: too many for a second try")
    return 1 if too_many and mine or "failed" in states.values() else 0


def main():
    return {"first": first, "second": second}[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
