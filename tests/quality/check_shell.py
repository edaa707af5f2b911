#!/usr/bin/env python3
"""Every shell script parses, and shellcheck, where it is installed, finds nothing."""

import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = {".git", "build"}
SHELL = re.compile(rb"^#!\s*\S*?(?:/|env\s+(?:-S\s+)?)(bash|sh|dash)\b")


def scripts(root):
    """(path, shell) of every file with a shell's name in its first line, or with .sh at the end of its own."""
    for path in sorted(root.rglob("*")):
        if path.relative_to(root).parts[0] in SKIPPED or path.relative_to(root).parts[0].startswith("build-"):
            continue
        if not path.is_file() or path.is_symlink() or path.suffix == ".sbatch":  # the latter as strangers write them
            continue
        with path.open("rb") as file:
            shell = SHELL.match(file.readline(200))
        if shell:
            yield path, shell[1].decode()
        elif path.suffix == ".sh":  # those of src/ are for any image's sh
            yield path, "sh" if path.is_relative_to(root / "src") else "bash"


def problems(root):
    found = []
    have_shellcheck = shutil.which("shellcheck")
    for path, shell in scripts(root):
        commands = [["bash" if shell == "bash" else "sh", "-n", str(path)]]
        if have_shellcheck:
            commands.append(["shellcheck", f"--shell={shell}", "--severity=warning", "--format=gcc", str(path)])
        for command in commands:
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                found.append((result.stdout + result.stderr).strip())
    return found


def main():
    found = problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found))
    if not shutil.which("shellcheck"):
        print("shellcheck is not installed: only the syntax was checked", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
