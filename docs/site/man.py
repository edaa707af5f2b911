"""Man pages: one a command, and dockdist-cluster.yaml(5)."""

import re
import time

import sources


def roff(text):
    """Text as it is, with `code` in bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", text)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


class Page:
    def __init__(self, name, section, date, version):
        self.name, self.section = name, section
        self.lines = [f'.TH "{roff(name).upper()}" "{section}" "{date}" "dockdist {version}" "dockdist"', ".nh", ".ad l"]

    def heading(self, text):
        self.lines.append(f".SH {text}")

    def text(self, text):
        self.lines += [part for paragraph in text.split("\n\n") for part in (".PP", roff(paragraph))]

    def item(self, head, text):
        self.lines += [".TP", f"\\fB{roff(head)}\\fP", roff(text) or "\\&"]

    def literal(self, text):
        self.lines += [".PP", ".nf", ".RS", roff(text), ".RE", ".fi"]

    def write(self, folder):
        (folder / f"{self.name}.{self.section}").write_text("\n".join(self.lines) + "\n", encoding="utf-8")


def page_name(command):
    return command["command"].replace(" ", "-")


def see_also(page, names):
    page.heading("SEE ALSO")
    page.text(", ".join(f"`{name}`({number})" for name, number in names))


def command_page(command, above, date, version):
    page = Page(page_name(command), 1, date, version)
    page.heading("NAME")
    page.lines.append(f"{roff(page.name)} \\- {roff(command['description'])}")
    page.heading("SYNOPSIS")
    page.literal(command["usage"])
    for heading, part in (("ARGUMENTS", "arguments"), ("OPTIONS", "options")):
        if command[part]:
            page.heading(heading)
            for each in command[part]:
                page.item(each.get("head", each["name"]), each["description"])
    if command["commands"]:
        page.heading("COMMANDS")
        for each in command["commands"]:
            page.item(each["command"].split(" ", 1)[1], each["description"])
    if command["notes"]:
        page.heading("NOTES")
        page.literal(command["notes"])
    if command["examples"]:
        page.heading("EXAMPLES")
        page.literal("\n".join(command["examples"]))
    if above is None:
        page.heading("EXIT STATUS")
        for code, said in sources.exit_codes():
            page.item(code, said)
    see_also(page, [(page_name(each), 1) for each in ([above] if above else []) + command["commands"]] + [("dockdist-cluster.yaml", 5)])
    return page


def all_commands(command, above=None):
    yield command, above
    for each in command["commands"]:
        yield from all_commands(each, command)


def file_page(date, version):
    schema = sources.cluster_schema()
    page = Page("dockdist-cluster.yaml", 5, date, version)
    page.heading("NAME")
    page.lines.append(f"{roff(page.name)} \\- {roff(schema['description'])}")
    page.heading("DESCRIPTION")
    page.text("dockdist reads `cluster.yaml` in the working folder, or in the nearest one above it that has one, unless `-f` or "
              "`DOCKDIST_FILE` names another file.")
    for path, keys in sources.key_sections(schema):
        page.heading(roff(path) if path else "KEYS")
        for name, key in keys.items():
            kinds = ", ".join(sources.types(schema, key)).replace("`", "")
            said = sources.description(schema, key)
            page.item(name, "\n".join(part for part in (f"({kinds})" if kinds else "", said) if part))
    page.heading("EXAMPLES")
    page.literal(sources.reference_file())
    see_also(page, [("dockdist", 1), ("dockdist-validate", 1)])
    return page


def write(program, folder, seconds):
    """Into `folder`, as of a moment in seconds since 1970."""
    folder.mkdir(parents=True, exist_ok=True)
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    version = sources.version(program)
    for command, above in all_commands(sources.program_help(program)):
        command_page(command, above, date, version).write(folder)
    file_page(date, version).write(folder)
