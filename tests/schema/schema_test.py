#!/usr/bin/env python3
"""Holds templates/cluster.schema.json against the parser: the same keys and words in every section, the same files
accepted, and the same refused as far as a schema can tell. Needs python3-yaml and python3-jsonschema."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema
import yaml

# Where a section of the parser stands in the schema.
DEFINITIONS = {
    "": [],
    "image": ["definitions", "image"],
    "image.build": ["definitions", "build"],
    "hosts[]": ["definitions", "host"],
    "hosts[].tls": ["definitions", "tls"],
    "container": ["definitions", "container"],
    "container.ulimits": ["definitions", "ulimits"],
    "container.ulimits.*": ["definitions", "ulimit_pair"],
    "container.mounts[]": ["definitions", "mount"],
    "container.secrets.*": ["definitions", "secret"],
    "ssh": ["definitions", "ssh"],
    "sync[]": ["definitions", "sync"],
}

# What the parser refuses and a schema cannot: what is no YAML tree, what several values say together, what only the
# environment tells, and what has a grammar of its own.
BEYOND_A_SCHEMA = {
    "alias-bomb", "alias-in-itself", "comments-only", "control-character", "deep-nesting", "duplicate-key", "empty",
    "flow-variable", "indentation", "merge", "not-utf8", "nul-escape", "tab", "two-documents", "unclosed-quote", "unknown-alias",
    "unknown-tag", "utf16",
    "duplicate-gpus", "duplicate-hosts", "duplicate-nodes", "duplicate-targets", "env-and-secret", "fixed-port", "spares",
    "gpu-shares", "plain-tcp", "ulimit-order",
    "variables", "variable-injection",
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


class SchemaTest(unittest.TestCase):
    tool = ""
    source = pathlib.Path()

    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads((cls.source / "templates/cluster.schema.json").read_text(encoding="utf-8"))
        cls.validator = jsonschema.Draft7Validator(cls.schema)
        cls.templates = sorted((cls.source / "templates").glob("*.yaml"))
        cls.bad = sorted((cls.source / "tests/golden/spec/bad").glob("*.yaml"))
        cls.keys = cls.ask("keys")
        cls.parser_errors = cls.ask("check", *cls.templates, *cls.bad)

    @classmethod
    def ask(cls, *arguments):
        answer = subprocess.run([cls.tool, *map(str, arguments)], check=True, capture_output=True)
        return json.loads(answer.stdout.decode("utf-8"))

    def load(self, file):
        return yaml.load(file.read_text(encoding="utf-8"), Loader=CoreLoader)

    def test_the_schema_is_one(self):
        jsonschema.Draft7Validator.check_schema(self.schema)

    def test_every_section_has_the_same_keys(self):
        self.assertEqual(set(self.keys), set(DEFINITIONS))
        for section, path in DEFINITIONS.items():
            with self.subTest(section=section):
                definition = at(self.schema, path)
                self.assertEqual(set(definition["properties"]), set(self.keys[section]))
                self.assertIs(definition["additionalProperties"], False)

    def test_every_key_has_the_same_words(self):
        for section, path in DEFINITIONS.items():
            for key, words in self.keys[section].items():
                with self.subTest(section=section, key=key):
                    of_schema = words_of(at(self.schema, path)["properties"][key])
                    self.assertEqual(sorted(of_schema), sorted(words))

    def test_both_accept_every_template(self):
        self.assertGreaterEqual(len(self.templates), 5)
        for file in self.templates:
            with self.subTest(file=file.name):
                self.assertEqual(self.parser_errors[str(file)], [])
                self.assertEqual([e.message for e in self.validator.iter_errors(self.load(file))], [])

    def test_both_refuse_every_bad_file(self):
        self.assertGreater(len(self.bad), 20)
        for file in self.bad:
            with self.subTest(file=file.name):
                self.assertNotEqual(self.parser_errors[str(file)], [])
                if file.stem not in BEYOND_A_SCHEMA:
                    self.assertFalse(self.validator.is_valid(self.load(file)))

    def test_what_is_said_to_be_beyond_a_schema_is(self):
        """Keeps the list above honest: a file that the schema does refuse has to leave it."""
        stems = {file.stem for file in self.bad}
        self.assertEqual(BEYOND_A_SCHEMA - stems, set())
        for file in self.bad:
            if file.stem not in BEYOND_A_SCHEMA:
                continue
            with self.subTest(file=file.name):
                try:
                    document = self.load(file)
                except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
                    continue
                self.assertTrue(document is None or self.validator.is_valid(document))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the built spec_tool")
    parser.add_argument("--source", required=True, type=pathlib.Path, help="the repository")
    options, rest = parser.parse_known_args()
    SchemaTest.tool, SchemaTest.source = options.tool, options.source
    unittest.main(argv=[sys.argv[0], *rest])
