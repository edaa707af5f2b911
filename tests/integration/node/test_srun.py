"""srun within whole nodes, over the toolkit's ssh, held against what Slurm 22.05.8 did with the same arguments on two nodes of
two CPUs and two GPUs each: tests/slurm/real-slurm starts one."""

import os
import re
import signal
import subprocess

import pytest

from harness.namespaces import ADDRESS, BUSYBOX, NEEDED, Host, Node, TwoNodes, join, wait_for
from harness.node_process import Stream
from harness.patience import Watch

pytestmark = NEEDED
INIT = "/opt/dockdist/bin/dockdist-init"

# `srun -N2 --ntasks-per-node=2 -c1 -J test -p lab env`: what every task sees, and what each sees of its own. N: any number.
OF_ALL = {"SLURM_CPUS_ON_NODE": "N", "SLURM_CPUS_PER_TASK": "1", "SLURM_JOBID": "N", "SLURM_JOB_GID": "0", "SLURM_JOB_ID": "N",
          "SLURM_JOB_NAME": "test", "SLURM_JOB_NODELIST": "node-[0-1]", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_PARTITION": "lab",
          "SLURM_JOB_UID": "0", "SLURM_JOB_USER": "root", "SLURM_LAUNCH_NODE_IPADDR": ADDRESS, "SLURM_NNODES": "2",
          "SLURM_NODELIST": "node-[0-1]", "SLURM_NPROCS": "4", "SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "2", "SLURM_STEPID": "0",
          "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "node-[0-1]", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NUM_TASKS": "4",
          "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_SUBMIT_DIR": "/tmp", "SLURM_SUBMIT_HOST": "node-0",
          "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_TASK_PID": "N", "SLURM_TOPOLOGY_ADDR_PATTERN": "node"}
