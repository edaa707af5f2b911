"""Jobs as things: listed, followed, stopped and waited for from any client, on real nodes."""

import json
import pathlib
import signal
import subprocess

from harness import assert_in, cluster, eventually, read_until
from harness.waiting import peak_memory


def started(c, name, script, *options):
    """A client that runs a job over both nodes; its script says "started" on each."""
    client = c.start("run", "--name", name, *options, "--", "sh", "-c", script)
    read_until(client, "started", times=2)
    return client


def listed(c, code=0):
    return {job["job"]: job for job in json.loads(c.run("jobs", "-o", "json", code=code).stdout)["jobs"]}


def ended(client, code):
    out, err = client.communicate(timeout=60)
    assert client.returncode == code, f"exit code {client.returncode}, not {code}\n{out}{err}"
    return out, err


def test_jobs_are_listed_with_state_code_and_first_failure(lab):
    with cluster(lab, "t-jobs") as c:
        c.write().up()
        assert c.run("jobs").stdout.splitlines()[1:] == []
        c.run("run", "--name", "good", "--", "true")
        c.run("run", "--name", "bad", "--", "sh", "-c", "if [ $NODE_RANK = 1 ]; then exit 7; fi; exec sleep 4501", code=7)
        client = started(c, "long", "echo started; exec sleep 4502")
        jobs = listed(c)
        assert list(jobs) == ["good", "bad", "long"], jobs
        assert {name: (job["state"], job["exit_code"], job["nodes"]) for name, job in jobs.items()} == {
            "good": ("done", 0, ["node-0", "node-1"]), "bad": ("failed", 7, ["node-0", "node-1"]),
            "long": ("running", None, ["node-0", "node-1"])}
        first = jobs["bad"]["first_failure"]
        assert (first["node"], first["code"]) == ("node-1", 7)
        assert jobs["long"]["command"][-1] == "echo started; exec sleep 4502"
        assert jobs["long"]["duration_ms"] > 0
        rows = [line.split()[:3] for line in c.run("jobs").stdout.splitlines()]
        assert rows[1:] == [["good", "done", "node-0,node-1"], ["bad", "failed", "node-0,node-1"], ["long", "running", "node-0,node-1"]]
        c.run("stop", "long")
        ended(client, 143)


def test_a_host_that_does_not_answer_is_named_and_the_others_are_shown(lab):
    with cluster(lab, "t-jobs-part") as c:
        c.write().up()
        c.run("run", "--name", "one", "--nodes", "1", "--", "sh", "-c", "echo here")
        both = c.file.read_text()
        c.file.write_text(both.replace(f"{lab.addresses[1]}:2375", "127.0.0.1:9"))
        shown = json.loads(c.run("jobs", "-o", "json", code=1).stdout.splitlines()[0])
        assert shown["jobs"][0]["state"] == "done"
        shown = c.run("jobs", code=1)
        assert_in("127.0.0.1:9", shown.stderr)
        assert_in("one", shown.stdout)
        shown = c.run("logs", "one")  # the job has no part there
        assert_in("[node-0] here\n", shown.stdout)
        assert_in("127.0.0.1:9", shown.stderr)
        assert c.run("logs", "one", "--node", "node-0").stdout == "[node-0] here\n"
        c.file.write_text(both)


def test_a_name_is_free_again_once_its_job_has_ended(lab):
    with cluster(lab, "t-jobs-name") as c:
        c.write().up()
        client = started(c, "mine", "echo started; exec sleep 4501")
        again = c.run("run", "--name", "mine", "--", "touch", "/started-twice", code=125)
        assert_in("job mine of that name runs", again.stderr)
        c.run("exec", "node-0", "--", "test", "!", "-e", "/started-twice")
        c.run("stop", "mine")
        ended(client, 143)
        assert_in("mine.run2: ", c.run("run", "--name", "mine", "--nodes", "1", "--", "echo", "second").stderr)
        assert c.run("logs", "mine").stdout == "[node-0] second\n"
        assert_in("[node-1] started\n", c.run("logs", "mine.run1").stdout)
        assert_in("mine.run3: ", c.run("run", "--detach", "--name", "mine", "--", "echo", "third").stderr)
        c.run("wait", "mine")
        assert c.run("logs", "mine").stdout.count("third\n") == 2
        assert list(listed(c)) == ["mine", "mine.run2", "mine.run3"]
        assert_in("--name", c.run("run", "--name", "../x", "--", "true", code=2).stderr)
        assert_in("write --name mine", c.run("run", "--name", "mine.run7", "--", "true", code=2).stderr)


