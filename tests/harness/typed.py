"""What a page shows is typed, command by command, and what is printed is held against what the page says.

Times, sizes, addresses, ports, names that are made up and figures of a training differ each time: they are the same to the comparison.
`…` stands for whatever is there: alone on a line for lines, in a line for words. Lines of ranks come in any order.
With DOCKDIST_UPDATE_GOLDEN=1 a page is given what was printed: review the diff."""

import os
import re
import subprocess

from harness.lab import ROOT
from harness.patience import DURATION

NUMBER = r"\d+(?:\.\d+)?"
VARIES = [(re.compile(pattern), word) for pattern, word in (
    (r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?", "DATE"),
    (r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS"),
    (r"\bjob-[0-9a-f]{8}\b", "JOB"),
    (r"GPU-[0-9a-f]{8}-[0-9a-f-]{27}", "GPU"),
    (r"\b[0-9a-f]{12}\b", "ID"),
    (r"Engine \S+, API [\d.]+", "ENGINE"),
    (r"\b\d+ (?=passed|warning)", "N "),
    (r"\b[\w.-]+@[\w-]+", "USER"),
    (rf"{NUMBER} (?:B|[KMGT]iB)(?:/s)?(?= |$|[,;)])", "SIZE"),
    (rf"(?:{DURATION}|{NUMBER} µs)\b", "TIME"),
    (r"(?i:(?<=port[ =]))\d+|(?<=:)\d{4,5}\b", "PORT"),
    (rf"{NUMBER} (?=%|W\b|MHz|°C|cores|GPU hours)|(?<=loss )\d+\.\d+", "FIGURE"),
)]


def same(line):
    """A line without what differs each time."""
    for pattern, word in VARIES:
        line = pattern.sub(word, line)
    return " ".join(line.split())


def pattern_of(line):
    return ".*?".join(map(re.escape, same(line).split("…")))


def difference(shown, said):
    """What a page says of what is printed, and is not so; None where all is."""
    said = [same(line) for line in said]
    ranks = [line for line in said if line.startswith("[")]
    for line in shown:
        if line.startswith("["):
            found = next((each for each in ranks if re.fullmatch(pattern_of(line), each)), None)
            if found is None:
                return f"not printed: {line}"
            ranks.remove(found)
    if ranks and "…" not in shown:
        return f"not shown: {ranks[0]}"
    plain = "".join("(.*\n)*?" if line == "…" else pattern_of(line) + "\n" for line in shown if not line.startswith("["))
    if not re.fullmatch(plain, "".join(line + "\n" for line in said if not line.startswith("["))):
        return "printed otherwise than shown"
    return None


class Typist:
    """Types commands one after the other, in the folder where the one before has left off."""

    def __init__(self, folder, work, environment, names=()):
        self.place = folder / "place"
        self.work, self.environment, self.names = work, environment, names

    def type(self, command):
        """(exit code, lines) of a command, what it says on both streams as it comes."""
        done = subprocess.run(["bash", "-c", f'{command}\ncode=$?\npwd >{self.place}\nexit $code'], cwd=self.work, env=self.environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=240)
        self.work = self.place.read_text().rstrip("\n")
        text = done.stdout
        for here, there in self.names:
            text = text.replace(here, there)
        return done.returncode, text.rstrip("\n").splitlines()

    def play(self, block):
        """A block of a console or of sh. A dialogue that shows no error is one that has none."""
        if block.language != "console":
            code, said = self.type("set -euo pipefail\n" + block.text)
            assert code == 0, f"{block}\n" + "\n".join(said)
            return
        update, told = os.environ.get("DOCKDIST_UPDATE_GOLDEN"), []
        for command, shown in block.dialogue():
            code, said = self.type(command)
            wrong = difference(shown, said)
            told += [f"$ {command}", *(said if wrong else shown)]
            if not update:
                assert not wrong, f"{block}: {wrong}\n$ {command}\n" + "\n".join(said)
                assert code == 0 or any("error: " in line for line in shown), f"{block}: exit code {code}\n$ {command}\n" + "\n".join(said)
        if update:
            page, begins = ROOT / block.page, f"in={block.folder}\n" if block.folder else "\n"
            page.write_text(page.read_text().replace(begins + block.text, begins + "".join(line + "\n" for line in told), 1))
