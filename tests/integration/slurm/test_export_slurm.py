"""Scripts of `dockdist export slurm` on a real Slurm: as they are without containers, and with containers of Docker in place of
enroot's, which the lab does not have. What pyxis would be asked for is written down and compared."""

import json
import shutil
import subprocess

import pytest

from harness import ROOT, eventually
from harness.lab import DOCKDIST
from harness.launching import TORCH

ODD = ["it's \"odd\" $HOME 100% %h", "second\nline grün", "[x]", ""]

# Found before Slurm's own srun. It takes pyxis' options away, and has each task run in a container that they describe.
SRUN = r"""#!/bin/bash
options=() image= mounts= workdir= step="$SLURM_SUBMIT_DIR/pyxis-$SLURM_JOB_ID"
while [[ $1 == --* ]]; do
    case $1 in
    --container-*=* | --container-* | --no-container-*) echo "$1" >>"$step" ;;&
    --container-image=*) image=${1#*=} ;;
    --container-mounts=*) mounts=${1#*=} ;;
    --container-workdir=*) workdir=${1#*=} ;;
    --container-* | --no-container-*) ;;
    *) options+=("$1") ;;
    esac
    shift
done
export STAND_IN_IMAGE="${image/\#//}" STAND_IN_MOUNTS=$mounts STAND_IN_WORKDIR=$workdir
exec /usr/bin/srun "${options[@]}" /shared/stand-in/container "$@"
"""
CONTAINER = r"""#!/bin/bash
options=(--rm --network host --init)
[ -z "$STAND_IN_WORKDIR" ] || options+=(--workdir "$STAND_IN_WORKDIR")
IFS=, read -r -a mounts <<<"$STAND_IN_MOUNTS"
for mount in "${mounts[@]}"; do options+=(--volume "$mount"); done
while read -r name; do options+=(--env "$name"); done < <(compgen -e | grep -vxE 'PATH|HOME|SHELL|PWD|TMPDIR|USER|LOGNAME|HOSTNAME')
exec docker run "${options[@]}" "$STAND_IN_IMAGE" "$@"
"""


@pytest.fixture
def stand_in(slurm):
    """A folder of all hosts, first in PATH."""
    folder = slurm.lab.shared / "stand-in"
    folder.mkdir(exist_ok=True)
    for name, text in {"srun": SRUN, "container": CONTAINER}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return "/shared/stand-in"


