"""Engines that their administrators have set otherwise: each works, or says before anything is made what is in the way."""

import json
import re

from harness import assert_in, cluster
from harness.authorization import NAME, authorized
from harness.proxy import proxies, write_through
from harness.settings import engine_settings

REMAPS = "remaps users (`userns-remap`): remapped containers cannot use the host's network, which every node needs"


def test_an_engine_that_remaps_users_is_told_before_anything_is_made(lab):
    with cluster(lab, "t-userns") as c, engine_settings(lab, 2, {"userns-remap": "default"}):
        url = f"tcp://{lab.addresses[1]}:2375"
        c.write()
        for command in ("plan", "up"):
            assert_in(f"error: node-1 ({url}): Engine 26.1.5+dfsg1 {REMAPS}\n  → take `userns-remap` out of the host's "
                      "/etc/docker/daemon.json", c.run(command, code=2).stderr)
        rows = json.loads(c.run("check", "-o", "json", code=1).stdout)["rows"]
        assert [row["subject"] for row in rows if row["state"] == "fail" and REMAPS in row["text"]] == ["node-1"]
        said = c.run("image", "push", "--from", "node-0", code=1).stderr
        assert_in("cannot share the host's network namespace when user namespaces are enabled\n  → that engine remaps users", said)
        c.assert_clean()


def test_what_an_authorization_plugin_refuses_is_told_with_the_plugin_and_the_call(lab):
    with cluster(lab, "t-warden") as c, authorized(lab, 2) as plugin:
        url = f"tcp://{lab.addresses[1]}:2375"
        denied = f"authorization denied by plugin {NAME}: not for you\n  → ask the administrator of that host to let its " \
                 f"authorization plugin {NAME} pass this call: "

        def refused(call, *command, code=1):
            plugin.refused = call
            try:
                return re.sub(r"[0-9a-f]{12}\b", "SHORT", c.run(*command, code=code).stderr)
            finally:
                plugin.refused = None

        c.write()
        assert_in(f"error: node-1 ({url}): greet the engine: {denied}GET /_ping", refused("GET /_ping", "up"))
        said = refused("POST /containers/create", "up", "--no-check")
        assert_in(f"error: node-1 ({url}): create container dockdist-{c.name}-", said)
        assert_in(f": {denied}POST /containers/create", said)
        c.assert_clean()
        c.run("down", "--purge")
        said = refused("PUT /containers/[^/]*/archive", "up", "--no-check")
        assert_in(f": {denied}PUT /containers/ID/archive", said)
        c.run("down", "--purge")
        c.up()
        row, = [row["text"] for row in json.loads(c.run("check", "-o", "json").stdout)["rows"]
                if row["check"] == "engine" and row["subject"] == "node-1"]
        assert_in(f", authorization by {NAME}, ", row)
        assert_in(f"error: node-1: prepare a command in container SHORT: {denied}POST /containers/ID/exec",
                  refused("POST /containers/[^/]*/exec", "run", "--", "hostname", code=125))
        assert_in(f": {denied}POST /exec/ID/start", refused("POST /exec/[^/]*/start", "run", "--", "hostname", code=125))
        assert sorted(c.run("run", "--", "hostname").stdout.splitlines()) == ["[node-0] node-0", "[node-1] node-1"]
        assert_in(f"error: node-1 ({url}): remove container SHORT: {denied}DELETE /containers/ID",
                  refused("DELETE /containers", "down"))
        assert [found["Labels"]["dockdist.node"] for found in c.all_containers()] == ["node-1"]
        plugin.broken = True
        assert_in(f"plugin {NAME} failed with error: AuthZPlugin.AuthZReq:\n  → tell the administrator of that "
                  f"host that its authorization plugin {NAME} does not work", c.run("status", code=1).stderr)
        plugin.broken = False
        c.run("down")
        c.assert_clean()


def test_a_mount_gets_its_label_on_an_engine_with_selinux(lab):
    """This kernel has no SELinux: what the engines say of themselves is changed on the way, and they take what they are asked."""
    with cluster(lab, "t-selinux") as c, proxies(lab) as made:
        folder = lab.shared / c.name
        folder.mkdir(exist_ok=True)
        (folder / "text").write_text("labelled\n")
        mounts = f"mounts: ['/shared/{c.name}:/data:ro,z,rslave', '/shared:/all', 'cache:/cache:nocopy,z']"
        write_through(c, made)
        c.file.write_text(c.file.read_text().replace("container:", f"container:\n  {mounts}"))
        assert c.run("plan").stderr == ""
        assert_in("/shared but it is not a shared or slave mount\n  → on that host the mount that this folder is on is private",
                  c.run("up", "--no-check", code=1).stderr)
        c.file.write_text(c.file.read_text().replace("rslave", "rprivate"))
        made[1].edit = lambda data: re.sub(rb'"name=seccomp,profile=\w{7}"', b'"name=selinux"'.ljust(30), data)
        said = c.up().stderr
        assert_in("makes a folder of `container.mounts` with `z` or `Z` if it is missing on its host", said)
        assert_in("SELinux is on in Engine 26.1.5+dfsg1: its nodes reach /shared only where the folder's label lets containers in", said)
        asked = [engine.inspect(container)["HostConfig"] for engine, container in map(c.container, ("node-0", "node-1"))]
        assert asked[0].get("Binds") is None and asked[1]["Binds"] == [f"/shared/{c.name}:/data:ro,z,rprivate"]
        data, = [mount for mount in asked[0]["Mounts"] if mount["Target"] == "/data"]
        assert data["BindOptions"] == {"Propagation": "rprivate"} and data["ReadOnly"]
        for node in ("node-0", "node-1"):
            assert c.run("exec", node, "--", "cat", "/data/text").stdout == "labelled\n"
        assert c.run("plan").stdout == "nothing to do\n"
        c.run("down")
        for engine in lab.engines:
            engine.call("DELETE", "/v1.40/volumes/cache")
