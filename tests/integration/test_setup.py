"""setup: commands that make nodes ready, once on each."""

import json
import re

from harness import assert_in, cluster

SETUP = """setup:
  - "cat names.txt; echo $$DOCKDIST_NODE >> /tmp/first"
  - {run: "id -u >> /tmp/second", user: root}
  - {run: "echo $$DOCKDIST_NODE >> /shared/%s/log", target: /shared/%s}
sync: ["code:/workspace"]"""


def test_nodes_are_made_ready_once_and_again_where_something_changed(lab):
    name = "t-setup"
    shared = lab.shared / name
    with cluster(lab, name) as c:
        try:
            (c.folder / "code").mkdir()
            (c.folder / "code/names.txt").write_text("ada\n")
            c.write(container="user: \"1234:1234\"\nworkdir: /workspace\nmounts: [\"/shared:/shared\"]", more=SETUP % (name, name))
            shared.mkdir()
            shared.chmod(0o777)
            up = c.up()
            for line in ("node-0: ada", "node-1: ada", "1 of 3: setup: `cat names.txt; echo $DOCKDIST_NODE >> /tmp/first` on node-0, node-1",
                         f"another node has set up /shared/{name}"):
                assert_in(line, up.stderr)

            def seen(node):
                return c.run("exec", node, "--", "sh", "-c", "cat /tmp/first /tmp/second").stdout

            assert (seen("node-0"), seen("node-1")) == ("node-0\n0\n", "node-1\n0\n")
            once = (shared / "log").read_text()
            assert re.fullmatch(r"node-[01]\n", once), once

            again = c.up()
            assert "setup" not in again.stderr, again.stderr
            assert_in("all 3 commands of `setup` were done before", c.run("setup").stdout)
            assert json.loads(c.run("jobs", "-o", "json").stdout)["jobs"] == []
            assert_in("no job has run on these nodes", c.run("logs", code=125).stderr)

            (c.folder / "code/names.txt").write_text("bob\n")
            changed = json.loads(c.run("setup", "-o", "json").stdout.splitlines()[-1])
            assert [(line["done"], line["before"]) for line in changed["setup"]] == [
                (["node-0", "node-1"], []), ([], ["node-0", "node-1"]), ([], ["node-0", "node-1"])], changed
            assert seen("node-1") == "node-1\nnode-1\n0\n"

            engine, container = c.container("node-1")
            engine.call("DELETE", f"/v1.40/containers/{container}?force=1&v=1")
            anew = c.up()
            assert_in("`cat names.txt; echo $DOCKDIST_NODE >> /tmp/first` on node-1 (", anew.stderr)
            assert (seen("node-0"), seen("node-1")) == ("node-0\nnode-0\n0\n", "node-1\n0\n")
            assert (shared / "log").read_text() == once, "the shared target is as it was"

            bad = c.file.read_text().replace("sync:", "  - \"test $$DOCKDIST_NODE = node-0 || exit 7\"\nsync:")
            c.file.write_text(bad)
            failed = c.up(code=1)
            assert_in("error: node-1: setup, command 4 of 4: `test $DOCKDIST_NODE = node-0 || exit 7` ended with exit code 7", failed.stderr)
            assert_in("`dockdist ssh node-1`", failed.stderr)
            assert_in("node-1", c.run("status").stdout)
            assert_in("is up already", c.up("--no-setup").stdout)
            assert "setup-" not in c.run("jobs").stdout
        finally:
            for left in shared.glob("*"):
                left.unlink()
            for left in shared.glob(".dockdist-setup"):
                left.unlink()
            shared.rmdir()
