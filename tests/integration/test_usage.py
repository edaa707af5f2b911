"""What jobs use: their figures while they run and afterwards, and jobs whose GPUs do nothing."""

import json
import re

import pytest

from harness import assert_in, cluster
from harness.gpus import gpu_lines
from harness.patience import DURATION, GPU_HOURS
from harness.running import Running

MIB = 1 << 20
# Some CPU, and some bytes over the network in the middle of it.
BUSY = ("sh", "-c", "spin() { timeout 2 sh -c 'while :; do :; done'; }; spin; yes | head -n 300000; spin; true")


def known(c, name):
    jobs = json.loads(c.run("jobs", name, "-o", "json").stdout)["jobs"]
    assert [job["job"] for job in jobs] == [name], jobs
    return jobs[0]


def test_what_a_job_has_used_is_told_with_its_peaks_and_drawn(lab):
    figures = ("utilization.gpu=87", "power.draw=612.50", "memory.used=61000", "temperature.gpu=66", "clocks.sm=1200",
               "clocks_event_reasons.active=0x0000000000000020")
    with cluster(lab, "t-usage") as c, gpu_lines(lab, 1, 0, *figures):
        c.write(gpus="all", more="gpu_in_use_above: 80g").up()  # what is in use there is nobody's else
        assert_in("no job on record in t-usage: `dockdist run -- COMMAND` starts one", c.run("jobs").stdout)
        page = c.folder / "job.html"
        lines = c.run("run", "--name", "used", "--report", str(page), "-o", "json", "--", *BUSY).stdout.splitlines()
        result = json.loads(lines[-1])
        job = known(c, "used")
        usage = job["usage"]
        assert usage["gpus"] == 4 and usage["gpu_hours"] == pytest.approx(sum(
            node["duration_ms"] * node["gpus"] for node in job["usage_by_node"]) / 3.6e6), usage
        for figure, peak in (("gpu_utilization_percent", 87), ("gpu_power_w", 612.5), ("gpu_memory_bytes", 61000 * MIB),
                             ("gpu_temperature_c", 66), ("gpu_clock_mhz", 1200)):
            told = usage[figure]
            assert (told["peak"], told["peak_node"], told["peak_gpu"]) == (peak, "node-0", 0), (figure, told)
            assert told["mean"] < peak
        by_node = {node["node"]: node for node in job["usage_by_node"]}
        # Of node-0 one GPU of two is at 87 % all the time, of node-1 none.
        assert by_node["node-0"]["gpu_utilization_percent"]["mean"] == pytest.approx(43.5)
        assert by_node["node-1"]["gpu_utilization_percent"]["peak"] == 0
        assert 0 < usage["gpu_utilization_percent"]["mean"] < 43.5
        assert 0.02 < usage["cpu_cores"]["peak"] < 4 and usage["memory_bytes"]["peak"] > 0, usage
        assert usage["energy_j"] > 612 and usage["network_sent_bytes"] > 1e6, usage
        assert result["usage"]["gpu_power_w"]["peak"] == 612.5, result
        assert not [key for key in usage if key.startswith("rdma")], usage
        # The node that was slowed down says so afterwards, too.
        hot = [found for found in job["findings"] if found["kind"] == "thermal"]
        assert [(found["node"], found["gpu"], found["job"]) for found in hot] == [("node-0", 0, "used")], job["findings"]
        said = re.compile(rf"node-0 GPU 0: slowed down because too hot( for {DURATION})?, at 66 °C, 1200 of 1980 MHz")
        assert said.fullmatch(hot[0]["text"]), hot
        text = c.run("jobs", "used").stdout
        assert re.search(said, text), text
        assert re.search(r"^GPU load +\d+ % +87 % +node-0, GPU 0$", text, re.M), text
        assert re.search(r"^GPU memory +\S+ GiB +59\.6 GiB +node-0, GPU 0$", text, re.M), text
        assert re.search(rf"^ *GPUs +4, {GPU_HOURS}$", text, re.M), text
        assert re.search(r"^node-1 +0 % ", text, re.M), text
        html = page.read_text()
        assert re.search(said, html), html[:3000]
        for part in ("<h1>used</h1>", "done after", "GPU load, %", "612 W", "<summary>node-1</summary>", 'class="curve c1"'):
            assert_in(part, html)
        # Once more, and of a job that is over for everybody else.
        again = c.folder / "again.html"
        c.run("jobs", "used", "--report", str(again))
        assert_in("GPU power", again.read_text())
        assert_in("there is no job `nosuch`", c.run("jobs", "nosuch", code=125).stderr)
        # And of the span in which it ran.
        all_of_it = c.folder / "used.html"
        who = json.loads(c.run("jobs", "--since", "1h", "--by", "user", "--report", str(all_of_it), "-o", "json").stdout)
        assert [group["name"] for group in who["groups"]] == [job["owner"]], who
        total = who["total"]
        assert (total["jobs"], total["running"], total["failed"], total["waited_ms"] is None) == (1, 0, 0, False), total
        assert usage["gpu_hours"] <= total["gpu_hours"] and total["waited_ms"] == job["waited_ms"], (usage, total, job)
        assert total["idle_share"] == pytest.approx(1 - usage["gpu_utilization_percent"]["mean"] / 100), total
        assert total["energy_kwh"] == pytest.approx(usage["energy_j"] / 3.6e6), total
        assert re.search(r"^node-1 +\S+ +100 % ", c.run("jobs", "--by", "node").stdout, re.M)
        titles, row = c.run("jobs", "--since", "1h", "-o", "csv").stdout.splitlines()
        assert dict(zip(titles.split(","), row.split(","), strict=False))["gpus"] == "4", row
        assert_in("<h1>Who used t-usage</h1>", all_of_it.read_text())
        assert_in("no job of that time on record", c.run("jobs", "--until", "1h").stdout)
        assert json.loads(c.run("jobs", "--until", "1h", "-o", "json").stdout)["jobs"] == []


