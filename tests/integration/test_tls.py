"""Real engines whose certificates, or ours, are wrong: each is refused, by name, with what to do."""

import contextlib
import shutil
import subprocess

from harness import assert_in, cluster, eventually
from harness.patience import Watch
from harness.transports import tls_keys, write, write_context


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)


def make_authority(folder, name):
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt")


def issue(folder, authority, name, subject, days="1"):
    """NAME.crt and NAME.key; with no days it expires in the second in which it was made."""
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.req")
    (folder / "extensions").write_text(f"subjectAltName={subject}\n")
    openssl(folder, "x509", "-req", "-in", f"{name}.req", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-CAcreateserial",
            "-days", days, "-extfile", "extensions", "-out", f"{name}.crt")


@contextlib.contextmanager
def engine(lab, number, port, folder, authority, certificate):
    """One more dockerd on a host, with that certificate. It listens when its start returns."""
    place = f"/run/test-engine-{port}"

    def in_host(script):
        return lab.script("exec", str(number), "sh", "-euc", script)

    in_host(f"mkdir -p {place}")
    for source, name in ((f"{authority}.crt", "ca"), (f"{certificate}.crt", "cert"), (f"{certificate}.key", "key")):
        subprocess.run(lab.command("exec", str(number), "sh", "-c", f"cat >{place}/{name}"), check=True, input=(folder / source).read_bytes())
    in_host(f"setsid dockerd --data-root {place}/data --exec-root {place}/exec --pidfile {place}/pid"
            f" --host tcp://0.0.0.0:{port} --tlsverify --tlscacert {place}/ca --tlscert {place}/cert --tlskey {place}/key"
            f" --bridge=none --iptables=false --ip6tables=false --storage-driver vfs >{place}/log 2>&1 </dev/null &")
    try:
        eventually(lambda: "API listen on" in in_host(f"cat {place}/log"), f"the engine on port {port} listens")
        yield
    finally:
        in_host(f"pid=$(cat {place}/pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.05; done; rm -rf {place}")


def refused(c, *wanted, **environment):
    watch = Watch()
    done = c.run("up", code=1, **environment)
    assert watch.within(10), watch
    for part in ("node-0", *wanted):
        assert_in(part, done.stderr)


def test_engines_with_wrong_certificates_are_refused_and_ours_too(lab):
    with cluster(lab, "t-tls") as c:
        folder, address = c.folder, lab.addresses[1]
        make_authority(folder, "ca")
        make_authority(folder, "other")
        issue(folder, "ca", "client", "DNS:client")
        issue(folder, "ca", "right", f"IP:{address}")
        issue(folder, "ca", "elsewhere", "IP:192.0.2.1,DNS:elsewhere")
        issue(folder, "ca", "expired", f"IP:{address}", days="0")
        files = {name: folder / name for name in ("good", "wrong-ca")}
        for name, path in files.items():
            path.mkdir()
            shutil.copy(folder / ("other.crt" if name == "wrong-ca" else "ca.crt"), path / "ca.pem")
            shutil.copy(folder / "client.crt", path / "cert.pem")
            shutil.copy(folder / "client.key", path / "key.pem")

        def by(keys, port=2476):
            write(c, [f"docker: 'tcp://{address}:{port}', {keys}"])

        with engine(lab, 2, 2476, folder, "ca", "right"):
            by(tls_keys(files["good"]))
            c.run("down")  # lets us in
            by(tls_keys(files["wrong-ca"]))
            refused(c, f"the certificate of tcp://{address}:2476 cannot be trusted", "does tls.ca name the CA that signed the engine's certificate?")
            by(f"tls: {{ca: {files['good']}/ca.pem}}")
            assert_in("`cert` is missing", c.run("up", code=2).stderr)
            # A context may have no certificate of ours.
            write_context(folder, "bare", f"tcp://{address}:2476", files["good"], names=["ca.pem"])
            write(c, ["context: bare"])
            refused(c, "the engine refused our TLS certificate", "tls.cert and tls.key", DOCKER_CONFIG=str(folder))
        with engine(lab, 2, 2477, folder, "ca", "elsewhere"):
            by(tls_keys(files["good"]), 2477)
            refused(c, "cannot be trusted: IP address mismatch", f"it does not name {address}")
        with engine(lab, 2, 2478, folder, "ca", "expired"):
            by(tls_keys(files["good"]), 2478)
            refused(c, "cannot be trusted: certificate has expired", "renew it on that host")
