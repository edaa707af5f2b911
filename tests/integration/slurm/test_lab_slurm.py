"""The lab's Slurm is one as sites have it: what all other tests here are built upon."""

import re

from harness import assert_in, eventually


def test_a_job_runs_on_all_hosts_as_the_user_who_submits_it(slurm):
    said = slurm.as_ops(1, 'srun -N "$1" sh -c "echo $(id -un) on \\$(hostname) in \\$PWD"', len(slurm.hosts)).stdout
    assert sorted(said.splitlines()) == [f"ops on host-{number} in /shared" for number in slurm.hosts]


def test_a_job_gets_gpus_by_their_numbers_and_another_job_the_other_ones(slurm):
    ask = ("scontrol show job -d $SLURM_JOB_ID >gpus-$SLURM_JOB_ID.out; echo mine $SLURM_JOB_GPUS $CUDA_VISIBLE_DEVICES >>gpus-$SLURM_JOB_ID.out\n"
           "touch gpus-$SLURM_JOB_ID.done; sleep 600")
    jobs = [slurm.submit("--gres=gpu:1", "--nodelist=host-2", script=ask) for _ in range(2)]
    told = []
    for job in jobs:
        eventually((slurm.lab.shared / f"gpus-{job}.done").exists, f"job {job} says what it has", timeout=60)
        told.append((slurm.lab.shared / f"gpus-{job}.out").read_text())
    for job in jobs:
        slurm.end(job)
    indices = [re.search(r"GRES=gpu:1\(IDX:(\d)\)", text)[1] for text in told]
    assert sorted(indices) == ["0", "1"]
    for index, text in zip(indices, told):
        assert re.search(r"^mine (\d) \d$", text, re.M)[1] == index


def test_a_job_of_the_other_partition_ends_one_and_slurm_begins_it_again(slurm):
    # Its sleep may end before the shell hears of it.
    script = ("trap 'echo told to end >>again-$SLURM_JOB_ID; exit 1' TERM\necho begun ${SLURM_RESTART_COUNT:-0} >>again-$SLURM_JOB_ID\n"
              "while :; do sleep 600 & wait; done")
    job = slurm.submit("--exclusive", "-N", len(slurm.hosts), script=script)
    said = slurm.lab.shared / f"again-{job}"
    eventually(lambda: said.exists() and "begun 0" in said.read_text(), "the job runs", timeout=60)
    urgent = slurm.as_ops(1, 'srun -p urgent --exclusive -N "$1" hostname', len(slurm.hosts)).stdout
    assert len(urgent.splitlines()) == len(slurm.hosts)
    eventually(lambda: "begun 1" in said.read_text(), "the job has begun again", timeout=60)
    assert said.read_text().splitlines() == ["begun 0", "told to end", "begun 1"]
    slurm.end(job)


def test_hosts_are_reached_by_ssh_without_a_question(slurm):
    for user in ("ops", "root"):
        run = slurm.as_root if user == "root" else lambda host, line: slurm.as_ops(host, line).stdout
        assert run(1, "ssh -o BatchMode=yes host-2 'id -un; hostname' </dev/null") == f"{user}\nhost-2\n"


def test_rootless_podman_in_a_step_is_an_engine_whose_containers_have_the_host_s_network(slurm):
    """Which srun+podman:// builds upon."""
    slurm.as_root(2, "docker save dockdist-lab/busybox >/tmp/busybox.tar; chmod 644 /tmp/busybox.tar")
    said = slurm.as_ops(1, """srun --nodelist host-2 sh -euc '
        podman load --quiet --input /tmp/busybox.tar >/dev/null
        podman system service --time=0 unix:///tmp/podman-test.sock & service=$!
        until curl --silent --unix-socket /tmp/podman-test.sock http://engine/_ping; do kill -0 $service; sleep 0.1; done
        docker --host unix:///tmp/podman-test.sock run --rm --network host dockdist-lab/busybox ip -o -4 address
        kill $service; rm -f /tmp/podman-test.sock'""").stdout
    assert_in(f"inet {slurm.lab.addresses[1]}/24", said)


def test_dockdist_runs_on_the_hosts(slurm):
    assert re.fullmatch(r"dockdist \S+\n", slurm.as_ops(2, f"{slurm.program} --version").stdout)
