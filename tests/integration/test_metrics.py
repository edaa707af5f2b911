"""`dockdist metrics`, as a real Prometheus and its promtool see it."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import assert_in, cluster
from harness.gpus import gpu_lines, uuids
from harness.lab import ROOT
from harness.running import Running
from harness.waiting import eventually


def get(url, accept="", method="GET", **headers):
    request = urllib.request.Request(url, headers={"Accept": accept, **headers}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def promtool(text):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), done.stdout + done.stderr


def sample(text, name, **labels):
    """The value of the one sample with these labels."""
    lines = [line for line in text.splitlines() if line.startswith(name + "{")
             and all(f'{label}="{value}"' in line for label, value in labels.items())]
    assert len(lines) == 1, (name, labels, lines)
    return float(lines[0].rpartition(" ")[2])


@contextlib.contextmanager
def prometheus(folder, target):
    """A real one that scrapes the target every second; gives the address of its API."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: dockdist\n    static_configs: [{{targets: ['{target}']}}]\n")
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{port}/api/v1"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (folder / "prometheus.log").read_text()
        shutil.rmtree(folder / "tsdb", ignore_errors=True)


def asked(api, query):
    """{node: value} of an instant query; nothing while it does not answer."""
    try:
        answer = json.loads(get(f"{api}/query?query={urllib.parse.quote(query)}")[1])
    except (urllib.error.URLError, ConnectionError):
        return {}
    return {result["metric"].get("node"): float(result["value"][1]) for result in answer["data"]["result"]}


def test_a_real_prometheus_scrapes_what_the_nodes_tell(lab):
    with cluster(lab, "t-metrics") as c, gpu_lines(lab, 1, 0, "utilization.gpu=87", "power.draw=612.50", "memory.used=61000"):
        c.write(gpus="all", more="gpu_in_use_above: 80g").up()
        job = Running(c, "run", "--per-rank", "--name", "works", "--", "sh", "-c", "echo begun; exec sleep 4711")
        job.until("begun", times=4)
        metrics = Running(c, "metrics", "--listen", "127.0.0.1:0", "--interval", "1s")
        url = metrics.until_err(r"the figures at (http://127\.0\.0\.1:\d+/metrics)$")[0][1]

        def is_told():
            text = get(url)[1]
            return text.count("\ndockdist_gpu_power_watts{") == 4 and 'rank="3"' in text
        eventually(is_told, "all GPUs and ranks")
        kind, text = get(url, "text/plain")
        assert kind == "text/plain; version=0.0.4; charset=utf-8"
        promtool(text)
        known = (ROOT / "tests/golden/prometheus/metrics.txt").read_text()
        assert set(re.findall(r"^# TYPE (\S+)", text, re.M)) <= set(re.findall(r"^# TYPE (\S+)", known, re.M))
        first = {"cluster": "t-metrics", "node": "node-0", "gpu": 0, "uuid": uuids(lab, 1)[0]}
        assert sample(text, "dockdist_gpu_utilization_ratio", **first) == 0.87
        assert sample(text, "dockdist_gpu_power_watts", **first) == 612.5
        assert sample(text, "dockdist_gpu_memory_used_bytes", **first) == 61000 << 20
        assert sample(text, "dockdist_job_info", node="node-1", job="works") == 1
        assert sample(text, "dockdist_rank_memory_bytes", node="node-1", job="works", rank=3) > 0
        kind, text = get(url, "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;q=0.5")
        assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert text.endswith("\n# EOF\n") and "# TYPE dockdist_node_cpu_seconds counter\n" in text
        for bad, code, headers in (("/metric", 404, {}), ("/metrics", 405, {"method": "POST"}), ("/metrics", 421, {"Host": "evil.example"})):
            try:
                get(url.removesuffix("/metrics") + bad, **headers)
                raise AssertionError(bad)
            except urllib.error.HTTPError as error:
                assert error.code == code, (bad, error.code)
        address = urllib.parse.urlsplit(url)
        silent = [socket.create_connection((address.hostname, address.port)) for _ in range(20)]
        assert get(url)[1] != ""  # whoever keeps a connection keeps nobody out
        for connection in silent:
            connection.close()
        with prometheus(c.folder, address.netloc) as api:
            eventually(lambda: asked(api, 'rate(dockdist_node_cpu_seconds_total[10s])').keys() == {"node-0", "node-1"}, "two scrapes")
            assert asked(api, 'max by (node) (dockdist_gpu_power_watts{cluster="t-metrics"})')["node-0"] == 612.5
            assert asked(api, 'sum by (node) (dockdist_gpu_memory_size_bytes)') == {node: 2 * (81559 << 20) for node in ("node-0", "node-1")}
            # A node that goes is down at once, and tells nothing more; when it is there again, it is followed again.
            engine, node = c.container("node-1")
            engine.call("POST", f"/v1.40/containers/{node}/stop?t=1")
            eventually(lambda: asked(api, "dockdist_node_up").get("node-1") == 0, "node-1 is down")
        assert 'dockdist_gpu_power_watts{cluster="t-metrics",node="node-1"' not in get(url)[1]
        metrics.until_err(r"^warning: node-1")
        c.up()
        metrics.until_err(r"node-1 is there again$")
        metrics.interrupt()
        metrics.end(0)
        job.process.wait(60)  # it has ended with its node


def test_the_figures_are_written_for_node_exporter(lab):
    with cluster(lab, "t-textfile") as c:
        begun = time.time()
        c.write(hosts=1).up()
        text = c.run("metrics", "--once").stdout
        promtool(text)
        assert sample(text, "dockdist_node_up", node="node-0") == 1
        assert "dockdist_gpu_" not in text  # it has none
        assert begun <= sample(text, "dockdist_node_sampled_timestamp_seconds", node="node-0") <= time.time()
        file = c.folder / "dockdist.prom"
        writes = Running(c, "metrics", "--textfile", str(file), "--interval", "1s")
        eventually(file.exists, "the file")
        first = file.stat().st_ino
        promtool(file.read_text())
        # In a folder that others write to, whoever knows what it is called meanwhile can lead it elsewhere.
        victim = c.folder / "victim"
        victim.write_text("untouched")
        for beside in (f".dockdist.prom.{writes.process.pid}", "dockdist.prom.dockdist-new"):
            (c.folder / beside).symlink_to(victim)
        eventually(lambda: file.stat().st_ino != first, "another one in its place")
        again = file.stat().st_ino
        eventually(lambda: file.stat().st_ino != again, "one that began when the links were there")
        assert victim.read_text() == "untouched"
        writes.interrupt()
        writes.end(0)
        assert not file.exists()  # nobody would take its figures for what is
        assert [path.name for path in c.folder.glob(".dockdist*") if not path.is_symlink()] == []
        c.run("metrics", "--once", "--textfile", str(file))
        promtool(file.read_text())
        assert_in("can be reached from other machines", c.run("metrics", "--listen", "0.0.0.0:0", code=2).stderr)
        assert_in("cannot be written", c.run("metrics", "--textfile", "/nowhere/x.prom", code=2).stderr)
