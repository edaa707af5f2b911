"""The pages of the reference, as Markdown."""

import html
import re

import sources


def code(text):
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;').replace('*', '&#42;').replace('_', '&#95;')}</code>"


def words(text):
    """Text of the program's or of a schema's, in which only `code` means something."""
    parts = re.split(r"`([^`]+)`", text)
    plain = [re.sub(r"([*_\[\]<>~#|])", lambda found: f"&#{ord(found[1])};", part.replace("&", "&amp;")) for part in parts[::2]]
    return "".join(part + (code(parts[2 * i + 1]) if 2 * i + 1 < len(parts) else "") for i, part in enumerate(plain))


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows])


def fenced(language, text):
    return f"```{language}\n{text}\n```"


def anchor(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower().replace("*", "any")).strip("-")


def command_part(command, level):
    parts = [f"{'#' * level} {command['command']} {{#{anchor(command['command'])}}}", words(command["description"]) + ".",
             fenced("text", command["usage"])]
    for kind in ("arguments", "options"):
        if command[kind]:
            heads = ("argument", "meaning") if kind == "arguments" else ("option", "meaning")
            parts.append(table(heads, [(code(each.get("head", each["name"])), words(each["description"])) for each in command[kind]]))
    if command["notes"]:
        parts.append(fenced("text", command["notes"]))
    if command["examples"]:
        parts.append(fenced("sh", "\n".join(command["examples"])))
    return parts + [part for each in command["commands"] for part in command_part(each, level + 1)]


def commands_page(program):
    top = sources.program_help(program)
    parts = ["# Commands", "What `dockdist help COMMAND` prints, of every command."]
    for group in dict.fromkeys(command["group"] for command in top["commands"]):
        parts.append(f"## {group}")
        for command in top["commands"]:
            parts += command_part(command, 3) if command["group"] == group else []
    parts.append("## Options of every command")
    parts.append(table(("option", "meaning"), [(code(each["head"]), words(each["description"])) for each in top["options"]]))
    return parts


def file_page():
    schema = sources.cluster_schema()
    examples = sources.examples()
    parts = ["# Keys of cluster.yaml", "Made of `templates/cluster.schema.json`, which editors can use too. `*` stands for names of "
             "your own, `[]` for the items of a list. The examples are parts of `templates/reference.yaml`, with every key at its default. "
             "In any value: `${VAR}`, `${VAR:-default}`, `${VAR-default}`, `${VAR:?message}`; `$$` is a dollar sign."]
    shown = set()
    for path, keys in sources.key_sections(schema):
        parts.append(f"## {path.replace('*', chr(92) + '*') or 'The file'} {{#{anchor(path) or 'the-file'}}}")
        rows = []
        for name, key in keys.items():
            default, said = sources.default_of(sources.description(schema, key))
            rows.append((f'<span id="{anchor(path + "." + name)}-key"></span>' + code(name),
                         ", ".join(words(kind) for kind in sources.types(schema, key)), words(default), words(said)))
        parts.append(table(("key", "type", "default", "meaning"), rows))
        top = re.split(r"[.\[]", path)[0]
        wanted = [top] if path else [name for name, key in keys.items() if not sources.section(schema, key)]
        fresh = [examples[name] for name in wanted if name in examples and name not in shown]
        shown.update(wanted)
        if fresh:
            parts.append(fenced("yaml", "\n".join(fresh)))
    return parts


def labels_page():
    return ["# Labels", "What dockdist makes on a host is known by its labels; it keeps no other record. "
            "`docker ps --all --filter label=dockdist.cluster` lists its containers, `docker volume ls` with the same filter its lock.",
            table(("label", "value"), [(code(name), words(said)) for name, said in sources.labels()])]


def exit_codes_page():
    return ["# Exit codes", "`run`, `exec`, `ssh`, `attach` and `wait` exit with the code of what they ran, where it ran.",
            table(("code", "meaning"), [(code(value), words(said)) for value, said in sources.exit_codes()])]


def field_rows(schema, node, path=""):
    for name, key in node.get("properties", {}).items():
        inner = f"{path}.{name}".lstrip(".")
        kinds = [*sources.types(schema, key), *(["null"] if "null" in str(sources.resolved(schema, key).get("type", "")) else [])]
        yield code(inner), ", ".join(words(kind).replace("keys", "object") for kind in kinds), words(sources.description(schema, key))
        if "$ref" not in key and (found := sources.section(schema, key)):
            yield from field_rows(schema, found[0], inner + found[1])


def output_page():
    schema = sources.output_schema()
    parts = ["# JSON output", words(schema["description"])]
    for name, each in schema["properties"].items():
        parts += [f"## {name} {{#{anchor(name)}}}", words(sources.description(schema, each)),
                  table(("field", "type", "meaning"), field_rows(schema, sources.resolved(schema, each)))]
    return parts


def write(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"commands": commands_page(program), "cluster-yaml": file_page(), "labels": labels_page(), "exit-codes": exit_codes_page(),
             "json": output_page()}
    for name, parts in pages.items():
        (folder / f"{name}.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
