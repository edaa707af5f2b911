"""A real registry (Debian's docker-registry) on the lab's network: TLS, a login, and a front that does what goes wrong.

The registry listens on this machine's address in the lab; the hosts trust its certificate (/etc/docker/certs.d). The
front passes everything on, to the registry and back, until a test sets its `fault`.
"""

import contextlib
import crypt
import http.client
import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from harness.patience import Watch

USER, PASSWORD = "alice", "s:cret"


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        registry = self.server.registry
        fault = registry.fault(self.path) if registry.fault else None
        if fault == "limit":
            body = json.dumps({"errors": [{"code": "TOOMANYREQUESTS", "message": "You have reached your pull rate limit"}]})
            return self.answer(429, {"Content-Type": "application/json"}, body.encode())
        inner = http.client.HTTPSConnection(registry.address, registry.port, context=registry.trust, timeout=30)
        asked = {name: ", ".join(self.headers.get_all(name)) for name in self.headers}  # Accept comes in several lines
        inner.request(self.command, self.path, headers=asked)
        response = inner.getresponse()
        body = response.read()
        headers = {k: v for k, v in response.getheaders() if k.lower() not in ("content-length", "transfer-encoding")}
        if self.command == "HEAD":
            headers["Content-Length"] = response.getheader("Content-Length") or "0"
        if fault == "damage" and len(body) > 100:
            body = body[:-50] + bytes(50)
        inner.close()
        self.answer(response.status, headers, body, cut=fault == "cut")

    def answer(self, status, headers, body, cut=False):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(OSError):  # an engine that has seen enough
                self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True


class Maker:
    """Makes images on the hosts, with docker's own command line and a configuration of its own."""

    def __init__(self, lab):
        self.lab = lab
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dockdist-registry-"))

    def docker(self, host, *arguments, input=None):
        done = subprocess.run(["docker", "--host", f"unix://{self.lab.sockets[host]}", "--config", str(self.folder / "docker"),
                               *arguments], input=input, text=True, capture_output=True)
        assert done.returncode == 0, f"docker {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Registry(Maker):
    def __init__(self, lab):
        super().__init__(lab)
        self.address = lab.env["LAB_MACHINE_ADDRESS"]
        self.fault = None  # a function from a request's path to "limit", "damage", "cut" or None
        self.process = self.front = None
        self.port = self.front_port = 0

    @property
    def name(self):
        return f"{self.address}:{self.port}"

    @property
    def faulty_name(self):
        return f"{self.address}:{self.front_port}"

    def start(self):
        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=lab registry", "-addext", f"subjectAltName=IP:{self.address}",
                        "-keyout", key, "-out", cert], check=True, capture_output=True)
        self.trust = ssl.create_default_context(cafile=str(cert))
        (self.folder / "htpasswd").write_text(f"{USER}:{crypt.crypt(PASSWORD, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n")
        with socket.socket() as free:
            free.bind((self.address, 0))
            self.port = free.getsockname()[1]
        (self.folder / "config.yml").write_text(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {self.folder}/data}}}}\n"
            f"http:\n  addr: {self.name}\n  tls: {{certificate: {cert}, key: {key}}}\n"
            f"auth: {{htpasswd: {{realm: lab, path: {self.folder}/htpasswd}}}}\n")
        self.process = subprocess.Popen(["docker-registry", "serve", str(self.folder / "config.yml")],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until_it_listens()
        self.front = http.server.ThreadingHTTPServer((self.address, 0), Front)
        self.front.registry = self
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.front.socket = context.wrap_socket(self.front.socket, server_side=True)
        self.front_port = self.front.server_port
        threading.Thread(target=self.front.serve_forever, daemon=True).start()
        self.on_hosts(f"for r in {self.name} {self.faulty_name}; do mkdir -p /etc/docker/certs.d/$r /etc/containers/certs.d/$r; "
                      f"for d in docker containers; do cat >/etc/$d/certs.d/$r/ca.crt <<'END'\n{cert.read_text()}END\ndone; done")

    def wait_until_it_listens(self):
        watch = Watch()
        while True:
            assert self.process.poll() is None, "docker-registry ended"
            with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), timeout=1):
                return
            assert watch.within(20), f"docker-registry does not listen: {watch}"
            time.sleep(0.05)

    def on_hosts(self, script):
        for host in range(1, int(self.lab.env["LAB_HOSTS"]) + 1):
            subprocess.run(self.lab.command("exec", str(host), "sh", "-ec", script), check=True, capture_output=True)

    def stop(self):
        if self.front:
            self.front.shutdown()
            self.front.server_close()
        if self.process:
            self.process.terminate()
            self.process.wait(20)
        self.on_hosts(f"rm -rf /etc/docker/certs.d/{self.address}:* /etc/containers/certs.d/{self.address}:*")
        self.remove()

    def push(self, image, tag, host=0):
        """Puts an image of a host into the registry, as NAME/`tag`; returns that reference."""
        self.docker(host, "login", "--username", USER, "--password-stdin", self.name, input=PASSWORD)
        self.docker(host, "tag", image, f"{self.name}/{tag}")
        self.docker(host, "push", f"{self.name}/{tag}")
        self.docker(host, "rmi", f"{self.name}/{tag}")
        return f"{self.name}/{tag}"

    def forget(self, *references):
        """Takes images away from every host, so that a pull has something to bring."""
        for host in range(len(self.lab.engines)):
            for reference in references:
                self.lab.engines[host].call("DELETE", f"/v1.40/images/{reference}?force=1")


def new_image(registry, tag, size=3 << 20, host=0):
    """A small image of its own, made on one host: busybox and a layer of random bytes."""
    container = registry.docker(host, "create", "dockdist-lab/busybox", "true").strip()
    blob = registry.folder / "blob"
    with open("/dev/urandom", "rb") as random:
        blob.write_bytes(random.read(size))
    registry.docker(host, "cp", str(blob), f"{container}:/blob")
    registry.docker(host, "commit", container, tag)
    registry.docker(host, "rm", container)
    return tag


@contextlib.contextmanager
def registry(lab):
    made = Registry(lab)
    try:
        made.start()
        yield made
    finally:
        made.stop()
