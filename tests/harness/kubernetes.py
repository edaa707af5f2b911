"""What Kubernetes itself would say of a manifest: the schemas of its extensions, where they are at hand, and those of its own kinds,
which PyPI's kubernetes-validate holds; and what the kubelet makes of a container's command."""

import functools
import json
import os
import pathlib
import re
import zipfile

import jsonschema
import pytest
import yaml

from harness.lab import ROOT
from harness.wheels import NoWheel, wheel

# The extensions' own files, as their projects publish them. They are no part of this project.
CRDS = pathlib.Path(os.environ.get("DOCKDIST_CRDS", ROOT.parent / "shared/crds"))
FILES = {("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobset.yaml",
         ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "trainjobs.yaml",
         ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): "trainingruntimes.yaml"}

# It is numbered as Kubernetes is, whose schemas it holds.
PACKAGE, VERSION = "kubernetes-validate", "1.37.0"


def closed(schema):
    """The schema, in which an object may have no other fields than those that are named: the API server drops such, and says
    nothing."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made["additionalProperties"] = False
    return made


@functools.cache
def validator_of(version, kind):
    file = CRDS / FILES[version, kind]
    if not file.exists():
        pytest.skip(f"no schema of {kind} at hand: {file} (DOCKDIST_CRDS says where they are)")
    with file.open(encoding="utf-8") as text:
        crd = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = next(each for each in crd["spec"]["versions"] if each["name"] == version.split("/")[1])
    schema = closed(found["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}  # the API server's own
    return jsonschema.Draft7Validator(schema)


def mistakes(manifest):
    """What the schema of its kind says of a manifest."""
    validator = validator_of(manifest["apiVersion"], manifest["kind"])
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(manifest)]


@functools.cache
def schemas():
    """The package, of whose 100 MB two files are read."""
    try:
        return zipfile.ZipFile(wheel(PACKAGE, VERSION))
    except NoWheel as error:
        pytest.skip(str(error))


def schema_in_wheel(name):
    return json.loads(schemas().read(f"kubernetes_validate/kubernetes-json-schema/v{VERSION}-local-strict/{name}.json"))


@functools.cache
def strict_validator(kind, version):
    schema, shared = schema_in_wheel(f"{kind}-{version}".lower().replace("/", "-")), schema_in_wheel("_definitions")
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(schema, store={shared["$id"]: shared}))


def strict_mistakes(manifests):
    """What Kubernetes' own schemas say of manifests of its kinds, in which no field may stand that they do not name."""
    return [f"{manifest['metadata']['name']} {'.'.join(map(str, error.absolute_path))}: {error.message}" for manifest in manifests
            for error in strict_validator(manifest["kind"], manifest["apiVersion"]).iter_errors(manifest)]


def job_of(manifest):
    """The batch/v1 Job that JobSet's controller makes of a JobSet, or of the one in a TrainingRuntime."""
    spec = manifest["spec"] if manifest["kind"] == "JobSet" else manifest["spec"]["template"]["spec"]
    [replicated] = spec["replicatedJobs"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"{manifest['metadata']['name']}-{replicated['name']}-0"},
            "spec": replicated["template"]["spec"]}


def expand(text, variables):
    """What the kubelet makes of `$(NAME)` and `$$` in a word of a command, or in a value of the environment."""
    def one(match):
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0]) if match[1] is not None else match[0]
    return re.sub(r"\$\$|\$\(([^)]*)\)", one, text)


def environment(pod, more, secrets=None):
    """The environment of the pod's container, in the order of its list; `more` is what the controllers add. What comes from the
    pod itself is looked up there by its path."""
    [container] = pod["containers"]
    made = {}
    for entry in container["env"]:
        if "value" in entry:
            made[entry["name"]] = expand(entry["value"], made)
        elif "secretKeyRef" in entry["valueFrom"]:
            made[entry["name"]] = secrets[entry["valueFrom"]["secretKeyRef"]["key"]]
        else:
            made[entry["name"]] = more[entry["valueFrom"]["fieldRef"]["fieldPath"]]
    return {**made, **{name: value for name, value in more.items() if "." not in name}}


def command(pod, variables):
    [container] = pod["containers"]
    return [expand(word, variables) for word in container.get("command", []) + container.get("args", [])]
