"""Every command that the program has, as its own help tells them."""

import os
import re
import subprocess

DOCKDIST = os.environ.get("DOCKDIST", "build/dockdist")


def dockdist(*words, **environment):
    return subprocess.run([DOCKDIST, *words], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


def arguments(*command):
    """From the help of a command: its commands, its positionals with whether it needs them, and what its options take."""
    found = {"commands": [], "positionals": [], "options": {}}
    text = dockdist(*command, "--help").stdout
    usage = re.search(r"^Usage: (.*)$", text, re.MULTILINE)[1]
    part = ""
    for line in text.splitlines():
        if heading := re.fullmatch(r"([A-Z][\w ,]*):", line):
            part = heading[1]
        elif part in ("Options", "Options of every command"):
            if option := re.match(r"  (?:-\w, )?(--[\w-]+) (\S+)  ", line + "  "):
                found["options"][option[1]] = option[2]
        elif part == "Arguments":
            if name := re.match(r"  ([A-Z]+)\b", line):
                found["positionals"].append((name[1], f"[{name[1]}" not in usage and f"[-- {name[1]}" not in usage))
        elif part and part != "Examples" and part != "Launchers" and (name := re.match(r"  ([a-z][\w-]*)\b", line)):
            found["commands"].append(name[1])
    return found


def commands(*above):
    known = arguments(*above)
    yield above, known
    for name in known["commands"]:
        yield from commands(*above, name)
