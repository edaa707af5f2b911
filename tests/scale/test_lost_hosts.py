"""Hosts that do not answer, among others that do."""

import pytest

from harness import assert_in, cluster
from harness.namespaces import NEEDED
from harness.stubs import IMAGE, stubs

pytestmark = NEEDED


@pytest.fixture
def eight():
    with stubs(8) as made:
        yield made


def test_hosts_that_hang_or_vanish_are_named_after_their_deadline_and_hold_up_nobody_else(eight):
    with cluster(eight, "t-hang") as c:
        eight.script(rules=[{"do": "hang", "hosts": [2]}, {"do": "vanish", "hosts": [6], "call": "GET /info"}])
        failed = c.write(hosts=8, image=IMAGE).run("up", "--no-check", code=1, timeout=120).stderr
        told = [line.split()[1] for line in failed.splitlines() if line.startswith("error: ")]
        assert told == ["node-2", "node-6"], failed
        assert [engine.containers(cluster=c.name) for i, engine in enumerate(eight.engines) if i not in (2, 6)] == [[]] * 6
        eight.script()
        eight.all_engines = [engine for i, engine in enumerate(eight.engines) if i != 6]  # which does not answer a test, either


def test_a_host_that_hangs_half_way_is_left_out_and_a_later_up_adds_it(eight):
    with cluster(eight, "t-half-way") as c:
        c.write(hosts=8, image=IMAGE).up()
        c.run("down")  # they have the toolkit
        eight.script(rules=[{"do": "hang", "hosts": [3], "call": "POST /containers/X/start"}])
        up = c.run("up", "--no-check", "--keep-going", timeout=120)
        assert_in("is up: 7 of 8 nodes", up.stdout)
        assert_in("1 of 8 nodes left out: node-3", up.stderr)
        assert c.run("run", "--keep-going", "--", "hostname").stdout.count("node-") == 14
        eight.script()
        assert_in("is up: 8 nodes", c.up().stdout)
        c.run("down")
        c.assert_clean()
