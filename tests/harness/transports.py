"""The ways to an engine (unix, tcp, TLS, a context, ssh), and the main job, which is to work over each."""

import hashlib
import json
import shutil

from harness.waiting import assert_in


def tls_keys(folder):
    return f"tls: {{ca: {folder}/ca.pem, cert: {folder}/cert.pem, key: {folder}/key.pem}}"


def hosts_by(lab, transport):
    """The lines of cluster.yaml that name the lab's first two hosts."""
    forms = {
        "unix": [f"docker: 'unix://{socket}', address: {address}" for socket, address in zip(lab.sockets, lab.addresses)],
        "tcp": [f"docker: 'tcp://{address}:2375', insecure: true" for address in lab.addresses],
        "tls": [f"docker: 'tcp://{address}', {tls_keys(lab.env['LAB_TLS_DIR'])}" for address in lab.addresses],
        "context": [f"context: by-tls-{number}" for number in (1, 2)],
        "ssh": [f"docker: 'ssh://ops@{address}'" for address in lab.addresses],
    }
    return forms[transport][:2]


def write(c, hosts, file=None):
    lines = [f"name: {c.name}", "image: dockdist-lab/busybox", "hosts:"]
    lines += [f"  - {{name: node-{i}, {host}, gpus: none}}" for i, host in enumerate(hosts)]
    lines += ["container:", f"  ulimits: {{memlock: {c.lab.memlock}}}"]
    (file or c.file).write_text("\n".join(lines) + "\n")


def write_context(folder, name, url, tls=None, names=("ca.pem", "cert.pem", "key.pem")):
    """What `docker context create` writes."""
    identity = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts/meta" / identity
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": url, "SkipTLSVerify": False}}}))
    if tls:
        files = folder / "contexts/tls" / identity / "docker"
        files.mkdir(parents=True)
        for file in names:
            shutil.copy(f"{tls}/{file}", files)


def main_job(c, environment, look=lambda: None):
    assert_in("is up: 2 nodes", c.run("up", **environment).stdout)
    look()
    assert sorted(c.run("run", "--", "hostname", **environment).stdout.splitlines()) == ["[node-0] node-0", "[node-1] node-1"]
    assert c.run("exec", "node-0", "--", "ssh", "node-1", "hostname", **environment).stdout == "node-1\n"
    for node in ("node-0", "node-1"):
        assert c.run("exec", node, "--", "cat", input="half-closed\n", **environment).stdout == "half-closed\n"
    c.run("down", **environment)
    c.assert_clean()
