"""up and down on two real engines, of different versions."""

import json
import re
import time
import urllib.parse

from harness import assert_in, cluster, eventually, read_until
from harness.terminal import Terminal


def test_busybox_nodes_come_up_and_log_in_to_each_other(lab):
    with cluster(lab, "t-busybox") as c:
        c.write()
        assert_in("is up: 2 nodes, 2 slots", c.run("up").stdout)
        for a, b in (("node-0", "node-1"), ("node-1", "node-0")):
            assert c.run("exec", a, "--", "ssh", b, "hostname").stdout == b + "\n"
        c.run("down")
        c.assert_clean()


def test_up_prints_events_as_json(lab):
    with cluster(lab, "t-json") as c:
        c.write()
        lines = [json.loads(line) for line in c.run("up", "-o", "json", "--timings").stdout.splitlines()]
        result = lines[-1]
        assert result["type"] == "result" and result["changed"] is True
        assert [node["node"] for node in result["nodes"]] == ["node-0", "node-1"]
        assert [node["address"] for node in result["nodes"]] == lab.addresses[:2]
        assert any(line.get("phase") == "join" for line in lines[:-1])
        # ping, look, [lock], create without RDMA devices twice, attach, start, [is it ours, unlock]
        assert all(count <= 10 for count in result["timings"]["round_trips"].values()), result["timings"]


def engine_events(engine, name, begin, end):
    """Every container event of the cluster between two moments: what was written, by the engine's own account."""
    filters = urllib.parse.quote(json.dumps({"label": [f"dockdist.cluster={name}"]}))
    status, data = engine.call("GET", f"/v1.40/events?since={begin}&until={end}&filters={filters}")
    assert status == 200
    return [json.loads(line)["Action"] for line in data.decode().splitlines() if line]


def test_a_second_up_changes_nothing_and_writes_nothing(lab):
    with cluster(lab, "t-again") as c:
        since = f"{time.time():.9f}"
        c.write().run("up")
        before = [(x["Id"], x["Created"]) for x in c.all_containers()]

        def first_has_settled():
            """An exec's end is an event of its own, which an engine tells some milliseconds after the stream has ended."""
            kinds = [event.split(":")[0] for engine in lab.engines[:2] for event in engine_events(engine, c.name, since, f"{time.time():.9f}")]
            return kinds.count("exec_start") == kinds.count("exec_die") > 0

        eventually(first_has_settled, "the sessions of the first up have ended")
        begin = f"{time.time():.9f}"
        assert_in("is up already: 2 nodes", c.run("up").stdout)
        assert c.run("plan").stdout == "nothing to do\n"
        for engine in lab.engines[:2]:
            assert engine_events(engine, c.name, begin, f"{time.time():.9f}") == []
        assert [(x["Id"], x["Created"]) for x in c.all_containers()] == before


def test_variables_and_the_folder_of_jobs_make_no_container(lab):
    with cluster(lab, "t-late") as c:
        c.write(container="env: {LR: '0.1', GONE: 'x'}\nworkdir: /tmp").up()
        before = sorted(x["Id"] for x in c.all_containers())
        job = c.detach(script="exec sleep 4719")
        c.write(container="env: {LR: '0.2', NEW: 'y'}\nworkdir: /work")
        assert_in("`env`, `workdir` or `history` changed", c.run("plan").stdout)
        c.up()
        assert sorted(x["Id"] for x in c.all_containers()) == before
        seen = "echo $LR,$GONE,$NEW,$PWD"
        assert set(c.run("run", "--share", "--", "sh", "-c", seen).stdout.splitlines()) == {f"[node-{i}] 0.2,,y,/work" for i in (0, 1)}
        assert c.run("exec", "node-1", "--", "sh", "-c", seen).stdout == "0.2,,y,/work\n"
        assert c.run("exec", "node-0", "--", "ssh", "node-1", seen).stdout == "0.2,,y,/work\n"
        assert len(c.processes("sleep 4719")) == 2
        c.run("stop", job)
        assert c.run("plan").stdout == "nothing to do\n"


