"""What jobs leave is read while their nodes are gone, by the program's own containers: on stub engines, whose containers run dockdist-init."""

from harness import assert_in, cluster
from harness.namespaces import NEEDED
from harness.stubs import IMAGE, stubs

pytestmark = NEEDED


def test_history_is_read_while_the_cluster_is_down_and_until_it_is_purged():
    with stubs(2) as engines, cluster(engines, "t-history") as c:
        c.write(hosts=2, image=IMAGE).up()
        c.run("run", "--name", "night", "--", "sh", "-c", "echo here-$NODE_RANK")
        output = sorted(c.run("logs", "night").stdout.splitlines())
        assert_in("[node-1] here-1", output)
        assert_in("the history of 1 job, ", c.run("down").stdout)
        assert sorted(c.run("logs", "night").stdout.splitlines()) == output
        assert_in("done, exit code 0", c.run("jobs", "night").stdout)
        assert_in("night", c.run("jobs", "--since", "1d").stdout)
        c.assert_clean()  # what has read it is gone
        assert_in("in 2 volumes, stays on the hosts", c.run("down").stdout)
        c.up()
        assert sorted(c.run("logs", "night").stdout.splitlines()) == output
        assert c.run("plan").stdout == "nothing to do\n"
        assert_in("the history of its jobs in 2 volumes too", c.run("down", "--purge").stdout)
        assert_in("there is no job", c.run("logs", "night", code=125).stderr)


def test_a_job_of_a_node_that_is_gone_is_read_beside_those_that_are_there():
    with stubs(2) as engines, cluster(engines, "t-half") as c:
        c.write(hosts=2, image=IMAGE).up()
        c.run("run", "--name", "night", "--", "sh", "-c", "echo here-$NODE_RANK")
        engine, container = c.container("node-1")
        engine.call("DELETE", f"/v1.40/containers/{container}?force=1")
        said = c.run("logs", "night")
        assert_in("here-0", said.stdout)
        assert_in("here-1", said.stdout)
        assert_in("node-1 is not up: what it has kept of earlier jobs is read from its volume", said.stderr)
