"""Images between engines that keep them in different ways: Docker's graph drivers, containerd's image store, Podman's storage."""

import contextlib
import gzip
import hashlib
import http.server
import io
import json
import os
import tarfile
import threading

from harness import assert_in, cluster
from harness.many_hosts import every_host, layers, nothing_is_left
from harness.proxy import Proxy
from harness.registry import Maker, new_image


def forget(engines, ref):
    for engine in engines:
        engine.call("DELETE", f"/v1.40/images/{ref}?force=1")


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def index_with_attestation(name, content, **config):
    """An OCI layout as BuildKit makes it: an index of an image, its layer compressed, and of what attests it, for no platform;
    and of a platform that is not there, as after a pull. `content`: of the layer's one file."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        entry = tarfile.TarInfo("blob")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    blobs = {}

    def put(media_type, data, **more):
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        blobs[digest(data)] = data
        return {"mediaType": f"application/vnd.{media_type}", "digest": digest(data), "size": len(data), **more}

    def manifest(config, layers, **more):
        kind = "oci.image.manifest.v1+json"
        return put(kind, {"schemaVersion": 2, "mediaType": f"application/vnd.{kind}", "layers": layers,
                          "config": put("oci.image.config.v1+json", config)}, **more)

    def index(manifests):
        return {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}

    config = {"architecture": "amd64", "os": "linux", "config": config,
              "rootfs": {"type": "layers", "diff_ids": [digest(layer.getvalue())]}}
    image = manifest(config, [put("oci.image.layer.v1.tar+gzip", gzip.compress(layer.getvalue(), 1))],
                     platform={"architecture": "amd64", "os": "linux"})
    statement = put("in-toto+json", {"_type": "https://in-toto.io/Statement/v0.1"})
    attests = manifest({"architecture": "unknown", "os": "unknown", "rootfs": {"type": "layers", "diff_ids": [statement["digest"]]}},
                       [statement], platform={"architecture": "unknown", "os": "unknown"},
                       annotations={"vnd.docker.reference.digest": image["digest"], "vnd.docker.reference.type": "attestation-manifest"})
    absent = {**image, "digest": "sha256:" + "ab" * 32, "platform": {"architecture": "arm64", "os": "linux"}}
    whole = put("oci.image.index.v1+json", index([image, attests, absent]), annotations={"io.containerd.image.name": f"docker.io/{name}"})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in [("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'), ("index.json", json.dumps(index([whole])).encode()),
                           *((f"blobs/{key.replace(':', '/')}", data) for key, data in blobs.items())]:
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def test_an_image_goes_from_every_kind_of_store_to_all_kinds(lab):
    """{graph driver, containerd, Podman} × {from, to}: each of them in turn is the only one that has it."""
    with cluster(lab, "t-stores") as c:
        r = Maker(lab)
        ref = "t-stores/train:1"
        engines = every_host(lab, c, ref)
        try:
            new_image(r, ref, size=2 << 20)
            want = layers(engines[0], ref)
            for kind in ("docker", "podman", "containerd"):
                source = lab.kinds.index(kind)
                assert layers(engines[source], ref) == want
                forget([engine for engine in engines if engine is not engines[source]], ref)
                pushed = c.run("image", "push", "--from", f"node-{source}")
                assert_in(f"{ref} is on every host: sent to {len(engines) - 1} of {len(engines)}", pushed.stdout)
                assert [layers(engine, ref) for engine in engines] == [want] * len(engines), kind
                listed = json.loads(c.run("image", "ls", "-o", "json").stdout)
                assert listed["same"] and len({host["chain_id"] for host in listed["hosts"]}) == 1, listed
            assert_in("is on every host already", c.run("image", "push", "--from", "node-0").stdout)
            # What a registry, or BuildKit, leaves in containerd's store: compressed layers, an index, an attestation.
            forget(engines, ref)
            source = lab.kinds.index("containerd")
            content = os.urandom(1 << 20)

            def load(**config):
                status, said = engines[source].call("POST", "/v1.40/images/load?quiet=1", index_with_attestation(ref, content, **config))
                assert status == 200 and b"Loaded image" in said, said

            load()
            want = layers(engines[source], ref)
            c.run("image", "push", "--from", f"node-{source}")
            assert [layers(engine, ref) for engine in engines] == [want] * len(engines)
            # The same layers that begin otherwise are another image, and each kind of engine tells it alike once it has it.
            load(Env=["PATH=/bin", "B=2", "A=1"], Entrypoint=["/bin/sh"], Cmd=["-c", "true"], User="1000:1000", WorkingDir="/tmp")
            assert_in(f"node-{source} has ", c.run("image", "ls", code=1).stdout)
            assert_in("the same layers, but another environment, entrypoint, command, user, working directory", c.run("image", "ls", code=1).stdout)
            pushed = c.run("image", "push", "--from", f"node-{source}")
            assert_in(f"sent to {len(engines) - 1} of {len(engines)}", pushed.stdout)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            nothing_is_left(lab, c)
        finally:
            forget(engines, ref)
            r.remove()


@contextlib.contextmanager
def plain_server(address):
    """Speaks plain HTTP where no engine takes that; its address and port."""
    server = http.server.ThreadingHTTPServer((address, 0), http.server.BaseHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{address}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_an_engine_that_takes_nothing_over_plain_http_gets_the_image_from_here(lab):
    """Each engine is brought to refuse what it would refuse of its own if loopback were no exception to it: Docker is sent to
    an address of which it wants TLS, and Podman loses the word that spares it that."""
    with cluster(lab, "t-tls") as c, contextlib.ExitStack() as stack:
        r = Maker(lab)
        ref = "t-tls/train:1"
        engines = every_host(lab, c, ref)
        plain = stack.enter_context(plain_server(lab.env["LAB_MACHINE_ADDRESS"])).replace(":", "%3A").encode()

        def wants_tls(part):
            if b"/images/create?fromImage=127.0.0.1%3A" in part:
                begin, rest = part.split(b"fromImage=127.0.0.1%3A", 1)
                return begin + b"fromImage=" + plain + rest[rest.index(b"%2F"):]
            return part.replace(b"tlsVerify=false", b"tlsVerify=true")

        refusing = [1, lab.kinds.index("podman"), lab.kinds.index("containerd")]
        text = c.file.read_text()
        for i in refusing:
            address = lab.all_addresses[i]
            proxy = stack.enter_context(contextlib.closing(Proxy(address)))
            proxy.rewrite = wants_tls
            text = text.replace(f"docker: 'tcp://{address}:2375', insecure: true", f"docker: '{proxy.url}', address: {address}")
        c.file.write_text(text)
        try:
            new_image(r, ref, size=3 << 20)
            want = layers(engines[0], ref)
            pushed = c.run("image", "push", "--from", "node-0")
            names = ", ".join(f"node-{i}" for i in sorted(refusing))
            assert_in(f"{names}: their engines do not take images from their own loopback over plain HTTP: loading it from this machine, ",
                      pushed.stderr)
            assert_in("MiB more over this machine's link", pushed.stderr)
            # The hosts behind one that refuses got it from there all the same.
            assert [layers(engine, ref) for engine in engines] == [want] * len(engines)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            nothing_is_left(lab, c)
        finally:
            forget(engines, ref)
            r.remove()
