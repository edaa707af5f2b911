"""scripts/bench on stub engines, each part once and small: it is run by hand, and has been broken for months unseen."""

import re
import subprocess

import pytest

from harness.lab import ROOT
from harness.namespaces import NEEDED
from harness.patience import DURATION

pytestmark = NEEDED


@pytest.mark.parametrize("part, tells", [("place", "place-4 "), ("members", "connections between nodes"), ("stub-toolkit", "first-4 "), ("stub-image", "image-4 ")])
def test_a_part_of_the_bench_measures(part, tells):
    done = subprocess.run([ROOT / "scripts/bench", "--only", part, "--nodes", "4", "--rounds", "1", "--image-mb", "1"], check=False, capture_output=True,
                          text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines()[1:] if tells in line)
    assert part == "members" or re.search(DURATION, row), done.stdout
