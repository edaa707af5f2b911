"""scripts/gpu-day before there is a GPU: all of it against stand-ins, and that a part which hangs, an answer that is misread and a machine's own names come to
nothing worse than a line in its report."""

import io
import json
import os
import subprocess
import sys
import tarfile
import time

import pytest

from gpu_day import limits, pack, ras, reading, report
from gpu_day.identities import Identities
from gpu_day.paths import ROOT

BUILD = os.environ.get("DOCKDIST_BUILD", str(ROOT / "build"))
UUID = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
OURS = "GPU-00000001-0000-4000-8000-000000000001"  # what stands for it


def day(output, *words):
    words = [ROOT / "scripts/gpu-day", "--rehearse", "--build", BUILD, "--output", output, *words]
    return subprocess.run(words, text=True, capture_output=True, timeout=250, check=False)


class TestRehearsal:
    @pytest.fixture(scope="class")
    def rehearsed(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("day")
        done = day(folder)
        told = json.loads((folder / "findings.json").read_text())
        with tarfile.open(folder / "recordings.tar.gz") as archive:
            files = {entry.name: archive.extractfile(entry).read() for entry in archive}
        return done, told, files, folder

    def test_every_part_comes_to_its_end_and_nothing_is_otherwise(self, rehearsed):
        done, told, _, _ = rehearsed
        assert {name: words.partition(" in ")[0] for name, words in told["parts"].items()} == dict.fromkeys(
            ("smi", "node", "probe", "nccl", "training"), "done"), done.stdout + done.stderr
        assert [finding for finding in told["findings"] if finding["kind"] == "wrong"] == []
        assert done.returncode == 0, done.stdout + done.stderr

    def test_what_the_stand_ins_have_is_measured_in_each_part(self, rehearsed):
        _, told, _, _ = rehearsed
        # What no stand-in has: the variable of a newer NCCL, and two ranks on one GPU of an NCCL that refuses that.
        missing = {finding["what"] for finding in told["findings"] if finding["kind"] == "not measured"}
        assert {what for what in missing if not what.startswith(("nvidia-smi ", "two ranks on one GPU, "))} == set()
        measured = {(finding["part"], finding["what"]) for finding in told["findings"] if finding["kind"] == "measured"}
        assert measured >= {("smi", "the parsers (idle)"), ("node", "NVML's fields"), ("probe", "every collective and element"),
                            ("nccl", "RAS, a skipped collective"), ("nccl", "the flight recorder at a time-out, rank 0"), ("training", "TERM and checkpoint")}

    def test_every_question_of_dockdist_s_is_recorded(self, rehearsed):
        _, _, files, _ = rehearsed
        asked = json.loads(subprocess.run([f"{BUILD}/tests/gpu_day/gpu-answers", "questions"], capture_output=True, check=True).stdout)["questions"]
        assert len(asked) == 9
        assert {f"recordings/smi/{when}/{question['name']}.txt" for question in asked for when in ("idle", "held", "nobody")} <= set(files)

    def test_no_name_of_the_machine_is_left(self, rehearsed):
        done, _, files, folder = rehearsed
        outside = b"".join(path.read_bytes() for path in folder.iterdir() if path.suffix != ".gz") + done.stdout.encode()
        for said in [outside, *files.values()]:
            for word in (UUID[4:12].encode(), b"1652823054567", b":3B:00.0", b":3b:00.0"):
                assert word not in said
        assert OURS.encode() in files["recordings/smi/idle/listing.txt"] and OURS.encode() in outside

    def test_there_are_few_files_with_plain_names(self, rehearsed):
        assert sorted(os.listdir(rehearsed[3])) == ["findings.json", "log.txt", "recordings.tar.gz", "report.md"]


def test_a_part_at_its_limit_is_ended_and_the_next_one_goes_on(tmp_path):
    done = day(tmp_path, "--only", "smi", "--only", "node", "--limit", "0.05")
    told = json.loads((tmp_path / "findings.json").read_text())
    assert told["parts"] == dict.fromkeys(("smi", "node"), "ended at its limit, after 0 s"), done.stdout + done.stderr
    assert done.returncode == 1 and "smi: ended at its limit" in done.stdout
    assert "| node | ended at its limit" in (tmp_path / "report.md").read_text()


def test_a_day_that_is_ended_leaves_what_it_has_and_no_process(tmp_path):
    process = subprocess.Popen([ROOT / "scripts/gpu-day", "--rehearse", "--build", BUILD, "--output", tmp_path, "--only", "smi", "--only", "training"],
                               stdout=subprocess.PIPE, text=True)
    while "training" not in process.stdout.readline():
        pass
    while len(below := limits.below(process.pid)) < 3:  # the part, and a job of its own
        time.sleep(0.02)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(json.loads((tmp_path / "findings.json").read_text())["parts"]) == ["smi"]
    assert below and [pid for pid in below if os.path.exists(f"/proc/{pid}")] == []


class TestLimits:
    def run(self, script, limit, tmp_path):
        """In a process of its own: it ends whatever is below it."""
        (tmp_path / "script").write_text(script)
        code = ("import sys, json; sys.path.insert(0, sys.argv[1])\nfrom gpu_day import limits\nlimits.adopt_orphans()\n"
                "ended = limits.run(['sh', sys.argv[2]], float(sys.argv[3]), open(sys.argv[4], 'w'))\n"
                "print(json.dumps([ended.code, ended.words, ended.left]))")
        words = [sys.executable, "-c", code, ROOT / "tests", tmp_path / "script", str(limit), tmp_path / "log"]
        return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)

    def test_its_end_is_told(self, tmp_path):
        assert self.run("echo said; exit 3", 60, tmp_path) == [3, "failed with code 3", []]
        assert (tmp_path / "log").read_text() == "said\n"

    def test_nothing_is_left_of_it(self, tmp_path):
        script = f"""sleep 4911 & (setsid sh -c 'trap "" TERM; echo $$ >{tmp_path}/pid; exec sleep 4912' &)
                     while [ ! -s {tmp_path}/pid ]; do sleep 0.05; done
                     kill -STOP $(cat {tmp_path}/pid)"""
        assert self.run(script, 60, tmp_path)[::2] == [0, []]
        assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")

    def test_one_that_hangs_is_ended_with_all_below_it(self, tmp_path):
        code, words, left = self.run(f"(setsid sleep 4913 & echo $! >{tmp_path}/pid); trap '' TERM INT; while :; do sleep 4914; done", 0.5, tmp_path)
        assert (code, left) == (None, []) and words.startswith("ended at its limit")
        assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")

    def test_other_processes_are_none_of_its(self):
        beside = subprocess.Popen(["sleep", "4915"])
        try:
            assert beside.pid in limits.below(os.getpid()) and os.getpid() not in limits.below(beside.pid)
        finally:
            beside.kill()
            beside.wait()


