"""What real GPUs answered (docs/on-real-gpus.md): dockdist reads it as it did on the day, but for what was mended since."""

import json
import os
import pickle
import subprocess

import pytest

from gpu_day import ras
from gpu_day.parts.training import values_of_visible
from gpu_day.paths import ROOM, ROOT

BUILD = os.environ.get("DOCKDIST_BUILD", str(ROOT / "build"))
MACHINES = sorted(path.name for path in (ROOM / "recordings").iterdir())
OURS = "GPU-00000001-0000-4000-8000-000000000001"  # what stands for a day's first UUID
# cuInit fails where a GPU is named twice, and then there is none.
BY_CUDA = {"cuInit answers 101": "0"}


def answers(*words, given=None):
    done = subprocess.run([f"{BUILD}/tests/gpu_day/gpu-answers", *words], input=given, capture_output=True, check=True, text=True)
    return done.stdout


def room(machine):
    return ROOM / "recordings" / machine


def report(machine, when):
    """The JSON of a recorded talk with RAS."""
    text = (room(machine) / f"ras/{when}-json.txt").read_text()
    return json.loads(ras.mended(text[text.index("\n{") + 1:]))


@pytest.mark.parametrize("when", ["idle", "held"])
@pytest.mark.parametrize("machine", MACHINES)
def test_nvidia_smi_s_answers_are_read_as_on_the_day(machine, when):
    said = {path.stem: {"code": 0, "output": path.read_text()} for path in (room(machine) / "smi" / when).iterdir()}
    assert len(said) == len(json.loads(answers("questions"))["questions"])
    assert json.loads(answers("read", given=json.dumps(said))) == json.loads((room(machine) / f"smi/read-{when}.json").read_text())


@pytest.mark.parametrize("machine", MACHINES)
def test_the_variable_shows_what_cuda_showed(machine):
    values = values_of_visible(OURS)
    for words, counted in json.loads((room(machine) / "visible-devices.json").read_text()).items():
        assert answers("visible", values[words], OURS).strip() == BY_CUDA.get(counted["cuda"], counted["cuda"]), words


@pytest.mark.parametrize("machine", MACHINES)
class TestRas:
    def test_a_sound_job_s_ranks_have_come_equally_far(self, machine):
        for comm in report(machine, "well")["communicators"]:
            assert comm["missing_ranks_count"] == 0
            assert len({json.dumps(rank["collective_counts"]) for rank in comm["ranks"]}) == 1

    def test_a_skipped_collective_is_a_difference_of_counts_in_both_groups(self, machine):
        counts = [[rank["collective_counts"]["AllReduce"] for rank in comm["ranks"]] for comm in report(machine, "skipped")["communicators"]]
        assert sorted(first - second for first, second in counts) == [-1, 1]

    @pytest.mark.parametrize("when, dead", [("stopped-at-once", False), ("stopped-unresponsive", False), ("stopped-dead", True), ("killed", True)])
    def test_a_rank_that_does_not_answer_is_missing_and_dead_after_a_minute(self, machine, when, dead):
        for comm in report(machine, when)["communicators"]:
            assert [rank["rank"] for rank in comm["missing_ranks"]] == [1]
            assert comm["missing_ranks"][0]["status"] == {"unresponsive": True, "considered_dead": dead}


def test_flight_recorders_of_a_skipped_collective_end_in_different_groups():
    last = []
    for rank in range(2):
        dump = pickle.loads((room("h200") / f"recorder/timeout-{rank}.pickle").read_bytes())
        waits = [entry for entry in dump["entries"] if entry["state"] != "completed"]
        assert len(waits) == 1 and waits[0]["profiling_name"] == "nccl:all_reduce"
        last.append((waits[0]["process_group"], waits[0]["collective_seq_id"]))
    assert last[0][0] != last[1][0]


def test_py_spy_without_pausing_tells_where_each_rank_waits():
    for rank in range(2):
        threads = json.loads((room("h100") / f"stacks/skipped-rank-{rank}.json").read_text())
        main = next(thread for thread in threads if thread["thread_name"] == "MainThread")
        assert [frame["name"] for frame in main["frames"]][:2] == ["synchronize", "Rank.wait"]
