"""check --deep: dockdist-probe in real containers on two machines, with a libcuda and a libnccl that compute real sums and meet
over the machines' network."""

import json
import os
import pathlib
import shutil
import signal

import pytest

from harness import ROOT, assert_in, cluster, eventually

STUBS = pathlib.Path(os.environ.get("DOCKDIST_PROBE_STUBS", ROOT / "build/tests/probe"))
CUDA, NCCL = STUBS / "cuda/libcuda.so.1", STUBS / "nccl-22105/libnccl.so.2"
OPERATIONS = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_receive"}


def write(lab, c, hosts=2, gpus="2", libraries=(CUDA, NCCL), nodes=None, **environment):
    """`nodes`: {place: its own environment}. The stubs have little memory: what computes on a CPU is slow."""
    folder = lab.shared / c.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for library in libraries:
        shutil.copy(library, folder)
    variables = {"LD_LIBRARY_PATH": "/stubs", "DOCKDIST_STUB_MEMORY": str(1 << 20), **environment}
    c.write(hosts=hosts, image="dockdist-lab/debian12", gpus=gpus,
            container=f"mounts: ['/shared/{c.name}:/stubs:ro']\nenv: {json.dumps(variables)}")
    lines = c.file.read_text().splitlines()
    first = lines.index("hosts:") + 1
    for place, own in (nodes or {}).items():
        lines[first + place] = lines[first + place].replace("gpus:", f"env: {json.dumps(own)}, gpus:")
    c.file.write_text("\n".join(lines) + "\n")
    return c


def deep(c, code=0, timeout=240):
    return json.loads(c.run("check", "--deep", "-o", "json", code=code, timeout=timeout).stdout)


def rows_of(report, check="nccl", state=None):
    return [row for row in report["rows"] if row["check"] == check and state in (None, row["state"])]


def probes(c, nodes=("node-0", "node-1")):
    return [line for node in nodes for engine, container in [c.container(node)]
            for line in engine.processes(container) if "dockdist-probe" in line]


def test_nccl_over_two_nodes_of_two_gpus(lab):
    with cluster(lab, "t-deep") as c:
        write(lab, c).up()
        page = c.folder / "report.html"
        done = c.run("check", "--deep", "--report", str(page))
        assert "FAIL" not in done.stdout, done.stdout
        shown = page.read_text()
        for words in ("<h1>t-deep</h1>", "TCP bandwidth, Gbit/s", "<h3>all_reduce, GB/s</h3>", "4 GPUs of 2 nodes: all_reduce "):
            assert_in(words, shown)
        for words in ("each node alone", "all nodes"):
            assert_in("NCCL measured: " + words, done.stderr)
        report = deep(c)
        texts = {row["subject"]: row["text"] for row in rows_of(report)}
        assert set(texts) == {"node-0", "node-1", "all nodes"}, rows_of(report)
        assert_in("2 GPUs: all_reduce ", texts["node-0"])
        assert_in("NCCL 2.21.5", texts["node-0"])
        assert_in("4 GPUs of 2 nodes: all_reduce ", texts["all nodes"])
        assert [row["state"] for row in rows_of(report, "transport")] == ["pass"]
        assert_in("NET/Socket; no RDMA device is used", rows_of(report, "transport")[0]["text"])
        assert not probes(c)


def test_one_gpu_a_node_is_a_copy_and_not_graded(lab):
    with cluster(lab, "t-deep-copy") as c:
        write(lab, c, gpus="1").up()
        texts = {row["subject"]: row["text"] for row in rows_of(deep(c))}
        assert_in("is a copy in its own memory, not graded", texts["node-1"])
        assert_in("2 GPUs of 2 nodes", texts["all nodes"])


def test_a_corrupted_element_names_the_node(lab):
    with cluster(lab, "t-deep-wrong") as c:
        write(lab, c, nodes={1: {"DOCKDIST_STUB_FAULT": "corrupt=all_gather:17"}}).up()
        failed = rows_of(deep(c, code=1), state="fail")
        assert {row["subject"] for row in failed} == {"node-1"}, failed
        assert_in("GPU 0 got wrong results: all_gather of 1024 bytes", failed[0]["text"])
        assert_in("the first one at index 17", failed[0]["text"])
        assert_in("ECC", failed[0]["hint"])