class TestIdentities:
    def test_the_same_is_replaced_by_the_same_in_every_form(self):
        one = Identities([("host", "ip-10-0-3-7"), ("address", "10.0.3.7"), ("mac", "0a:1b:2c:3d:4e:5f")])
        text = (f"GPU 0: NVIDIA H100 (UUID: {UUID})\nuuid='{UUID[4:]}' {UUID.upper()} {UUID[:12]}\n"
                "00000000:3B:00.0 0000:3b:00.0 PCI:0000:3b:00): 79 GPU0000:3B:00.0 3b:00.0\n"
                "    Bus                               : 0x3B\nip-10-0-3-7:12:13 [0] NCCL INFO busId 3b000 10.0.3.7:28028 0a:1b:2c:3d:4e:5f\n")
        assert one.replace(text) == (
            f"GPU 0: NVIDIA H100 (UUID: {OURS})\nuuid='{OURS[4:]}' {OURS} {OURS[:12]}\n"
            "00000000:01:00.0 0000:01:00.0 PCI:0000:01:00): 79 GPU0000:01:00.0 01:00.0\n"
            "    Bus                               : 0x01\ngpu-host-01:12:13 [0] NCCL INFO busId 01000 192.0.2.1:28028 02:00:00:00:00:01\n")
        assert "MIG-00000002-0000-4000-8000-000000000002" in one.replace("MIG-c7384736-a75d-5afc-978f-d2f1294409fd")
        assert one.left(one.replace(text)) == [] and one.left(text)

    def test_serial_numbers_are_learnt_where_they_have_a_name_and_replaced_where_they_have_none(self):
        one = Identities()
        one.learn("    Serial Number                     : 1652823054567\n    GPU PDI                           : 0x8b3c1f2e9d4a5b6c\n"
                  "<serial>1652823054568</serial>\n    Board ID                          : 0x3b00\n    Serial Number                     : N/A\n"
                  "<chassis_serial_number>N/A</chassis_serial_number>")
        assert one.replace("0, 1652823054567, 1652823054568, 0x8b3c1f2e9d4a5b6c, 0x3b00, N/A, 16528230545670") == (
            "0, 0000000000001, 0000000000003, 0x0000000000000002, 0x0004, N/A, 16528230545670")

    def test_what_stands_for_one_is_no_other_s(self):
        one = Identities([("address", "10.0.0.1"), ("address", "192.0.2.1"), ("address", "10.0.0.2"), ("host", "gpu-host-01xx")])
        said = one.replace("10.0.0.1 192.0.2.1 10.0.0.2 10.0.0.1:80 10.0.0.11 gpu-host-01xx")
        assert said == "192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.2:80 10.0.0.11 gpu-host---01" and one.left(said) == []

    def test_what_tells_nothing_stays(self):
        one = Identities([("host", "localhost"), ("host", "h100"), ("serial", "0"), ("serial", "")])
        text = ("localhost NVIDIA h100 [N/A] 550.127.08 2026-11-27 10:00:00 0x0000000000000001 127.0.0.1:28028 "
                "ClusterUUID : 00000000-0000-0000-0000-000000000000 torch 2.11.0 step 12:34:56 fe80::1")
        assert one.replace(text) == text

    def test_data_keeps_its_length_or_is_none(self):
        one = Identities([("host", "a-host-of-ours"), ("address", "10.0.3.7")])
        data = b"\x80\x02X\x0e\x00\x00\x00a-host-of-oursq\xff" + UUID.encode()
        said = one.replace_data(data)
        assert len(said) == len(data) and b"ours" not in said and said.startswith(b"\x80\x02X\x0e\x00\x00\x00gpu-host----01q\xff")
        assert one.replace_data(b"10.0.3.7\x00") is None


