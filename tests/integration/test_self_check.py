"""What dockdist says of itself and of the machine that it runs on."""

import json

from harness import assert_in
from harness.command_tree import dockdist

SECRETS = {"http_proxy": "http://me:hunter2@proxy:3128", "HTTPS_PROXY": "https://hunter2@proxy:3129/?key=hunter2",
           "ALL_PROXY": "socks5://me:hunter2/@b@proxy", "DOCKDIST_HOSTS": "ssh://ops@10.0.0.1,ssh://ops:hunter2@10.0.0.2"}


def rows(code=0, **environment):
    done = dockdist("self-check", "-o", "json", **environment)
    assert done.returncode == code and done.stderr == "", done
    found = json.loads(done.stdout)
    return found, {row["check"]: row for row in found["rows"]}


def test_it_tells_what_this_build_is_and_where_it_looks(tmp_path):
    (tmp_path / "cluster.yaml").write_text("")
    found, by_check = rows(DOCKDIST_FILE=str(tmp_path / "cluster.yaml"))
    told = json.loads(dockdist("version", "-o", "json").stdout)
    assert (found["version"], found["toolkit"], found["works"]) == (told["version"], told["toolkit"], True)
    assert len(by_check) == len(found["rows"])
    assert_in(str(tmp_path / "cluster.yaml"), by_check["cluster"]["text"])
    assert_in("OpenSSL 3", by_check["libraries"]["text"])
    assert_in("OpenSSH_", by_check["ssh"]["text"])
    assert_in("glibc 2.", by_check["system"]["text"])
    text = dockdist("self-check").stdout
    for check in by_check:
        assert_in(f"  {check} ", text)


def test_it_tells_no_secret(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"registry.example": {"auth": "hunter2"}, "b": {"identitytoken": "hunter2"}},
                                                      "HttpHeaders": {"X-Token": "hunter2"}, "credsStore": "pass",
                                                      "proxies": {"default": {"httpProxy": "http://me:hunter2@proxy"}}}))
    secrets = {**SECRETS, "DOCKER_CONFIG": str(tmp_path), "DOCKER_HOST": "tcp://me:hunter2@10.0.0.3:2375", "SLURM_JOB_ID": "7",
               "SLURM_TOKEN": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter2"}
    for words in (["self-check"], ["self-check", "-o", "json"]):
        done = dockdist(*words, **secrets)
        assert done.returncode == 0 and "hunter2" not in done.stdout + done.stderr, done
    _, by_check = rows(**secrets)
    assert_in("http_proxy=http://***@proxy:3128", by_check["proxies"]["text"])
    assert_in("ssh://ops@10.0.0.1,ssh://***@10.0.0.2", by_check["cluster"]["text"])
    for password in ("pa,hunter2", "pa hunter2", "hunter2/@?#,"):
        _, odd = rows(https_proxy=f"http://me:{password}@proxy:3128", no_proxy="a,b")
        assert_in("https_proxy=http://***@proxy:3128; no_proxy=a,b", odd["proxies"]["text"])
    assert_in("2 logins", by_check["docker"]["text"])
    assert_in("SLURM_JOB_ID=7", by_check["slurm"]["text"])


def test_what_is_odd_is_a_warning_that_says_what_to_do(tmp_path):
    _, by_check = rows(HOME=str(tmp_path / "none"), TMPDIR="/nowhere", LC_ALL="xx_XX.UTF-8", SSH_AUTH_SOCK="/nowhere", DOCKER_CONTEXT="none",
                       PATH=str(tmp_path), DOCKDIST_FILE="/nowhere/cluster.yaml")
    odd = {check for check, row in by_check.items() if row["state"] == "warn"}
    assert odd == {"home", "temporary", "locale", "ssh", "contexts", "cluster"}, by_check
    assert all(by_check[check]["hint"] for check in odd)
    assert_in("there is no ssh", by_check["ssh"]["text"])
