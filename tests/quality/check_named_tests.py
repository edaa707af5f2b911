#!/usr/bin/env python3
"""Fails when tests/README.md or SECURITY.md names a test, or a file of tests, that is not there."""

import pathlib
import re
import sys


def words(text):
    """Letters and digits alone: a title is its test's name, with blanks and signs."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def mistakes(root):
    sources = {path: path.read_text(errors="replace") for path in sorted((root / "tests").rglob("*")) if path.suffix in (".py", ".cpp") and path.is_file()}
    python = set(re.findall(r"^ *(?:def|class) (\w+)", "\n".join(text for path, text in sources.items() if path.suffix == ".py"), re.M))
    found = []
    for page in ("tests/README.md", "SECURITY.md"):
        text = (root / page).read_text()
        for name in sorted(set(re.findall(r"`(test_\w+)`", text)) - python):
            found.append(f"{page}: there is no {name}")
        for named in re.finditer(r"`((?:tests/)?(?:unit|integration|fuzz|client|quality|page)/[\w/.-]+\.(?:py|cpp))`((?:,\s+\"[^\"]+\")*)", text):
            path = root / "tests" / named[1].removeprefix("tests/")
            if path not in sources:
                found.append(f"{page}: there is no {named[1]}")
                continue
            there = words(re.sub(r'"\s*\n\s*"', "", sources[path]))
            found += [f"{page}: {named[1]} has no \"{title}\"" for title in re.findall(r'"([^"]+)"', named[2]) if words(title) not in there]
    return found


def main():
    found = mistakes(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
