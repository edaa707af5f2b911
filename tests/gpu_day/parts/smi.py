"""nvidia-smi's answers to every question that dockdist ever asks, as they are, and held against what dockdist makes of them."""

import json
import re
import subprocess
import time

from gpu_day import reading
from gpu_day.part import NOBODY
from gpu_day.paths import ROOT

HARMLESS = re.compile(r"-q( -i \d+)?( -d [A-Z_,]+)?|-L|topo -m|nvlink -[se]")  # of what sentences advise, what is run here: they ask
BESIDE = {"version": ["--version"], "help-gpu": ["--help-query-gpu"], "help-processes": ["--help-query-compute-apps"],
          "help-remapped-rows": ["--help-query-remapped-rows"], "xml": ["-q", "-x"], "mig-profiles": ["mig", "-lgip"], "mig-instances": ["mig", "-lgi"],
          "mig-compute-instances": ["mig", "-lci"], "nvlink": ["nvlink", "-s"]}


def run(part):
    asked = part.questions()
    with part.section("the answers"):
        answers = ask_all(part, asked["questions"], "idle")
        if not answers:
            return
        hold(part, asked, answers, "idle")
    # From here on somebody has the GPU open: without that, and without persistence mode, each answer takes a second or more.
    with part.section("the answers while a process has memory"), part.held_memory(2048):
        hold(part, asked, ask_all(part, asked["questions"], "held"), "held")
        with part.section("the bits of why a clock is lowered"):
            reasons(part, asked["reasons"])
        with part.section("the answers to another account"):
            compare_accounts(part, asked["questions"])
        with part.section("the stream"):
            stream(part, asked["questions"])
        with part.section("what else it tells"):
            ask_beside(part)
        with part.section("the fields that there are"):
            every_field(part)
        with part.section("what advice says"):
            advised(part)


def once(question):
    return question["argv"][:-2] if question["goes_on"] else question["argv"]


def ask_all(part, questions, when, uid=None):
    answers = {}
    for question in questions:
        answer = part.ask(f"{when}/{question['name']}.txt", once(question), uid=uid)
        if answer.code == 127:
            part.missing("nvidia-smi", answer.output)
            return {}
        answers[question["name"]] = answer
        if answer.code != 0:
            first = answer.output.strip().splitlines()
            part.wrong(f"{question['name']} ({when})", f"answered with code {answer.code}: {first[0] if first else 'nothing'}")
    times = ", ".join(f"{name} {answer.ms:.0f}" for name, answer in answers.items())
    part.measured(f"time of an answer ({when})", f"in ms: {times}", ms={name: round(answer.ms, 1) for name, answer in answers.items()})
    return answers


def hold(part, asked, answers, when):
    given = json.dumps({name: {"code": answer.code, "output": answer.output} for name, answer in answers.items()})
    done = subprocess.run([part.program("gpu-answers"), "read"], input=given.encode(), stdout=subprocess.PIPE, check=True, timeout=20)
    read = json.loads(done.stdout)
    part.record(f"read-{when}.json", read)
    argv = {question["name"]: once(question) for question in asked["questions"]}
    text = {name: answer.output for name, answer in answers.items()}
    found = reading.rows_misread("gpus", argv["gpus"], text["gpus"], read["gpus"].get("gpus", []))
    for name in ("figures", "old-figures"):
        if answers[name].good:
            found += reading.rows_misread(name, argv[name], text[name], read[name], in_bytes=True)
    uuids = [gpu["uuid"] for gpu in read["gpus"].get("gpus", [])]
    found += reading.listing_misread(text["listing"], uuids, read["listing"])
    found += reading.topology_misread(text["topology"], read["topology"])
    document = part.ask(f"{when}/xml.txt", ["nvidia-smi", "-q", "-x"])
    if document.good:
        found += reading.xml_contradicts(document.output, read)
    else:
        part.missing("the answers against the XML", f"nvidia-smi -q -x answered with code {document.code}")
    for sentence in found:
        part.wrong(f"misread ({when})", sentence)
    if not found:
        part.measured(f"the parsers ({when})", f"{len(uuids)} GPUs, nothing misread")
    for row in read["rows"]:
        part.held(f"check, row {row['check']} ({when})", row["state"] != "fail", f"{row['state']}: {row['text']}")


