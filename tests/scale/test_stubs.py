"""Stub engines in the small: what scripts/bench measures with many of them works, and what goes wrong by script is told."""

import json
import pathlib
import time

import pytest

from harness import assert_in, cluster
from harness.lab import TOOLKIT_TAR
from harness.proxy import doors
from harness.recorder import Recorder, differences, merged
from harness.namespaces import NEEDED
from harness.patience import Watch
from harness.stubs import IMAGE, stubs
from harness.visits import visit

pytestmark = NEEDED
RECORDED = pathlib.Path(__file__).parent / "recorded_engine.json"


@pytest.fixture(scope="module")
def sixteen():
    with stubs(16, script={"round_trip_ms": 2}) as made:
        yield made


@pytest.fixture
def c(sixteen, request):
    sixteen.script(round_trip_ms=2)
    with cluster(sixteen, "t-" + request.node.name.removeprefix("test_").replace("_", "-")[:20].rstrip("-")) as made:
        yield made.write(hosts=sixteen.count, image=IMAGE)
        sixteen.script()


def test_sixteen_hosts_go_up_run_and_down(sixteen, c):
    c.up()
    c.run("down")  # the hosts have the toolkit
    sixteen.reset_counters()
    assert_in("is up: 16 nodes, 16 slots", c.up().stdout)
    nodes = json.loads(c.run("status", "-o", "json").stdout)["nodes"]
    assert [(node["node"], node["state"]) for node in nodes] == [(f"node-{i}", "ready") for i in range(16)]
    assert [node["address"] for node in nodes] == [f"10.101.0.{i + 1}" for i in range(16)]
    said = c.run("run", "--launcher", "plain", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE on $(hostname)").stdout
    assert sorted(line.split("]")[1].strip() for line in said.splitlines()) == sorted(f"rank {i} of 16 on node-{i}" for i in range(16))
    assert c.run("exec", "node-3", "--", "ssh", "node-12", "hostname").stdout == "node-12\n"
    assert c.run("run", "--", "sh", "-c", "[ $RANK != 5 ] || exit 7", code=7)
    counted = sixteen.counters()
    assert counted["calls"]["POST /containers/X/start"] == 16
    assert counted["most_open_of_a_host"] <= 2, counted
    assert len(sixteen.processes()) >= 32, "an init and an sshd of each node"
    c.run("down")
    c.assert_clean()
    assert sixteen.processes() == []


def test_the_toolkit_leaves_here_twice_and_hosts_hand_it_on(sixteen, c):
    toolkit = TOOLKIT_TAR.stat().st_size
    c.run("down", "--purge")
    sixteen.reset_counters()
    c.up()
    counted = sixteen.counters()
    assert counted["calls"]["PUT /containers/X/archive"] == 2, counted["calls"]
    assert 2 * toolkit < counted["bytes_in"] < 2 * toolkit + 20_000 * sixteen.count, counted["bytes_in"]
    assert counted["imported"] == 14 * toolkit, counted["imported"]
    assert counted["most_open_of_a_host"] <= 5, "two that it gives the toolkit to, its own, and a call for each"
    said = c.run("run", "--", "sha256sum", "/opt/dockdist/bin/dockdist-init").stdout
    assert len({line.split()[1] for line in said.splitlines()}) == 1 and len(said.splitlines()) == 16, said
    assert sixteen.engines[3].get("/images/json")[0]["RepoTags"] == [IMAGE]


def test_a_giver_that_is_cut_off_is_passed_over(sixteen, c):
    c.run("down", "--purge")
    sixteen.reset_counters()
    sixteen.script(rules=[{"do": "drop", "hosts": [0], "call": "POST /containers/X/exec"}])  # it has the toolkit, and cannot give it
    c.up()
    counted = sixteen.counters()
    assert counted["calls"]["PUT /containers/X/archive"] == 2, counted["calls"]
    assert sum(host["imported"] > 0 for host in counted["hosts"]) == 14, counted["hosts"]


def test_a_host_that_refuses_is_named_and_nothing_is_left_on_the_others(sixteen, c):
    sixteen.script(rules=[{"do": "refuse", "hosts": [5]}])
    failed = c.run("up", "--no-check", code=1)
    assert_in("node-5", failed.stderr)
    assert_in("refused the connection", failed.stderr)
    sixteen.script()
    c.assert_clean()


def test_a_call_that_fails_is_told_with_its_host_and_the_others_are_taken_back(sixteen, c):
    sixteen.script(rules=[{"do": "fail", "hosts": [7], "call": "POST /containers/X/start", "message": "no space left on device"}])
    failed = c.run("up", "--no-check", code=1)
    assert_in("node-7", failed.stderr)
    assert_in("no space left on device", failed.stderr)
    c.assert_clean()
    assert sixteen.processes() == []


def test_a_straggler_is_named_as_the_slowest(sixteen, c):
    sixteen.script(rules=[{"do": "delay", "hosts": [9], "call": "POST /containers/X/start", "ms": 1500}])
    begin = time.monotonic()
    result = json.loads(c.run("up", "--no-check", "-o", "json", "--timings").stdout.splitlines()[-1])
    assert time.monotonic() - begin > 1.5
    start = next(phase for phase in result["timings"]["phases"] if phase["phase"] == "start")
    assert start["slowest"] == "node-9", start


def test_a_round_trip_costs_what_the_script_says(sixteen, c):
    """A second `up` asks each host the same few times, whatever there are of them."""
    c.up()
    watches = {}
    for round_trip in (0, 100):
        sixteen.script(round_trip_ms=round_trip)
        watches[round_trip] = Watch()
        c.run("up", "--no-check")
        watches[round_trip].stop()
    more = watches[100].seconds - watches[0].seconds
    assert watches[100].seconds > 0.2 and watches[100].within(0.9, taken=more), watches


def test_the_stubs_are_asked_and_answer_as_a_real_engine(sixteen):
    """What a real one was asked and answered, in the same visit, stands in recorded_engine.json; the lab's own test holds that true."""
    with doors(sixteen, 1, Recorder) as recorders, cluster(sixteen, "t-visit") as c:
        visit(c, recorders[0], IMAGE, sixteen.addresses[1])
        found = differences(merged(recorders), json.loads(RECORDED.read_text()))
    assert not found, "\n".join(found)
