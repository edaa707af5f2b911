"""`hosts: slurm`, `dockdist slurm submit` and `slurm job` in allocations of a real Slurm, as a user of its hosts."""

import contextlib
import json
import re
import subprocess

from harness import ROOT, Client, assert_in, eventually

SAY = "echo rank $NODE_RANK of $NNODES on $(hostname) has ${CUDA_VISIBLE_DEVICES:-nothing}"


class Site:
    """A folder that all hosts see, with a cluster.yaml in it."""

    def __init__(self, slurm, name, more="", hosts="slurm", mounts=""):
        self.slurm, self.lab = slurm, slurm.lab
        self.folder = f"/shared/{name}"
        self.here = slurm.lab.shared / name
        limits = f"memlock: {self.lab.memlock}, nofile: {self.lab.env['LAB_NOFILE']}, nproc: {self.lab.env['LAB_NPROC']}"
        slurm.as_root(1, 'rm -rf "$1" && install -d -o ops -g ops "$1"', self.folder)
        slurm.as_ops(1, 'cat >"$1/cluster.yaml"', self.folder, input=(
            f"name: {name}\nimage: dockdist-lab/busybox\nhosts: {hosts}\ncontainer:\n  ulimits: {{{limits}}}\n  mounts: [{mounts}]\n{more}"))

    def line(self, line):
        return f"cd {self.folder}\ndockdist() {{ {self.slurm.program} \"$@\"; }}\n{line}"

    def run(self, line, *arguments, host=1, **options):
        return self.slurm.as_ops(host, self.line(line), *arguments, **options)

    def start(self, line, *arguments):
        return Client(self.slurm.command(1, self.line(line), *arguments), text=True, stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def submit(self, *options, script):
        return self.slurm.submit(f"--chdir={self.folder}", *options, script=self.line(script))

    def containers(self):
        """Of all kinds, on all hosts."""
        return [name for host in self.slurm.hosts
                for name in self.slurm.as_root(host, "docker ps --all --filter label=dockdist.cluster --format '{{.Names}}'").split()]

    def volumes(self):
        return [name for host in self.slurm.hosts for name in self.slurm.as_root(host, "docker volume ls --quiet --filter name=dockdist").split()]

    def begins(self, name):
        """A job whose command says so, in the file that it writes to."""
        try:
            eventually(lambda: self.holds(name, "begun"), "the job runs", timeout=100)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{(self.here / name).read_text()}\n{self.slurm.as_root(1, 'squeue')}") from late

    def holds(self, name, text):
        file = self.here / name
        return file.exists() and text in file.read_text()


@contextlib.contextmanager
def site(slurm, name, **settings):
    made = Site(slurm, name, **settings)
    try:
        yield made
    finally:
        slurm.as_root(1, "scancel --user ops")
        eventually(lambda: not slurm.as_root(1, "squeue --noheader"), "no job is left", timeout=60)
        for host in slurm.hosts:
            slurm.as_root(host, 'ids=$(docker ps --all --quiet --filter label=dockdist.cluster); [ -z "$ids" ] || docker rm --force $ids >/dev/null; '
                                'ids=$(docker volume ls --quiet --filter name=dockdist); [ -z "$ids" ] || docker volume rm $ids >/dev/null')


def gpus_of(slurm, job):
    """What Slurm has given, by node."""
    said = slurm.as_ops(1, 'scontrol show job --details "$1"', job).stdout
    return dict(re.findall(r"^ +Nodes=(\S+) .*\(IDX:([^)]+)\)", said, re.M))


def test_a_submitted_run_has_slurm_s_nodes_and_gpus_and_leaves_nothing(slurm):
    with site(slurm, "t-submit", mounts="'/shared:/shared'", more="collect: [/out]\n") as s:
        script = ("mkdir -p /out; hostname >/out/name; " + SAY + "; cd /shared/t-submit; touch said-$NODE_RANK; "
                  "until [ -e said-0 ]; do sleep 0.1; done; [ $NODE_RANK = 0 ] || exit 7")
        done = s.run("dockdist slurm submit --nodes 2 --gres gpu:1 --time 5 -- run --launcher plain -- "
                     "sh -c '" + script + "'", code=7, timeout=200)
        lines = [line.partition("] ")[2] for line in done.stdout.splitlines() if "] rank" in line]
        assert len({line.split(" has ")[0].split(" on ")[1] for line in lines}) == 2, done.stdout
        assert sorted(line.split(" on ")[0] for line in lines) == ["rank 0 of 2", "rank 1 of 2"]
        assert all("GPU-" in line for line in lines), done.stdout
        assert_in("failed with exit code 7", done.stderr)
        assert not s.containers() and not s.volumes()
        names = sorted(path.read_text().strip() for path in s.here.glob("collected/*/*/out/name"))
        assert len(names) == 2
        assert not slurm.as_root(1, "squeue --noheader")


def test_two_allocations_of_one_file_share_hosts_and_have_gpus_of_their_own(slurm):
    with site(slurm, "t-two") as s:
        hold = "exec dockdist slurm job -- run --launcher plain -- sh -c 'nvidia-smi -L; echo begun; exec sleep 600'"
        hold = hold.replace("exec dockdist", f"exec {slurm.program}")
        jobs = [s.submit("-N2", "--gres=gpu:1", "--nodelist=host-1,host-2", "-o", f"{s.folder}/%j.out", script=hold) for _ in range(2)]
        for job in jobs:
            s.begins(f"{job}.out")
        given = [gpus_of(slurm, job) for job in jobs]
        assert not set(given[0].items()) & set(given[1].items()), given
        told = [(s.here / f"{job}.out").read_text() for job in jobs]
        uuids = [{line.split("UUID: ")[1] for line in text.splitlines() if "UUID" in line} for text in told]
        assert all(uuids) and not uuids[0] & uuids[1], told
        assert {name.rpartition("-host")[0] for name in s.containers()} == {f"dockdist-t-two-{job}" for job in jobs}
        # From elsewhere, as one who looks into a job that runs.
        status = json.loads(s.run(f"SLURM_JOB_ID={jobs[0]} dockdist -o json status", host=2).stdout)
        assert [node["state"] for node in status["nodes"]] == ["ready", "ready"]
        slurm.end(jobs[0])
        assert len([name for name in s.containers() if f"-{jobs[0]}-host" in name]) == 0
        assert len([name for name in s.containers() if f"-{jobs[1]}-host" in name]) == 2
        slurm.end(jobs[1])
        assert not s.containers()


def test_in_an_allocation_each_command_works_with_the_file_s_own_hosts_replaced(slurm):
    with site(slurm, "t-hand", hosts="[ssh://elsewhere]") as s:
        said = s.run("""export DOCKDIST_HOSTS=slurm
            salloc --quiet -N2 --nodelist host-1,host-2 --gres=gpu:2 sh -euc '
                dockdist=$1
                $dockdist up --no-check
                $dockdist ssh host-1 -- "ssh host-2 hostname; ssh host-2 ssh host-1 hostname"
                echo hello >file; $dockdist cp file host-2:/tmp/file; $dockdist exec host-2 -- cat /tmp/file
                $dockdist run --launcher plain --per-rank -- sh -c "echo rank \\$RANK"
                $dockdist down' sh "$1" """, slurm.program, timeout=200).stdout
        assert_in("is up: 2 nodes, 4 slots", said)
        assert_in("\nhost-2\nhost-1\n", said)
        assert_in("\nhello\n", said)
        assert sorted(line[-6:] for line in said.splitlines() if "] rank " in line) == [f"rank {i}" for i in range(4)]
        assert not s.containers()


def test_scancel_ends_the_job_and_takes_the_cluster_down(slurm):
    with site(slurm, "t-cancel") as s:
        client = s.start("dockdist slurm submit --nodes 2 --gres gpu:1 -- run --launcher plain -- sh -c 'echo begun; exec sleep 600'")
        eventually(lambda: len(s.containers()) == 2 and any(s.holds(f.name, "begun") for f in s.here.glob("slurm-*.out")), "the job runs", timeout=100)
        job = next(s.here.glob("slurm-*.out")).name[6:-4]
        slurm.as_ops(1, 'scancel "$1"', job)
        out, said = client.communicate(timeout=100)
        assert_in("stopping the job", out)
        assert_in(f"Slurm's job {job}: Slurm has ended it: CANCELLED", said)
        assert client.returncode == 125
        assert not s.containers() and not s.volumes()


def test_ctrl_c_of_submit_cancels_the_job(slurm):
    with site(slurm, "t-ctrl-c") as s:
        client = s.start("exec " + slurm.program + " slurm submit --nodes 2 --gres gpu:1 -- run --launcher plain -- sh -c 'echo begun; exec sleep 600'")
        eventually(lambda: any(s.holds(f.name, "begun") for f in s.here.glob("slurm-*.out")), "the job runs", timeout=100)
        slurm.as_root(1, "pkill -INT -u ops -f '[s]lurm submit'")
        _, said = client.communicate(timeout=100)
        assert_in("is being cancelled", said)
        assert client.returncode == 130
        assert not slurm.as_root(1, "squeue --noheader")
        assert not s.containers()


def test_a_time_limit_ends_the_job_as_timeout_does(slurm):
    with site(slurm, "t-limit") as s:
        done = s.run("dockdist slurm submit --nodes 2 --time 1 --warning 55s -- run --launcher plain -- "
                     "sh -c 'trap \"echo told to end; exit 0\" TERM; echo begun; sleep 600 & wait'", code=124, timeout=150)
        assert_in("the allocation's time is nearly over: stopping the job", done.stdout)
        assert_in("told to end", done.stdout)
        assert_in("timed out (--timeout, or the allocation's time limit) and was stopped", done.stdout)
        assert not s.containers()


def test_a_job_that_is_preempted_ends_cleanly_and_begins_again(slurm):
    with site(slurm, "t-again", mounts="'/shared:/shared'") as s:
        script = (f"exec {slurm.program} slurm job -- run --launcher plain -- sh -c "
                  "'echo begun; test -e /shared/t-again/second && exit 0; exec sleep 600'")
        job = s.submit("--exclusive", "-N", len(slurm.hosts), "--open-mode=append", "-o", f"{s.folder}/out", script=script)
        s.begins("out")
        slurm.as_ops(1, "touch /shared/t-again/second")
        # The other job finds the nodes free of ours: what Slurm waits for is the batch script's end, and that is after `down`.
        left = s.run('srun -p urgent --exclusive -N "$1" docker ps --all --quiet --filter label=dockdist.cluster', len(slurm.hosts), timeout=150).stdout
        assert not left
        eventually(lambda: slurm.has_ended(job), "the job has ended", timeout=120)
        assert slurm.as_ops(1, 'scontrol show job "$1"', job).stdout.count("JobState=COMPLETED") == 1, (s.here / "out").read_text()
        assert not s.containers()


WRONG = [
    ("dockdist validate", "this is not inside a Slurm allocation: SLURM_JOB_ID is not set"),
    ("SLURM_JOB_ID=999999 dockdist status", "Invalid job id specified"),
    ("SLURM_JOB_ID=x dockdist status", "SLURM_JOB_ID=x is not a job of Slurm's"),
    ("dockdist slurm submit -- train.py", "what follows `--` is not `run`"),
    ("dockdist slurm submit -- run --nonsense -- true", "dockdist run has no option --nonsense"),
    ("dockdist slurm submit -- run -f other.yaml -- true", "are for both commands at once"),
    ("dockdist slurm submit -- run --detach -- true", "--detach: a batch job ends with its `run`"),
    ("dockdist slurm submit -- run --launcher nosuch -- true", "unknown launcher `nosuch`"),
    ("dockdist slurm submit --warning 20h -- run -- true", "is not a duration from 1s to 65535s"),
    ("dockdist export slurm -- train.py", "the number of nodes is not known: the hosts are those of an allocation"),
    ("dockdist slurm submit --partition nowhere -- run -- true", "Slurm refused the job: sbatch: error:"),
    ("PATH=/nowhere dockdist slurm submit -- run -- true", "is for a machine from which jobs are submitted"),
    ("salloc --quiet -N1 : -N1 sh -c '/shared/dockdist status'", "is heterogeneous"),
]


def test_what_cannot_be_is_told_before_anything_is_done(slurm):
    with site(slurm, "t-wrong") as s:
        for line, said in WRONG:
            done = s.run(line, code=2)
            assert_in(said, done.stderr)
            assert_in("->", done.stderr)
        assert not slurm.as_root(1, "squeue --noheader --states pending,running")


def test_a_node_without_an_engine_is_named_and_the_others_are_taken_back(slurm):
    with site(slurm, "t-without") as s:
        slurm.lab.script("stop-engine", "2")
        try:
            done = s.run("salloc --quiet -N2 --nodelist host-1,host-2 sh -c '/shared/dockdist up'", code=1)
            assert_in("host-2", done.stderr)
        finally:
            slurm.lab.script("start-engine", "2")
        assert not s.containers()


def test_an_allocation_that_ends_in_the_middle_of_up_leaves_nothing(slurm):
    with site(slurm, "t-middle", mounts="'/shared:/shared'", more="setup: ['touch /shared/t-middle/begun; sleep 600']\n") as s:
        script = f"exec {slurm.program} slurm job -- run --launcher plain -- echo never"
        job = s.submit("-N2", "-o", f"{s.folder}/out", script=script)
        eventually((s.here / "begun").exists, "`up` is in the middle", timeout=100)
        slurm.end(job)
        assert not s.holds("out", "never\n")
        assert not s.containers()


def test_what_a_killed_job_leaves_is_the_epilog_s(slurm):
    with site(slurm, "t-killed") as s, slurm.installed("epilog", ROOT / "templates/slurm-epilog.sh"):
        script = f"exec {slurm.program} slurm job -- run --launcher plain -- sh -c 'echo begun; exec sleep 600'"
        job = s.submit("-N2", "-o", f"{s.folder}/out", script=script)
        s.begins("out")
        assert len(s.containers()) == 2
        slurm.as_ops(1, 'scancel --signal=KILL --full "$1"', job)
        eventually(lambda: slurm.has_ended(job), "the job has ended", timeout=60)
        eventually(lambda: not s.containers(), "the epilog has removed the containers", timeout=60)