def test_a_job_whose_gpus_do_nothing_is_told_of_or_stopped(lab):
    with cluster(lab, "t-idle") as c:
        c.write(gpus="all", more="idle: {after: 2s, then: stop}").up()
        told = Running(c, "run", "--gpus", "1", "--on-idle", "warn", "--", "sleep", "1000")
        told.until_err(r"warning: the job's 2 GPUs did nothing for 2 s, and nobody else has them until it ends "
                       r"\(`--on-idle stop` ends such a job\)$")
        told.interrupt()
        told.end(130)
        with gpu_lines(lab, 2, 1, "utilization.gpu=50"):  # while one of them works it goes on
            stopped = Running(c, "run", "--name", "rests", "--", "sh", "-c", "sleep 7; echo goes on; exec sleep 1000")
            stopped.until(r"goes on", times=2)
            assert "did nothing" not in stopped.err, stopped.err
        stopped.until_err(r"error: .*rests: the job's 4 GPUs did nothing for 2 s$")
        stopped.end(124)
        # Of one that took ten seconds it is said at the end; this one did: seven, two of rest, and two to be sure.
        assert re.search(rf"rests: {DURATION}, {GPU_HOURS}; GPU load \d+ % \(peak 50 %\), .* \(`dockdist jobs rests` has more\)", stopped.err), stopped.err
        job = known(c, "rests")
        assert (job["exit_code"], job["first_failure"]["finding"]) == (124, "the job's 4 GPUs did nothing for 2 s"), job
        idle = [found["node"] for found in job["findings"] if found["kind"] == "idle"]
        assert idle == ["node-0", "node-1"], job["findings"]
        assert re.search(rf"^! the job's GPUs on node-0, node-1 did nothing for {DURATION}$", c.run("jobs", "rests").stdout, re.M)
        assert c.processes("sleep 1000") == []
        c.run("run", "--idle", "off", "--", "sleep", "6")
        assert_in("leave out --share or --idle", c.run("run", "--share", "--idle", "5s", "--", "true", code=2).stderr)
        assert_in("`idle` in the file does not apply to this job", c.run("run", "--share", "--", "true").stderr)
        assert_in("are not watched for idleness", c.run("run", "--idle", "off", "--on-idle", "stop", "--", "true", code=2).stderr)
