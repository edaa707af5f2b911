#!/usr/bin/env python3
"""Runs integration tests on a lab that is up: run.py NAME…, or run.py --list. ctest enters each test by its name."""

import argparse
import importlib
import pathlib
import sys
import traceback

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER))


def all_tests():
    tests = {}
    for file in sorted(FOLDER.glob("test_*.py")):
        module = importlib.import_module(file.stem)
        for name, value in vars(module).items():
            if name.startswith("test_") and callable(value) and value.__module__ == file.stem:
                assert name not in tests, f"two tests are named {name}"
                tests[name] = value
    return tests


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the tests' names")
    parser.add_argument("names", nargs="*", help="tests to run; all when none is named")
    arguments = parser.parse_args()
    tests = all_tests()
    if arguments.list:
        print("\n".join(tests))
        return 0
    from harness import Lab

    lab = Lab()
    failed = 0
    for name in arguments.names or tests:
        try:
            tests[name](lab)
            print(f"{name}: passed", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{name}: FAILED", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