def test_attach_shows_all_and_ends_with_the_jobs_code(lab):
    with cluster(lab, "t-attach") as c:
        c.write().up()
        script = "echo started; until [ -e /tmp/go ]; do sleep 0.05; done; echo later; if [ $NODE_RANK = 1 ]; then exit 7; fi; exec sleep 4511"
        client = started(c, "job", script)
        attached = c.start("attach", "job")
        last = c.start("attach", "job", "--tail", "0")
        none = c.start("attach", "job", "--since", "2100-01-01T00:00:00Z")
        read_until(attached, "started", times=2)
        assert_in("attached", last.stderr.readline())
        for node in (1, 0):
            c.run("exec", f"node-{node}", "--", "touch", "/tmp/go")
        out, err = ended(attached, 7)
        assert_in("[node-1] later\n", out)
        assert_in("node-1: job: the command exited with 7", err)
        for client_of_the_rest in (last, none):
            out, _ = ended(client_of_the_rest, 7)
            assert "started" not in out
        assert_in("[node-1] later\n", c.run("attach", "job", "--since", "1h", code=7).stdout)
        ended(client, 7)
        again = c.run("attach", code=7)  # the latest, though it has ended
        assert {"[node-0] started", "[node-1] started", "[node-1] later"} <= set(again.stdout.splitlines()), again.stdout


def test_ctrl_c_of_attach_leaves_the_job_alone(lab):
    with cluster(lab, "t-attach-leave") as c:
        c.write().up()
        client = started(c, "job", "echo started; exec sleep 4521")
        attached = c.start("attach", "job")
        read_until(attached, "started", times=2)
        attached.send_signal(signal.SIGINT)
        followed = c.start("logs", "job", "--follow")
        read_until(followed, "started", times=2)
        followed.send_signal(signal.SIGINT)
        _, err = ended(attached, 0)
        assert err.count("dockdist stop job") == 2 and "error" not in err, err  # at the beginning, and now
        assert ended(followed, 0)[1] == ""
        assert client.poll() is None and len(c.processes("sleep 4521")) == 2
        c.run("stop", "job")
        ended(client, 143)


def test_attach_holds_the_lease_of_a_job_whose_client_was_killed(lab):
    with cluster(lab, "t-attach-hold") as c:
        c.write().up()
        # The script counts the lease's time several times over.
        client = started(c, "job", "echo started; sleep 6; echo over", "--lease", "2s")
        attached = c.start("attach", "job")
        read_until(attached, "started", times=2)
        client.kill()
        client.communicate()
        out, _ = ended(attached, 0)
        assert sorted(out.splitlines()) == ["[node-0] over", "[node-1] over"]


def test_stop_ends_a_job_from_another_client(lab):
    with cluster(lab, "t-stop-cmd") as c:
        c.write().up()
        client = started(c, "job", "echo started; exec sleep 4531")
        other = started(c, "other", "echo started; exec sleep 4532", "--share")
        done = c.run("stop", "job")
        assert done.stdout == "job: stopped on node-0, node-1\n"
        assert c.processes("sleep 4531") == [] and len(c.processes("sleep 4532")) == 2
        ended(client, 143)
        assert_in("had ended already (stopped, exit code 143)", c.run("stop", "job").stdout)
        for words in (["logs"], ["attach"], ["wait"], ["jobs"]):
            assert_in("there is no job `nobody`", c.run(*words, "nobody", code=125).stderr)
        unknown = c.run("stop", "nobody", code=125)
        assert_in("there is no job `nobody`", unknown.stderr)
        assert_in("other, job", unknown.stderr)
        both = json.loads(c.run("stop", "other", "job", "-o", "json").stdout)["jobs"]
        assert [(one["job"], one["nodes"][0]["was_running"]) for one in both] == [("other", True), ("job", False)]
        assert json.loads(c.run("stop", "other", "-o", "json").stdout)["nodes"][0]["was_running"] is False
        assert_in("there is no job `nobody`", c.run("stop", "nobody", "job", code=125).stderr)
        ended(other, 143)


