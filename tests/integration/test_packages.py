"""Each package, installed where nothing else is, brings a cluster up on the lab's hosts, runs a job and takes it down."""

import subprocess
import sys

from harness import cluster
from harness.lab import DOCKDIST, ROOT


def test_every_package_runs_a_job_from_a_bare_root(lab):
    with cluster(lab, "t-packages") as c:
        c.write(hosts=2)
        done = subprocess.run([sys.executable, ROOT / "scripts/packaging/prove.py", DOCKDIST.parent / "package/packages", "--suites", "", "--file", c.file],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("up, run, down\n") == 3, done.stdout
        c.assert_clean()
