"""The pictures of docs/look.md, of a job: `top` beside it, and its page afterwards, both of a real run on simulated GPUs with lively figures."""

import contextlib
import json
import re
import subprocess

from harness import assert_in, cluster, eventually
from harness.browser import browser
from harness.gpus import gpu_lines
from harness.picture import UPDATES, take, terminal_page
from harness.running import Running
from harness.screen import UTF8, Screen

# Steps of training: the GPUs are busy, and rest while they write a checkpoint; one of them is too hot. The files are those that
# the containers see, until the flag is gone; each is written at once, in one size, for it may be read at any time.
LIVELY = """
for gpu in 0 1; do cp /dev/nvidia$gpu /tmp/lively-$gpu; done
touch /tmp/lively
step=$HOST
while [ -e /tmp/lively ]; do
    step=$((step + 1))
    for gpu in 0 1; do
        load=$((100 - (step * 7 + gpu * 5 + HOST * 3) % 9)) power=$((560 + (step * 37 + gpu * 61 + HOST * 17) % 130))
        [ $((step % 12)) -gt 1 ] || { load=$((14 + (step + gpu) % 5)) power=$((180 + gpu * 9)); }
        heat=$((58 + gpu * 3 + HOST * 2 + step % 4)) clock=1980 reasons=0x0000000000000000
        [ $HOST$gpu != 20 ] || { heat=$((86 + step % 3)) clock=$((1230 + step % 5 * 15)) power=$((power - 90)) reasons=0x0000000000000020; }
        printf '%s\\n' utilization.gpu=$load power.draw=$power.00 memory.used=$((70700 + HOST * 41 + gpu * 18)) temperature.gpu=$heat \\
            clocks.sm=$clock clocks_event_reasons.active=$reasons >/tmp/lively-new
        grep -v -E '^(utilization.gpu|power.draw|memory.used|temperature.gpu|clocks.sm|clocks_event_reasons.active)=' /tmp/lively-$gpu >>/tmp/lively-new
        { cat /tmp/lively-new; yes ""; } | head -c 4000 | dd of=/dev/nvidia$gpu bs=4000 iflag=fullblock conv=notrunc status=none
    done
    sleep 0.2
done
"""


@contextlib.contextmanager
def lively_gpus(lab):
    with contextlib.ExitStack() as stack:
        writers = []
        for number in (1, 2):
            for gpu in (0, 1):
                stack.enter_context(gpu_lines(lab, number, gpu))  # puts the files back
            writers.append(subprocess.Popen(lab.command("exec", str(number), "env", f"HOST={number}", "sh", "-c", LIVELY)))
        try:
            yield
        finally:
            for number, writer in enumerate(writers, 1):
                lab.script("exec", str(number), "rm", "-f", "/tmp/lively")
                writer.wait(timeout=30)


def test_top_and_a_job_s_page_are_as_the_readme_shows_them(lab):
    with cluster(lab, "vision") as c, lively_gpus(lab), browser() as b:
        c.write(gpus="all", more="gpu_in_use_above: 80g").up()  # what is in use there is nobody else's
        page = c.folder / "job.html"
        job = Running(c, "run", "--name", "llama", "--report", str(page), "--launcher", "plain", "--per-rank", "--", "sh", "-c",
                      "echo epoch 1; until [ -e /tmp/enough ]; do head -c 9000000 /dev/urandom | sha256sum >/dev/null; sleep 0.3; done")
        job.until("epoch 1", times=4)
        screen = Screen(c.command("top", "--by", "gpu", "--interval", "100ms"), 100, c.environment(**UTF8), rows=13)
        # Graphs that are full, and each of the four at a step's work, with its figures.
        row = r"^node-[01] +[01] +(?:9\d|100) % +[▁▂▃▄▅▆▇█]{12} +\S+/80G +\d+/700 +\d+ +\d+ +(?:too hot +)?llama +[0-3]$"
        screen.until(lambda text: len(re.findall(row, text, re.M)) == 4 and "! node-1 GPU 0: slowed down because too hot" in text, timeout=60)
        shown, text = terminal_page(screen.screen), screen.text()
        assert screen.type("q").end() == 0
        assert re.match(r"vision: 2 nodes · 4 GPUs \d+ % \d+/2800 W 27\dG/319G · CPU ", text), text
        (c.folder / "top.html").write_text(shown)
        take(b, c.folder / "top.html", "top.png", until="pre")
        lasts_ms = 60_000 if UPDATES else 3_000
        eventually(lambda: json.loads(c.run("jobs", "llama", "-o", "json").stdout)["jobs"][0]["duration_ms"] > lasts_ms, "a job with curves", timeout=120)
        for node in ("node-0", "node-1"):
            c.run("exec", node, "--", "touch", "/tmp/enough")
        job.end(0)
        html = page.read_text()
        for part in ("<h1>llama</h1>", "done after", "GPU load, %", "GPU power, W", "<summary>node-1</summary>"):
            assert_in(part, html)
        take(b, page, "job.png", until=".charts > :nth-child(2)", width=1000)
