"""What commands print with -o json, held against templates/output.schema.json, in which no field may be missing."""

import itertools
import json

from harness.lab import ROOT

SCHEMA = json.loads((ROOT / "templates/output.schema.json").read_text(encoding="utf-8"))
# Commands whose output stands there under another name; lines by their type.
SAME = {"attach": "run", "wait": "run", "page": "metrics", "image build": "image push", "data rm": "data push"}
LINES = {"event": "event", "error": "error", "output": "run: output", "gpus": "run: gpus", "forward": "run: forward", "listening": "metrics",
         "submitted": "slurm submit"}
KNOWN = {*SCHEMA["properties"], "logs", "forward"}  # these two print lines alone
OF_VALUE = {"-f", "--file", "-o", "--output", "--hosts"}


def name_of(words):
    """Under which a command's own value, or its result, stands; `words`: behind `dockdist`."""
    rest, take = [], iter(words)
    for word in take:
        if word in OF_VALUE:
            next(take)
        elif word.startswith("-"):
            break
        else:
            rest.append(word)
    two, one = " ".join(rest[:2]), rest[0]
    if one == "run" and "--dry-run" in words[: words.index("--")]:
        return "run --dry-run"
    name = SAME.get(two, two)
    return name if name in SCHEMA["properties"] else SAME.get(one, one)


def json_asked_for(words):
    """Whether a command prints JSON that stands in the schema, and not what other programs print (`exec`)."""
    own = words[: words.index("--")] if "--" in words else words
    return any(pair in (("-o", "json"), ("--output", "json")) for pair in itertools.pairwise(own)) and name_of(words) in KNOWN


def mistakes(name, value):
    import jsonschema  # a seventh of the start of a test that asks for no JSON

    validator = jsonschema.Draft7Validator({**SCHEMA["properties"][name], "definitions": SCHEMA["definitions"]})
    return [f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator.iter_errors(value)]


def mistakes_of(words, text):
    """What is wrong with all that a command has printed on stdout or on stderr."""
    name = name_of(words)
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) for line in text.splitlines()]
    return [found for value in values
            for found in mistakes(LINES.get(value.get("type"), name) if isinstance(value, dict) else name, value)]