def test_one_host_changed_and_that_node_alone_is_made_anew(lab):
    with cluster(lab, "t-change") as c:
        c.write().run("up")
        first, second = c.container("node-0")[1], c.container("node-1")[1]
        c.file.write_text(c.file.read_text().replace("gpus: none}", "gpus: none, env: {NVIDIA_NEW: '1'}}", 1))
        c.run("exec", "node-0", "--", "sh", "-c", "mkdir /out; head -c 5000000 /dev/zero >/out/ckpt.pt; touch /tmp/x")
        lost = r"1 file on no mount is lost with it, up to 4\.[78] MiB: /out/ckpt.pt"
        planned = c.run("plan").stdout
        assert_in("# `env.NVIDIA_NEW` changed; ", planned)
        assert re.search(lost, planned) and planned.count("on no mount") == 1, planned
        [replaced] = [each for each in json.loads(c.run("plan", "-o", "json").stdout)["operations"] if each["operation"] == "replace_container"]
        assert replaced["lost"]["files"] == 1 and replaced["lost"]["some"] == ["/out/ckpt.pt"]
        terminal = Terminal(c.command("up", "--no-check"), c.environment())
        terminal.read_until("Lose these files, and go on? [y/N]")
        terminal.type("n\n")
        assert terminal.end() == 1 and "nothing was changed: files would be lost" in terminal.seen, terminal.seen
        assert c.container("node-0")[1] == first
        up = c.run("up")  # nobody can be asked
        assert re.search(r"warning: node-0 .*" + lost, up.stderr), up.stderr
        assert c.container("node-0")[1] != first
        assert c.container("node-1")[1] == second
        # New keys on one side: both ways are open, and nothing asks about a changed host key.
        assert c.run("exec", "node-1", "--", "ssh", "node-0", "hostname").stdout == "node-0\n"
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


def test_a_node_whose_container_was_restarted_is_brought_back(lab):
    with cluster(lab, "t-restart") as c:
        c.write().run("up")
        engine, container = c.container("node-1")
        assert engine.call("POST", f"/v1.40/containers/{container}/restart?t=1")[0] == 204
        assert_in("not ready", c.run("hostfile", code=1).stderr)
        c.run("up")
        assert c.container("node-1")[1] == container
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


def test_a_client_killed_at_each_phase_leaves_what_the_next_up_completes(lab):
    for phase in ("observe", "create", "start", "join"):
        with cluster(lab, f"t-kill-{phase}") as c:
            c.write()
            client = c.start("up", "-o", "json")
            read_until(client, f'"{phase}"')
            client.kill()
            client.communicate()
            assert_in("is up", c.run("up").stdout)
            assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
            c.run("down")
            c.assert_clean()


def test_an_interrupted_up_takes_back_what_it_made(lab):
    with cluster(lab, "t-ctrl-c") as c:
        c.write()
        client = c.start("up", "-o", "json")
        read_until(client, '"create"')
        client.terminate()
        client.communicate(timeout=60)
        assert client.returncode == 130
        c.assert_clean()


def test_two_ups_at_once_end_with_one_whole_cluster(lab):
    with cluster(lab, "t-race") as c:
        c.write()
        clients = [c.start("up") for _ in range(2)]
        results = [(client.communicate(timeout=120), client.returncode) for client in clients]
        assert any(code == 0 for _, code in results), results
        for (out, err), code in results:
            if code != 0:
                assert "has been changing this cluster" in err or "run the command again" in err, err
        assert c.run("plan").stdout == "nothing to do\n"
        assert len(c.all_containers()) == 2
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"


def test_down_removes_only_what_bears_the_label(lab):
    with cluster(lab, "t-alike") as c:
        c.write().run("up")
        engine = lab.engines[0]
        name = f"dockdist-{c.name}-node-7"
        body = {"Image": "dockdist-lab/busybox", "Cmd": ["true"], "Labels": {"mine": "yes"}}
        status, data = engine.call("POST", f"/v1.40/containers/create?name={name}", body)
        assert status == 201, data
        try:
            c.run("down")
            c.assert_clean()
            assert engine.inspect(name)["Config"]["Labels"] == {"mine": "yes"}
            assert_in("nothing to remove", c.run("down").stdout)
        finally:
            engine.call("DELETE", f"/v1.40/containers/{name}?force=1")