OF_EACH = [{"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 2), "SLURM_NODEID": str(rank // 2), "SLURMD_NODENAME": f"node-{rank // 2}",
            "SLURM_TOPOLOGY_ADDR": f"node-{rank // 2}", "SLURM_GTIDS": ("0,1", "2,3")[rank // 2]} for rank in range(4)]
# Slurm's too, and of use to Slurm alone.
SLURMS_OWN = {"SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURM_JOB_CPUS_PER_NODE", "SLURM_LABELIO", "SLURM_PRIO_PROCESS", "SLURM_SRUN_COMM_HOST",
              "SLURM_SRUN_COMM_PORT", "SLURM_STEP_LAUNCHER_PORT", "SLURM_UMASK", "SLURM_WORKING_CLUSTER", "SLURM_GPUS_ON_NODE"}

# Arguments, the code, and lines that are on stderr among others.
CODES = [
    (["-n2", "sh", "-c", "exit $((SLURM_PROCID * 7))"], 7, ["srun: error: node-0: task 1: Exited with exit code 7"]),
    (["-N2", "-n4", "sh", "-c", "exit $((SLURM_PROCID + 1))"], 4, ["srun: error: node-1: task 3: Exited with exit code 4"]),
    (["-n1", "sh", "-c", "kill -SEGV $$"], 139, ["srun: error: node-0: task 0: Segmentation fault"]),
    (["-n1", "sh", "-c", "kill -KILL $$"], 137, ["srun: error: node-0: task 0: Killed"]),
    (["-n2", "sh", "-c", "if [ $SLURM_PROCID = 0 ]; then kill -TERM $$; else exit 200; fi"], 143,
     ["srun: error: node-0: task 0: Terminated", "srun: error: node-0: task 1: Exited with exit code 200"]),
    (["-n2", "no-such-program"], 2, ["srun: error: node-0: task 1: Exited with exit code 2"]),
    (["-n1", "/etc/passwd"], 13, ["srun: error: node-0: task 0: Exited with exit code 13"]),
    (["-K", "-N2", "-n2", "sh", "-c", "if [ $SLURM_PROCID = 1 ]; then exit 7; fi; sleep 60"], 143,
     ["srun: error: node-1: task 1: Exited with exit code 7", "srun: error: node-0: task 0: Terminated"]),
    (["--no-such-flag", "true"], 255, ["srun: unrecognized option '--no-such-flag'", 'Try "srun --help" for more information']),
    (["-n", "0", "true"], 1, ['srun: error: Invalid numeric value "0" for --ntasks.']),
    (["-n2"], 1, ["srun: error: No command given to execute."]),
    (["-i", "/no/such", "true"], 1, ["srun: error: Could not open stdin file /no/such: No such file or directory"]),
    (["-w", "nowhere", "true"], 1, ["srun: error: Unable to allocate resources: Invalid node name specified: nowhere is none of node-[0-1]"]),
    (["-N1", "--gres=gpu:3", "true"], 1, ["srun: error: node-0: Requested node configuration is not available: 3 GPUs, and there are 0"]),
]


class Srun(TwoNodes):
    REQUEST = {"slots": 2}

    def command(self, *words, folder="/tmp", **variables):
        pairs = [word for pair in variables.items() for word in ("--env", "%s=%s" % pair)]
        self.a.run("mkdir", "-p", "/tmp")
        self.b.run("mkdir", "-p", "/tmp")
        return [INIT, "with-environment", "--workdir", folder, *pairs, "--", *words]

    def run(self, *words, input=b"", **options):
        return self.a.run(*self.command(*words, **options), input=input)

    def srun(self, *words, **options):
        return self.run("srun", *words, **options)

    def start(self, *words):
        return self.a.popen(*self.command("srun", *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def sleepers(self):
        """Of both nodes: each has a PID namespace of its own."""
        return [sum("sleep 4712" in line and "sh -c" not in line for line in node.processes().splitlines()) for node in self.nodes]

    def pid_of(self, name):
        lines = [line.split() for line in self.a.processes().splitlines()]
        return next(int(words[0]) for words in lines if name in words and "with-environment" not in words)


class TestSrun(Srun):
    def test_tasks_see_what_slurm_s_see(self):
        done = self.srun("-N2", "--ntasks-per-node=2", "-c1", "-J", "test", "-p", "lab", "-l", "env")
        assert (done.returncode, done.stderr) == (0, b"")
        seen = [{}, {}, {}, {}]
        for line in done.stdout.decode().splitlines():
            match = re.match(r"(\d): ([A-Z_]+)=(.*)", line)
            if match:
                seen[int(match[1])][match[2]] = match[3]
        for rank, variables in enumerate(seen):
            slurms = {name: "N" if OF_ALL.get(name) == "N" and value.isdigit() else value
                      for name, value in variables.items() if name.startswith("SLURM") and name not in SLURMS_OWN}
            assert slurms == {**OF_ALL, **OF_EACH[rank]}
            assert {name: variables[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR",
                                                       "DOCKDIST_NODE")} == {
                "RANK": str(rank), "LOCAL_RANK": str(rank % 2), "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "NODE_RANK": str(rank // 2),
                "MASTER_ADDR": ADDRESS, "DOCKDIST_NODE": f"node-{rank // 2}"}
        assert len({variables["MASTER_PORT"] for variables in seen}) == len({variables["SLURM_JOB_ID"] for variables in seen}) == 1
        assert 20000 <= int(seen[0]["MASTER_PORT"]) < 30000

    @pytest.mark.parametrize(("words", "code", "lines"), CODES, ids=lambda value: " ".join(value) if isinstance(value, list) else None)
    def test_its_exit_code_is_slurm_s(self, words, code, lines):
        done = self.srun(*words)
        assert done.returncode == code, done.stderr
        for line in lines:
            assert line in done.stderr.decode().splitlines(), done.stderr

    def test_what_the_user_exports_reaches_every_task_and_wins(self):
        script = 'echo "$SLURM_PROCID $MASTER_ADDR:$MASTER_PORT $OWN $ODD"'
        done = self.run("sh", "-c", "unset ODD; export MASTER_ADDR=node-0 MASTER_PORT=29500 OWN='a \"b\"'; exec srun -N2 sh -c '%s'" % script)
        assert sorted(done.stdout.splitlines()) == [b'0 node-0:29500 a "b" ', b'1 node-0:29500 a "b" '], done.stderr
        done = self.srun("--export=NONE", "-N2", "sh", "-c", "echo x$OWN", OWN="1")
        assert done.stdout == b"x\nx\n"
        done = self.srun("--export=OWN,MORE=2", "-N2", "sh", "-c", "echo $OWN$MORE$OTHER", OWN="1", OTHER="3")
        assert done.stdout == b"12\n12\n"

    def test_its_folder_is_srun_s_or_tmp(self):
        self.a.run("mkdir", "-p", "/work/here")
        done = self.srun("-N2", "-l", "sh", "-c", "pwd", folder="/work/here")
        assert (done.returncode, sorted(done.stdout.splitlines())) == (0, [b"0: /work/here", b"1: /tmp"])
        assert b"couldn't chdir to `/work/here': No such file or directory: going to /tmp instead" in done.stderr
        assert self.srun("-D", "/work", "-N2", "sh", "-c", "pwd").stdout == b"/work\n/work\n"

    def test_what_tasks_write_goes_where_slurm_puts_it(self):
        script = "echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2; printf end"
        done = self.srun("-N2", "-l", "sh", "-c", script)
        assert sorted(done.stdout.splitlines()) == [b"0: end", b"0: out 0", b"1: end", b"1: out 1"]
        assert sorted(done.stderr.splitlines()) == [b"0: err 0", b"1: err 1"]
        done = self.srun("-N2", "-o", "o-%t-%N-%n-%2t", "sh", "-c", script)
        assert (done.stdout, done.stderr) == (b"", b"")
        assert self.a.run("sh", "-c", "cd /tmp; ls o-*; cat o-1*").stdout == b"o-0-node-0-0-00\no-1-node-1-1-01\nout 1\nerr 1\nend"
        assert self.srun("-n2", "-o", "1", "sh", "-c", "echo $SLURM_PROCID").stdout == b"1\n"
        assert self.srun("-n2", "-o", "none", "echo", "x").stdout == b""
        done = self.srun("-o", "/no/such/folder/x", "-N2", "sh", "-c", "echo x; sleep 60")
        assert (done.returncode != 0, done.stderr.count(b"Could not open stdout file /no/such/folder/x: No such file")) == (True, 1)

    def test_what_is_typed_goes_to_all_tasks_or_to_one(self):
        lines = b"".join(b"line %d\n" % i for i in range(20000))
        done = self.srun("-N2", "-n4", "sha256sum", input=lines)
        assert len(set(done.stdout.splitlines())) == 1 and len(done.stdout.splitlines()) == 4, (done.stdout, done.stderr)
        assert self.srun("-n2", "-l", "-i", "1", "cat", input=b"a\nb\n").stdout == b"1: a\n1: b\n"
        assert self.srun("-n2", "-l", "-i", "none", "cat", input=b"a\n").stdout == b""
        self.a.run("sh", "-c", "echo from file > /tmp/in")
        assert sorted(self.srun("-N2", "-l", "-i", "in", "cat").stdout.splitlines()) == [b"0: from file", b"1: from file"]
        assert self.srun("true", input=lines).returncode == 0  # nobody reads it
        closed = self.run("sh", "-c", "exec srun -N2 -l sh -c 'cat; echo end' <&-")
        assert (closed.returncode, sorted(closed.stdout.splitlines())) == (0, [b"0: end", b"1: end"]), closed.stderr

    def test_the_lines_of_a_script_for_sbatch_run_as_typed(self):
        # pytorch/examples, distributed/ddp-tutorial-series/slurm/sbatch_run.sh, with `echo` before torchrun
        done = self.run("sh", "-c", """
            nodes=$(scontrol show hostnames $SLURM_JOB_NODELIST)
            head_node=$(echo $nodes | tr ' ' '\\n' | head -n 1)
            head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)
            srun echo torchrun --nnodes 2 --nproc_per_node 1 --rdzv_endpoint $head_node_ip:29500""")
        assert (done.stdout, done.stderr) == (b"torchrun --nnodes 2 --nproc_per_node 1 --rdzv_endpoint %s:29500\n" % ADDRESS.encode() * 2, b"")

    def test_help_and_version(self):
        assert b"--gres=gpu:K" in self.srun("--help").stdout
        assert self.srun("--version").stdout.startswith(b"slurm 22.05")


SEEN = "$SLURM_JOB_ID $SLURM_JOBID $SLURM_NNODES $SLURM_NTASKS $SLURM_JOB_NODELIST $SLURM_NODELIST $SLURM_NPROCS $TERM"
BATCH = """#!/bin/sh -u
#SBATCH --job-name=fit --output=logs/%%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2   # four of them
#SBATCH --account= --export=ALL,OWN=1

echo "before %s $SLURM_JOB_NAME $OWN $*"
cd /
head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
echo "addr $(scontrol show node "$head_node" | tr ' ' '\\n' | while read word; do case $word in NodeAddr=*) echo $word;; esac; done)"
echo "alone $(srun --nodes=1 --ntasks=1 -w "$head_node" sh -c 'echo $SLURM_NTASKS')"
srun sh -c 'echo "task $SLURM_PROCID $SLURM_NTASKS $SLURM_JOB_ID $SLURM_JOB_NAME $TERM $OWN"'
exit 3
""" % SEEN


class TestBatch(Srun):
    def hold(self, done, words):
        assert done.returncode == 3, done.stderr
        lines = done.stdout.decode().splitlines()
        job = lines[0].split()[1]
        assert job.isdigit() and lines[:3] == [f"before {job} {job} 2 4 node-[0-1] node-[0-1] 4 xterm fit 1 {words}", f"addr NodeAddr={ADDRESS}", "alone 1"]
        assert sorted(lines[3:]) == [f"task {rank} 4 {job} fit xterm 1" for rank in range(4)]
        return done.stderr.decode().replace(job, "N")

    def write(self, text=BATCH):
        self.a.run("sh", "-c", "mkdir -p /tmp; cat > /tmp/fit.sbatch; chmod +x /tmp/fit.sbatch", input=text.encode())

    def test_a_script_s_lines_count_however_it_is_started(self):
        self.write()
        for words in (["sh", "fit.sbatch"], ["sh", "-e", "/tmp/fit.sbatch"], ["./fit.sbatch"]):
            assert self.hold(self.run(*words, "a", "b c"), "a b c") == ""
        assert self.hold(self.run("sbatch", "-J", "fit", "fit.sbatch", "a"), "a") == "sbatch: batch job N runs here, without a queue\n"
        assert "runs here" in self.hold(self.run("sbatch", input=BATCH.encode()), "")
        done = self.run("sbatch", "--parsable", "-N2", "--wrap", 'echo "$SLURM_NNODES $SLURM_JOB_NODELIST"')
        assert re.fullmatch(rb"\d+\n2 node-\[0-1\]\n", done.stdout) and done.stderr == b""

    def test_in_a_job_too_and_there_on_one_node(self):
        self.write()
        self.command()
        part = Stream(self.a.popen(INIT, "job", "start", stdin=subprocess.PIPE, bufsize=0))
        part.send(job="batch", workdir="/tmp")
        part.send(argv=["sh", "fit.sbatch", "x"])
        part.until("started")
        result = part.result()
        assert result["code"] == 3 and part.output().startswith(b"before "), (result, part.output(), part.output(stream=2))
        assert sum(b"task " in line for line in part.output().splitlines()) == 4
        part = Stream(self.a.popen(INIT, "job", "start", stdin=subprocess.PIPE, bufsize=0))
        part.send(job="twice", workdir="/tmp")
        part.send(argv=["sh", "fit.sbatch"], env={"NNODES": "2", "NODE_RANK": "0"})
        part.until("started")
        assert part.result()["code"] == 1
        assert b"runs on one node, and its srun on all: `dockdist run --launcher plain --nodes 1 -- " in part.output(stream=2)

    def test_a_shell_of_its_own_has_the_lines_for_each_srun(self):
        """Nobody has seen that command line: an ssh, a prompt."""
        self.write(BATCH.replace("-u\n", "\n"))
        done = self.run("sh", "-c", "sh fit.sbatch; exit $?")
        lines = done.stdout.decode().splitlines()
        jobs = {line.split()[3] for line in lines if line.startswith("task ")}
        assert sorted(line.split()[1:3] for line in lines if line.startswith("task ")) == [[str(rank), "4"] for rank in range(4)], done.stderr
        assert len(jobs) == 1

    def test_what_cannot_be_had_is_told_before_anything_runs(self):
        self.write("#!/bin/sh\n#SBATCH --gpus-per-node=8\necho ran\n")
        done = self.run("sh", "fit.sbatch")
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr == (b"sbatch: error: Batch job submission failed: Requested node configuration is not available: "
                               b"8 GPUs of node-0, and there are 0\n")
        self.write("echo ran\n")
        assert b"does not look like a batch script" in self.run("sbatch", "fit.sbatch").stderr
        assert b"Unable to open file no-such.sbatch" in self.run("sbatch", "no-such.sbatch").stderr

    def test_a_task_of_an_array_runs(self):
        self.write("#!/bin/sh\n#SBATCH --array=2-9%1\necho $SLURM_ARRAY_TASK_ID ${SLURM_ARRAY_JOB_ID:+there}\n")
        done = self.run("sh", "fit.sbatch")
        assert (done.stdout, b"--array=2-9%1: one task of it runs here, 2" in done.stderr) == (b"2 there\n", True)
        assert self.run("sh", "fit.sbatch", SLURM_ARRAY_TASK_ID="5").stdout == b"5 there\n"


class TestItsEnd(Srun):
    def run_to_its_end(self, number, code, left="sleep 4712"):
        step = self.start("-N2", "-n4", "sh", "-c", "trap 'exit 5' USR1; %s & %s" % (left, left if left != "sleep 4712" else "wait"))
        wait_for("all tasks", lambda: self.sleepers() == [2, 2])
        self.a.run("kill", "-%d" % number, str(self.pid_of("srun")))
        out, err = step.communicate(timeout=30)
        assert step.returncode in (code, -number if number == signal.SIGKILL else code), (step.returncode, err)
        wait_for("the end of all tasks", lambda: self.sleepers() == [0, 0])
        return err.decode()

    def test_when_a_job_ends_each_task_is_told_once(self):
        # node-1 has a part of the first job and none of the second: there it is srun that tells them.
        task = "trap 'echo told; n=1' TERM; echo up; n=; while [ ! $n ]; do sleep 0.1; done; sleep 0.5; echo saved"
        self.command()
        for job, nodes in (("both", self.nodes), ("one", self.nodes[:1])):
            parts = []
            for node in nodes:
                parts.append(Stream(node.popen(INIT, "job", "start", stdin=subprocess.PIPE, bufsize=0)))
                parts[-1].send(job=job, grace_ms=20000, workdir="/tmp")
                parts[-1].send(argv=[] if len(parts) > 1 else ["srun", "-N2", "-l", "sh", "-c", task])
                parts[-1].until("started")
            while sum(parts[0].output().count(b"%d: up\n" % rank) for rank in (0, 1)) < 2:
                parts[0].next_frame()
            for part in parts:
                part.send(type="stop", grace_ms=20000)
            for part in parts:
                part.result()
            assert sorted(parts[0].output(stream=1).splitlines()) == [
                b"%d: %s" % (rank, word) for rank in (0, 1) for word in (b"saved", b"told", b"up")], job

    def test_ctrl_c_reaches_every_task(self):
        err = self.run_to_its_end(signal.SIGINT, 130)
        assert "srun: sending Ctrl-C to StepId=" in err

    def test_who_ends_srun_ends_all_of_it(self):
        # Slurm kills them at once, and says 137; here they get TERM first.
        self.run_to_its_end(signal.SIGTERM, 143)

    def test_a_killed_srun_leaves_nothing(self):
        self.run_to_its_end(signal.SIGKILL, 137)

    def test_other_signals_are_handed_on(self):
        self.run_to_its_end(signal.SIGUSR1, 5)

    def test_what_a_task_leaves_behind_ends_with_the_step(self):
        watch = Watch()
        done = self.srun("-N2", "sh", "-c", "sleep 4712 & exit 0")
        assert (done.returncode, self.sleepers()) == (0, [0, 0])
        assert watch.within(10), watch

    def test_wait_ends_the_others(self):
        step = self.srun("-W1", "-N2", "-n2", "sh", "-c", "if [ $SLURM_PROCID = 1 ]; then exit 0; fi; exec sleep 4712")
        assert step.returncode == 143 and b"srun: First task exited 1s ago" in step.stderr, step.stderr
        assert self.sleepers() == [0, 0]

    def test_two_at_once_are_two(self):
        steps = [self.start("-N2", "sh", "-c", "echo $MASTER_PORT; exec sleep 4712") for _ in range(2)]
        wait_for("all tasks", lambda: self.sleepers() == [2, 2])
        self.a.run("kill", "-TERM", str(self.pid_of("srun")))
        wait_for("one of them", lambda: self.sleepers() == [1, 1] and any(step.poll() is not None for step in steps))
        self.a.run("kill", "-TERM", str(self.pid_of("srun")))
        ports = [step.communicate(timeout=30)[0].split() for step in steps]
        assert all(len(set(some)) == 1 for some in ports) and ports[0] != ports[1], ports


class TestALostNode(Srun):
    def test_a_node_that_is_not_there_is_told_and_nothing_is_started(self):
        step = self.start("-N2", "sh", "-c", "exec sleep 4712")
        wait_for("all tasks", lambda: self.sleepers() == [1, 1])
        os.kill(self.b.pid, signal.SIGKILL)
        out, err = step.communicate(timeout=30)
        assert step.returncode != 0
        assert [line for line in err.decode().splitlines() if "node-1" in line][0].startswith("srun: error: node-1: lost, with 1 of its tasks: ")
        wait_for("the other's end", lambda: "sleep 4712" not in self.a.processes())
        done = self.srun("-N2", "touch", "/tmp/started")
        assert done.returncode == 1
        assert re.fullmatch(r"srun: error: Unable to reach node-1: .*Connection refused\n", done.stderr.decode()), done.stderr
        assert self.a.run("ls", "/tmp/started").returncode != 0
