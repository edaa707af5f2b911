"""templates/slurm-prolog.sh and slurm-epilog.sh as a site's own, with containers as dockdist labels them, of Docker and of rootless
Podman."""

import contextlib

import pytest

from harness import ROOT, eventually

EPILOG = ROOT / "templates/slurm-epilog.sh"
PROLOG = ROOT / "templates/slurm-prolog.sh"
ENGINES = ("docker", "podman")


@pytest.fixture(scope="module")
def podman_has_busybox(slurm):
    slurm.as_root(2, "docker save dockdist-lab/busybox >/tmp/busybox.tar; chmod 644 /tmp/busybox.tar")
    slurm.as_ops(2, "podman image exists dockdist-lab/busybox || podman load --quiet --input /tmp/busybox.tar")


def place(slurm, name, *labels):
    """On host 2, in both engines: a volume, and a container that runs, and that no signal but KILL ends."""
    for engine in ENGINES:
        slurm.as_ops(2, 'engine=$1 name=$2; shift 2; "$engine" volume create "$@" "$name" >/dev/null',
                     engine, name, *(word for label in labels for word in ("--label", label)))
        slurm.as_ops(2, 'engine=$1 name=$2; shift 2; "$engine" run --detach --name "$name" --network host "$@" dockdist-lab/busybox sleep 86400 >/dev/null',
                     engine, name, *(word for label in labels for word in ("--label", label)))


def left(slurm):
    """The containers, and then the volumes."""
    return {engine: [sorted(slurm.as_ops(2, f"{engine} {listing}").stdout.split())
                     for listing in ("ps --all --format '{{.Names}}'", "volume ls --quiet --filter name=of-")] for engine in ENGINES}


@contextlib.contextmanager
def nothing_after(slurm):
    try:
        yield
    finally:
        for engine in ENGINES:
            slurm.as_ops(2, f"ids=$({engine} ps --all --quiet); [ -z \"$ids\" ] || {{ {engine} kill $ids; {engine} rm --force $ids; }}; "
                        f"{engine} volume rm $({engine} volume ls --quiet --filter name=of-)", code=None)


def placed_job(slurm):
    """A job on host 2 that has no process there: its script runs on host 1."""
    job = slurm.submit("-N2", "--nodelist=host-1,host-2", script="sleep 600")
    eventually(lambda: slurm.state(job) == "RUNNING", "the job runs", timeout=60)
    return job


def test_the_epilog_removes_what_the_job_has_left_and_nothing_else(slurm, podman_has_busybox):
    with nothing_after(slurm), slurm.installed("epilog", EPILOG):
        job, other = placed_job(slurm), placed_job(slurm)
        place(slurm, "of-job", f"dockdist.slurm-job={job}", "dockdist.cluster=t-x")
        place(slurm, "of-other", f"dockdist.slurm-job={other}")
        place(slurm, "of-nobody", "dockdist.cluster=t-y")
        slurm.as_ops(2, "mkdir /tmp/dockdist-engine-$(id -u)-$1 /tmp/dockdist-engine-$(id -u)-$2", job, other)
        slurm.end(job)
        assert left(slurm) == dict.fromkeys(ENGINES, [["of-nobody", "of-other"]] * 2)
        assert slurm.as_ops(2, "echo /tmp/dockdist-engine-*").stdout == f"/tmp/dockdist-engine-1000-{other}\n"
        slurm.end(other)
        assert left(slurm) == dict.fromkeys(ENGINES, [["of-nobody"]] * 2)


def test_the_prolog_removes_what_a_lost_job_has_left_and_nothing_else(slurm, podman_has_busybox):
    with nothing_after(slurm), slurm.installed("prolog", PROLOG):
        alive = placed_job(slurm)
        lost = placed_job(slurm)
        slurm.end(lost)
        place(slurm, "of-alive", f"dockdist.slurm-job={alive}")
        place(slurm, "of-lost", f"dockdist.slurm-job={lost}")
        place(slurm, "of-nobody", "dockdist.cluster=t-y")
        slurm.as_ops(1, "srun --nodelist host-2 true")
        assert left(slurm) == dict.fromkeys(ENGINES, [["of-alive", "of-nobody"]] * 2)
        slurm.end(alive)


def test_without_an_engine_jobs_go_on(slurm):
    with slurm.installed("epilog", EPILOG), slurm.installed("prolog", PROLOG):
        slurm.lab.script("stop-engine", "2")
        try:
            assert slurm.as_ops(1, "srun --nodelist host-2 hostname").stdout == "host-2\n"
            assert slurm.as_ops(1, "srun --nodelist host-2 hostname").stdout == "host-2\n"
            assert not slurm.as_root(1, "sinfo --noheader --states down,drain --format %n")
        finally:
            slurm.lab.script("start-engine", "2")
