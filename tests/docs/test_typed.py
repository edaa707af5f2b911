"""How what is printed is held against what a page shows (harness/typed.py)."""

import pytest

from harness.typed import difference

PRINTED = """job-1a2b3c4d: 4 ranks on 2 nodes
[node-1:2] rank 2
[node-0:0] rank 0
node-0: ready (0.31 s)
NODE    ADDRESS        CONTAINER
node-0  10.213.1.11    0123456789ab
done in 1 min 5 s""".splitlines()


@pytest.mark.parametrize("shown", [
    PRINTED,
    ["…"],
    ["…", "done in 12 s"],
    ["job-99999999: 4 ranks on 2 nodes", "[node-0:0] rank 0", "[node-1:2] rank 2", "…"],
    ["job-1a2b3c4d: 4 ranks …", "…", "node-0: ready (12 ms)", "NODE ADDRESS CONTAINER", "node-0  10.0.0.1  ba9876543210", "…"],
    ["…", "[node-0:0] rank 0"],
])
def test_the_same_is_the_same(shown):
    assert difference(shown, PRINTED) is None


@pytest.mark.parametrize("shown", [
    [],
    PRINTED[:-1],
    [*PRINTED, "more"],
    ["done in 12 s"],
    ["…", "done …", "node-0: ready …", "…"],
    ["…", "[node-0:0] rank 1", "…"],
    ["…", "[node-0:0] rank 0", "[node-0:0] rank 0", "…"],
    ["job-1a2b3c4d: 4 ranks on 2 nodes", *PRINTED[3:]],
    ["…", "node-1  10.213.1.11  0123456789ab", "…"],
    ["…", "done"],
])
def test_what_is_otherwise_is_found(shown):
    assert difference(shown, PRINTED) is not None


@pytest.mark.parametrize("line", ["exit code 7", "rank 3 exited with 1", "4 slots", "2 nodes"])
def test_numbers_that_count_are_compared(line):
    assert difference([line], [line]) is None
    assert difference([line.translate(str.maketrans("0123456789", "1234567890"))], [line]) is not None
