"""Every launcher with its real programs: 2 hosts × 2 ranks that compute something across all of them; the ways a rank can
fail; two jobs at once. What a rank runs is ranks.py, in a folder that the nodes share."""

import json
import os
import re
import shutil
import signal
import time

import pytest

from harness import assert_in, cluster, read_until
from harness.gpus import uuids
from harness.launching import DEBIAN12, TORCH, answers, leftovers, nodes
from harness.patience import DURATION, Watch

ODD = "it's \"odd\" $HOME 100% %h\n\nsecond line grün"

# How each is asked for; all of them start ranks.
LAUNCHERS = {
    "per_rank": ["--launcher", "plain", "--per-rank"],
    "torchrun": ["--launcher", "torchrun"],
    "torch_distributed_launch": ["--launcher", "torch.distributed.launch"],
    "deepspeed": ["--launcher", "deepspeed"],
    "deepspeed_via_pdsh": ["--launcher", "deepspeed", "--via", "pdsh"],
    "deepspeed_via_openmpi": ["--launcher", "deepspeed", "--via", "openmpi"],
    "accelerate": ["--launcher", "accelerate"],
    "accelerate_via_pdsh": ["--launcher", "accelerate", "--via", "pdsh"],
    "open_mpi_4": ["--launcher", "mpirun"],
    "open_mpi_5": ["--launcher", "mpirun"],
    "mpich": ["--launcher", "mpirun", "--via", "mpich"],
    "slurm": ["--launcher", "slurm"],
}
LOCAL_RANK = {"torch_distributed_launch": "--local-rank", **dict.fromkeys(("deepspeed", "deepspeed_via_pdsh", "deepspeed_via_openmpi"), "--local_rank")}


def image_of(launcher):
    return DEBIAN12 if launcher == "open_mpi_4" else TORCH


