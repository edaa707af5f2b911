"""The program's bill of materials in SPDX 2.3: what was linked into it or included from, package by package, and its toolkits."""

import hashlib
import json
import re
import time
import urllib.parse

import supply


def of_debian(name, version, architecture):
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{architecture}-in-program"), "name": name, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version, safe=':~.-')}"
                                                  f"?arch={architecture}&distro=bookworm"}]}


def of_program(build, target, version, commit, program, epoch):
    """`target`: the program's name in the build. `commit`: that it says it was built from; may be empty."""
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    own = {"SPDXID": "SPDXRef-dockdist", "name": "dockdist", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "checksums": [{"algorithm": "SHA256", "checksumValue": digest}], "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
           "copyrightText": "NOASSERTION", "primaryPackagePurpose": "APPLICATION"} | ({"sourceInfo": f"commit {commit}"} if commit else {})
    packages, relations = [own], [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-dockdist"}]
    for package in supply.packages_used(build, target):
        packages.append(of_debian(*package))
        relations.append({"spdxElementId": "SPDXRef-dockdist", "relationshipType": "STATIC_LINK", "relatedSpdxElement": packages[-1]["SPDXID"]})
    for file in sorted((build / "src/client/toolkit").glob("toolkit.*.spdx.json")):
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


def linked(bill):
    """The packages that a bill says the program is made of."""
    inside = {each["relatedSpdxElement"] for each in bill["relationships"] if each["relationshipType"] == "STATIC_LINK"}
    return [supply.Package(each["name"], each["versionInfo"], re.search(r"[?&]arch=(\w+)", each["externalRefs"][0]["referenceLocator"])[1])
            for each in bill["packages"] if each["SPDXID"] in inside]
