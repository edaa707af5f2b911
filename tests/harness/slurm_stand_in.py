"""A stand-in for what a batch script finds in an allocation of Slurm's: `scontrol show hostnames`, and an `srun` that starts its
tasks here. Of pyxis' options it writes down what they were, and runs the task without a container."""

import json
import os
import pathlib
import subprocess
import sys

SCONTROL = """#!/bin/sh
[ "$1 $2" = "show hostnames" ] || exit 1
for node in $STAND_IN_NODES; do echo "$node"; done
"""

# --kill-on-bad-exit=1: the first failure ends the others. The step's code is the highest of its tasks', as srun's is.
SRUN = '''#!{python}
import json, os, subprocess, sys

options, command = {{}}, sys.argv[1:]
while command[0].startswith("--"):
    name, _, value = command.pop(0)[2:].partition("=")
    options[name] = value
with open(os.environ["STAND_IN_STEPS"], "a") as steps:
    steps.write(json.dumps(options) + "\\n")
nodes = os.environ["STAND_IN_NODES"].split()
first = int(options.get("relative", 0))
nodes = nodes[first:first + int(options.get("nodes", len(nodes)))]
each = int(options["ntasks"]) // len(nodes) if "ntasks" in options else int(os.environ["STAND_IN_TASKS"])
tasks = []
for node, name in enumerate(nodes):
    for task in range(each):
        env = dict(os.environ, SLURM_NODEID=str(node), SLURMD_NODENAME=name, SLURM_LOCALID=str(task),
                   SLURM_PROCID=str(node * each + task), SLURM_NTASKS=str(len(nodes) * each))
        tasks.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True))
left, code = {{task.pid: task for task in tasks}}, 0
while left:
    pid, status = os.wait()
    ended = left.pop(pid)
    ended.returncode = os.waitstatus_to_exitcode(status)
    if ended.returncode != 0:
        code = max(code, ended.returncode if ended.returncode > 0 else 128 - ended.returncode)
        for task in left.values():
            task.terminate()
sys.exit(code)
'''


class Allocation:
    """Two nodes or more, all of them this machine. `programs`: by name, what else is found first in PATH."""

    def __init__(self, folder, nodes, programs=None):
        self.bin = pathlib.Path(folder) / "bin"
        self.bin.mkdir()
        self.steps_file = pathlib.Path(folder) / "steps"
        self.nodes = [f"n{i}" for i in range(nodes)]
        for name, text in {"scontrol": SCONTROL, "srun": SRUN.format(python=sys.executable), **(programs or {})}.items():
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def environment(self, **variables):
        return dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", SLURM_JOB_ID="4711", SLURM_JOB_NODELIST="n[0-9]",
                    STAND_IN_NODES=" ".join(self.nodes), STAND_IN_STEPS=str(self.steps_file), **variables)

    def run(self, script, **variables):
        tasks = next(line.partition("=")[2] for line in script.splitlines() if line.startswith("#SBATCH --ntasks-per-node="))
        return subprocess.run(["bash", "-c", script], env=self.environment(STAND_IN_TASKS=tasks, **variables), text=True,
                              capture_output=True, timeout=60, check=False)

    def steps(self):
        """The options of every srun so far."""
        return [json.loads(line) for line in self.steps_file.read_text().splitlines()]
