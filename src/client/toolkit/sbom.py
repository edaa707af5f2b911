#!/usr/bin/env python3
"""Writes the toolkit's software bill of materials, in SPDX 2.3: sbom.py LOCK TAR VERSION OUTPUT

The same inputs give the same bytes: its time is that of the packages' lock, its name that of the tar.
"""

import hashlib
import json
import pathlib
import re
import sys
import tarfile
import urllib.parse


def packages_of(lock):
    """The lock's lines: dictionaries with name, version, architecture, sha256, path."""
    keys = ("name", "version", "architecture", "sha256", "path")
    return [dict(zip(keys, line.split(), strict=True)) for line in lock.splitlines() if line and not line.startswith("#")]


def of_package(package):
    """One Debian package, or wheel. Scanners know it by its purl."""
    version = urllib.parse.quote(package["version"], safe=":~.-")
    wheel = package["path"].startswith("pypi/")
    if wheel:
        origin = {"supplier": "Organization: PyPI",
                  "downloadLocation": "NOASSERTION"}
        purl = f"pkg:pypi/{package['name']}@{version}"
    else:
        origin = {"supplier": "Organization: Debian", "downloadLocation": "https://snapshot.debian.org/archive/" + package["path"]}
        purl = (f"pkg:deb/debian/{urllib.parse.quote(package['name'])}@{version}"
                f"?arch={package['architecture']}&distro=bookworm")
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package['name']}-{package['architecture']}"),
        "name": package["name"],
        "versionInfo": package["version"],
        **origin,
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": package["sha256"]}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": purl,
        }],
    }


def sbom(lock, tar, version):
    """`lock`: its text; `tar`: the toolkit's path; `version`: dockdist's."""
    digest = hashlib.sha256(tar.read_bytes()).hexdigest()
    loader = next(name for name in tarfile.open(tar).getnames() if name.startswith("lib/ld-linux"))
    architecture = "amd64" if "x86-64" in loader else "arm64"
    packages = [one for one in packages_of(lock) if one["architecture"] == architecture]
    day = max(found[1] for one in packages if (found := re.search(r"/(\d{8})T", one["path"])))
    toolkit = {
        "SPDXID": "SPDXRef-toolkit",
        "name": "dockdist-toolkit",
        "versionInfo": f"{version}+{digest[:12]}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "ARCHIVE",
    }
    parts = [of_package(one) for one in packages]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"dockdist-toolkit-{digest[:12]}",
        "documentNamespace": f"https://spdx.org/spdxdocs/dockdist-toolkit-{digest}",
        "creationInfo": {"created": f"{day[:4]}-{day[4:6]}-{day[6:]}T00:00:00Z", "creators": [f"Tool: dockdist-{version}"]},
        "packages": [toolkit, *parts],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-toolkit"},
            *({"spdxElementId": "SPDXRef-toolkit", "relationshipType": "CONTAINS", "relatedSpdxElement": one["SPDXID"]}
              for one in parts),
        ],
    }


def main():
    lock, tar, version, output = sys.argv[1:]
    document = sbom(pathlib.Path(lock).read_text(), pathlib.Path(tar), version)
    pathlib.Path(output).write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
