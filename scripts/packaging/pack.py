#!/usr/bin/env python3
"""pack.py BUILD STAGE OUTPUT: the packages for one architecture, of what `cmake --install` has put into STAGE/root; called by scripts/package.

The same files and SOURCE_DATE_EPOCH give the same bytes: every entry has that time, and nobody's name."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import textwrap
import time

import sbom
from supply import setting
from verify import commit_of
from wheel import write_wheel

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # a Debian architecture, as the kernel and rpm call it
MAINTAINER = "The authors of dockdist <dockdist@dockdist.invalid>"
CERTIFICATES = pathlib.Path("/usr/share/ca-certificates/mozilla")  # Debian's ca-certificates
SUMMARY = "multi-node GPU jobs in containers on plain Docker hosts"
DESCRIPTION = ("dockdist talks to the Docker Engine API of each host, creates GPU containers with host networking, shared mounts and "
               "an sshd of their own, writes the hostfiles, and launches multi-node training jobs inside them: DeepSpeed, torchrun, "
               "accelerate, mpirun, horovodrun, Ray. Nothing is installed on the hosts.")


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"package: {command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def tar_of(entries, compress):
    """`entries`: (name in the tar, path, bytes, or None for a folder, mode); folders before them as needed."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        made = set()
        for name, content, mode in entries:
            for folder in reversed([str(parent) for parent in pathlib.PurePosixPath(name).parents if str(parent) != "."]):
                if folder not in made:
                    made.add(folder)
                    entry = tarfile.TarInfo(folder)
                    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, EPOCH
                    tar.addfile(entry)
            entry = tarfile.TarInfo(name)
            if content is None:
                made.add(name)
                entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, mode, EPOCH
                tar.addfile(entry)
                continue
            content = content if isinstance(content, bytes) else content.read_bytes()
            entry.size, entry.mode, entry.mtime = len(content), mode, EPOCH
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(data.getvalue(), 9, mtime=0) if compress else data.getvalue()


def is_program(path):
    return path.parent.name == "bin" or path.suffix == ".sh"


def files_below(folder):
    return [(path.relative_to(folder).as_posix(), path, 0o755 if is_program(path) else 0o644)
            for path in sorted(folder.rglob("*")) if path.is_file()]


def write_tarball(root, target):
    top = target.name.removesuffix(".tar.gz")
    target.write_bytes(tar_of([(f"{top}/{name}", path, mode) for name, path, mode in files_below(root / "usr")], compress=True))


def write_deb(root, stage, target, version, architecture):
    folder = stage / "deb"
    shutil.copytree(root, folder)
    documents = folder / "usr/share/doc/dockdist"
    (documents / "LICENSE").unlink()  # Debian has it in common-licenses
    (documents / "copyright").write_text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: dockdist\n\nFiles: *\n"
        "Copyright: 2026 The authors of dockdist\nLicense: Apache-2.0\n On Debian systems, the text of this license is in\n"
        " /usr/share/common-licenses/Apache-2.0.\n")
    day = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(EPOCH))
    (documents / "changelog.gz").write_bytes(gzip.compress(
        f"dockdist ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n -- {MAINTAINER}  {day}\n".encode(), 9, mtime=0))
    for page in sorted((folder / "usr/share/man").rglob("*.[15]")) if (folder / "usr/share/man").exists() else []:
        page.with_name(page.name + ".gz").write_bytes(gzip.compress(page.read_bytes(), 9, mtime=0))
        page.unlink()
    zsh = folder / "usr/share/zsh"  # Debian's place for what packages bring
    (zsh / "site-functions").rename(zsh / "vendor-completions")
    overrides = folder / "usr/share/lintian/overrides/dockdist"
    overrides.parent.mkdir(parents=True)
    overrides.write_text("# One program for Debian 11, 12, 13 and Ubuntu: their libraries differ in version.\n"
                         "dockdist: statically-linked-binary\ndockdist: embedded-library\n"
                         "dockdist: shared-library-lacks-prerequisites\n"
                         "# A package of upstream's, not of Debian's.\ndockdist: initial-upload-closes-no-bugs\n"
                         "# The project has no address for mail.\ndockdist: bogus-mail-host *\ndockdist: bogus-mail-host-in-debian-changelog *\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1024
    body = "\n".join(" " + line for line in textwrap.wrap(DESCRIPTION, 78))
    (folder / "DEBIAN").mkdir()
    (folder / "DEBIAN/control").write_text(
        f"Package: dockdist\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\nSection: admin\nPriority: optional\n"
        f"Installed-Size: {size}\nRecommends: openssh-client\nDescription: {SUMMARY}\n{body}\n")
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {name}\n" for name, path, _ in files_below(folder) if not name.startswith("DEBIAN/")]
    (folder / "DEBIAN/md5sums").write_text("".join(sums))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or is_program(path) else 0o644)
        os.utime(path, (EPOCH, EPOCH))
    run("dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", folder, target)