class TestReading:
    ARGV = ["nvidia-smi", "--query-gpu=index,uuid,memory.total,mig.mode.current,clocks_event_reasons.active", "--format=csv,noheader,nounits"]

    def rows(self, output, **read):
        gpu = {"index": 0, "uuid": "GPU-a", "memory.total": 81559, "mig.mode.current": False, "reasons": 4, **read}
        return reading.rows_misread("gpus", self.ARGV, output, [gpu])

    def test_what_was_read_as_it_stands_is_no_finding(self):
        assert self.rows("0, GPU-a, 81559, Disabled, 0x0000000000000004\n") == []
        assert self.rows("0, [N/A], [Insufficient Permissions], [N/A], [Not Supported]\n", uuid="", **{"memory.total": None, "reasons": None}) == []

    def test_each_field_that_was_misread_is_named_with_what_stands_there(self):
        assert self.rows("0, GPU-a, 81559, Enabled, 0x0000000000000004\n") == ["gpus: mig.mode.current is `Enabled`, and was read as False"]
        assert self.rows("0, GPU-a, 81559 MiB, Disabled, 0x4\n") == ["gpus: memory.total is `81559 MiB`, and was read as 81559"]
        assert self.rows("0, GPU-a, [Requires a word], Disabled, 0x4\n", **{"memory.total": None}) == [
            "gpus: memory.total is `[Requires a word]`, and was read as None"]
        assert self.rows("a new kind of line\n0, GPU-a, 81559, Disabled, 0x4\n") == ["gpus: a line is no GPU: a new kind of line"]

    def test_the_matrix_is_read_by_its_columns(self):
        text = ("\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \tNV18\tPIX\t0-31\t1\t\tN/A\n"
                "GPU1\tNV18\t X \tSYS\t32-63\tN/A\t\tN/A\n")
        assert reading.topology_misread(text, {"links": [["", "NV18"], ["NV18", ""]], "numa_node": [1, -1]}) == []
        found = reading.topology_misread(text, {"links": [["", "SYS"], ["NV18", ""]], "numa_node": [1, 0]})
        assert found == ["topology: GPU0 to GPU1 is NV18, and was read as 'SYS'", "topology: the NUMA node of GPU1 is `N/A`, and was read as 0"]

    def test_the_xml_is_another_witness(self):
        document = ("<?xml version='1.0'?><!DOCTYPE nvidia_smi_log SYSTEM 'x.dtd'><nvidia_smi_log><driver_version>580.1</driver_version>"
                    "<cuda_version>13.0</cuda_version><gpu id='0'><product_name>NVIDIA H100</product_name><uuid>GPU-a</uuid>"
                    "<fb_memory_usage><total>81559 MiB</total></fb_memory_usage>"
                    "<mig_mode><current_mig>Disabled</current_mig></mig_mode><fabric><state>Completed</state><status>Success</status><cliqueId>0</cliqueId>"
                    "<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid></fabric></gpu></nvidia_smi_log>")
        gpu = {"driver_version": "580.1", "name": "NVIDIA H100", "uuid": "GPU-a", "memory.total": 81559.0, "mig.mode.current": False}
        fabric = {"state": "Completed", "status": "Success", "clique": "0", "cluster": ""}
        read = {"table": {"cuda": "13.0"}, "gpus": {"gpus": [gpu]}, "log": {"fabric": fabric}}
        assert reading.xml_contradicts(document, read) == []
        read["log"]["fabric"] = None
        read["table"]["cuda"] = ""
        assert len(reading.xml_contradicts(document, read)) == 4
        assert reading.xml_contradicts("Failed to initialize NVML", read)[0].startswith("the XML of")

    def test_a_bit_that_does_not_fit_its_name(self):
        names = {"gpu_idle": 1, "sw_power_cap": 4}
        assert reading.reasons_misread(1, names, {"gpu_idle": "Active", "sw_power_cap": "Not Active"}) == []
        assert reading.reasons_misread(1, names, {"gpu_idle": "Not Active", "sw_power_cap": "Active"}) == [
            "why a clock is lowered: gpu_idle is Not Active, and its bit is set in 0x1",
            "why a clock is lowered: sw_power_cap is Active, and its bit is not set in 0x1"]


