"""What jobs leave outlives their nodes: over another image, `down`, another checkout; and how it goes. (On each kind of engine: main_job of test_engines.py.)"""

import json
import pathlib
import shutil
import tempfile

from harness import assert_in, cluster
from harness.clusters import Cluster, stores_on


def kept_on(c):
    return [volume for engine in c.lab.all_engines for volume in stores_on(engine, c.name)]


def looks_back(c, job, line):
    """All that a job has left is there."""
    assert_in(line, c.run("logs", job, "--raw").stdout)
    [known] = json.loads(c.run("jobs", job, "-o", "json").stdout)["jobs"]
    assert (known["state"], known["exit_code"]) == ("done", 0), known
    page = pathlib.Path(c.folder) / "page.html"
    c.run("jobs", job, "--report", page)
    assert job in page.read_text()


def test_history_stays_over_another_image_and_down_and_purge_removes_it(lab):
    with cluster(lab, "t-history") as c:
        c.write().run("up")
        c.run("run", "--name", "night", "--", "sh", "-c", "echo here-$RANK")
        c.write(container="shm_size: 32m").run("up")  # the containers are others
        looks_back(c, "night", "here-0")
        assert_in("the history of 1 job, ", c.run("down").stdout)
        c.assert_clean()
        assert len(kept_on(c)) == 2
        looks_back(c, "night", "here-0")
        assert_in("night", c.run("jobs").stdout)
        c.assert_clean()  # what has read it is gone
        assert_in("stays on the hosts", c.run("down").stdout)
        c.run("up")
        looks_back(c, "night", "here-0")
        c.run("run", "--name", "night", "--", "true")
        assert_in("night.run2", c.run("jobs").stdout)
        c.run("down", "--purge")
        assert kept_on(c) == []
        assert_in("there is no job", c.run("logs", "night", code=None).stderr)


def test_history_of_a_cluster_that_is_down_is_read_from_another_checkout(lab):
    with cluster(lab, "t-elsewhere") as c:
        c.write().run("up")
        c.run("run", "--name", "night", "--", "sh", "-c", "echo here-$RANK")
        c.run("down")
        other = Cluster(lab, c.name)
        try:
            shutil.copy(pathlib.Path(c.folder) / "cluster.yaml", other.folder)
            looks_back(other, "night", "here-0")
            assert_in("--take-over", other.run("down", "--purge", code=1).stderr)
            assert len(kept_on(c)) == 2
        finally:
            shutil.rmtree(other.folder, ignore_errors=True)