def test_a_probe_that_is_killed_ends_the_others_and_is_named(lab):
    with cluster(lab, "t-deep-kill") as c:
        # A hang holds the stage; a person with -9 ends it.
        write(lab, c, nodes={1: {"DOCKDIST_STUB_FAULT": "hang=broadcast"}}).up()
        client = c.start("check", "--deep", "-o", "json")
        try:
            eventually(lambda: len(probes(c, ["node-1"])) == 2, "the probes run")
            c.run("exec", "node-1", "--", "sh", "-c", "kill -9 $(for f in /proc/[0-9]*; do "
                  "tr '\\0' ' ' <$f/cmdline 2>/dev/null | grep -q '^dockdist-probe' && echo ${f#/proc/}; done | head -n 1)")
            out, err = client.communicate(timeout=100)
        finally:
            client.kill()
        assert client.returncode == 1, err
        failed = rows_of(json.loads(out), state="fail")
        assert [row["subject"] for row in failed] == ["node-1"], failed
        assert_in("its process was killed by signal 9", failed[0]["text"])
        assert not probes(c)


def test_a_node_that_hangs_ends_by_the_deadline_and_is_named(lab):
    with cluster(lab, "t-deep-hang") as c:
        write(lab, c, nodes={1: {"DOCKDIST_STUB_FAULT": "hang=all_gather"}}).up()
        report = json.loads(c.run("check", "--deep", "--stage-timeout", "6s", "-o", "json", code=1).stdout)
        failed = rows_of(report, state="fail")
        assert [row["subject"] for row in failed] == ["node-1"], failed
        assert_in("each node alone: GPU 0, 1: all_gather of 1024 bytes of float had not ended when the deadline of 6000 ms",
                  failed[0]["text"])
        assert [row["subject"] for row in rows_of(report, state="pass")] == ["node-0"]
        assert not probes(c)


def test_ctrl_c_ends_every_probe(lab):
    with cluster(lab, "t-deep-stop") as c:
        write(lab, c, DOCKDIST_STUB_FAULT="hang=broadcast").up()
        client = c.start("check", "--deep")
        try:
            eventually(lambda: len(probes(c)) == 4, "the probes run")
            client.send_signal(signal.SIGINT)
            _, err = client.communicate(timeout=30)
        finally:
            client.kill()
        assert client.returncode == 130, err
        eventually(lambda: not probes(c), "the probes have ended", timeout=10)


def test_an_image_without_nccl_is_said_in_words(lab):
    with cluster(lab, "t-deep-none") as c:
        write(lab, c, libraries=[CUDA]).up()
        rows = rows_of(deep(c))
        assert [(row["state"], row["subject"]) for row in rows] == [("warn", "all nodes")], rows
        assert_in("there is no libnccl.so.2", rows[0]["text"])


def test_an_image_without_glibc_is_said_in_words(lab):
    with cluster(lab, "t-deep-musl") as c:
        c.write(gpus="2").up()
        failed = rows_of(deep(c, code=1), state="fail")
        assert [row["subject"] for row in failed] == ["all nodes"], failed
        assert_in("the image has no glibc", failed[0]["text"])
        assert_in("not Alpine", failed[0]["hint"])


def test_sockets_where_rdma_devices_are_fail(lab):
    with cluster(lab, "t-deep-rdma") as c:
        write(lab, c, gpus="1", DOCKDIST_STUB_RDMA="mlx5_0:1/RoCE").up()
        rows = rows_of(deep(c, code=1), "transport")
        assert [row["state"] for row in rows] == ["fail"], rows
        assert_in("NCCL uses sockets (NET/Socket on ", rows[0]["text"])
        assert_in("although there are RDMA devices (mlx5_0)", rows[0]["text"])
    with cluster(lab, "t-deep-rdma") as c:
        write(lab, c, gpus="1", DOCKDIST_STUB_RDMA="mlx5_0:1/RoCE", DOCKDIST_STUB_VIA="NET/IB/0/GDRDMA").up()
        rows = rows_of(deep(c), "transport")
        assert [(row["state"], row["text"]) for row in rows] == [("pass", "NET/IB/GDRDMA")], rows


@pytest.mark.exclusive
def test_a_slow_node_is_named_among_the_pairs(lab):
    with cluster(lab, "t-deep-slow") as c:
        write(lab, c, gpus="1").up()  # the toolkit is there: two nodes of a machine do not both bring it
        write(lab, c, hosts=4, gpus="[PLACE]", DOCKDIST_STUB_MEMORY=str(8 << 20),
              nodes={3: {"DOCKDIST_STUB_FAULT": "slow=all_reduce:50"}})
        text = c.file.read_text()
        for place in (0, 0, 1, 1):  # two nodes a machine, each with a GPU of its own
            text = text.replace("[PLACE]", f"[{place}]", 1)
        c.file.write_text(text)
        c.up()
        rows = rows_of(deep(c, code=1), "nccl-pairs", "fail")
        assert [row["subject"] for row in rows] == ["node-3"], rows
        assert_in("slow with every other node: all_reduce", rows[0]["text"])