def write_rpm(root, stage, target, version, machine):
    names = "\n".join("/" + name for name, _, _ in files_below(root))
    specification = stage / "dockdist.spec"
    specification.write_text(textwrap.dedent(f"""\
        Name: dockdist
        Version: {version}
        Release: 1
        Summary: {SUMMARY[0].upper() + SUMMARY[1:]}
        License: Apache-2.0
        AutoReqProv: no
        Provides: dockdist = {version}
        %define _buildhost localhost
        %define _build_id_links none
        %define __os_install_post %{{nil}}
        %define _binary_payload w3.zstdio
        %description
        """) + "\n".join(textwrap.wrap(DESCRIPTION, 78)) + f"\n%install\ncp -a {root}/usr %{{buildroot}}/\n%files\n%defattr(-,root,root)\n{names}\n")
    run("rpmbuild", "-bb", "--target", machine, "--define", f"_topdir {stage}/rpm", "--define", "use_source_date_epoch_as_buildtime 1",
        "--define", "clamp_mtime_to_source_date_epoch 1", "--define", f"_sourcedir {stage}", specification)
    [made] = (stage / "rpm/RPMS" / machine).glob("*.rpm")
    shutil.move(made, target)


def write_image(root, target, version, architecture):
    """As `docker save` writes it: FROM scratch, with the certificates that registries and engines are checked against."""
    # Not this machine's own list, to which somebody may have added theirs.
    certificates = b"".join(path.read_bytes() for path in sorted(CERTIFICATES.glob("*.crt")))
    layer = tar_of([("etc/passwd", b"root:x:0:0:root:/root:/\n", 0o644), ("etc/ssl/certs/ca-certificates.crt", certificates, 0o644),
                    ("root", None, 0o700), ("tmp", None, 0o1777), ("var/tmp", None, 0o1777), ("usr/bin/dockdist", root / "usr/bin/dockdist", 0o755)], compress=False)
    config = json.dumps({
        "architecture": architecture, "os": "linux", "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
        "config": {"Entrypoint": ["/usr/bin/dockdist"], "WorkingDir": "/work", "Env": ["PATH=/usr/bin", "HOME=/root"],
                   "Labels": {"org.opencontainers.image.title": "dockdist", "org.opencontainers.image.version": version}},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": [f"dockdist:{version}"], "Layers": ["layer.tar"]}]).encode()
    target.write_bytes(tar_of([(name, config, 0o644), ("layer.tar", layer, 0o644), ("manifest.json", manifest, 0o644)], compress=False))


def main():
    build, stage, output = map(pathlib.Path, sys.argv[1:])
    root = stage / "root"
    version = setting(build, "CMAKE_PROJECT_VERSION")
    told = run("readelf", "--file-header", root / "usr/bin/dockdist")
    architecture = "arm64" if "AArch64" in told else "amd64"
    machine = MACHINES[architecture]
    os.umask(0o022)
    bill = output / f"dockdist-{version}-linux-{machine}.spdx.json"
    target = f"dockdist-{architecture}" if architecture == setting(build, "DOCKDIST_FOREIGN") else "dockdist"
    program = root / "usr/bin/dockdist"
    bill.write_text(json.dumps(sbom.of_program(build, target, version, commit_of(program.read_bytes()), program, EPOCH), indent=2) + "\n")
    shutil.copy(bill, root / "usr/share/doc/dockdist/dockdist.spdx.json")
    for path in root.rglob("*"):  # cmake --install keeps the times of the sources' files, which are a checkout's
        os.utime(path, (EPOCH, EPOCH))
    write_tarball(root, output / f"dockdist-{version}-linux-{machine}.tar.gz")
    write_deb(root, stage, output / f"dockdist_{version}_{architecture}.deb", version, architecture)
    write_rpm(root, stage, output / f"dockdist-{version}-1.{machine}.rpm", version, machine)
    write_wheel(root, output, version, machine, SUMMARY, DESCRIPTION, EPOCH)
    write_image(root, output / f"dockdist-{version}-image-{architecture}.tar", version, architecture)


main()