def check_answers(c, stdout, words, local_rank):
    found = answers(stdout)
    assert sorted(found) == [0, 1, 2, 3], stdout
    gpus = [",".join(uuids(c.lab, host)) for host in (1, 2)]
    for rank, answer in found.items():
        assert answer["sum"] == 10, answer
        expected = {"LOCAL_RANK": str(rank % 2), "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "NODE_RANK": str(rank // 2),
                    "MASTER_ADDR": c.lab.addresses[0], "DOCKDIST_NODE": f"node-{rank // 2}", "ODD": ODD, "token": "terc3s",
                    "GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "=eth0", "folder": "/workspace",
                    "CUDA_VISIBLE_DEVICES": gpus[rank // 2]}  # all of the node's, so that LOCAL_RANK counts them
        assert {name: answer[name] for name in expected} == expected, answer
        assert 20000 <= int(answer["MASTER_PORT"]) < 30000
        assert answer["argv"] == ([f"{local_rank}={rank % 2}"] if local_rank else []) + words, answer
    assert len({answer["MASTER_PORT"] for answer in found.values()}) == 1


launchers = pytest.mark.parametrize("launcher", LAUNCHERS)


@launchers
def test_it_computes_over_all_ranks(lab, launcher):
    with nodes(lab, "t-sum", image=image_of(launcher), container="secrets: {TOKEN: {file: token}}") as c:
        words = ["sum", ODD, "%n", "", "[1, x]"]
        done = c.run("run", *LAUNCHERS[launcher], "--env", f"ODD={ODD}", "--", "ranks.py", *words)
        check_answers(c, done.stdout, words, LOCAL_RANK.get(launcher))
        assert leftovers(c) == [], leftovers(c)


@launchers
def test_it_tells_the_true_failure(lab, launcher):
    options = LAUNCHERS[launcher]
    with nodes(lab, "t-die", image=image_of(launcher), container="secrets: {TOKEN: {file: token}}") as c:
        for how, code, says in (("7", 7, "exited with 7"), ("SIGSEGV", 139, "signal 11"), ("exception", 1, "RuntimeError: boom")):
            watch = Watch()
            failed = c.run("run", *options, "--", "ranks.py", "die", how, code=code)
            died = float(re.search(r"last words at ([\d.]+)", failed.stderr)[1])
            assert watch.within(5, taken=time.time() - died), f"{how}: {time.time() - died:.1f} s from the rank's death to the end of run: {watch}"
            first = next(line for line in failed.stderr.splitlines() if line.startswith("error: "))
            assert re.search(r"node-1: \S+: rank 3 was ended by signal 11 \(" if how == "SIGSEGV" else rf"node-1: \S+: rank 3 exited with {code}\b", first), first
            assert re.search(rf": failed after {DURATION}, exit code {code}$", failed.stderr.splitlines()[-1]), failed.stderr
            summary = failed.stderr[failed.stderr.index("error: node-1"):]
            assert_in("rank 3", summary)
            assert_in("last words", summary)
            assert_in(says, summary)
        missing = c.run("run", *options, "--", "no-such-program", code=127)
        assert_in("no-such-program", missing.stderr)


@launchers
def test_it_runs_two_jobs_at_once_whose_ranks_save_when_they_are_told_to_end(lab, launcher):
    with nodes(lab, "t-two", image=image_of(launcher)) as c:
        jobs = []
        for number, sign in enumerate(("INT", "TERM")):
            job = c.start("run", "--share", "--name", f"job-{number}", "--signal", sign, *LAUNCHERS[launcher], "--", "ranks.py", "save")
            jobs.append(job)
            read_until(job, "started", times=4, timeout=120)
        assert ranks_alive(c) == 8
        for number, saved in enumerate(("saved after KeyboardInterrupt, 0 TERM", "saved after Told, 1 TERM")):
            assert jobs[number].poll() is None
            jobs[number].send_signal(signal.SIGINT)
            out, _ = jobs[number].communicate(timeout=120)
            assert jobs[number].returncode == 130
            assert out.count(saved) == 4, out
            assert ranks_alive(c) == 4 - 4 * number


def ranks_alive(c):
    return sum("ranks.py" in line and "dockdist-init" not in line and re.match(r"\S*python3? ", line) is not None
               and re.search(r"ranks\.py.* (wait|save)", line) is not None and "launch" not in line
               for engine in c.lab.engines for found in engine.containers(cluster=c.name)
               for line in engine.processes(found["Id"]))


def test_deepspeed_trains_with_its_engine(lab):
    with nodes(lab, "t-ds-engine") as c:
        done = c.run("run", "--launcher", "deepspeed", "--", "ranks_deepspeed.py")
        losses = {rank: [float(x) for x in re.findall(rf"^\[node-{rank // 2}:{rank} *\] loss ([\d.]+)$", done.stdout, re.M)]
                  for rank in range(4)}
        assert all(len(x) == 10 and x[-1] < x[0] / 2 for x in losses.values()), done.stdout


def test_ray_has_all_nodes_and_leaves_nothing(lab):
    with nodes(lab, "t-l-ray") as c:
        done = c.run("run", "--launcher", "ray", "--env", f"ODD={ODD}", "--", "ranks_ray.py")
        answer = json.loads(re.search(r"^\[node-0:0\] (\{.*\})$", done.stdout, re.M)[1])
        assert sorted(answer["addresses"]) == sorted(c.lab.addresses) and answer["gpus"] == 4 and answer["odd"] == ODD
        # Ray itself divides each node's GPUs among those who ask it for some.
        assert sorted(answer["actors"]) == sorted(uuids(lab, 1) + uuids(lab, 2)) and answer["visible"] == ",".join(uuids(lab, 1)), answer
        # Ray lets in who bears the job's token and nobody else, and has no server for clients.
        assert answer["stranger"] == "refused" and answer["token"] == [0o100600, 64] and answer["client_servers"] == 0, answer
        assert leftovers(c) == [], leftovers(c)
        assert not [line for engine in lab.engines for found in engine.containers(cluster=c.name)
                    for line in engine.processes(found["Id"]) if "raylet" in line or "gcs_server" in line]
        failed = c.run("run", "--launcher", "ray", "--", "sh", "-c", "exit 7", code=7)
        assert_in("exited with 7", failed.stderr)


def test_slurm_scripts_see_what_srun_gives(lab):
    with nodes(lab, "t-l-slurm-env") as c:
        script = ('echo "$SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NODEID $SLURM_NNODES $SLURM_NTASKS_PER_NODE" '
                  '"$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1) $(scontrol show hostname | wc -l)"')
        done = c.run("run", "--launcher", "slurm", "--", "sh", "-c", script)
        assert sorted(line.split("] ")[1] for line in done.stdout.splitlines()) == [
            f"{rank} {rank % 2} 4 {rank // 2} 2 2 node-0 2" for rank in range(4)]


# As typed by hand on a Slurm cluster: BIGBALLON/distribuuuu's line, and pytorch/examples' script for sbatch with `srun torchrun`.
DISTRIBUUUU = ["srun", "--partition=openai", "-n4", "--gres=gpu:2", "--ntasks-per-node=2", "--job-name=slrum_test",
               "python", "-u", "ranks.py", "sum"]
SBATCH_RUN = """#!/bin/bash
#SBATCH --job-name=multinode-example
#SBATCH --nodes=2
#SBATCH --ntasks=2

nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
nodes_array=($nodes)
head_node=${nodes_array[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)

echo Node IP: $head_node_ip
export LOGLEVEL=INFO

srun torchrun \\
--nnodes 2 \\
--nproc_per_node 2 \\
--rdzv_id $RANDOM \\
--rdzv_backend c10d \\
--rdzv_endpoint $head_node_ip:29500 \\
ranks.py sum
"""


def test_lines_for_srun_run_as_typed(lab):
    with nodes(lab, "t-l-srun") as c:
        (c.folder_in_nodes / "sbatch_run.sh").write_text(SBATCH_RUN)
        on_one = ["run", "--launcher", "plain", "--nodes", "1", "--"]
        for command in ([*on_one, *DISTRIBUUUU], ["exec", "node-0", "--", *DISTRIBUUUU], [*on_one, "bash", "sbatch_run.sh"]):
            done = c.run(*command)
            found = {int(answer["RANK"]): answer for answer in map(json.loads, re.findall(r"\{[^{}]*\}", done.stdout))}  # of -u, two may share a line
            assert sorted(found) == [0, 1, 2, 3], done.stdout + done.stderr
            for rank, answer in found.items():
                assert (answer["sum"], answer["WORLD_SIZE"], answer["LOCAL_RANK"], answer["DOCKDIST_NODE"], answer["folder"]) == (
                    10, "4", str(rank % 2), f"node-{rank // 2}", "/workspace"), answer
            if "srun" in command:
                assert all(len(answer["CUDA_VISIBLE_DEVICES"].split(",")) == 2 for answer in found.values()), found
        # What a job holds is what there is for its srun; and its end is the end of all tasks, on nodes that are not its own too.
        failed = c.run(*on_one[:-1], "--gpus", "1", "--", "srun", "-n4", "true", code=1)
        assert_in("More processors requested than permitted: 4 tasks, and node-[0-1] have 2 slots", failed.stderr + failed.stdout)
        job = c.start(*on_one, "srun", "-n4", "python", "-u", "ranks.py", "wait")
        read_until(job, "started", times=4, timeout=60)
        assert ranks_alive(c) == 4
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
        assert ranks_alive(c) == 0


def test_torchrun_of_debian_12_gets_a_clear_answer(lab):
    with nodes(lab, "t-old-torch", image=DEBIAN12) as c:
        done = c.run("run", "--launcher", "torchrun", "--", "ranks.py", "sum", code=2)
        assert_in("torchrun of torch 1.13", done.stderr)
        assert_in("does not work with Python 3.11", done.stderr)
        # What the answer recommends works.
        c.run("run", "--launcher", "plain", "--per-rank", "--", "ranks.py", "sum")


def test_a_launcher_that_the_image_lacks_is_named_on_every_node(lab):
    with nodes(lab, "t-no-launcher", image="dockdist-lab/busybox", gpus="none") as c:
        done = c.run("run", "--launcher", "torchrun", "--", "train.py", code=2)
        assert_in("node-0: the image has no Python", done.stderr)
        assert_in("node-1: the image has no Python", done.stderr)
        done = c.run("run", "--launcher", "mpirun", "--", "train.py", code=2)
        assert_in("node-1: the image has no mpirun", done.stderr)
        assert_in("apt install openmpi-bin", done.stderr)
        assert c.run("logs", code=None).stdout == ""  # nothing has run


def test_versions_that_differ_between_nodes_are_found_before_anything_runs(lab):
    with nodes(lab, "t-versions") as c:
        c.run("exec", "node-1", "--", "python3", "-c",
              "import importlib.metadata as m, pathlib\n"
              "d = m.distribution('torch')._path\n"
              "f = next(p for p in (d / 'METADATA', d / 'PKG-INFO') if p.exists())\n"
              "import re\n"
              "f.write_text(re.sub('^Version: .*$', 'Version: 2.5.1', f.read_text(), count=1, flags=re.M))\n")
        done = c.run("run", "--launcher", "torchrun", "--", "ranks.py", "sum", code=2)
        assert_in("node-1: it has torch 2.5.1, and node-0 has 2.6", done.stderr)
        assert_in("the same image", done.stderr)


def test_more_ranks_than_gpus_is_refused(lab):
    with nodes(lab, "t-many") as c:
        done = c.run("run", "--launcher", "torchrun", "--gpus", "3", "--", "ranks.py", "sum", code=2)
        assert_in("node-0: 3 ranks were asked for, and the node has 2 GPUs", done.stderr)


def test_slots_follow_the_gpus_of_each_node_and_nodes_can_be_left_out(lab):
    with cluster(lab, "t-uneven") as c:
        lines = [f"name: {c.name}", f"image: {TORCH}", "hosts:"]
        for i, (address, gpus) in enumerate(zip(lab.addresses, ("2", "1"))):
            lines.append(f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: {gpus}}}")
        c.file.write_text("\n".join([*lines, f"container: {{ulimits: {{memlock: {lab.memlock}}}}}"]) + "\n")
        c.up()
        show = ["--", "sh", "-c", "echo $RANK/$WORLD_SIZE on $DOCKDIST_NODE"]
        for options in (["--launcher", "mpirun"], ["--launcher", "plain", "--per-rank"], ["--launcher", "torchrun"]):
            done = c.run("run", *options, *show)
            assert sorted(line.split("] ")[1] for line in done.stdout.splitlines()) == [
                "0/3 on node-0", "1/3 on node-0", "2/3 on node-1"], done.stdout
        done = c.run("run", "--launcher", "plain", "--per-rank", "--exclude", "node-0", *show)
        assert done.stdout.splitlines() == ["[node-1:0] 0/1 on node-1"]
        done = c.run("run", "--launcher", "plain", "--per-rank", "--nodes", "node-1,node-0", "--gpus", "1", *show)
        assert sorted(line.split("] ")[1] for line in done.stdout.splitlines()) == ["0/2 on node-1", "1/2 on node-0"]


def test_a_dry_run_prints_what_every_node_would_start_and_starts_nothing(lab):
    with nodes(lab, "t-dry", container="secrets: {TOKEN: {file: token}}") as c:
        done = c.run("run", "--dry-run", "--launcher", "deepspeed", "--via", "pdsh", "--env", "A=b c", "--", "ranks.py", "sum")
        for part in ("A='b c'", "TOKEN (a secret)", "node-0: ranks 0 to 1", "node-1: ranks 2 to 3", "node-0 slots=2",
                     "deepspeed.launcher.runner", "each rank $ python -u ranks.py --local_rank=$LOCAL_RANK sum"):
            assert_in(part, done.stdout)
        assert "s3cret" not in done.stdout + done.stderr
        plan = json.loads(c.run("run", "--dry-run", "-o", "json", "--launcher", "torchrun", "--", "ranks.py", "sum").stdout)
        assert [node["node"] for node in plan["nodes"]] == ["node-0", "node-1"] and plan["secrets"] == ["TOKEN"]
        assert c.run("logs", code=None).stdout == ""
        assert leftovers(c) == [], leftovers(c)


def test_secrets_reach_ranks_and_stand_nowhere_else(lab):
    with nodes(lab, "t-secret", container="secrets: {TOKEN: {file: token}}") as c:
        job = c.start("run", "--launcher", "mpirun", "--", "sh", "-c", 'test ${#TOKEN} = 6 && echo started; exec sleep 1000')
        read_until(job, "started", times=4)
        for engine in lab.engines:
            for found in engine.containers(cluster=c.name):
                assert "s3cret" not in json.dumps(engine.inspect(found["Id"]))
                assert not [line for line in engine.processes(found["Id"]) if "s3cret" in line]
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=120)
        assert leftovers(c) == [], leftovers(c)