def test_reports_of_ras_that_lack_a_comma_are_read():
    said = '{"missing_ranks": [{"rank": 1, "nvml_dev": 0\n "status": {"unresponsive": true}}], "ranks": [{"nvml_dev": 0, "status": {"init_state": 0}}]}'
    assert json.loads(ras.mended(said))["missing_ranks"][0]["status"] == {"unresponsive": True}


def test_a_recording_that_cannot_be_cleaned_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "own_names", lambda: [("address", "10.0.3.7")])
    work = tmp_path / "work"
    (work / "recordings/nccl").mkdir(parents=True)
    (work / "recordings/nccl/a.pickle").write_bytes(b"\x80\x02\x0010.0.3.7 \xff")
    (work / "recordings/nccl/b.txt").write_text("10.0.3.7\n")
    (work / "findings.jsonl").write_text('{"part": "nccl", "kind": "wrong", "what": "x", "text": "10.0.3.7"}\n{"part": "nccl", "ki')
    findings = report.Output(tmp_path / "out", work, {"date": "2026-11-27"}).write({"nccl": "done"})
    assert [(finding["kind"], finding["text"][:9]) for finding in findings] == [("wrong", "192.0.2.1"), ("not measured", "it tells ")]
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "out/recordings.tar.gz").read_bytes())) as archive:
        assert archive.getnames() == ["recordings/nccl/b.txt"]
    assert "10.0.3.7" not in (tmp_path / "out/report.md").read_text()


def test_programs_that_were_not_brought_along_are_none(tmp_path):
    (tmp_path / "dockdist-init").write_text("")
    (tmp_path / "dockdist-init").chmod(0o755)
    found = pack.programs(tmp_path, BUILD)
    assert found["dockdist-init"] == str(tmp_path / "dockdist-init") and found["dockdist-probe"] is None
