"""The command line as such: its help, what it says of mistakes, and that it is the same everywhere."""

import json
import os
import re
import subprocess

import pytest

from harness import DOCKDIST, ROOT, assert_in, cluster
from harness.command_tree import commands, dockdist


def said(*words, code=2, **environment):
    done = dockdist(*words, **environment)
    assert done.returncode == code, done
    return done


def test_every_help_is_in_words_and_fits_a_page():
    seen = []
    for command, known in commands():
        text = said(*command, "--help", code=0).stdout
        assert text == said("help", *command, code=0).stdout
        for raw in ("->", "ENUM", ":value", "TEXT", r"--[a-z-]+ (INT|UINT|FLOAT)\b", "Excludes:", "Needs:"):
            assert not re.search(raw, text), (command, raw, text)
        for line in text.splitlines():
            assert len(line) <= 80, (command, line)
        seen += [command]
        if len(command) == 1:
            assert re.search(rf"^Examples:\n  .*\bdockdist {command[0]}\b", text, re.MULTILINE), text
        for option, kind in known["options"].items():
            assert re.fullmatch(r"[A-Z]+([=.:][A-Za-z]+)?(\|[a-z]+)*|[a-z]+(\|[a-z]+)+", kind), (command, option, kind)
    assert len(seen) > 25, seen


def test_the_commands_stand_in_groups_with_an_example_each():
    text = said("help", code=0).stdout
    groups = re.findall(r"^([A-Z][\w ,]+):$", text, re.MULTILINE)
    assert groups[0] == "The cluster" and "Jobs" in groups and "Commands" not in groups, groups
    for command, _ in commands():
        if len(command) == 1:
            assert re.search(rf"\$ .*\bdockdist {command[0]}\b", text), command
    assert "__complete" not in text


def test_without_a_command_the_first_page_is_shown():
    done = said()
    assert done.stdout == ""
    assert_in("dockdist help COMMAND", done.stderr)
    for command, _ in commands():
        if len(command) == 1:
            assert_in(f"  {command[0]} ", done.stderr)


def test_a_mistyped_command_is_told_with_what_was_meant():
    assert said("chekc").stderr.splitlines()[0] == "error: there is no command chekc; did you mean check?"
    assert said("help", "chekc").stderr.splitlines()[0] == "error: there is no command chekc; did you mean check?"
    assert_in("did you mean push?", said("image", "psh").stderr)
    assert_in("did you mean --follow?", said("logs", "--folow").stderr)
    assert_in("goes after `--`", said("run", "train.py", "--epochs", "3").stderr)


MISTAKES = [["chekc"], ["status", "--nope"], ["run", "--gpus", "abc", "--", "x"], ["run"], ["logs", "--since", "9999-99-99"],
            ["run", "--env", "1A=x", "--", "x"], ["wait", "j", "--timeout", ""], ["help", "nosuch"], ["-f", "/nowhere/cluster.yaml", "status"],
            ["jobs", "--by", "week"], ["jobs", "night", "--by", "user"], ["jobs", "night", "--since", "1d"], ["jobs", "--since", "1h", "--until", "2h"],
            ["jobs", "--all-clusters", "--since", "1d"], ["jobs", "--since", "2026-02-30"]]


@pytest.mark.parametrize("words", MISTAKES, ids="_".join)
def test_errors_are_json_on_stderr_where_json_was_asked_for(words):
    before = said("-o", "json", *words)
    assert before.stdout == ""
    error = json.loads(before.stderr)
    assert error["type"] == "error" and error["kind"] in ("usage", "config") and error["message"] and error["hint"], error
    if "--" not in words:
        assert said(*words, "--output=json").stderr == before.stderr


def test_csv_is_of_jobs_alone():
    for words in ("status", "jobs --all-clusters", "gpus", "exec node-0 -- true"):
        error = said("-o", "csv", *words.split()).stderr
        assert_in("--output: csv is", error)
        assert len(error.splitlines()) == 2, error  # what is wrong, and what to do


def test_no_option_that_counts_speaks_of_numbers_beyond_reason():
    tried = 0
    for command, known in commands():
        needed = ["x"] * sum(required for _, required in known["positionals"])
        for option, kind in known["options"].items():
            for word in ("abc", "1e400", "-", "9" * 400) if kind in ("N", "DURATION", "SIZE", "TIME") else ():
                error = said(*command, option, word, *needed).stderr
                assert_in(f"{option}: ", error)
                assert len(error.replace(word, "").splitlines()[0]) < 120, error
                assert not re.search(r"\d{10}", error.replace(word, "")), error
                tried += 1
    assert tried > 40