def test_what_a_killed_supervisor_leaves_is_ended_without_a_word(lab):
    with cluster(lab, "t-stop-lost") as c:
        c.write().up()
        client = started(c, "job", "echo started; exec sleep 4541", "--lease", "60s", "--share")
        client.kill()
        client.communicate()
        # The supervisor, and the follower of the client that is gone, which would notice.
        c.run("exec", "node-1", "--", "sh", "-c", "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */dockdist-init) "
              "[ $p = /proc/1 ] || [ $p = /proc/$PPID ] || kill -9 ${p#/proc/};; esac; done")
        eventually(lambda: len(c.processes("sleep 4541")) == 1, "its container's first process ends what is left there")
        assert listed(c)["job"]["state"] == "running"  # on node-0
        c.run("stop", "job", "--grace", "1s")
        assert c.processes("sleep 4541") == []
        assert listed(c)["job"]["state"] == "lost"


def test_a_grace_that_one_client_gave_is_not_taken_by_the_jobs_own(lab):
    with cluster(lab, "t-stop-grace") as c:
        c.write().up()
        # node-0 obeys at once; node-1 needs a while to say goodbye.
        script = ("trap 'if [ $NODE_RANK = 1 ]; then sleep 2; fi; echo goodbye; exit 0' TERM; echo started; while :; do sleep 0.1; done")
        client = started(c, "job", script, "--grace", "20s")
        c.run("stop", "job", "--grace", "20s")
        out, _ = client.communicate(timeout=60)
        assert_in("[node-1] goodbye", out)


def test_wait_answers_with_the_jobs_code_or_124(lab):
    with cluster(lab, "t-wait") as c:
        c.write().up()
        c.run("run", "--name", "bad", "--nodes", "1", "--", "sh", "-c", "exit 9", code=9)
        done = c.run("wait", "bad", code=9)
        assert (done.stdout, done.stderr) == ("", "")
        client = started(c, "job", "echo started; exec sleep 4551")
        c.run("wait", "job", "--timeout", "300ms", code=124)
        waiting = c.start("wait", "job", "bad")
        any_of = c.run("wait", "--any", "job", "bad", code=9)
        assert (any_of.stdout, any_of.stderr) == ("bad\n", "")
        assert json.loads(c.run("wait", "--any", "job", "bad", "-o", "json", code=9).stdout)["job"] == "bad"
        c.run("stop", "job")
        assert ended(waiting, 143) == ("", "")
        ended(client, 143)
        c.run("wait", "nobody", code=125)


def test_the_cluster_ends_a_job_when_its_time_is_over(lab):
    with cluster(lab, "t-timeout") as c:
        c.write().up()
        done = c.run("run", "--name", "job", "--timeout", "1s", "--", "sh", "-c", "echo up; exec sleep 4561", code=124)
        assert_in("job: timed out (", done.stderr)
        assert c.processes("sleep 4561") == []
        job = listed(c)["job"]
        assert (job["state"], job["stop_reason"], job["exit_code"]) == ("stopped", "timeout", 124)
        c.run("wait", "job", code=124)
        # Without a client, too.
        client = started(c, "alone", "echo started; exec sleep 4562", "--timeout", "2s", "--lease", "600s")
        client.kill()
        client.communicate()
        c.run("wait", "alone", code=124)
        assert c.processes("sleep 4562") == []


def test_a_part_of_the_output_is_shown(lab):
    with cluster(lab, "t-logs") as c:
        c.write().up()
        client = started(c, "job", "for i in 1 2 3; do echo line $i; done; echo started; exec sleep 4571")
        assert c.run("logs", "job", "--node", "1", "--tail", "2").stdout == "[node-1] line 3\n[node-1] started\n"
        assert c.run("logs", "job", "--since", "1h", "--node", "0", "--tail", "1").stdout == "[node-0] started\n"
        assert c.run("logs", "job", "--since", "2100-01-01T00:00:00Z").stdout == ""
        assert_in("--since", c.run("logs", "job", "--since", "yesterday", code=2).stderr)
        lines = [json.loads(line) for line in c.run("logs", "job", "--tail", "1", "-o", "json").stdout.splitlines()]
        assert sorted((x["node"], x["line"]) for x in lines) == [("node-0", "started"), ("node-1", "started")]
        c.run("stop", "job")
        ended(client, 143)
        done = c.run("run", "--launcher", "plain", "--per-rank", "--gpus", "2", "--", "sh", "-c", "echo I am $RANK")
        assert c.run("logs", "--rank", "3").stdout == "[node-1:3] I am 3\n", done.stdout


