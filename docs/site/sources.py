"""What the reference and the man pages are made of: the program's own help, the schema of cluster.yaml and that of what it prints,
and the constants of the source with their comments. Nothing of it is written down a second time."""

import json
import pathlib
import re
import subprocess
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program_help(program):
    """{command, description, usage, group, arguments, options, examples, notes, commands}, of the program and below it of each command."""
    return json.loads(subprocess.run([program, "help", "-o", "json"], check=True, capture_output=True, text=True).stdout)


def version(program):
    return json.loads(subprocess.run([program, "version", "-o", "json"], check=True, capture_output=True, text=True).stdout)["version"]


def commands(above):
    """Those that do something, in the program's order; a command with commands below it is there for these."""
    for command in above["commands"]:
        yield command
        yield from commands(command)


CONSTANT = re.compile(r"((?:^ *//.*\n)*)^inline constexpr [\w ]+?\*? ?(\w+) =\s*([^;]+); *((?://.*\n(?: {8,}//.*\n)*)?)", re.MULTILINE)
FUNCTION = re.compile(r"((?:^ *//.*\n)+)^constexpr \w+ (\w+)\(\w+ (\w+)\) \{\n *return ([^;]+);", re.MULTILINE)


def comment(text):
    return " ".join(line.strip().removeprefix("//").strip() for line in text.splitlines()).strip()


def constants(file):
    """(name, value, comment) of each constant of a header; of what its functions make too."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = [(name, value.strip('"'), comment(after) or comment(before)) for before, name, value, after in CONSTANT.findall(text)]
    return found + [(name, value, comment(before)) for before, name, _, value in FUNCTION.findall(text)]


def labels():
    return [(value, said) for _, value, said in constants("src/client/plan/labels.hpp") if value.startswith("dockdist.")]


def exit_codes():
    return [("0", "done"), *[(value, said) for _, value, said in constants("src/shared/core/exit_codes.hpp")]]


# What a schema says in words of machines.

def cluster_schema():
    return json.loads((ROOT / "templates/cluster.schema.json").read_text(encoding="utf-8"))


def resolved(schema, node):
    """A node without $ref; what stands beside the $ref wins."""
    while "$ref" in node:
        target = schema
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


TYPES = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "array": "list", "object": "keys", "null": ""}


def kind_of_text(node):
    """What a text is, by its pattern; empty where it is only another way to write what stands beside it."""
    pattern = node.get("pattern", "")
    if re.fullmatch(r"\^\[[01]-9\](\[0-9\])?[*+]\$", pattern):
        return ""
    return "duration" if "ms|s|m|h" in pattern else "size" if "kKmMgG" in pattern else "text"


def types(schema, node):
    """What a key may hold, in words, each once."""
    node = resolved(schema, node)
    found = []
    if "const" in node:
        found.append(f"`{node['const']}`")
    elif "enum" in node:
        found += [f"`{word}`" for word in node["enum"]]
    elif "anyOf" in node and "type" not in node:
        for each in node["anyOf"]:
            found += [] if each.get("$ref") == "#/definitions/variable" else types(schema, each)
    else:
        kinds = node.get("type", [])
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            item = " or ".join(types(schema, node["items"])) if kind == "array" and "items" in node else ""
            found.append(f"list of {item}" if item else kind_of_text(node) if kind == "string" else TYPES[kind])
    if "true or false" in found:
        found = [word for word in found if word not in ("`true`", "`false`")]
    if "size" in found or "duration" in found:
        found = [word for word in found if word != "number"]
    return list(dict.fromkeys(word for word in found if word))


def section(schema, node):
    """The keys below a node: those of the one object that it may be, and where it stands (of a list: []); None without any."""
    node = resolved(schema, node)
    if "properties" in node:
        return node, ""
    for each in node.get("anyOf", []):
        if found := section(schema, each):
            return found
    if "items" in node and (found := section(schema, node["items"])):
        return found[0], "[]" + found[1]
    if isinstance(node.get("additionalProperties"), dict) and (found := section(schema, node["additionalProperties"])):
        return found[0], ".*" + found[1]
    return None


def description(schema, node):
    node = resolved(schema, node)
    return node.get("description", "")


def default_of(said):
    """The default that a description tells, and the description without it."""
    found = re.search(r"(?:^|; |\. )[Dd]efault: ([^;]+)$", said)
    return (found[1], said[:found.start()]) if found else ("", said)


def key_sections(schema, node=None, path=""):
    """(path, {key: node}) of the file and of each section in it, outer before inner; of alike ones beside each other one, at `*`."""
    keys = (node or schema)["properties"]
    yield path, keys
    alike = {}
    for name, key in keys.items():
        if found := section(schema, key):
            alike.setdefault(json.dumps(found), []).append(name)
    for text, names in alike.items():
        inner, steps = json.loads(text)
        yield from key_sections(schema, inner, f"{path}.{names[0] if len(names) == 1 else '*'}{steps}".lstrip("."))


def reference_file():
    return (ROOT / "templates/reference.yaml").read_text(encoding="utf-8")


def examples():
    """The part of templates/reference.yaml that is about each key at its top, the comments with it."""
    parts, now = {}, None
    for line in reference_file().splitlines():
        if begins := re.match(r"(?:# )?([a-z_]+):", line):
            now = begins[1]
            parts.setdefault(now, [])
        if now:
            parts[now].append(line)
    return {key: textwrap.dedent("\n".join(lines)).strip() for key, lines in parts.items()}


def output_schema():
    """What -o json prints, by command; a test holds what commands print on real engines against it."""
    return json.loads((ROOT / "templates/output.schema.json").read_text(encoding="utf-8"))