def test_what_the_file_alone_tells_of_a_run_is_told_before_any_host_is_asked(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text("image: busybox\nhosts: ['tcp://127.0.0.1:1', 'tcp://127.0.0.1:2']\n")
    for line in ("--launcher torchrunn", "--launcher torchrun --via pdsh", "--role ps=1", "--launcher tensorflow --role pss=1",
                 "--launcher tensorflow --role worker=0", "--launcher torchrun --per-rank", "--env NOT_SET_HERE", "--on-idle stop",
                 "--nodes node-9"):
        said("-f", str(file), "run", *line.split(), "--", "x")
    # Nothing listens there.
    assert_in("refused", said("-f", str(file), "run", "--", "x", code=125).stderr)


SECRET_IN_ENV = "env: {API_TOKEN: abc}"  # of `container`: a warning of every command that reads the file


def test_errors_and_warnings_are_json_on_stderr_and_stdout_is_one_value(lab):
    with cluster(lab, "t-json-errors") as c:
        c.write(container=SECRET_IN_ENV)
        c.file.write_text(c.file.read_text().replace(lab.addresses[1] + ":2375", lab.addresses[1] + ":2399"))
        done = c.run("status", "-o", "json", code=1)
        assert [node["state"] for node in json.loads(done.stdout)["nodes"]] == ["absent", "unreachable"]
        warning, error = map(json.loads, done.stderr.splitlines())
        assert (warning["type"], warning["kind"]) == ("event", "warning")
        assert_in("API_TOKEN", warning["text"])
        assert_in("node-1", error["where"])


def test_no_warning_stands_beside_the_one_value_of_a_command(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text(f"image: a\nhosts: ['tcp://127.0.0.1:1']\ncontainer: {{{SECRET_IN_ENV}}}\ndata: [{{from: ., to: /srv/x}}]\n")
    for line in ("validate", "status", "plan", "check", "gpus", "hostfile", "jobs", "jobs x", "top --once", "image ls", "data ls", "stop x",
                 "run --dry-run --launcher plain -- x"):
        done = dockdist("-f", str(file), "-o", "json", *line.split())
        assert_in("API_TOKEN", done.stderr)
        assert done.stdout.count("\n") <= 1 and "API_TOKEN" not in done.stdout, done
    # Where lines are printed, it is one of them.
    assert_in("API_TOKEN", dockdist("-f", str(file), "-o", "json", "down").stdout)


def test_a_job_that_is_none_is_told_with_the_latest_newest_first(lab):
    with cluster(lab, "t-nosuch") as c:
        c.write().up()
        for name in ("first", "second", "third"):
            c.run("run", "--name", name, "--", "true")
        assert_in("the latest are: third, second, first\n", c.run("logs", "nosuch", code=125).stderr)
        assert_in("did you mean `second`?", c.run("logs", "secnd", code=125).stderr)


def test_the_unedited_file_of_init_says_so_before_anything_is_reached(tmp_path):
    file = tmp_path / "cluster.yaml"
    said("init", str(file), code=0)
    assert (tmp_path / "train.py").read_text() == (ROOT / "templates/train.py").read_text()
    for command in ("up", "check", "plan", "status", "validate"):
        error = said(command, "-f", str(file)).stderr
        assert_in(f"{file}:10:5: `hosts[0]`: 192.0.2.1 is an example", error)
        assert_in("put your own machines here", error)


def test_init_leaves_a_train_py_and_a_home_folder_alone(tmp_path):
    (tmp_path / "train.py").symlink_to("nowhere.py")
    done = said("init", str(tmp_path / "cluster.yaml"), code=0)
    assert "train.py\n" not in done.stdout + done.stderr.split("next:")[0] and not (tmp_path / "nowhere.py").exists()
    home = tmp_path / "home"
    (home / "train").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    for place in ("home", "link", "home/../home"):
        error = said("init", str(tmp_path / place / "new.yaml"), HOME=str(home)).stderr
        assert_in("your home folder would be copied to every node", error)
    said("init", str(tmp_path / "other.yaml"), HOME=str(home))
    assert not list(home.glob("*.*")) and not (tmp_path / "other.yaml").exists()
    said("init", str(home / "train/cluster.yaml"), HOME=str(home), code=0)


def test_init_local_takes_the_engine_that_docker_would_use_and_up_runs_on_it(lab):
    with cluster(lab, "t-init-local") as c:
        engine = {"DOCKER_HOST": f"unix://{lab.sockets[0]}"}
        assert json.loads(c.run("init", "--local", "-o", "json", str(c.file), **engine).stdout) == {
            "schema": 1, "file": str(c.file), "training": str(c.folder / "train.py"), "engine": engine["DOCKER_HOST"], "engine_by": "DOCKER_HOST", "found": True}
        text = c.file.read_text()
        assert_in(f"    docker: {engine['DOCKER_HOST']}\n", text)
        text = re.sub("^image: .*", "image: dockdist-lab/busybox", text, flags=re.MULTILINE)
        c.file.write_text(f"name: {c.name}\n" + text.replace("container:", f"container:\n  ulimits: {{memlock: {lab.memlock}}}"))
        c.up()
        assert [node["state"] for node in json.loads(c.run("status", "-o", "json").stdout)["nodes"]] == ["ready", "ready"]


def test_init_local_says_what_keeps_its_file_from_working(tmp_path):
    file = tmp_path / "cluster.yaml"
    assert_in("has no TLS: whoever reaches that port is root on the host",
              said("init", "--local", str(file), code=0, DOCKER_HOST="tcp://10.0.0.1:2375").stderr)
    assert_in("    docker: tcp://10.0.0.1:2375\n    # insecure: true ", file.read_text())
    assert_in("without TLS", said("validate", "-f", str(file)).stderr)
    file.write_text(file.read_text().replace("# insecure", "insecure"))
    said("validate", "-f", str(file), code=0)
    refused = said("init", "--local", str(tmp_path / "other.yaml"), DOCKER_HOST="tcp://10.0.0.1:2376", DOCKER_TLS_VERIFY="1",
                   DOCKER_CERT_PATH=str(tmp_path))
    assert_in(f"there is no {tmp_path}/ca.pem, no {tmp_path}/cert.pem, no {tmp_path}/key.pem", refused.stderr)
    (tmp_path / "beside-home").mkdir()
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", DOCKDIST, "init", "--local", "-o",
                           "json", str(tmp_path / "beside-home/none.yaml")], capture_output=True, text=True, check=True,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")})
    assert json.loads(done.stdout)["found"] is False
    assert_in("no engine answers", json.loads(done.stderr)["text"])
