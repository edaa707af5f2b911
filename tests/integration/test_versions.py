"""Nodes of other versions than the client's. Between the client and the engines stands a proxy that changes what the labels of nodes say of
their version, on its way to the client: the nodes themselves are those of this toolkit. So this holds what a client makes of the versions that
it sees, and what it does and does not do then; that older words are read is held by tests/unit/wire, from recordings."""

import json
import re

import pytest

from harness import DOCKDIST, assert_in, cluster
from harness.proxy import proxies, write_through
from harness.terminal import Terminal

WIRE = int(re.search(r"int version = (\d+)", (DOCKDIST.parent.parent / "src/shared/wire/version.hpp").read_text())[1])
RELEASE = re.search(r"project\(dockdist VERSION (\S+)", (DOCKDIST.parent.parent / "CMakeLists.txt").read_text())[1]
OTHER_RELEASE = RELEASE[:-1] + ("8" if RELEASE[-1] == "9" else "9")


def say(made, **labels):
    """From now on the nodes' labels say this, each in as many bytes as before."""
    for proxy in made:
        def edit(data):
            for label, value in labels.items():
                data = re.sub(rb'("dockdist\.%s":")([^"]*)"' % label.encode(),
                              lambda match: match[1] + value.encode().ljust(len(match[2]), b" ")[:len(match[2])] + b'"', data)
            return data
        proxy.edit = edit


@pytest.fixture
def through(lab):
    with proxies(lab) as made, cluster(lab, "t-versions") as c:
        write_through(c, made).up()
        yield c, made


@pytest.mark.parametrize("apart", (-1, 1))
def test_with_nodes_of_the_version_before_or_after_jobs_are_followed_and_ended_and_all_else_says_why_not(through, apart):
    c, made = through
    job = c.detach(script="echo begun; exec sleep 4727")
    other = WIRE + apart
    say(made, wire=str(other))

    status = c.run("status")
    assert status.stdout.count(" ready ") == 2
    sentence = f"it is of dockdist {RELEASE} and speaks version {other} of the protocol, this dockdist version {WIRE}"
    assert_in(sentence, status.stderr)
    assert_in("`dockdist up` recreates it with this version", status.stderr)
    nodes = json.loads(c.run("status", "-o", "json").stdout)["nodes"]
    assert [(node["release"], node["wire"]) for node in nodes] == [(RELEASE, other)] * 2
    for words in (["run", "--", "true"], ["exec", "node-0", "--", "true"], ["top", "--once"], ["check"], ["sync"]):
        refused = c.run(*words, code=None)
        assert refused.returncode in (1, 125), refused
        assert_in(sentence, re.sub(r"\s+", " ", refused.stdout + refused.stderr))

    assert json.loads(c.run("jobs", "-o", "json").stdout)["jobs"][0]["state"] == "running"
    assert_in("begun", c.run("logs", job).stdout)
    attached = c.start("attach", job)
    assert_in("begun", attached.stdout.readline())
    c.run("stop", job)
    attached.communicate(timeout=60)
    assert c.run("wait", job, code=None).returncode == attached.returncode != 0
    c.run("down")
    c.assert_clean()


def test_with_nodes_of_a_far_version_status_and_down_work(through):
    c, made = through
    say(made, wire="9")
    assert_in("until then only status and down work", c.run("status").stderr)
    assert_in("speaks version 9 of the protocol", c.run("jobs", code=1).stderr)
    c.run("down")
    c.assert_clean()


def test_up_makes_nodes_of_another_release_anew_and_ends_no_job_unasked(through):
    c, made = through
    first = c.container("node-0")[1]
    old = c.container("node-1")[1]
    say(made[1:], version="0123456789ab", release=OTHER_RELEASE)
    cause = f"dockdist {OTHER_RELEASE} made it, this is {RELEASE}"
    assert_in(cause, c.run("plan").stdout)
    c.up()  # unasked: no job runs
    upgraded = c.container("node-1")[1]
    assert c.container("node-0")[1] == first and upgraded != old

    job = c.detach(script="exec sleep 4729")
    refused = c.run("up", "--no-check", code=1).stderr
    assert_in(job, refused)
    assert_in(f"node-1 would be recreated: {cause}", refused)
    terminal = Terminal(c.command("up", "--no-check"), c.environment())
    terminal.type("y\n")  # before the question: no answer to it
    terminal.read_until("[y/N] ")
    assert_in(job, terminal.seen)
    terminal.type("n\n")
    assert terminal.end() == 1 and c.container("node-1")[1] == upgraded
    assert c.processes("sleep 4729")
    terminal = Terminal(c.command("up", "--no-check"), c.environment())
    terminal.read_until("[y/N] ")
    later = c.detach("--share", script="exec sleep 4729")  # which the answer is not about
    terminal.seen = ""
    terminal.type("y\n")
    terminal.read_until("[y/N] ")
    assert_in(later, terminal.seen)
    terminal.type("y\n")
    assert terminal.end() == 0, terminal.seen
    assert c.container("node-1")[1] != upgraded and not c.processes("sleep 4729")

    job = c.detach(script="exec sleep 4729")
    c.up("--yes")
    assert not c.processes("sleep 4729") and c.container("node-0")[1] == first
