"""accelerate with configurations as its own questions and the guides write them, made for other machines: whatever they say of
hosts and processes, the job has each of its ranks once, on its own nodes, and trains as they say."""

import re

from harness import assert_in
from harness.launching import answers, leftovers, nodes

CLUSTER = """compute_environment: LOCAL_MACHINE
machine_rank: 1
main_process_ip: 192.168.0.1
main_process_port: 22
num_machines: 4
num_processes: 32
gpu_ids: 0,1
rdzv_backend: c10d
same_network: false
mixed_precision: 'no'
"""
FILES = {
    "deepspeed.yaml": CLUSTER + """distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_hostfile: ./hostfile
  deepspeed_inclusion_filter: worker-1@worker-2
  deepspeed_multinode_launcher: pdsh
  zero3_init_flag: false
  zero_stage: 3
""",
    "fsdp.yaml": CLUSTER + """distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARD
""",
    "cpus.yaml": CLUSTER + """distributed_type: NO
use_cpu: true
mpirun_config:
  mpirun_hostfile: ./hostfile
""",
    "hostfile": "# ours\nworker-1 slots=8\n\nworker-2 slots=8\nnode-0 slots=2\n",
}


def sums(c, *options):
    """What ranks.py told: a sum over four ranks, each of them once, and the run's stderr."""
    done = c.run("run", "--launcher", "accelerate", *options, "--", "ranks.py", "sum")
    found = answers(done.stdout)
    assert sorted(found) == [0, 1, 2, 3] and all(answer["sum"] == 10 for answer in found.values()), done.stdout
    assert leftovers(c) == [], leftovers(c)
    return found, done.stderr


def test_configurations_of_the_user_s_own_train_on_the_job_s_nodes(lab):
    with nodes(lab, "t-acc-own", gpus="none", host_more=", slots: 2") as c:
        for name, text in FILES.items():
            (c.folder_in_nodes / name).write_text(text)
        done = c.run("run", "--launcher", "accelerate", "--", "ranks_accelerate.py")
        assert sorted(re.findall(r"^\[node-\d:\d *\] process (\d) of 4: sum 10.0$", done.stdout, re.M)) == list("0123"), done.stdout
        for way in ([], ["--via", "pdsh"]):
            found, stderr = sums(c, *way, "--launcher-arg=--config_file=deepspeed.yaml")
            assert all(answer["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "3" for answer in found.values()), found
            assert_in("./hostfile is not used: it names worker-1, worker-2, no nodes of this job", stderr)
            assert_in("the filter `worker-1@worker-2`", stderr)
        found, _ = sums(c, "--launcher-arg=--config_file", "--launcher-arg=fsdp.yaml")
        assert all(answer["ACCELERATE_USE_FSDP"] == "true" for answer in found.values()), found
        found, _ = sums(c, "--launcher-arg=--config_file=cpus.yaml")
        assert all(answer["ACCELERATE_USE_CPU"] == "true" for answer in found.values()), found
        refused = c.run("run", "--launcher", "accelerate", "--launcher-arg=--config_file=none.yaml", "--", "ranks.py", "sum", code=2)
        assert_in("node-0: accelerate's configuration none.yaml: No such file or directory", refused.stderr)
        # What no option of dockdist's can foresee: each node runs a job of its own, and both end well.
        alone = c.run("run", "--launcher", "torchrun", "--launcher-arg=--standalone", "--launcher-arg=--nnodes=1", "--", "true", code=125)
        assert_in("was started on node-0 and on node-1: these have each run a job of their own", alone.stderr)
