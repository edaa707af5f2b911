"""A wheel that holds one program and the templates: pip puts them into the environment's bin/ and share/dockdist/."""

import base64
import hashlib
import time
import zipfile


def write_wheel(root, folder, version, machine, summary, description, epoch):
    # It is static: any C library, and none, will do. pip wants one of these names for it.
    tag = f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
    information = f"dockdist-{version}.dist-info"
    metadata = (f"Metadata-Version: 2.1\nName: dockdist\nVersion: {version}\nSummary: {summary}\nLicense: Apache-2.0\n"
                f"Requires-Python: >=3.7\nClassifier: Operating System :: POSIX :: Linux\nDescription-Content-Type: text/plain\n\n{description}\n")
    wheel = f"Wheel-Version: 1.0\nGenerator: dockdist\nRoot-Is-Purelib: false\n" + "".join(
        f"Tag: py3-none-{platform}\n" for platform in tag.removeprefix("py3-none-").split("."))
    templates = root / "usr/share/dockdist"
    files = [(f"dockdist-{version}.data/scripts/dockdist", (root / "usr/bin/dockdist").read_bytes(), 0o755),
             *((f"dockdist-{version}.data/data/share/dockdist/{path.relative_to(templates).as_posix()}", path.read_bytes(), 0o644)
               for path in sorted(templates.rglob("*")) if path.is_file()),
             (f"{information}/METADATA", metadata.encode(), 0o644),
             (f"{information}/WHEEL", wheel.encode(), 0o644)]
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content, _ in files)
    files.append((f"{information}/RECORD", f"{record}{information}/RECORD,,\n".encode(), 0o644))
    with zipfile.ZipFile(folder / f"dockdist-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
