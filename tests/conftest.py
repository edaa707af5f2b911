"""What all tests in Python have in common with ctest: how it lists them, and how it hears that they were skipped."""

import re
import signal

import pytest

pytest.register_assert_rewrite("harness")

from harness import patience  # noqa: E402

patience.stretch_subprocess()

# Ignored where the tests were started by `nohup` or a script's `&`: what they start would inherit that, and heed it. A handler of
# our own does not go on to it.
for number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, lambda *_: None)


MARKS = {"exclusive", "packages"}  # what cmake/lab.cmake knows


def pytest_addoption(parser):
    parser.addoption("--list-for-ctest", choices=["tests", "classes", "files"],
                     help="print what ctest runs one by one, a line each: name, node id, and its marks, with dots between them; run nothing")


def of_ctest(item, each):
    """The name and the node id of what an item is a part of."""
    if each == "tests":
        return item.name, item.nodeid
    parent = item.getparent(pytest.Class if each == "classes" else pytest.Module)
    return (parent.name if each == "classes" else parent.path.stem.removeprefix("test_")), parent.nodeid


def pytest_collection_finish(session):
    if each := session.config.getoption("--list-for-ctest"):
        found = {}
        for item in session.items:
            name, node = of_ctest(item, each)
            if not re.fullmatch(r"[^\s;[\]]+(\[[^\s;[\]]+\])?", name):
                raise pytest.UsageError(f"{node} has a name that is no element of CMake's lists")
            if found.setdefault(name, (node, ))[0] != node:
                raise pytest.UsageError(f"two are named {name}: {node}, {found[name][0]}")
            if marks := dict.fromkeys(mark.name for mark in item.iter_markers() if mark.name in MARKS):
                found[name] = (node, ".".join(marks))
        session.items.clear()
        for name, (node, *mark) in found.items():
            print("\nctest:", name, node, *mark, end="")
        print()


def pytest_sessionfinish(session, exitstatus):
    """77 where there were only skipped tests."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    stats = {kind for kind in reporter.stats if kind}
    if exitstatus == 0 and "skipped" in stats and not stats & {"passed", "xfailed", "xpassed"}:
        session.exitstatus = 77