def test_several_nodes_on_one_host_over_its_unix_socket(lab):
    with cluster(lab, "t-local") as c:
        c.file.write_text(
            f"""name: {c.name}
image: dockdist-lab/busybox
hosts:
  - {{name: node, docker: "unix://{lab.sockets[0]}", address: {lab.addresses[0]}, gpus: 2, nodes: 2}}
container: {{ulimits: {{memlock: {lab.memlock}}}}}
""")
        c.run("up")
        nodes = json.loads(c.run("hostfile", "-o", "json").stdout)
        assert [node["node"] for node in nodes] == ["node-0", "node-1"]
        assert len({node["ssh_port"] for node in nodes}) == 2
        assert [node["gpus"] for node in nodes] == [1, 1]
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        uuids = [c.run("exec", node, "--", "nvidia-smi", "-L").stdout for node in ("node-0", "node-1")]
        assert uuids[0] != uuids[1]


def test_two_hosts_of_the_file_may_be_one_engine(lab):
    with cluster(lab, "t-twin") as c:
        one = f'docker: "unix://{lab.sockets[0]}", address: {lab.addresses[0]}'
        c.file.write_text(
            f"""name: {c.name}
image: dockdist-lab/busybox
hosts: [{{name: a, {one}, gpus: [0]}}, {{name: b, {one}, gpus: [1]}}]
container: {{ulimits: {{memlock: {lab.memlock}}}}}
""")
        c.run("up")
        c.run("down", "--purge")
        uploaded = c.run("up", "-o", "json").stdout
        assert uploaded.count("toolkit uploaded") == 1, uploaded
        assert c.run("exec", "a", "--", "ssh", "b", "hostname").stdout == "b\n"
        uuids = [c.run("exec", node, "--", "nvidia-smi", "-L").stdout for node in ("a", "b")]
        assert uuids[0] != uuids[1]


def test_no_private_key_stands_in_anything_an_engine_shows(lab):
    with cluster(lab, "t-keys") as c:
        c.write().run("up")
        key = c.run("exec", "node-0", "--", "sh", "-c", "cat /run/dockdist/keys/* /run/dockdist/*/* 2>/dev/null; true").stdout
        assert_in("PRIVATE KEY", key)  # the search below would find one
        for engine in lab.engines[:2]:
            for found in engine.containers(cluster=c.name):
                shown = json.dumps(engine.inspect(found["Id"]))
                _, logs = engine.call("GET", f"/v1.40/containers/{found['Id']}/logs?stdout=1&stderr=1")
                shown += logs.decode(errors="replace") + "\n".join(engine.processes(found["Id"]))
                assert "PRIVATE KEY" not in shown


def test_a_host_sshd_and_the_users_home_are_never_touched(lab):
    with cluster(lab, "t-home") as c:
        home = lab.shared / c.name
        (home / ".ssh").mkdir(parents=True, exist_ok=True)
        (home / ".ssh/authorized_keys").write_text("ssh-ed25519 AAAA mine\n")
        c.write(container=f"mounts: ['/shared/{c.name}:/root']").run("up")
        assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname").stdout == "node-1\n"
        assert sorted(p.name for p in home.rglob("*")) == [".ssh", "authorized_keys"]
        assert (home / ".ssh/authorized_keys").read_text() == "ssh-ed25519 AAAA mine\n"


def test_an_ssh_session_sees_what_a_docker_exec_sees(lab):
    with cluster(lab, "t-env") as c:
        c.write(container="env:\n  QUOTES: 'a \"b\" $$c'\n  LINES: \"one\\ntwo\"\n  UTF8: grün\n  LD_LIBRARY_PATH: /hostile").run("up")
        engine, container = c.container("node-1")
        wanted = {line.partition("=")[0]: line.partition("=")[2] for line in engine.inspect(container)["Config"]["Env"]}
        seen = c.run("exec", "node-0", "--", "ssh", "node-1", "env -0 2>/dev/null || cat /proc/self/environ").stdout
        got = dict(entry.partition("=")[::2] for entry in seen.split("\0") if entry)
        for name, value in wanted.items():
            assert got.get(name) == value, f"{name}: {got.get(name)!r}, not {value!r}"
        assert c.run("exec", "node-1", "--", "ssh", "localhost", "echo", "$DOCKDIST_NODE").stdout == "node-1\n"