def test_each_rank_has_a_file_of_its_own(lab):
    with cluster(lab, "t-log-dir") as c:
        c.write().up()
        folder = c.folder / "logs"
        script = r"printf 'a\r\033[2J\n'; printf err >&2"
        c.run("run", "--name", "job", "--log-dir", str(folder), "--launcher", "plain", "--per-rank", "--gpus", "2", "--", "sh", "-c", script)
        files = {path.name: path.read_bytes() for path in (folder / "job").iterdir()}
        assert sorted(files) == [f"node-{r // 2}.rank-{r}.log" for r in range(4)], files
        for content in files.values():
            assert content in (b"a\r\x1b[2J\nerr", b"erra\r\x1b[2J\n"), content
        taken = c.run("run", "--name", "job2", "--log-dir", str(folder), "--", "true")
        assert taken.returncode == 0
        assert_in("already exists", c.run("attach", "job", "--log-dir", str(folder), code=125).stderr)
        c.run("logs", "job", "--log-dir", str(c.folder / "again"))
        assert {p.name: p.read_bytes() for p in (c.folder / "again" / "job").iterdir()}.keys() == files.keys()


def test_output_beyond_the_limit_is_gone_and_said_so(lab):
    with cluster(lab, "t-log-limit") as c:
        c.write().up()
        c.run("run", "--name", "job", "--nodes", "1", "--log-limit", "1m", "--", "sh", "-c", "seq 1000000", timeout=180)
        shown = c.run("logs", "job")
        assert_in("bytes of this node's output are gone", shown.stderr)
        assert shown.stdout.endswith("[node-0] 1000000\n")
        assert len(shown.stdout) < 4 << 20
        assert_in("--log-limit", c.run("run", "--log-limit", "1k", "--", "true", code=2).stderr)


def stopped_reader(c, *command):
    """A client whose stdout nobody reads, and how much memory it takes meanwhile."""
    return subprocess.Popen(c.command(*command), env=c.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def test_a_reader_that_stands_still_costs_the_ranks_nothing_and_the_client_no_memory(lab):
    with cluster(lab, "t-still") as c:
        c.write().up()
        # 56 MB that nobody reads, then more than the lease: the client must go on to hold it.
        script = "yes 0123456789012345678901234567890123456789012345678901234567890 | head -n 900000; sleep 4; echo over"
        for command in (["run", "--name", "job", "--nodes", "1", "--lease", "2s", "--", "sh", "-c", script], ["attach", "job"]):
            client = stopped_reader(c, *command)
            eventually(lambda: "job" in listed(c), "the job has begun")
            c.run("wait", "job")  # the rank has written all, and nobody ended it
            assert peak_memory(client) < 100 << 20, peak_memory(client)
            out, err = client.communicate(timeout=120)
            assert client.returncode == 0, err
            assert out.endswith(b"[node-0] over\n"), out[-100:]
            assert len(out) == 900000 * (len("[node-0] ") + 62) + len("[node-0] over\n"), len(out)


def test_a_rank_cannot_forge_anothers_line(lab):
    with cluster(lab, "t-forge") as c:
        c.write().up()
        script = r"printf 'x\r[node-1] forged\n\033[1A\033[2K[node-1] forged\n\0338\233A\n\342\200\250[node-1] forged\n'"
        done = c.run("run", "--nodes", "1", "--", "sh", "-c", script)
        for text in (done.stdout, c.run("attach").stdout, c.run("logs").stdout):
            assert all(line.startswith("[node-0] ") for line in text.split("\n")[:-1]), text
            assert "\x1b" not in text and "\x9b" not in text and "\u2028" not in text, text
