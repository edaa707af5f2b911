"""Hosts that fall silent."""

import contextlib


@contextlib.contextmanager
def stopped_engine(lab, number):
    """Its process does not run, and its sockets still accept."""
    lab.script("exec", str(number), "sh", "-c", "kill -STOP $(cat /run/lab/engine.pid)")
    try:
        yield
    finally:
        lab.script("exec", str(number), "sh", "-c", "kill -CONT $(cat /run/lab/engine.pid)")


@contextlib.contextmanager
def cut(lab, number):
    lab.script("cut", str(number))
    try:
        yield
    finally:
        lab.script("mend", str(number))
