#!/usr/bin/env python3
"""Names in unnamed namespaces are unique among the sources that are compiled into one library or program.

CMake compiles those in batches, each of them one source to the compiler (a unity build): two files of a batch share their unnamed namespace,
and which files meet changes with every new one.
"""

import argparse
import pathlib
import re
import sys

COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^\s()\\]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE
)
NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\s*([\w:]*)$")
TYPE = re.compile(r"^(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(\w+)\s*(?:final\s*)?(?::|$)")
ALIASED = re.compile(r"^(?:using|namespace)\s+\w+\s*=\s*(.+)")  # a second time of the same thing is no fault
ALIAS = re.compile(r"^using\s+(\w+)\s*=")
FUNCTION = re.compile(r"(?<![\w:~])(\w+)\s*\(")
VARIABLE = re.compile(r"(?<![:.\w])(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|$)")
PASSED_OVER = re.compile(r"^(?:using\s+(?!\w+\s*=)|friend\b|static_assert\b|extern\b|typedef\b|asm\b|template\s*$)|\boperator\b|::\s*~?\w+\s*\(")
ATTRIBUTES = re.compile(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)|\b__attribute__\s*\(\(.*?\)\)", re.DOTALL)


def code_of(text):
    """The text without comments, literals and lines of the preprocessor; lines stay where they are."""
    return COMMENT_OR_TEXT.sub(lambda found: ("" if found[0].startswith(("/", "#")) or found[0].lstrip().startswith("#") else '""') + "\n" * found[0].count("\n"), text)


def without_angles(head):
    """`std::map<K, V> name(` → `std::map name(`; comparisons stand in no declaration before its name."""
    kept, depth = [], 0
    for i, letter in enumerate(head):
        if letter == "<":
            depth += 1
        elif letter == ">" and depth > 0 and head[i - 1] != "-":
            depth -= 1
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)


def parameters(head, begin):
    """What a function of that name takes, as an overload is told from another: text is text, however it is passed."""
    depth, words = 0, [""]
    for letter in head[begin:]:
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if depth < 0:
            break
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    types = []
    for word in words:
        word = re.sub(r"\b(?:const|struct|std|wire|node|dockdist)\b|::", " ", word.split("=")[0])
        word = re.sub(r"(?<=[\w&*>])\s*(?<=[\s&*>])\w+\s*$", "", word.strip())
        types.append(re.sub(r"^(?:string_view|string|char)$", "text", re.sub(r"[\s&*]", "", word)))
    return "(" + ", ".join(types) + ")"


def name_of(head):
    """What the declaration that begins so defines, with the parameters of a function, or None."""
    whole = " ".join(ATTRIBUTES.sub(" ", head).split())
    head = without_angles(whole)
    head = re.sub(r"^template\s*(?:requires\b.*?(?=\b(?:class|struct|auto|void|bool|[A-Z])))?", "", head).strip()
    if not head or PASSED_OVER.search(head):
        return None
    for kind in (TYPE, ALIAS):
        if found := kind.search(head):
            return found[1]
    before_value = head.split("=")[0] if "=" in head and "(" not in head.split("=")[0] else head
    found = FUNCTION.search(before_value) or VARIABLE.search(before_value)
    if not found or head.split()[0] in {"class", "struct", "enum", "union"}:
        return None
    return found[1] + (parameters(whole, re.search(rf"(?<![\w:~]){found[1]}\s*\(", whole).end()) if found.re is FUNCTION else "")


def names(text):
    """(line, namespace around, name, alias of what) of what the file defines in unnamed namespaces."""
    code = code_of(text)
    spaces = []  # of the namespaces around, with "" for an unnamed one
    begin, place, depth = 0, 0, 0  # depth: of the braces and parentheses inside the statement
    found = []

    def note(end):
        if "" in spaces:
            head = code[begin:end]
            defined = name_of(head)
            if defined:
                line = code.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1
                alias = ALIASED.match(" ".join(head.split()))
                found.append((line, "::".join(space or "(unnamed)" for space in spaces), defined, alias and alias[1]))

    while place < len(code):
        letter = code[place]
        if letter in "({[":
            head = code[begin:place].strip() if depth == 0 else ""
            if letter == "{" and depth == 0 and (opened := NAMESPACE.match(head)):
                spaces.append(opened[1])
                begin = place + 1
            else:
                if letter == "{" and depth == 0:
                    note(place)
                    body_of_function = ")" in head and not re.search(r"\)\s*(?:=|$)", without_angles(head).split("=")[0] + "=") or re.search(r"\)\s*(?:const|noexcept|->.*)?$", head)
                    end = matching(code, place)
                    place = end
                    if body_of_function and not TYPE.search(head):
                        begin = end + 1
                    else:  # `};` of a type, or of a value in braces: the rest is of the same statement
                        semicolon = code.find(";", end)
                        begin = place = semicolon + 1 if semicolon >= 0 else len(code)
                        continue
                else:
                    depth += 1
        elif letter in ")]}":
            if letter == "}" and depth == 0:
                if spaces:
                    spaces.pop()
                begin = place + 1
            else:
                depth = max(depth - 1, 0)
        elif letter == ";" and depth == 0:
            note(place)
            begin = place + 1
        place += 1
    return found


def matching(code, place):
    depth = 0
    for i in range(place, len(code)):
        if code[i] == "{":
            depth += 1
        elif code[i] == "}":
            depth -= 1
            if depth == 0:
                return i
    return len(code)


def sources(root):
    """By library or program: its sources. One has the folder of a CMakeLists.txt, with all folders below it; of tests/fuzz each file is one."""
    targets = {}
    for top in ("src", "tests"):
        for path in sorted((root / top).rglob("*.cpp")):
            folder = next((up for up in path.parents if (up / "CMakeLists.txt").exists() and up != root / "src"), path.parent)
            targets.setdefault(path if folder == root / "tests/fuzz" else folder, []).append(path)
    return targets


def problems(root):
    for files in sources(root).values():
        seen = {}  # by namespace and name: (file, parameters or what it is an alias of, "" for what is neither)
        for path in files:
            for line, space, name, alias in names(path.read_text(errors="replace")):
                name, bracket, taken = name.partition("(")
                others = seen.setdefault((space, name), [])
                for first, shape in others:
                    overload = bracket and shape.startswith("(") and shape != bracket + taken
                    if first != path and not overload and not (alias and alias == shape):
                        yield f"{path}:{line}: {name} stands in the unnamed namespace of {first}, too"
                        break
                others.append((path, bracket + taken or alias or ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    found = list(problems(parser.parse_args().root))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