def export(tmp_path, *words, image="any", slots=2, more=""):
    file = tmp_path / "cluster.yaml"
    hosts = [{"docker": f"ssh://h{i}", "gpus": "none", "slots": slots} for i in range(2)]
    file.write_text(f"name: vision\nimage: {image}\nhosts: {json.dumps(hosts)}\n{more}")
    done = subprocess.run([DOCKDIST, "export", "slurm", "-f", file, *words], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def submitted(slurm, script, path=""):
    """Its ID, its output and whether it ended well, once it has ended."""
    line = f'export PATH="{path}:$PATH"; ' if path else ""
    job = slurm.as_ops(1, line + "sbatch --parsable", input=script).stdout.strip()
    eventually(lambda: slurm.has_ended(job), f"job {job} has ended", timeout=90)
    shown = slurm.as_ops(1, 'scontrol show job "$1"', job).stdout
    return job, (slurm.lab.shared / f"slurm-{job}.out").read_text(), "ExitCode=0:0" in shown, shown


def said(output):
    """What each rank has printed as JSON; two may share a line."""
    found, at = [], output.find("{\"sum\"")
    while at >= 0:
        value, at = json.JSONDecoder().raw_decode(output, at)
        found.append(value)
        at = output.find("{\"sum\"", at)
    return found


# The lab's hosts have no Python: a rank's words go byte for byte into a file.
RANK = 'echo "$RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $(hostname)"; printf "%s\\0" "$@" >"words-$SLURM_JOB_ID-$RANK"'


def test_without_containers_each_slot_is_a_task_with_its_rank(slurm, tmp_path):
    script = export(tmp_path, "--no-container", "--per-rank", "--sbatch=--comment=#1: \"it's\" \\", "--", "sh", "-c", RANK, "sh", *ODD)
    job, output, good, shown = submitted(slurm, script)
    assert good, output
    assert sorted(line for line in output.splitlines() if line[0].isdigit()) == [
        "0 0 0 4 host-1", "1 1 0 4 host-1", "2 0 1 4 host-2", "3 1 1 4 host-2"]
    for rank in range(4):
        assert (slurm.lab.shared / f"words-{job}-{rank}").read_text() == "".join(word + "\0" for word in ODD)
    assert "JobName=vision" in shown and "OverSubscribe=NO" in shown and "Requeue=0" in shown
    assert "Comment=#1: \"it's\" \\" in shown, shown


def test_every_task_knows_the_addresses_of_all_nodes(slurm, tmp_path):
    _, output, good, _ = submitted(slurm, export(tmp_path, "--no-container", "--launcher", "tensorflow", "--", "sh", "-c", 'echo "$TF_CONFIG"'))
    assert good, output
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert sorted(each["task"]["index"] for each in found) == [0, 1], output
    addresses = [slurm.as_ops(1, f"getent ahostsv4 host-{host} | awk '{{ print $1; exit }}'").stdout.strip() for host in (1, 2)]
    for each in found:
        assert [worker.rpartition(":")[0] for worker in each["cluster"]["worker"]] == addresses, output


def test_a_rank_that_fails_ends_the_others_and_is_told(slurm, tmp_path):
    fails = '[ "$RANK" = 3 ] || exec sleep 600; exit 7'
    _, output, _, shown = submitted(slurm, export(tmp_path, "--no-container", "--per-rank", "--", "sh", "-c", fails))
    # srun answers with the highest code of its tasks, and those that it has ended count as 143.
    assert "task 3: Exited with exit code 7" in output and "ExitCode=143:0" in shown, output + shown


def test_a_time_limit_lets_ranks_end_by_themselves(slurm, tmp_path):
    """TERM comes before the limit, at which Slurm ends what is left."""
    script = export(tmp_path, "--no-container", "--timeout", "1s", "--grace", "59s", "--", "sh", "-c",
                    "trap 'echo told to end; exit 3' TERM; echo begun; while :; do sleep 0.2; done")
    assert "#SBATCH --time=00:01:00\n#SBATCH --signal=TERM@59\n" in script
    _, output, _, shown = submitted(slurm, script)
    assert output.count("told to end") == 2 and "ExitCode=3:0" in shown, output + shown


# A rank, and most launchers' own process, is three seconds of a processor: what several ranks of a node are to each other, one
# launcher and Slurm's tasks show. All launchers' words are looked at in tests/export.
@pytest.mark.parametrize(("launcher", "slots"), [("torchrun", 2), ("accelerate", 1), ("slurm", 2)])
def test_ranks_in_containers_meet_and_compute_a_sum(slurm, tmp_path, stand_in, launcher, slots):
    shutil.copy(ROOT / "tests/integration/ranks.py", slurm.lab.shared)
    # Docker's daemon is asked for the image by the name that enroot's reference stands for.
    script = export(tmp_path, "--launcher", launcher, "--env", "USE_LIBUV=0", "--", "ranks.py", "sum", *ODD, image=TORCH, slots=slots,
                    more="container: {mounts: ['/shared:/work'], workdir: /work}\n")
    job, output, good, _ = submitted(slurm, script, path=stand_in)
    assert good, output
    ranks = sorted(said(output), key=lambda each: each["RANK"])
    world = 2 * slots
    assert [each["RANK"] for each in ranks] == [str(rank) for rank in range(world)], output
    assert all(each["sum"] == world * (world + 1) / 2 and each["folder"] == "/work" for each in ranks)
    assert all([word for word in each["argv"] if not word.startswith("--local")] == ["sum", *ODD] for each in ranks)
    asked = (slurm.lab.shared / f"pyxis-{job}").read_text().splitlines()
    assert asked == [f"--container-image={TORCH}", "--container-mounts=/shared:/work", "--container-workdir=/work",
                     "--container-env=MASTER_ADDR,MASTER_PORT", "--container-writable", "--no-container-mount-home",
                     "--container-remap-root", "--no-container-entrypoint"]


RAY = """import ray
ray.init(log_to_driver=False)
print("nodes:", sum(node["Alive"] for node in ray.nodes()), flush=True)
"""


def test_ray_has_both_nodes_and_ends_with_its_driver(slurm, tmp_path, stand_in):
    (slurm.lab.shared / "nodes.py").write_text(RAY)
    script = export(tmp_path, "--launcher", "ray", "--", "nodes.py", image=TORCH, slots=1,
                    more="container: {mounts: ['/shared:/work'], workdir: /work}\n")
    _, output, good, shown = submitted(slurm, script, path=stand_in)
    assert good and "nodes: 2\n" in output, output + shown
    # Whoever serves the driver was told to end, and had the time for it: the container of one that is killed would be left.
    assert "forcing job termination" not in output, output
    assert all(slurm.as_root(host, "docker ps --all --quiet") == "" for host in (1, 2))


def test_processes_of_one_node_that_the_script_itself_starts_end_with_the_first_failure(slurm, tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text("name: vision\nimage: any\nhosts:\n- {docker: ssh://a, gpus: none, slots: 1}\n- {docker: ssh://b, gpus: none, slots: 3}\n")
    begun = 'd=/shared/begun-$SLURM_JOB_ID; mkdir -p "$d/$RANK"; [ "$RANK" = 2 ] || exec sleep 600\n' \
            'until [ -d "$d/1" ] && [ -d "$d/3" ] && [ -d "$d/0" ]; do :; done; exit 9'
    done = subprocess.run([DOCKDIST, "export", "slurm", "-f", file, "--no-container", "--per-rank", "--", "sh", "-c", begun], text=True,
                          capture_output=True, check=True)
    _, output, _, shown = submitted(slurm, done.stdout)
    assert "Exited with exit code 9" in output and "JobState=FAILED" in shown, output + shown
