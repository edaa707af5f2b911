"""What Kubernetes itself would say of a manifest: the schemas of its extensions, where they are at hand, and kubernetes-validate,
which has those of Kubernetes' own kinds; and what the kubelet makes of a container's command."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jsonschema
import pytest
import yaml

from harness.lab import ROOT

# The extensions' own files, as their projects publish them. They are no part of this project.
CRDS = pathlib.Path(os.environ.get("DOCKDIST_CRDS", ROOT.parent / "shared/crds"))
FILES = {("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobset.yaml",
         ("trainer.kubeflow.org/v1alpha1", "TrainJob"): "trainjobs.yaml",
         ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): "trainingruntimes.yaml"}

VALIDATE = "kubernetes-validate==1.37.0"
VALIDATE_FOLDER = pathlib.Path(os.environ.get("DOCKDIST_BUILD", ROOT / "build")) / "python" / VALIDATE.replace("==", "-")


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
def kubernetes_validate():
    """The folder of the package, from PyPI: 100 MB, the schemas of all versions."""
    if not VALIDATE_FOLDER.exists():
        VALIDATE_FOLDER.parent.mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=VALIDATE_FOLDER.parent)
        got = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:", "--retries=1", "--target", fresh,
                              VALIDATE], capture_output=True, text=True, check=False)
        if got.returncode != 0:
            shutil.rmtree(fresh)
            pytest.skip(f"{VALIDATE} is not to be had: {got.stderr.strip().splitlines()[-1:]}")
        try:
            os.rename(fresh, VALIDATE_FOLDER)
        except OSError:  # another test was faster
            shutil.rmtree(fresh)
    return VALIDATE_FOLDER


def strict_mistakes(manifests):
    """What kubernetes-validate says of manifests of Kubernetes' own kinds, strictly: nothing, or its complaint."""
    folder = kubernetes_validate()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump_all(manifests, file)
        file.flush()
        done = subprocess.run([sys.executable, "-m", "kubernetes_validate", "--strict", "--no-warn", file.name],
                              env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


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