def test_bare_commands_work_in_a_node_with_no_flags(lab):
    with nodes(lab, "t-bare") as c:
        (c.folder_in_nodes / "bare.sh").write_text("""
set -ex
test "$(ssh node-1 'echo $DOCKDIST_NODE')" = node-1
test "$(hostname -I | cut -d " " -f 1)" = "$MASTER_ADDR"
pdsh -w node-0,node-1 'echo pdsh-w $DOCKDIST_NODE' | sort
pdsh 'echo pdsh-all $DOCKDIST_NODE' | sort
mpirun -np 4 sh -c 'echo mpi $OMPI_COMM_WORLD_RANK $DOCKDIST_NODE' | sort
echo content > /tmp/a
scp -q /tmp/a node-1:/tmp/b
rsync -e ssh /tmp/a node-1:/tmp/c
ssh node-1 'cat /tmp/b /tmp/c'
torchrun --nproc_per_node 2 --standalone ranks.py sum >/tmp/torchrun.out
grep -c sum /tmp/torchrun.out
deepspeed --num_nodes 2 --num_gpus 2 --hostfile /job/hostfile ranks.py sum >/tmp/deepspeed.out
grep -o '"sum": 10.0' /tmp/deepspeed.out
deepspeed ranks.py sum >/tmp/deepspeed.out
grep -o '"sum": 10.0' /tmp/deepspeed.out
accelerate launch --cpu --num_processes 1 ranks_accelerate.py
""")
        done = c.run("run", "--raw", "--launcher", "plain", "--nodes", "1", "--", "bash", "bare.sh")
        for text in ("node-0: pdsh-w node-0\nnode-1: pdsh-w node-1\n", "node-0: pdsh-all node-0\nnode-1: pdsh-all node-1\n",
                     "mpi 0 node-0\nmpi 1 node-0\nmpi 2 node-1\nmpi 3 node-1\n", "content\ncontent\n", "process 0 of 1: sum 1.0"):
            assert_in(text, done.stdout)
        assert done.stdout.count('"sum": 10.0') == 8
        # The same in the shell that `dockdist ssh` gives.
        assert_in("node-1: there", c.run("ssh", "node-0", "--", "pdsh", "echo there").stdout)