def reasons(part, names):
    mask = part.run(["nvidia-smi", "--query-gpu=clocks_event_reasons.active", "--format=csv,noheader", "-i", "0"])
    said = {}
    for name in names:
        answer = part.run(["nvidia-smi", f"--query-gpu=clocks_event_reasons.{name}", "--format=csv,noheader", "-i", "0"])
        if answer.good:
            said[name] = answer.output.strip()
    again = part.run(["nvidia-smi", "--query-gpu=clocks_event_reasons.active", "--format=csv,noheader", "-i", "0"])
    part.record("reasons.json", {"active": mask.output.strip(), **said})
    what = "the bits of why a clock is lowered"
    if not mask.good or not said or again.output != mask.output:
        part.missing(what, "they changed while they were asked for" if said else "the driver knows none of the fields by name")
        return
    found = reading.reasons_misread(int(mask.output.strip(), 16), names, said)
    part.held(what, not found, "; ".join(found) or f"{len(said)} of {len(names)} fields by name fit {mask.output.strip()}")


def compare_accounts(part, questions):
    ask_all(part, questions, "nobody", uid=NOBODY)
    ours, theirs = [(part.recordings / when / "processes.txt").read_text(encoding="utf-8") for when in ("held", "nobody")]
    part.measured("processes as another account sees them", "the same" if ours == theirs else f"root: {ours.strip()!r}; account {NOBODY}: {theirs.strip()!r}")


def stream(part, questions):
    """Whether each round comes at once, through a pipe, and how late."""
    question = next(question for question in questions if question["name"] == "figures")
    for interval in (1000, 100):
        argv = [*question["argv"][:-1], str(interval)]
        rounds = part.seconds(5, 0.5) * 1000 / interval
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        begun = time.monotonic()
        try:
            while len(lines) < max(rounds, 2):  # a part's limit ends a stream that says nothing
                line = process.stdout.readline()
                if not line:
                    break
                lines.append({"at_ms": round((time.monotonic() - begun) * 1000, 1), "line": line.rstrip("\n")})
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        part.record(f"stream-{interval}.json", lines, argv=argv)
        rows, _ = reading.cells(argv, lines[0]["line"]) if lines else ([], [])
        gpus = len({line["line"].split(",")[0] for line in lines}) or 1
        gaps = sorted(after["at_ms"] - before["at_ms"] for before, after in zip(lines[::gpus], lines[gpus::gpus]))
        if not rows or not gaps:
            part.wrong(f"the stream each {interval} ms", f"it said {[line['line'] for line in lines[:2]]}")
            continue
        part.held(f"the stream each {interval} ms", gaps[0] > interval * 0.2,
                  f"first line after {lines[0]['at_ms']:.0f} ms, then each {gaps[len(gaps) // 2]:.0f} ms ({gaps[0]:.0f} to {gaps[-1]:.0f})", gaps_ms=gaps)


def ask_beside(part):
    for name, words in BESIDE.items():
        answer = part.ask(f"beside/{name}.txt", ["nvidia-smi", *words])
        if not answer.good:
            part.missing(f"nvidia-smi {' '.join(words)}", f"code {answer.code}: {answer.output.strip().splitlines()[:1]}")


def every_field(part):
    fields = reading.fields_of_help((part.recordings / "beside/help-gpu.txt").read_text(encoding="utf-8"))
    if not fields:
        part.missing("the fields that there are", "--help-query-gpu names none")
        return
    refused = []
    for _ in range(20):
        answer = part.ask("every-field.txt", ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv"])
        unknown = re.search(r'Field "([^"]+)" is not a valid field', answer.output)
        if not unknown or unknown[1] not in fields:
            break
        fields.remove(unknown[1])
        refused.append(unknown[1])
    part.held("the fields that there are", answer.good,
              f"{len(fields)} of --help-query-gpu, asked for at once: code {answer.code}; refused: {refused or 'none'}")


def advised(part):
    """Commands that the texts of dockdist advise to people, as far as they ask and change nothing."""
    said = set()
    for path in sorted((ROOT / "src").rglob("*.cpp")) + sorted((ROOT / "docs").glob("*.md")):
        said |= set(re.findall(r"nvidia-smi ([-a-zA-Z_, 0-9]+?)[`)\"';:.]", path.read_text(encoding="utf-8")))
    for words in sorted(words for words in said if HARMLESS.fullmatch(words.strip())):
        answer = part.run(["nvidia-smi", *words.split()])
        part.held(f"advice: nvidia-smi {words}", answer.good, f"code {answer.code}, {len(answer.output.splitlines())} lines")
