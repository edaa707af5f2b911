"""Proxies of docker's own configuration, as `docker run` gives them to containers."""

import json

from harness import assert_in, cluster

SHOW = ["sh", "-c", "env | grep -i proxy"]
PASSWORD = "hunter2"


def test_proxies_of_docker_reach_what_runs_in_nodes_and_their_password_nobody(lab, tmp_path):
    with cluster(lab, "t-proxies") as c:
        def configure(**proxies):
            (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": proxies, "tcp://192.0.2.1": {"httpProxy": "http://other"}}}))

        docker = {"DOCKER_CONFIG": str(tmp_path)}
        network = lab.addresses[0].rsplit(".", 1)[0] + ".0/24"
        proxy = f"http://ada:{PASSWORD}@proxy.example.org:3128"
        configure(httpProxy=proxy, httpsProxy="http://https.example.org", allProxy="socks5://all.example.org", noProxy=".example.org")
        c.write(hosts=2, container="env: {https_proxy: 'http://file.example.org'}", more=f"setup: [\"env > /tmp/setup\"]\nnetwork: {{subnet: {network}}}")
        c.up(**docker)
        spared = f".example.org,{network},localhost,127.0.0.1,::1,node-0,{lab.addresses[0]},node-1,{lab.addresses[1]}"

        def proxies_in(text):
            return dict(line.split("=", 1) for line in text.split("\n") if "proxy" in line.split("=")[0].lower())

        wanted = {**dict.fromkeys(("http_proxy", "HTTP_PROXY"), proxy), **dict.fromkeys(("all_proxy", "ALL_PROXY"), "socks5://all.example.org"),
                  **dict.fromkeys(("no_proxy", "NO_PROXY"), spared), "https_proxy": "http://file.example.org"}
        ran = c.run("run", "--nodes", "1", "--", *SHOW, **docker)
        assert proxies_in(ran.stdout.replace("[node-0] ", "")) == wanted, ran.stdout
        assert proxies_in(c.run("exec", "node-1", "--", *SHOW, **docker).stdout) == wanted
        assert proxies_in(c.run("exec", "node-0", "--", "cat", "/tmp/setup").stdout) == wanted
        # What the job's own --env says wins, in both cases; and a job's ssh has the same.
        other = c.run("run", "--nodes", "1", "--env", "HTTP_PROXY=http://mine", "--", "sh", "-c", "env | grep -i http_; ssh node-1 'env | grep -i http_'", **docker)
        assert proxies_in(other.stdout.replace("[node-0] ", "")) == {"HTTP_PROXY": "http://mine"}, other.stdout
        # No container holds them, so another proxy recreates none.
        dry = c.run("run", "--dry-run", "-o", "json", "--", "true", **docker)
        assert_in("HTTP_PROXY", dry.stdout)
        configure(httpProxy="http://another.example.org")
        assert c.run("plan", **docker).stdout == "nothing to do\n"
        for engine in lab.engines:
            for found in engine.containers(cluster=c.name):
                assert PASSWORD not in json.dumps(engine.get(f"/v1.40/containers/{found['Id']}/json"))
        for said in (ran, other, dry, c.run("jobs", "-o", "json"), c.run("status", "-v")):
            assert PASSWORD not in said.stderr
        assert PASSWORD not in dry.stdout + c.run("jobs", "-o", "json").stdout