def test_launchers_work_as_another_user_with_a_shared_home_and_write_nothing_there(lab):
    home = lab.shared / "t-home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    os.chown(home, 1234, 1234)
    try:
        with nodes(lab, "t-other-user", container="user: '1234:1234'\nenv: {HOME: /home/me}") as c:
            text = c.file.read_text().replace("'/shared/t-other-user:/workspace'",
                                              "'/shared/t-other-user:/workspace:ro', '/shared/t-home:/home/me'")
            c.file.write_text(text)
            c.up()
            for name in ("open_mpi_5", "deepspeed_via_pdsh", "mpich"):
                done = c.run("run", *LAUNCHERS[name], "--", "sh", "-c", 'echo "$(id -u) $HOME $RANK"')
                assert sorted(line.split("] ")[1] for line in done.stdout.splitlines() if "/home/me" in line) == [
                    f"1234 /home/me {rank}" for rank in range(4)], done.stdout
            assert [str(path) for path in home.rglob("*") if ".ssh" in str(path) or "deepspeed_env" in str(path)] == []
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_ray_runs_two_jobs_at_once(lab):
    with nodes(lab, "t-2-ray") as c:
        jobs = []
        for mark in ("4331", "4332"):
            job = c.start("run", "--share", "--launcher", "ray", "--", "sh", "-c", f"echo started; exec sleep {mark}")
            jobs.append(job)
            read_until(job, "started", timeout=120)
        jobs[0].send_signal(signal.SIGINT)
        jobs[0].communicate(timeout=120)
        left = [line for engine in c.lab.engines for found in engine.containers(cluster=c.name)
                for line in engine.processes(found["Id"])]
        assert not any("sleep 4331" in line for line in left) and any("sleep 4332" in line for line in left), left
        assert sum("raylet/raylet" in line for line in left) == 2, left
        assert jobs[1].poll() is None
        jobs[1].send_signal(signal.SIGINT)
        jobs[1].communicate(timeout=120)
        assert jobs[1].returncode == 130


def test_an_ssh_session_has_every_variable_that_the_engine_shows(lab):
    odd = {"ODD": ODD, "LD_LIBRARY_PATH": "/opt/a b:/opt/c", "QUOTES": "'\"`$(x)\\", "EMPTY": "", "TABS": "\ta\t"}
    with nodes(lab, "t-env", container="env: " + json.dumps(odd).replace("$", "$$")) as c:
        engine, container = c.container("node-1")
        shown = [entry for entry in engine.inspect(container)["Config"]["Env"]]
        assert {f"{name}={value}" for name, value in odd.items()} <= set(shown)
        for command in ("env -0", "sh -lc 'env -0'", "bash -lc 'env -0'", "bash -ic 'env -0'"):
            seen = c.run("exec", "node-0", "--", "ssh", "node-1", command).stdout.split("\0")
            assert set(shown) <= set(seen), (command, set(shown) - set(seen))
