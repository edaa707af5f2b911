"""A program that is run on a machine which lacks something."""

import subprocess

from harness.waiting import assert_in


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done
    return done


def whole_life(c, dockdist):
    """A cluster of one node comes up, runs a job and goes; `dockdist` runs the program as the machine has it. What `up` said."""
    done = dockdist("up", "--no-check")
    assert_in("is up: 1 node", done.stdout)
    assert_in("rank says hello", dockdist("run", "--launcher", "plain", "--", "echo", "rank says hello").stdout)
    assert_in("is down", dockdist("down").stdout)
    c.assert_clean()
    return done
