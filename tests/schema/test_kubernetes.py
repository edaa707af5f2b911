"""What `dockdist export kubernetes` prints, held against the schemas of JobSet and of Kubeflow's trainer, and strictly against
Kubernetes' own. Needs python3-yaml and python3-jsonschema, the extensions' schemas (DOCKDIST_CRDS), and PyPI once."""

import copy
import json
import os
import re
import subprocess

import pytest
import yaml

from harness.kubernetes import command, environment, expand, job_of, mistakes, strict_mistakes
from harness.lab import DOCKDIST, ROOT

GOLDEN = sorted((ROOT / "tests/golden/export/kubernetes").glob("*.yaml"))


def manifests(file):
    return list(yaml.safe_load_all(file.read_text(encoding="utf-8")))


def with_jobs(files):
    return [each for file in files for each in manifests(file) if each["kind"] != "TrainJob"]


def named(files):
    return {"argvalues": files, "ids": [file.stem for file in files]}


@pytest.mark.parametrize("file", **named(GOLDEN))
def test_the_extensions_schemas_take_every_manifest(file):
    for manifest in manifests(file):
        assert mistakes(manifest) == []


def test_kubernetes_itself_takes_every_job_and_its_pods():
    assert strict_mistakes([job_of(manifest) for manifest in with_jobs(GOLDEN)]) == []


# Where a field's name gets an x, in the manifest of the kind.
TYPOS = {"JobSet": ["spec", "spec.network", "spec.failurePolicy", "spec.replicatedJobs.0", "spec.replicatedJobs.0.template.spec",
                    "spec.replicatedJobs.0.template.spec.template.spec",
                    "spec.replicatedJobs.0.template.spec.template.spec.containers.0",
                    "spec.replicatedJobs.0.template.spec.template.spec.containers.0.env.0",
                    "spec.replicatedJobs.0.template.spec.template.spec.containers.0.securityContext"],
         "TrainJob": ["spec", "spec.trainer", "spec.runtimeRef"],
         "TrainingRuntime": ["spec", "spec.mlPolicy", "spec.template.spec.replicatedJobs.0.template.spec.template.spec"]}


def misspelt(manifest, path):
    """All that one gets by misspelling one field there."""
    steps = [int(step) if step.isdigit() else step for step in path.split(".")]
    there = manifest
    for step in steps:
        there = there[step]
    for name in there:
        made = copy.deepcopy(manifest)
        there = made
        for step in steps:
            there = there[step]
        there[name + "x"] = there.pop(name)
        yield name, made


def test_a_misspelt_field_is_caught():
    for stem in ("all", "trainjob"):
        for manifest in manifests(ROOT / f"tests/golden/export/kubernetes/{stem}.yaml"):
            for path in TYPOS[manifest["kind"]]:
                for name, made in misspelt(manifest, path):
                    assert mistakes(made) != [], f"{path}.{name}x is let pass"


def test_a_misspelt_field_of_a_pod_is_caught_by_kubernetes_own_schema():
    [manifest] = manifests(ROOT / "tests/golden/export/kubernetes/torchrun.yaml")
    [(_, made), *_] = misspelt(job_of(manifest), "spec.template.spec")
    [mistake] = strict_mistakes([made])
    assert "restartPolicyx" in mistake


class Yaml12(yaml.SafeLoader):
    """Only what YAML 1.2's core schema takes for no text."""


Yaml12.yaml_implicit_resolvers = {}
for tag, pattern, first in [("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
                            ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
                            ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
                            ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789.")]:
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))

WORDS = ["no", "1e3", "0x1f", "12:30", "2026-01-02", "~", "", " ", "a: b", "- a", "$(hostname)", "$(POD_IP)", "$$", "$$(HOME)", "$HOME `x`",
         "it's \"quoted\"", "back\\slash", "two\nlines\n", "\n", "  indented\n  twice", "tab\there", "é 大 \U0001f600", "\u0085\u2028x\ny", "\x1b[31m",
         "#no comment", "END", "%s", "{a: b}", "x[y]", "[x]", "[]", "trailing \n"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "cluster.yaml").write_text("""
name: words
image: busybox
hosts: [{docker: "ssh://nobody@10.0.0.1", gpus: none, slots: 2}]
container: {env: {NORWAY: "no", REFERENCE: "$$(POD_IP) $$$$"}, secrets: {TOKEN: }}
""", encoding="utf-8")
    return folder


def export(folder, *words, code=0, **environment_):
    done = subprocess.run([DOCKDIST, "export", "kubernetes", *words], cwd=folder, capture_output=True, text=True, encoding="utf-8",
                          check=False, env={**os.environ, **environment_})
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["jobset", "trainjob"])
def test_yaml_of_both_versions_and_json_say_the_same(cluster, kind):
    text, _ = export(cluster, "--kind", kind, "--nodes", "2", "--", "printf", *WORDS)
    listed, _ = export(cluster, "-o", "json", "--kind", kind, "--nodes", "2", "--", "printf", *WORDS)
    items = json.loads(listed)["items"]
    assert list(yaml.safe_load_all(text)) == items
    assert list(yaml.load_all(text, Loader=Yaml12)) == items


def test_a_command_s_words_and_values_come_back_from_sh_and_the_kubelet_byte_for_byte(cluster):
    text, _ = export(cluster, "--", "sh", "-c", 'printf "%s\\0" "$@" "$NORWAY" "$REFERENCE" "$TOKEN"', "sh", *WORDS)
    [manifest] = yaml.safe_load_all(text)
    pod = job_of(manifest)["spec"]["template"]["spec"]
    variables = environment(pod, {"JOB_COMPLETION_INDEX": "0", "status.podIP": "10.0.0.1"}, {"TOKEN": "$(s) no"})
    done = subprocess.run(command(pod, variables), env={"PATH": os.environ["PATH"], **variables}, capture_output=True, check=True)
    assert done.stdout.decode("utf-8").split("\0")[:-1] == [*WORDS, "no", "$(POD_IP) $$", "$(s) no"]


def test_secrets_are_named_and_not_told(cluster):
    text, told = export(cluster, "--namespace", "ml", "--", "true", TOKEN="do-not-tell")
    assert "do-not-tell" not in text + told
    assert 'kubectl create secret generic words --namespace ml --from-literal=TOKEN="$TOKEN"' in told


def test_what_kubernetes_has_no_counterpart_of_is_told_by_name_and_what_it_refuses_is_an_error(cluster):
    _, told = export(cluster, "--stall", "5m", "--priority", "3", "--backoff", "5s", "--", "true")
    for option in ("--stall", "--priority", "--backoff"):
        assert f"{option}: it has no counterpart in Kubernetes, and is left out" in told
    for words, refusal in [(("--name", "2b"), "`2b` cannot be the name of a JobSet"),
                           (("--name", "a" * 60), "is too long for the name of a JobSet"),
                           (("--namespace", "a.b"), "--namespace: `a.b` is not a namespace"),
                           (("--kind", "mpijob"), "mpijob"),
                           (("--launcher", "mpirun"), "starts its ranks over ssh"),
                           (("--rdma-resource", "x"), "--rdma-resource: `x` is not")]:
        text, told = export(cluster, *words, "--", "true", code=2)
        assert text == "" and refusal in told


def test_the_kubelet_s_references():
    assert expand("$(A) $(B) $$(A) $$$(A) $ $x $( $(A", {"A": "1"}) == "1 $(B) $(A) $1 $ $x $( $(A"
