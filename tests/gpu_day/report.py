"""The findings of a day as files that can leave the machine: without what tells it from another."""

import io
import json
import pathlib
import tarfile
import time

from gpu_day.identities import Identities, own_names

KINDS = {"wrong": "Otherwise than dockdist takes it to be", "not measured": "Not measured", "measured": "Measured"}
MOST = 15 << 20  # bytes of the recordings, packed


def findings_of(folder):
    try:
        lines = (pathlib.Path(folder) / "findings.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass  # the last one of a part that was ended while it wrote
    return found


def markdown(facts, parts, findings):
    """`parts`: {name: words for how it went}."""
    lines = [f"# A day with a GPU: {facts.get('gpu', 'no GPU was seen')}", "",
             "| machine | date | driver | programs | kernel | python | torch | NCCL |", "|---|---|---|---|---|---|---|---|",
             f"| {facts.get('gpu', '?')} | {facts['date']} | {facts.get('driver', '?')} | {facts.get('commit', '?')[:12]} | {facts.get('kernel', '?')} | "
             f"{facts.get('python', '?')} | {facts.get('torch', '?')} | {facts.get('nccl', '?')} |", ""]
    if facts.get("rehearsed"):
        lines += ["**A rehearsal, with stand-ins: it says nothing of any hardware.**", ""]
    if facts.get("problem"):
        lines += [f"PyTorch: {facts['problem']}", ""]
    lines += ["| part | |", "|---|---|", *(f"| {name} | {words} |" for name, words in parts.items()), ""]
    for kind, title in KINDS.items():
        these = [finding for finding in findings if finding["kind"] == kind]
        lines += [f"## {title} ({len(these)})", ""]
        for name in parts:
            of_part = [finding for finding in these if finding["part"] == name]
            lines += [f"**{name}**", "", *(f"- {finding['what']}: {one_line(finding['text'])}" for finding in of_part), ""] if of_part else []
    return "\n".join(lines)


def one_line(text):
    text = " ".join(str(text).split())
    return text if len(text) <= 400 else text[:400] + "…"


class Output:
    """The files of a day: report.md, findings.json, recordings.tar.gz, log.txt. They are written after each part: whatever comes, the last ones are there."""

    def __init__(self, folder, work, facts):
        self.folder, self.work, self.facts = pathlib.Path(folder), pathlib.Path(work), facts
        self.folder.mkdir(parents=True, exist_ok=True)
        self.names = own_names()

    def write(self, parts):
        identities = Identities(self.names)
        files = {path.relative_to(self.work): path.read_bytes() for path in sorted((self.work / "recordings").rglob("*")) if path.is_file()}
        log = (self.work / "log").read_text(encoding="utf-8", errors="replace") if (self.work / "log").exists() else ""
        texts = {name: data.decode() for name, data in files.items() if is_text(data)}
        for text in (*texts.values(), log):
            identities.learn(text)
        findings = findings_of(self.work)
        recorded, left_out = {}, []
        for name, data in files.items():
            said = identities.replace(texts[name]).encode() if name in texts else identities.replace_data(data)
            if said is None or identities.left(said.decode("latin-1")):
                left_out.append(str(name))
            else:
                recorded[name] = said
        findings += [{"part": name.split("/")[1], "kind": "not measured", "what": f"the recording {name}", "text": "it tells what this machine is, in a way "
                      "that cannot be replaced: left out"} for name in left_out]
        archive = packed(recorded)
        while len(archive) > MOST:
            name = max(recorded, key=lambda one: len(recorded[one]))
            findings.append({"part": name.parts[1], "kind": "not measured", "what": f"the recording {name}",
                             "text": f"{len(recorded.pop(name))} bytes: left out"})
            archive = packed(recorded)
        told = json.loads(identities.replace(json.dumps({"facts": self.facts, "parts": parts, "findings": findings})))
        self.put("recordings.tar.gz", archive)
        self.put("log.txt", identities.replace(log[-(4 << 20):]).encode())
        self.put("findings.json", (json.dumps(told, indent=1) + "\n").encode())
        self.put("report.md", markdown(**told).encode())
        return told["findings"]

    def put(self, name, data):
        new = self.folder / f"{name}.new"
        new.write_bytes(data)
        new.replace(self.folder / name)


def is_text(data):
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def packed(files):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(str(name))
            entry.size, entry.mtime, entry.mode = len(data), int(time.time()), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return whole.getvalue()
