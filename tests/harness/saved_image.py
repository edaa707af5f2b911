"""An image of random bytes that no host has, for the stubs' engine that is this machine's own."""

import hashlib
import io
import json
import os
import tarfile

LAYERS = 8
NAME = "stub/bench:1"


def save_image(folder, size):
    """A tar as `docker save` writes it, and what an engine tells of the image."""
    layers = []
    for _ in range(LAYERS):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            entry = tarfile.TarInfo("blob")
            entry.size = size // LAYERS
            tar.addfile(entry, io.BytesIO(os.urandom(entry.size)))
        layers.append(data.getvalue())
    digests = [hashlib.sha256(layer).hexdigest() for layer in layers]
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest for digest in digests]}}).encode()
    name = hashlib.sha256(config).hexdigest()
    manifest = json.dumps([{"Config": f"blobs/sha256/{name}", "RepoTags": [NAME], "Layers": [f"blobs/sha256/{d}" for d in digests]}]).encode()
    path = folder / "image.tar"
    with tarfile.open(path, "w") as tar:
        for at, content in [(f"blobs/sha256/{name}", config), *((f"blobs/sha256/{d}", layer) for d, layer in zip(digests, layers)),
                            ("manifest.json", manifest)]:
            entry = tarfile.TarInfo(at)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    details = {"Id": "sha256:" + name, "RootFS": {"Layers": ["sha256:" + digest for digest in digests]}, "Size": size}
    (folder / "image.tar.json").write_text(json.dumps(details))
    return path
