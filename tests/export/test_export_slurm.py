"""Scripts of `dockdist export slurm`, run by bash in a stand-in for an allocation: real shells, and a python that says what it was
started with. tests/integration/slurm has the same on a real Slurm."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from harness.command_tree import DOCKDIST
from harness.slurm_stand_in import Allocation

WORDS = ["train.py", "--name", "it's $HOME `id` \\", "100%", "", "two\nlines", "-n", "*", "[x]", "{a}", "dockdist0mark"]

# Says how it was started; of a launcher it starts what the launcher would, once for each of its ranks.
PYTHON = f"""#!{sys.executable}
import json, os, subprocess, sys
words = sys.argv[1:]
shown = {{name: value for name, value in os.environ.items() if name in {{"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
         "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "TF_CONFIG", "LR", "HF_TOKEN"}}}}
with open(os.environ["TOLD"], "a") as told:
    told.write(json.dumps([words, shown]) + "\\n")
if "--no_python" in words:
    count = next((int(word.partition("=")[2]) for word in words if word.startswith("--nproc_per_node=")), 1)
    for rank in range(count):
        subprocess.run(words[words.index("--no_python") + 1:], env=dict(os.environ, LOCAL_RANK=str(rank)), check=True)
sys.exit(int(os.environ.get("CODE_OF_" + shown.get("RANK", "none"), "0")))
"""


# In place of the pauses between attempts: how long each would be.
SLEEP = '#!/bin/sh\necho "$1" >>"$TOLD.pauses"\n'


class Job:
    def __init__(self, folder, nodes=2, hosts=None, more="", programs=None):
        self.folder = folder
        hosts = hosts or [{"docker": f"ssh://h{i}", "gpus": "none", "slots": 2} for i in range(nodes)]
        self.file = folder / "cluster.yaml"
        self.file.write_text(f"name: vision\nimage: nvcr.io/nvidia/pytorch:24.01-py3\nhosts: {json.dumps(hosts)}\n{more}")
        self.allocation = Allocation(folder, len(hosts), {"python": PYTHON, **(programs or {})})
        self.told_file = folder / "told"

    def export(self, *words, environment=None):
        return subprocess.run([DOCKDIST, "export", "slurm", "-f", self.file, *words], text=True, capture_output=True, check=False,
                              env=environment)

    def run(self, *words, **variables):
        exported = self.export(*words)
        assert exported.returncode == 0, exported.stderr
        return self.allocation.run(exported.stdout, TOLD=str(self.told_file), **variables)

    def pauses(self):
        return self.told_file.with_name("told.pauses").read_text().split()

    def told(self):
        return [json.loads(line) for line in self.told_file.read_text().splitlines()]

    def ranks(self):
        """The words and variables of what was started as a rank, by rank."""
        return sorted((entry for entry in self.told() if entry[0][:2] == ["-u", "train.py"]),
                      key=lambda entry: int(entry[1].get("RANK", 0)))


@pytest.mark.parametrize("launcher", ["torchrun", "torch.distributed.launch", "deepspeed", "accelerate", "slurm", "jax"])
def test_the_user_s_words_reach_every_rank_byte_for_byte(tmp_path, launcher):
    job = Job(tmp_path)
    result = job.run("--launcher", launcher, "--", *WORDS)
    assert result.returncode == 0, result.stderr
    ranks = job.ranks()
    assert len(ranks) == (2 if launcher in ("deepspeed", "accelerate") else 4)
    for words, _ in ranks:
        assert [word for word in words if not word.startswith(("--local_rank=", "--local-rank="))] == ["-u", *WORDS]
        assert any(word.startswith(("--local_rank=", "--local-rank=")) for word in words) == (launcher in ("deepspeed", "torch.distributed.launch"))


def test_a_launcher_is_told_of_each_node_what_dockdist_would_tell_it(tmp_path):
    job = Job(tmp_path)
    assert job.run("--launcher", "torchrun", "--", "train.py").returncode == 0
    launches = sorted(words for words, _ in job.told() if "torch.distributed.run" in words)
    port = 20000 + 4711 % 10000
    for rank, words in enumerate(launches):
        assert words[:7] == ["-m", "torch.distributed.run", "--nnodes=2", "--nproc_per_node=2", f"--node_rank={rank}",
                             "--master_addr=n0", f"--master_port={port}"]
    (step,) = job.allocation.steps()
    assert step["container-image"] == "nvcr.io#nvidia/pytorch:24.01-py3"


def test_tasks_of_srun_are_ranks(tmp_path):
    job = Job(tmp_path)
    assert job.run("--per-rank", "--", "train.py").returncode == 0
    shown = [variables for _, variables in job.ranks()]
    assert [(each["RANK"], each["LOCAL_RANK"], each["NODE_RANK"]) for each in shown] == [
        ("0", "0", "0"), ("1", "1", "0"), ("2", "0", "1"), ("3", "1", "1")]
    assert {each["WORLD_SIZE"] for each in shown} == {"4"}


def uneven(folder, slots=(1, 3, 2)):
    return Job(folder, hosts=[{"docker": f"ssh://h{i}", "gpus": "none", "slots": count} for i, count in enumerate(slots)])


def test_nodes_with_different_slots_start_as_many_ranks(tmp_path):
    job = uneven(tmp_path)
    result = job.run("--per-rank", "--", "train.py")
    assert result.returncode == 0, result.stderr
    shown = [variables for _, variables in job.ranks()]
    assert [(each["RANK"], each["LOCAL_RANK"], each["NODE_RANK"], each["LOCAL_WORLD_SIZE"]) for each in shown] == [
        ("0", "0", "0", "1"), ("1", "0", "1", "3"), ("2", "1", "1", "3"), ("3", "2", "1", "3"), ("4", "0", "2", "2"), ("5", "1", "2", "2")]


def test_the_first_rank_that_fails_ends_its_node_s_others_and_its_code_is_the_node_s(tmp_path):
    job = uneven(tmp_path, (3, 1))
    job.allocation.nodes = ["n0"]  # srun's own code is the highest of all nodes'
    # Once all three of its node's ranks have begun, one of them fails; the others would never end by themselves.
    begun = 'mkdir "$BEGUN/$RANK"; [ "$RANK" = 2 ] || exec tail -f /dev/null; until [ -d "$BEGUN/0" ] && [ -d "$BEGUN/1" ]; do :; done; exit 7'
    result = job.run("--per-rank", "--", "sh", "-c", begun, BEGUN=str(tmp_path))
    assert result.returncode == 7, result.stderr


def test_a_job_is_begun_anew_as_often_as_was_asked_for(tmp_path):
    job = Job(tmp_path, nodes=1, programs={"sleep": SLEEP})
    result = job.run("--max-restarts", "2", "--backoff", "10s", "--", "sh", "-c", 'echo x >>"$TOLD"; [ "$(wc -l <"$TOLD")" = 3 ]')
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("restart") == 2 and job.pauses() == ["10", "20"]
    assert job.told_file.read_text() == "x\n" * 3


def test_the_last_failure_s_code_is_the_job_s(tmp_path):
    job = Job(tmp_path, nodes=1, programs={"sleep": SLEEP})
    result = job.run("--max-restarts", "1", "--backoff", "5m", "--", "sh", "-c", "exit 9")
    assert job.pauses() == ["30"]
    assert (result.returncode, result.stderr.count("restart 1 of 1")) == (9, 1)


def test_tensorflow_s_workers_know_each_other(tmp_path):
    job = Job(tmp_path)
    result = job.run("--launcher", "tensorflow", "--", "train.py")
    assert result.returncode == 0, result.stderr
    for rank, (_, variables) in enumerate(job.ranks()):
        config = json.loads(variables["TF_CONFIG"])
        assert config["task"] == {"type": "worker", "index": rank}
        assert len(config["cluster"]["worker"]) == 2
        assert all(address.endswith(f":{variables['MASTER_PORT']}") for address in config["cluster"]["worker"])


def test_secrets_and_variables_come_through_and_values_of_secrets_are_nowhere(tmp_path):
    job = Job(tmp_path, nodes=1, more="container: {env: {LR: '0.1'}, secrets: {HF_TOKEN: }}\n")
    exported = job.export("--env", "LR=it's 0.2", "--", "python", "x", environment={"HF_TOKEN": "hf_secret"})
    assert exported.returncode == 0 and "hf_secret" not in exported.stdout
    without = job.allocation.run(exported.stdout, TOLD=str(job.told_file))
    assert without.returncode != 0 and "HF_TOKEN: is a secret of the job" in without.stderr
    assert job.allocation.run(exported.stdout, TOLD=str(job.told_file), HF_TOKEN="hf_secret").returncode == 0
    ((_, variables),) = job.told()
    assert (variables["LR"], variables["HF_TOKEN"]) == ("it's 0.2", "hf_secret")
    assert job.allocation.steps()[0]["container-env"] == "HF_TOKEN,MASTER_ADDR,MASTER_PORT"


def test_what_the_file_says_of_the_environment_is_the_nodes_and_not_the_batch_script_s(tmp_path):
    job = Job(tmp_path, nodes=1, more="container: {env: {step: '5', SLURM_JOB_ID: '7', my.var: '1'}}\n")
    exported = job.export("--", "python", "x")
    assert exported.returncode == 0, exported.stderr
    for name in ("my.var", "SLURM_JOB_ID"):
        assert f"{name} is left out" in exported.stderr
    assert job.allocation.run(exported.stdout, TOLD=str(job.told_file)).returncode == 0
    assert "export step=5\n" in exported.stdout.partition("<<'END_OF_NODE'")[2].partition("END_OF_NODE")[0]


def test_of_one_name_the_secret_holds_and_spares_run_nothing(tmp_path):
    job = Job(tmp_path, hosts=[{"docker": f"ssh://h{i}", "gpus": "none", "env": {"KEY": "host"}} for i in range(3)],
              more="spares: 1\ncontainer: {secrets: {KEY: }}\n")
    exported = job.export("--", "python", "x", environment={"KEY": "s3cret"}).stdout
    assert "export KEY" not in exported and "KEY?is a secret" in exported
    assert "#SBATCH --nodes=2\n" in exported
    assert "#SBATCH --nodes=3\n" in job.export("--nodes", "3", "--", "python", "x", environment={"KEY": "s3cret"}).stdout


def test_where_there_is_no_python_there_is_python3(tmp_path):
    job = Job(tmp_path, nodes=1)
    (job.allocation.bin / "python").rename(job.allocation.bin / "python3")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "head", "cat", "mktemp", "rm"):
        (tools / name).symlink_to(shutil.which(name))
    exported = job.export("--launcher", "torchrun", "--", "train.py").stdout
    result = job.allocation.run(exported.replace("#SBATCH", f"PATH={job.allocation.bin}:{tools}\n#SBATCH", 1), TOLD=str(job.told_file))
    assert result.returncode == 0, result.stderr
    assert len(job.ranks()) == 2


@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed", "accelerate", "ray", "slurm", "tensorflow", "plain"])
def test_shellcheck_finds_nothing_in_a_script_and_in_what_its_nodes_run(tmp_path, launcher):
    script = Job(tmp_path).export("--launcher", launcher, "--", *WORDS).stdout
    inner = script.partition("<<'END_OF_NODE'\n")[2].partition("\nEND_OF_NODE\n")[0]
    for shell, text in (("bash", script), ("sh", inner)):
        checked = subprocess.run(["shellcheck", f"--shell={shell}", "--severity=warning", "-"], input=text, text=True,
                                 capture_output=True, check=False)
        assert checked.returncode == 0, checked.stdout


def test_what_cannot_be_said_is_told_by_name_and_stdout_holds_the_script_alone(tmp_path):
    job = Job(tmp_path, more="container: {privileged: true}\n")
    exported = job.export("--stall", "5m", "--forward", "6006", "--priority", "3", "--", "./a")
    assert exported.returncode == 0
    assert exported.stdout.startswith("#!/bin/bash\n") and exported.stdout.endswith('exit "$code"\n')
    for name in ("--stall", "--forward", "--priority", "container.privileged"):
        assert sum(name in line for line in exported.stderr.splitlines()) == 1, exported.stderr


def test_json_holds_the_same_text(tmp_path):
    job = Job(tmp_path)
    text = job.export("--", "./a").stdout
    assert json.loads(job.export("-o", "json", "--", "./a").stdout) == {"text": text}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--launcher", "mpirun", "--", "./a"], "over ssh"),
        (["--launcher", "deepspeed", "--via", "pdsh", "--", "train.py"], "over ssh"),
        (["--nodes", "node-7", "--", "./a"], "node-7"),
        (["--launcher", "torchrunn", "--", "./a"], "did you mean `torchrun`"),
        (["--nodes", "0", "--", "./a"], "0 nodes"),
        (["--", "./a", "\x1b[31m"], "control character"),
    ],
)
def test_bad_input_is_told_and_prints_nothing(tmp_path, words, message):
    exported = Job(tmp_path).export(*words)
    assert (exported.returncode, exported.stdout) == (2, "")
    assert message in exported.stderr


def test_more_nodes_than_the_file_has_are_for_a_scheduler_to_find(tmp_path):
    script = Job(tmp_path).export("--nodes", "16", "--", "./a").stdout
    assert "#SBATCH --nodes=16\n" in script


def test_outside_of_an_allocation_its_nodes_are_only_counted(tmp_path):
    job = Job(tmp_path)
    job.file.write_text("image: a\nhosts: slurm\n")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    script = job.export("--nodes", "3", "--gpus", "8", "--", "./a", environment=outside).stdout
    assert "#SBATCH --nodes=3\n" in script and "#SBATCH --gpus-per-node=8\n" in script
    assert "add --gpus N" in job.export("--nodes", "3", "--", "./a", environment=outside).stderr
    assert "say how many: --nodes 2" in job.export("--", "./a", environment=outside).stderr


def test_no_host_is_contacted(tmp_path):
    # None of them is there; and the file's own folder is all that is read.
    assert Job(tmp_path).export("--", "./a").returncode == 0
    assert not pathlib.Path(tmp_path / "told").exists()
