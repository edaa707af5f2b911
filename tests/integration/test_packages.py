"""Each package, installed where nothing else is, brings a cluster up on the lab's hosts, runs a job and takes it down."""

import json
import subprocess
import sys

import pytest

from harness import cluster
from harness.lab import DOCKDIST, ROOT

pytestmark = pytest.mark.packages


def test_every_package_runs_a_job_from_a_bare_root(lab):
    with cluster(lab, "t-packages") as c:
        c.write(hosts=2)
        done = subprocess.run([sys.executable, ROOT / "scripts/packaging/prove.py", DOCKDIST.parent / "package/packages", "--suites", "", "--file", c.file],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("up, run, down\n") == 3, done.stdout
        c.assert_clean()


def test_the_image_holds_the_program(lab):
    engine = lab.engines[0]
    [image] = (DOCKDIST.parent / "package/packages").glob("*-image-*.tar")
    version = image.name.split("-")[1]
    status, said = engine.call("POST", "/v1.40/images/load?quiet=1", image.read_bytes())
    assert status == 200, said
    status, made = engine.call("POST", "/v1.40/containers/create?name=t-packages-image", {"Image": f"dockdist:{version}", "Cmd": ["--version"]})
    try:
        assert status == 201, made
        container = json.loads(made)["Id"]
        assert engine.call("POST", f"/v1.40/containers/{container}/start")[0] == 204
        assert json.loads(engine.call("POST", f"/v1.40/containers/{container}/wait")[1])["StatusCode"] == 0
        told = engine.call("GET", f"/v1.40/containers/{container}/logs?stdout=1")[1]
        assert told.endswith(f"dockdist {version}\n".encode()), told
    finally:
        engine.call("DELETE", "/v1.40/containers/t-packages-image?force=1")
        engine.call("DELETE", f"/v1.40/images/dockdist:{version}")
