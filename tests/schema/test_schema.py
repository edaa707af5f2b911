"""Holds templates/cluster.schema.json against the parser: the same keys and words in every section, the same files
accepted, and the same refused as far as a schema can tell. Needs python3-yaml and python3-jsonschema."""

import json
import os
import re
import subprocess

import jsonschema
import pytest
import yaml

from harness.lab import ROOT

SPEC_TOOL = os.environ.get("DOCKDIST_SPEC_TOOL", str(ROOT / "build/tests/schema/spec_tool"))

# Where a section of the parser stands in the schema.
DEFINITIONS = {
    "": [],
    "image": ["definitions", "image"],
    "image.build": ["definitions", "build"],
    "image.build.secrets.*": ["definitions", "secret"],
    "hosts[]": ["definitions", "host"],
    "hosts[].from": ["definitions", "source"],
    "hosts[].tls": ["definitions", "tls"],
    "container": ["definitions", "container"],
    "container.ulimits": ["definitions", "ulimits"],
    "container.ulimits.*": ["definitions", "ulimit_pair"],
    "container.mounts[]": ["definitions", "mount"],
    "container.secrets.*": ["definitions", "secret"],
    "roles": ["definitions", "roles"],
    "ssh": ["definitions", "ssh"],
    "network": ["definitions", "network"],
    "data[]": ["definitions", "data"],
    "idle": ["definitions", "idle"],
    "history": ["definitions", "history"],
    "setup[]": ["definitions", "setup"],
    "sync[]": ["definitions", "sync"],
}

# What the parser refuses and a schema cannot: what is no YAML tree, what several values say together, what only the
# environment tells, and what has a grammar of its own.
BEYOND_A_SCHEMA = {
    "alias-bomb", "alias-in-itself", "comments-only", "control-character", "deep-nesting", "duplicate-key", "empty",
    "flow-variable", "indentation", "merge", "not-utf8", "nul-escape", "tab", "two-documents", "unclosed-quote", "unknown-alias",
    "unknown-tag", "utf16",
    "duplicate-gpus", "duplicate-hosts", "duplicate-nodes", "duplicate-targets", "env-and-secret", "fixed-port", "spares", "min-nodes",
    "host-ranges", "example-addresses",
    "gpu-shares", "plain-tcp", "ulimit-order",
    "history-order", "variables", "variable-injection",
    "image-reference", "image-source", "interface", "capabilities",
}


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2's core types, as editors read them: `no` is text, `0755` is 755, `2222:22` is text."""


CoreLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in [
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("merge", r"^(?:<<)$", "<"),
]:
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
CoreLoader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node), 10))


def at(schema, path):
    for step in path:
        schema = schema[step]
    return schema


def words_of(schema):
    """The texts that a key may hold, when it may hold nothing else but a variable."""
    alternatives = schema.get("anyOf", [schema])
    if not all("enum" in a or a.get("$ref") == "#/definitions/variable" for a in alternatives):
        return []
    return [word for a in alternatives for word in a.get("enum", []) if isinstance(word, str)]


def ask(*arguments):
    answer = subprocess.run([SPEC_TOOL, *map(str, arguments)], check=True, capture_output=True)
    return json.loads(answer.stdout.decode("utf-8"))


def load(file):
    return yaml.load(file.read_text(encoding="utf-8"), Loader=CoreLoader)


TEMPLATES = sorted((ROOT / "templates").glob("*.yaml"))
BAD = sorted((ROOT / "tests/golden/spec/bad").glob("*.yaml"))


@pytest.fixture(scope="module")
def schema():
    return json.loads((ROOT / "templates/cluster.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def validator(schema):
    return jsonschema.Draft7Validator(schema)


@pytest.fixture(scope="module")
def keys():
    return ask("keys")


@pytest.fixture(scope="module")
def parser_errors():
    return ask("check", *TEMPLATES, *BAD)


def by_name(files):
    return pytest.mark.parametrize("file", files, ids=lambda file: file.name)


def test_the_schema_is_one(schema):
    jsonschema.Draft7Validator.check_schema(schema)


def test_there_are_files_to_try():
    assert len(TEMPLATES) >= 5
    assert len(BAD) > 20


def test_the_parser_has_no_other_sections(keys):
    assert set(keys) == set(DEFINITIONS)


@pytest.mark.parametrize(("section", "path"), DEFINITIONS.items())
def test_every_section_has_the_same_keys(schema, keys, section, path):
    definition = at(schema, path)
    assert set(definition["properties"]) == set(keys[section])
    assert definition["additionalProperties"] is False


@pytest.mark.parametrize(("section", "path"), DEFINITIONS.items())
def test_every_key_has_the_same_words(schema, keys, section, path):
    for key, words in keys[section].items():
        of_schema = words_of(at(schema, path)["properties"][key])
        assert sorted(of_schema) == sorted(words), key


@by_name(TEMPLATES)
def test_both_accept_every_template(validator, parser_errors, file):
    # The file that `init` writes names two machines that are nobody's, and is refused for these alone.
    examples = ["192.0.2.1", "192.0.2.2"] if file.name == "minimal.yaml" else []
    assert [re.search(r"`hosts.*`: (\S+) is an example, not a machine's address|$", error)[1] for error in parser_errors[str(file)]] == examples
    assert [e.message for e in validator.iter_errors(load(file))] == []


@by_name(BAD)
def test_both_refuse_every_bad_file(validator, parser_errors, file):
    assert parser_errors[str(file)] != []
    if file.stem not in BEYOND_A_SCHEMA:
        assert not validator.is_valid(load(file))


def test_what_is_said_to_be_beyond_a_schema_is_there():
    assert BEYOND_A_SCHEMA - {file.stem for file in BAD} == set()


@by_name([file for file in BAD if file.stem in BEYOND_A_SCHEMA])
def test_what_is_said_to_be_beyond_a_schema_is(validator, file):
    """Keeps the list above honest: a file that the schema does refuse has to leave it."""
    try:
        document = load(file)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        return
    assert document is None or validator.is_valid(document)
