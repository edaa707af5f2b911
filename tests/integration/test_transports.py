"""The main job over every way to an engine: unix, tcp, TLS, ssh."""

import json
import re

from harness import assert_in, cluster
from harness.patience import DURATION
from harness.ssh import Ssh
from harness.transports import hosts_by, main_job, write, write_context


def environment_of(lab, c):
    for number, address in enumerate(lab.addresses[:2], 1):
        write_context(c.folder, f"by-tls-{number}", f"tcp://{address}:2376", lab.env["LAB_TLS_DIR"])
    return {**Ssh(lab, c).environment, "DOCKER_CONFIG": str(c.folder)}


def check_tells(c, environment, ways):
    rows = json.loads(c.run("check", "-o", "json", **environment).stdout)["rows"]
    engines = [row["text"] for row in rows if row["check"] == "engine"]
    assert len(engines) == len(ways), engines
    for engine, way in zip(engines, ways):
        assert re.fullmatch(rf"Engine \S+, API 1\.\d+, {re.escape(way)}, round trip {DURATION}", engine), engine
    assert [row["text"] for row in rows if row["check"] == "clock"] == ["as on this machine"]


def test_the_main_job_runs_over_every_transport_and_check_tells_which(lab):
    with cluster(lab, "t-ways") as c:
        environment = environment_of(lab, c)
        rows = {
            "unix": [f"unix://{socket}" for socket in lab.sockets],
            "tcp": [f"tcp://{address}:2375" for address in lab.addresses],
            "tls": [f"tcp://{address} (TLS)" for address in lab.addresses],
            "context": [f"tcp://{address}:2376 (TLS)" for address in lab.addresses],
            "ssh": [f"ssh://ops@{address}" for address in lab.addresses],
        }
        for transport, ways in rows.items():
            write(c, hosts_by(lab, transport))
            main_job(c, environment, lambda: check_tells(c, environment, ways[:2]))


def test_dockers_own_variables_lead_to_an_engine_behind_tls(lab):
    with cluster(lab, "t-cert-path") as c:
        c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\ncontainer: {{ulimits: {{memlock: {lab.memlock}}}}}\n")
        environment = {"DOCKER_HOST": f"tcp://{lab.addresses[1]}:2376", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": lab.env["LAB_TLS_DIR"]}
        assert_in("is up: 1 node", c.run("up", **environment).stdout)
        assert_in(f"tcp://{lab.addresses[1]}:2376 (TLS), round trip", c.run("check", **environment).stdout)
        assert c.run("run", "--", "hostname", **environment).stdout == "[node-0] node-0\n"
        c.run("down", **environment)
        c.assert_clean()
