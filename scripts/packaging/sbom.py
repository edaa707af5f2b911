"""The program's bill of materials in SPDX 2.3: what was linked into it or included from, package by package, and its toolkits."""

import hashlib
import json
import re
import subprocess
import time
import urllib.parse


def run(*command):
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True).stdout


def files_used(build):
    """Those outside of the project that the program is made of: headers by Ninja's record, archives by the linker's line."""
    commands = run("ninja", "-C", build, "-t", "commands", "dockdist")
    objects = set(re.findall(r" -o (\S+\.o)\b", commands))
    found = set(re.findall(r"/usr/lib/\S+\.a\b", commands))
    wanted = False
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            wanted = line.split(":")[0] in objects
        elif wanted and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def packages_used(build):
    """{name of a Debian package: (version, architecture)}, of this machine's program. The C and C++ libraries are linked without being
    named."""
    files = sorted(files_used(build)) + [run("clang++-19", f"-print-file-name={name}").strip() for name in ("libc.a", "libstdc++.a", "libgcc.a")]
    names = set()
    for line in run("dpkg-query", "--search", *files).splitlines():
        names.update(each.strip() for each in line.rpartition(": ")[0].split(",") if not line.startswith("diversion"))
    told = run("dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Architecture}\n", *sorted(names))
    return {name: (version, architecture) for name, version, architecture in (line.split() for line in told.splitlines())}


def versions_of_foreign(names, libraries, architecture):
    """{name: version} of what differs in the program for the other architecture: the libraries that it is linked with, unpacked for it
    alone, and its C and C++ libraries, which come from Debian's cross compilers."""
    cross = {f"{name}-{architecture}-cross": name for name in names}
    told = run("dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *cross)
    found = {cross[name]: version for name, version in (line.split() for line in told.splitlines() if len(line.split()) == 2)}
    return found | dict(line.split() for line in (libraries / "versions").read_text().splitlines())


def of_debian(name, version, architecture):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{architecture}-in-program"), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version, safe=':~.-')}"
                                                  f"?arch={architecture}&distro=bookworm"}]}


def of_program(build, version, program, architecture, foreign_libraries, epoch):
    """`architecture`: in Debian's words. `foreign_libraries`: what the program for the other one is linked with; None for this machine's."""
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    own = {"SPDXID": "SPDXRef-dockdist", "name": "dockdist", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"}
    packages, relations = [own], [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-dockdist"}]
    used = packages_used(build)
    other = versions_of_foreign(used, foreign_libraries, architecture) if foreign_libraries else {}
    for name, (number, kind) in sorted(used.items()):
        packages.append(of_debian(name, other.get(name, number), "all" if kind == "all" else architecture))
        relations.append({"spdxElementId": "SPDXRef-dockdist", "relationshipType": "STATIC_LINK", "relatedSpdxElement": packages[-1]["SPDXID"]})
    for file in sorted((build / "src/toolkit").glob("toolkit.*.spdx.json")):
        toolkit = json.loads(file.read_text())
        prefix = f"SPDXRef-{file.name.removesuffix('.spdx.json')}-"
        text = json.dumps([toolkit["packages"], toolkit["relationships"]]).replace("SPDXRef-", prefix).replace(f"{prefix}DOCUMENT", "SPDXRef-dockdist")
        more, related = json.loads(text.replace('"DESCRIBES"', '"CONTAINS"'))
        packages += more
        relations += related
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"dockdist-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/dockdist-{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": [f"Tool: dockdist-{version}"]},
            "packages": packages, "relationships": relations}
