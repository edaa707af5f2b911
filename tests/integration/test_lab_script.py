"""scripts/lab: which lab it takes for the one asked for, and that it takes down no lab with clusters on it unasked."""

import json
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import LAB_NAME, ROOT, Engine, assert_in, cluster


def lab_script(*arguments, name=LAB_NAME, root=ROOT):
    return subprocess.run([f"{root}/scripts/lab", "--name", name, *arguments], text=True, capture_output=True)


def engine_pid(name=LAB_NAME):
    """Of the dockerd that the lab's hosts are containers of: another one is another lab."""
    return Path(f"/run/dockdist-lab/{name}/engine.pid").read_text()


def place_container(engine, cluster_name):
    """Nothing is run in it: that it is there, as a node of the cluster, is what counts."""
    body = {"Image": "dockdist-lab/busybox", "Cmd": ["true"], "Labels": {"dockdist.cluster": cluster_name}}
    status, data = engine.call("POST", "/v1.40/containers/create", body)
    assert status == 201, data
    return json.loads(data)["Id"]


def test_the_same_sources_in_another_checkout_find_the_lab_up(lab):
    with cluster(lab, "t-elsewhere") as c, tempfile.TemporaryDirectory() as elsewhere:
        place_container(lab.engines[0], c.name)  # a lab taken for another one would only be refused, not taken down
        for folder in ("scripts", "compose", "docker"):
            shutil.copytree(ROOT / folder, Path(elsewhere) / folder)
        before = engine_pid()
        done = lab_script("up", *shlex.split(lab.env["LAB_UP"]), root=elsewhere)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [lab.env["LAB_CLUSTER_FILE"]]
        assert engine_pid() == before


def test_a_lab_that_has_clusters_is_not_rebuilt_unasked(lab):
    with cluster(lab, "t-unasked") as c, cluster(lab, "t-unasked-too") as other:
        engines = [lab.engines[1], *lab.podman_engines[:1]]
        for engine in engines:
            place_container(engine, c.name)
        place_container(lab.engines[0], other.name)
        before = engine_pid()
        done = lab_script("up", "1", "--gpus", "7")
        assert done.returncode == 1 and not done.stdout, done
        hosts = ["host-2", *(f"host-{number}" for number in lab.podman[:1])]
        assert_in(f"  {c.name} on {', '.join(hosts)}\n  {other.name} on host-1\n", done.stderr)
        assert_in("--force", done.stderr)
        assert engine_pid() == before
        assert len(c.all_containers()) == len(engines) and len(other.all_containers()) == 1


def test_a_lab_that_has_clusters_is_rebuilt_with_force(lab):
    name = f"{LAB_NAME}-force"
    try:
        assert lab_script("up", "1", name=name).returncode == 0
        engine = Engine(f"/run/dockdist-lab/{name}/host-1/docker.sock")
        place_container(engine, "t-lost")
        assert lab_script("up", "1", "--gpus", "1", name=name).returncode == 1
        assert engine.containers(cluster="t-lost")
        done = lab_script("up", "1", "--gpus", "1", "--force", name=name)
        assert done.returncode == 0, done.stderr
        assert not engine.containers()
    finally:
        lab_script("down", name=name)


def test_a_slurm_takes_no_hosts_that_cannot_run_its_version(lab):
    before = engine_pid()
    for kind in ("--podman", "--containerd-store"):
        done = lab_script("up", "2", "--slurm", kind, "2")
        assert done.returncode == 2 and not done.stdout, done
        assert_in("the hosts of --slurm run Debian 12's Docker, all of them", done.stderr)
    assert engine_pid() == before
