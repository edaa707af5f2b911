"""The Slurm of a lab (scripts/lab up --slurm): what its user `ops` runs, and what its administrator installs."""

import contextlib
import pathlib
import shutil
import subprocess

from harness.lab import DOCKDIST
from harness.waiting import eventually

AS_OPS = ["setpriv", "--reuid", "ops", "--regid", "ops", "--init-groups", "env", "HOME=/home/ops", "USER=ops", "LOGNAME=ops",
          "SHELL=/bin/bash"]


class Slurm:
    """`program` is where the hosts find dockdist, whose libraries they have."""

    program = "/shared/dockdist"

    def __init__(self, lab):
        self.lab = lab
        assert "LAB_SLURM_ETC" in lab.env, f"the lab has no Slurm: scripts/lab --name {lab.env['LAB_NAME']} up 3 --slurm"
        self.etc = pathlib.Path(lab.env["LAB_SLURM_ETC"])
        self.hosts = range(1, int(lab.env["LAB_HOSTS"]) + 1)

    def command(self, host, line, *arguments):
        """To run a line of sh as ops in /shared, where everybody may write; $1 and so on are `arguments`."""
        return self.lab.command("exec", str(host), *AS_OPS, "sh", "-c", "cd /shared\n" + line, "sh", *map(str, arguments))

    def as_ops(self, host, line, *arguments, code=0, timeout=100, input=None):
        """Runs it to its end; `code` None accepts any exit code."""
        done = subprocess.run(self.command(host, line, *arguments), text=True, capture_output=True, timeout=timeout, input=input,
                              stdin=subprocess.DEVNULL if input is None else None)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{line!r} on host {host} exited with {done.returncode}, not {code}\n"
                                 f"--- stdout\n{done.stdout}--- stderr\n{done.stderr}")
        return done

    def as_root(self, host, line, *arguments):
        return self.lab.script("exec", str(host), "sh", "-euc", line, "sh", *map(str, arguments))

    def submit(self, *options, script):
        """sbatch's job ID."""
        return self.as_ops(1, 'sbatch --parsable "$@"', *options, input=f"#!/bin/sh\n{script}\n").stdout.strip()

    def state(self, job):
        """Empty for one that Slurm has forgotten."""
        return self.as_ops(1, 'squeue --noheader --states all --format %T --jobs "$1"', job, code=None).stdout.strip()

    def has_ended(self, job):
        """Epilogs included."""
        return self.state(job) not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")

    def end(self, job):
        self.as_ops(1, 'scancel "$1"', job)
        eventually(lambda: self.has_ended(job), f"job {job} has ended", timeout=60)

    @contextlib.contextmanager
    def installed(self, kind, script):
        """A copy of a script as the site's only prolog or epilog."""
        copy = self.etc / f"{kind}.d" / "50-test"
        # By another name first: a script that is being written cannot be run.
        shutil.copy(script, copy.parents[1] / "new")
        (copy.parents[1] / "new").chmod(0o755)
        (copy.parents[1] / "new").rename(copy)
        try:
            yield
        finally:
            copy.unlink()

    def heal(self):
        """Ends what a test that was killed has left, and brings the newest dockdist."""
        for kind in ("prolog", "epilog"):
            (self.etc / f"{kind}.d/50-test").unlink(missing_ok=True)
        self.as_root(1, "scancel --user ops")
        eventually(lambda: not self.as_root(1, "squeue --noheader"), "no job is left", timeout=60)
        down = self.as_root(1, "sinfo --noheader --states down,drain --format %n").split()
        for node in set(down):
            self.as_root(1, 'scontrol update "nodename=$1" state=resume', node)
        eventually(lambda: self.as_root(1, "sinfo --noheader --partition batch --states idle --format %D").split() == [str(len(self.hosts))],
                   "all nodes are idle", timeout=60)
        program = self.lab.shared / "dockdist"
        if not DOCKDIST.exists() or (program.exists() and program.stat().st_mtime == DOCKDIST.stat().st_mtime):
            return
        new = program.with_suffix(".new")
        shutil.copy2(DOCKDIST, new)
        new.chmod(0o755)
        new.rename(program)
