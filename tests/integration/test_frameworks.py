"""What is no launcher of its own and has its own ways to meet, as people start it: TensorFlow's TF_CONFIG, JAX, scripts that spawn
their ranks, Lightning, Hugging Face's Trainer. Two hosts with two slots each, over gloo, a sum over all ranks. Of README's other
lines, Megatron-LM's and torchtitan's are torchrun's, and both run on GPUs alone."""

import json
import re

from harness import assert_in
from harness.launching import leftovers, nodes

CPUS = {"gpus": "none", "host_more": ", slots: 2"}


def lines(c, pattern, *words, **options):
    """What matches among the lines of the job's output, sorted."""
    done = c.run("run", *words, **options)
    assert leftovers(c) == [], leftovers(c)
    return sorted(re.findall(rf"^\[node-\d(?::\d)? *\] {pattern}$", done.stdout, re.M))


def test_scripts_that_spawn_their_ranks(lab):
    with nodes(lab, "t-spawn", **CPUS) as c:
        for url in ("tcp://$MASTER_ADDR:$MASTER_PORT", "file:///workspace/meet"):
            found = lines(c, r"(\{.*\})", "--launcher", "plain", "--", "sh", "-c",
                          f"exec python3 -u ranks_spawn.py {url} $WORLD_SIZE $RANK")
            assert [json.loads(line) for line in found] == [{"rank": rank, "sum": 10.0} for rank in range(4)]


def test_tensorflow_s_tasks_know_each_other(lab):
    with nodes(lab, "t-tensorflow", **CPUS) as c:
        # Whether an image has TensorFlow is found by its module. The lab's has none: it would be a gigabyte.
        (c.folder_in_nodes / "tensorflow.py").write_text("")

        def tasks(*options, code=0, more=()):
            found = lines(c, r"(\{.*\})", "--launcher", "tensorflow", *options, "--", "ranks_tensorflow.py", *more, code=code)
            return [(answer["task"], answer["met"], answer["tasks"]) for answer in map(json.loads, found)]
        assert tasks() == [("worker.0", True, 2), ("worker.1", True, 2)]
        # Workers and parameter servers serve for ever: the job ends with its chief, and well.
        assert tasks("--role", "ps=2") == [("chief.0", True, 5)]
        assert tasks("--role", "ps=1", code=7, more=["7"]) == [("chief.0", True, 4)]
        c.file.write_text(c.file.read_text() + "roles: {ps: 1, worker: 1}\n")
        assert tasks() == [("chief.0", True, 3)]
        refused = c.run("run", "--launcher", "torchrun", "--role", "ps=1", "--", "x", code=2)
        assert_in("--role: the launcher torchrun has no roles", refused.stderr)


def test_jax_over_all_processes(lab):
    with nodes(lab, "t-jax", **CPUS) as c:
        assert lines(c, r"process (\d of 4: sum 10.0, devices 4)", "--launcher", "jax", "--", "ranks_jax.py") == [
            f"{rank} of 4: sum 10.0, devices 4" for rank in range(4)]


def test_trainers_count_and_train_over_all_ranks(lab):
    with nodes(lab, "t-trainers", **CPUS) as c:
        assert lines(c, r"rank (\d of 4: sum 10.0, alike True)", "--launcher", "torchrun", "--", "ranks_lightning.py") == [
            f"{rank} of 4: sum 10.0, alike True" for rank in range(4)]
        assert lines(c, r"process (\d of 4: sum 10.0)", "--launcher", "torchrun", "--", "ranks_trainer.py", "/tmp/out") == [
            f"{rank} of 4: sum 10.0" for rank in range(4)]
