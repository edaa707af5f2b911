#!/usr/bin/env python3
"""No test fails for the clock alone: one place knows how patient a test is (tests/harness/patience.py, tests/patience.hpp).

Found are an assertion that holds a time against a number of seconds, and a pattern for a duration that fits short ones alone (`\\d+ s` fits no `1 min 5 s`, `0\\.00\\d+ GPU hours` no job of ten seconds)."""

import argparse
import ast
import pathlib
import re
import sys

HOMES = {"tests/harness/patience.py", "tests/patience.hpp"}
CLOCKS = {"monotonic", "monotonic_ns", "time", "time_ns", "perf_counter", "perf_counter_ns", "process_time"}
TIMES = re.compile(r"(^|_)(seconds|elapsed|took|taken|duration|millis|milliseconds|age|latency|round_trip)(_|$)|_(ms|s|seconds)$")
SECONDS = re.compile(r"std::chrono::(nano|micro|milli)?seconds[({]|std::chrono::minutes[({]|(?<![\w.'])\d[\d']*(ms|s|min)\b")
# What a C++ assertion compares with a time, by its clock or by a name that says so.
CLOCK = re.compile(r"\b\w*_clock::now\(\)|\b(elapsed|took|seconds|duration|waited)\w*")
ASSERTION = re.compile(r"\b(?:CHECK|REQUIRE)(?:_\w+)?\((.*)\);")
# As a regular expression, a number in digits and what it counts.
SHORT = re.compile(r"\\d[+*]?\)?\??[+*]? (ms|s|seconds?|min|minutes?)\b|\[\\d\.\][+*] (ms|s)\b|0\\?\.0+\\d\+? (GPU )?hours")


def is_later(node, constants):
    """begin + 5"""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (is_number(node.left, constants) or is_number(node.right, constants))


def is_number(node, constants):
    """A number, or what is computed of numbers alone: 2 + 8, 5 * SECOND."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return is_number(node.left, constants) and is_number(node.right, constants)
    return isinstance(node, ast.Name) and node.id in constants


def is_time(node, timed):
    """What a clock says, or what is kept of it: a name that is assigned from a clock, or says that it is a time."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in CLOCKS \
                and isinstance(part.func.value, ast.Name) and part.func.value.id == "time":
            return True
        if isinstance(part, ast.Name) and (part.id in timed or TIMES.search(part.id)):
            return True
        if isinstance(part, ast.Attribute) and TIMES.search(part.attr):
            return True
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str) and TIMES.search(part.slice.value):
            return True
    return False


def is_call(statement, name):
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) == name


def upper_bounds(test):
    """(what is bounded, its bound) of the comparisons in it."""
    for part in ast.walk(test):
        if isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
            for left, operator, right in zip(sides, part.ops, sides[1:]):
                if isinstance(operator, (ast.Lt, ast.LtE)):
                    yield left, right
                elif isinstance(operator, (ast.Gt, ast.GtE)):
                    yield right, left


def in_python(text):
    """(line, what is wrong)"""
    tree = ast.parse(text)
    constants = {target.id for node in ast.walk(tree) if isinstance(node, ast.Assign) and is_number(node.value, set())
                 for target in node.targets if isinstance(target, ast.Name)}
    timed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and is_time(node.value, set()):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            is_deadline = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add)
            (constants if is_deadline else timed).update(names)
    for node in ast.walk(tree):
        fails = isinstance(node, ast.If) and any(isinstance(each, ast.Raise) or is_call(each, "fail") for each in node.body)
        if isinstance(node, ast.Assert) or fails:
            for bounded, bound in upper_bounds(node.test):
                # Where a condition leads to a failure, it is the other way round.
                held, number = (bound, bounded) if fails else (bounded, bound)
                if (is_number(number, constants) or is_later(number, constants)) and is_time(held, timed):
                    yield node.lineno, "a time is held against a number of seconds"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SHORT.search(node.value):
            yield node.lineno, f"the pattern fits short durations alone: {SHORT.search(node.value)[0]}"


def in_cpp(text):
    deadlines = re.findall(r"(\w+) = [^;]*_clock::now\(\) \+ ", text)
    bound = re.compile("|".join([SECONDS.pattern, *(rf"\b{name}\b" for name in deadlines)]))
    for number, line in enumerate(text.splitlines(), 1):
        for found in ASSERTION.finditer(line):
            words = found[1]
            if re.search(r"<|>", words) and CLOCK.search(words) and bound.search(words):
                yield number, "a time is held against a number of seconds"


def problems(root):
    for path in sorted((root / "tests").rglob("*")):
        name = path.relative_to(root).as_posix()
        if name in HOMES or name.startswith("tests/quality/"):
            continue
        look = {".py": in_python, ".cpp": in_cpp, ".hpp": in_cpp}.get(path.suffix)
        for line, wrong in look(path.read_text(errors="replace")) if look else ():
            yield f"{path}:{line}: {wrong}: see harness/patience.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    found = list(problems(parser.parse_args().root))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
