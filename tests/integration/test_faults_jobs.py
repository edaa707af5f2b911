"""Trouble while a job runs: engines that are restarted, connections that break or crawl, terminals that stand still."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from harness import assert_in, cluster, eventually, read_until
from harness.waiting import peak_memory
from harness.proxy import proxies, write_through
from harness.settings import RELOAD, engine_settings


def numbers(text, node):
    return [int(n) for n in re.findall(rf"^\[{node}\] (?:line )?(\d+)$", text, re.M)]


def counting(lines, pause="0.05"):
    """A script that says "started", and then so many lines."""
    return f"echo started; i=0; while [ $i -lt {lines} ]; do echo line $i; i=$((i+1)); sleep {pause}; done"


def test_a_job_whose_engine_is_restarted_fails_and_no_rank_is_left_within_ten_seconds(lab):
    with cluster(lab, "t-engine") as c:
        c.write().up()
        client = c.start("run", "--", "sh", "-c", "echo started; exec sleep 4601")
        read_until(client, "started", times=2)
        assert c.processes("sleep 4601")
        begin = time.monotonic()
        try:
            lab.script("stop-engine", "2")
        finally:
            lab.script("start-engine", "2")
        stopped = [x["Names"] for x in c.all_containers() if x["State"] != "running"]
        assert stopped == [[f"/dockdist-{c.name}-node-1"]], stopped
        first = c.container("node-0")[1]
        eventually(lambda: not [p for p in lab.engines[0].processes(first) if "sleep 4601" in p], "no rank is left",
                   timeout=begin + 10 - time.monotonic())
        _, err = client.communicate(timeout=30)
        assert client.returncode == 125, err
        assert_in("error: node-1: ", err)
        c.up()
        assert c.run("run", "--", "echo", "again").stdout.count("again\n") == 2


def restart(lab, number):
    try:
        lab.script("stop-engine", str(number))
    finally:
        lab.script("start-engine", str(number))


def test_a_stream_goes_on_where_it_was_when_an_engine_with_live_restore_is_restarted(lab):
    live = ({"live-restore": True}, RELOAD)
    with engine_settings(lab, 1, *live), engine_settings(lab, 2, *live), cluster(lab, "t-live") as c:
        eventually(lambda: all(engine.get("/v1.40/info")["LiveRestoreEnabled"] for engine in lab.engines[:2]), "live-restore is on")
        c.write().up()
        client = c.start("run", "--", "sh", "-c", counting(200))
        lines = read_until(client, "started", times=2)
        for number in (1, 2):
            restart(lab, number)
        rest = client.stdout.read()
        assert client.wait(timeout=60) == 0, client.stderr.read()
        for node in ("node-0", "node-1"):
            assert numbers("".join(lines) + rest, node) == list(range(200)), rest


def test_a_stream_that_is_reset_again_and_again_goes_on_where_it_was(lab):
    with cluster(lab, "t-reset") as c, proxies(lab) as both:
        write_through(c, both).up()
        passed = {}

        def every_megabyte(proxy):
            def on_bytes(count):
                passed[proxy] = passed.get(proxy, 0) + count
                return passed[proxy] // 1_000_000 == (passed[proxy] - count) // 1_000_000

            return on_bytes

        for proxy in both:
            proxy.connections, proxy.on_bytes = 0, every_megabyte(proxy)
        done = c.run("run", "--", "sh", "-c", "seq 0 299999")
        for proxy, node in zip(both, ("node-0", "node-1")):
            assert numbers(done.stdout, node) == list(range(300000))
            assert proxy.connections >= 3, proxy.connections  # two megabytes: cut twice
        for proxy in both:
            proxy.on_bytes = lambda count: True


def test_answers_that_come_byte_by_byte_are_understood(lab):
    with cluster(lab, "t-bytes") as c, proxies(lab) as both:
        for proxy in both:
            proxy.slice = 1
        assert_in("is up: 2 nodes", write_through(c, both).run("up").stdout)
        assert c.run("plan").stdout == "nothing to do\n"
        done = c.run("run", "--", "sh", "-c", "seq 0 999; echo err >&2; exit 7", code=7)
        for node in ("node-0", "node-1"):
            assert numbers(done.stdout, node) == list(range(1000))
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        c.run("down")
        c.assert_clean()


@pytest.mark.exclusive
def test_a_slow_host_is_named_and_delays_no_other(lab):
    with cluster(lab, "t-slow") as c, proxies(lab) as both:
        both[1].delay = 0.15
        write_through(c, both)
        lines = [json.loads(line) for line in c.run("up", "-o", "json", "--timings").stdout.splitlines()]
        took = {(e["phase"], e["subject"]): e["elapsed_ms"] for e in lines if e.get("kind") == "step_finished"}
        for phase in ("observe", "create", "start"):
            assert took[phase, "node-0"] < took[phase, "node-1"], took
        slowest = {phase["phase"]: phase["slowest"] for phase in lines[-1]["timings"]["phases"]}
        assert set(slowest.values()) == {"node-1"}, slowest
        # All of the fast node's output is there while the slow one's is on its way.
        client = c.start("run", "--", "sh", "-c", "seq 0 9999")
        out = client.communicate(timeout=60)[0].splitlines()
        first = [line.split("]")[0][1:] for line in out]
        assert first == ["node-0"] * 10000 + ["node-1"] * 10000, first.index("node-1")


def test_a_stopped_client_and_a_terminal_that_nobody_reads_hold_up_no_rank(lab):
    with cluster(lab, "t-stopped") as c:
        c.write().up()
        script = "yes 0123456789012345678901234567890123456789012345678901234567890 | head -n 400000; echo over"
        # Stopped as by Ctrl-Z. Its lease is longer than all this takes.
        client = c.start("run", "--name", "stopped", "--nodes", "1", "--", "sh", "-c", f"echo started; until [ -e /tmp/go ]; do sleep 0.05; done; {script}")
        read_until(client, "started")
        client.send_signal(signal.SIGSTOP)
        try:
            c.run("exec", "node-0", "--", "touch", "/tmp/go")
            c.run("wait", "stopped", timeout=30)
        finally:
            client.send_signal(signal.SIGCONT)
        out, err = client.communicate(timeout=60)
        assert (client.returncode, out.count("\n")) == (0, 400001), err
        # A terminal: nobody reads for longer than the lease.
        keeper, end = pty.openpty()
        try:
            client = subprocess.Popen(c.command("run", "--name", "unread", "--nodes", "1", "--lease", "2s", "--", "sh", "-c", f"{script}; sleep 4"),
                                      env=c.environment(), stdin=end, stdout=end, stderr=end, start_new_session=True)
            eventually(lambda: "unread" in c.run("jobs").stdout, "the job has begun")
            c.run("wait", "unread", timeout=60)
            assert peak_memory(client) < 100 << 20, peak_memory(client)
            os.close(end)
            seen = b""
            with contextlib.suppress(OSError):  # what a terminal says when its other side is closed
                while data := os.read(keeper, 1 << 16):
                    seen = (seen + data)[-1000:]
            assert client.wait(timeout=60) == 0
            assert b"over" in seen, seen
        finally:
            os.close(keeper)


def test_a_rank_that_the_kernel_ends_for_want_of_memory_is_137_and_said_so(lab):
    with cluster(lab, "t-oom") as c:
        c.write().up()
        engine, container = c.container("node-1")
        limit = {"Memory": 96 << 20, "MemorySwap": 96 << 20}
        status, data = engine.call("POST", f"/v1.40/containers/{container}/update", limit)
        assert status == 200, data
        failed = c.run("run", "--", "sh", "-c", "if [ $NODE_RANK = 1 ]; then exec tail /dev/zero; fi; exec sleep 4602", code=137)
        assert_in("error: node-1: ", failed.stderr)
        assert_in("out of memory", failed.stderr)
        assert c.processes("sleep 4602") == []
