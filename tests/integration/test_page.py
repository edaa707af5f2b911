"""`dockdist page`, as a real browser sees it."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request

from harness import assert_in, cluster
from harness.browser import SIDEWAYS, browser
from harness.gpus import gpu_lines
from harness.output_schema import mistakes
from harness.running import Running
from harness.waiting import eventually


def code_of(url, method="GET", **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers, method=method), timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_the_page_shows_nodes_gpus_who_waits_and_jobs_with_their_curves_and_last_lines(lab):
    with cluster(lab, "t-page") as c, gpu_lines(lab, 1, 0, "utilization.gpu=87"):
        c.write(gpus="all").up()
        c.run("run", "--name", "over", "--", "sh", "-c", "echo '<b>the last line</b>'; exit 7", code=7)
        held = Running(c, "run", "--name", "holds", "--", "sh", "-c", "echo begun; exec sleep 4727")
        held.until("begun", times=2)
        waits = Running(c, "run", "--name", "behind", "--", "true")
        waits.until_err("waiting for")
        page = Running(c, "page")
        url = page.until_err(r"t-page is at (http://127\.0\.0\.1:\d+/[0-9a-f]{32}/) until Ctrl-C$")[0][1]
        with browser() as b:
            b.resize(1280, 900)
            b.open(url)

            def rows(title):
                return b.ask(f"""(h => h ? [...h.parentNode.querySelectorAll('h2, h3, tr')].slice(
                    [...h.parentNode.querySelectorAll('h2, h3, tr')].indexOf(h) + 1).map(e => e.tagName + e.textContent) : [])(
                    [...document.querySelectorAll('h2, h3')].find(e => e.textContent == '{title}'))""")

            def is_whole():
                b.open(url)
                text = b.ask("document.body.textContent")
                return all(word in text for word in ("node-0", "node-1", "87 %", "holds", "behind", "over", "1 job running"))
            eventually(is_whole, "all of it")
            assert b.ask(SIDEWAYS) == 0
            assert any("behind" in row for row in rows("Waiting"))
            assert b.ask("[...document.querySelectorAll('td a')].map(e => e.textContent)") == ["holds", "over"]
            b.ask("(document.querySelectorAll('td a')[1].click(), 0)")
            eventually(lambda: b.ask("document.querySelector('h1').textContent") == "over", "the job's page")
            assert_in("<b>the last line</b>", b.ask("[...document.querySelectorAll('pre')].map(e => e.textContent).join()"))
            assert_in("exit code 7", b.ask("document.body.textContent"))
            b.open(url + "job/holds")
            eventually(lambda: (b.open(url + "job/holds"), b.ask("document.querySelectorAll('figure svg').length"))[1] > 2, "its curves")
            assert_in("[node-1] begun", b.ask("document.body.textContent"))
            b.ask("(document.querySelector('a').click(), 0)")
            eventually(lambda: b.ask("document.querySelector('h1').textContent") == "t-page", "the way back")
            asked = {urllib.parse.urlsplit(one).netloc for one in b.requests() if one.startswith("http")}
            assert asked == {urllib.parse.urlsplit(url).netloc}
        key = urllib.parse.urlsplit(url).path
        for wrong in (url.replace(key, "/"), url.replace(key, "/" + "0" * 32 + "/"), url + "job/none", url + "../x"):
            assert code_of(wrong) == 404, wrong
        assert (code_of(url, "POST"), code_of(url, Host="evil.example"), code_of(url, "HEAD")) == (405, 421, 200)
        c.run("stop", "holds")
        held.end(143)
        waits.end(0)
        assert not [line for line in c.processes("sleep 4727")]
        page.interrupt()
        page.end(0)
        told = Running(c, "-o", "json", "page", "--listen", "127.0.0.1:0")
        line = json.loads(told.until(r"^\{.*\}$")[0][0])
        assert mistakes("metrics", line) == [] and code_of(line["url"]) == 200, line
        told.interrupt()
        told.end(0)
        assert_in("can be reached from other machines", c.run("page", "--listen", "0.0.0.0:0", code=2).stderr)
        table = c.run("top", "--by", "job", "--once").stdout
        assert re.search("no job runs", table), table
