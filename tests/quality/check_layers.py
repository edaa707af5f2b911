#!/usr/bin/env python3
"""Fails when a file of src/ includes what the tables in src/README.md do not let its folder include."""

import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
SOURCES = {".cpp", ".hpp", ".h", ".c", ".cu"}


def read_table(readme):
    """{"client/plan": {"client/spec", "shared/core"}, "main.cpp": {"all"}, …}, from the rows "| `folder/` | … | of its wing | of shared/ |" below
    "## `client/`" and the other wings' headings; those of files and of whole wings stand above the first."""
    table, wing = {}, ""
    for line in readme.read_text().splitlines():
        heading = re.match(r"## (?:`(\w+)/`)?", line)
        if heading:
            wing = heading[1] or ""
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name = re.fullmatch(r"`([\w.]+(?:/\w+)*)/?`", cells[0])
        if name and len(cells) >= 3:
            own, shared = words(cells[2]), words(cells[3]) if len(cells) > 3 else set()
            table[within(wing, name[1])] = {word if word == "all" else within(wing, word) for word in own} | {f"shared/{word}" for word in shared}
    return table


def words(cell):
    return set() if cell == "–" else {word.strip() for word in cell.split(",")}


def within(wing, name):
    return f"{wing}/{name}" if wing and name != wing else name


def problems(src):
    table = read_table(src / "README.md")
    if not table:
        return [f"{src / 'README.md'}: no table of rooms found"]
    found = []
    for folder, allowed in table.items():
        for word in sorted(allowed - {"all"}):
            if word not in table:
                found.append(f"{src / 'README.md'}: {folder} may include {word}, which has no row")
    for path in sorted(p for p in src.rglob("*") if p.suffix in SOURCES):
        layer = room_of(path.relative_to(src).as_posix(), table)
        if layer is None:
            found.append(f"{path}: its folder has no row in {src / 'README.md'}")
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                found += judge(src, path, number, layer, match[1], table)
    return found


def room_of(path, table):
    """The row that a file of src/ belongs to: that of the innermost folder which has one."""
    while path not in table and "/" in path:
        path = path.rpartition("/")[0]
    return path if path in table else None


def judge(src, path, number, layer, include, table):
    if not (src / include).is_file():
        return [f"{path}:{number}: \"{include}\" is no header of src/; write it from src/ on, others in <>"]
    target = room_of(include, table)
    if target == layer or table[layer] & {"all", target}:
        return []
    return [f"{path}:{number}: {layer} must not include \"{include}\" (see src/README.md)"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("src", nargs="?", type=pathlib.Path, default=pathlib.Path("src"))
    found = problems(parser.parse_args().src)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
