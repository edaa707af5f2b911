"""What root runs in a node of another user's (docs/root-in-a-node.md): a whole node whose environment leads into a folder of container.user,
which holds a program of that user's for whatever root might look for, and says who has run it."""

import contextlib
import json
import os
import stat
import subprocess

import pytest

from harness.namespaces import BUSYBOX, DEADLINE, NEEDED, Host, Node, join, wait_for
from harness.node_process import Stream

pytestmark = NEEDED

USER = 1000
APART = b"64986"
INIT = "/opt/dockdist/bin/dockdist-init"
PLANTED = ("nvidia-smi", "getent", "python", "python3", "sh", "bash", "env", "id", "cat", "ssh", "sshd", "rsync", "hostname", "pkill")
# It says who runs it, then does as the true one, so that nothing fails for it.
TRAP = """#!/bin/busybox sh
echo "$(/bin/busybox id -u) ${0##*/}" >>/home/u/ran
case ${0##*/} in
nvidia-smi) echo "7, GPU-forged, Model, 0, 81920, 0, 30, 70.1, 550.1, Disabled, 0" ;;
*) exec /bin/busybox "${0##*/}" "$@" ;;
esac
"""
# Root's own: the first line looks a program up. It leaves its environment, byte for byte, and who it is.
TRUE_SMI = """#!/usr/bin/env sh
{ id -u; cat /proc/$$/environ; } >/asked/$$.new
mv /asked/$$.new "/asked/$$ $*"
case "$*" in
-L) echo "GPU 0: Model (UUID: GPU-true)" ;;
*-lms*) while echo "0, GPU-true, Model, 550.1, Disabled, 81920, 700.00, 1980, 100, 1024, 100.50, 61, 1980, 0x0000000000000020"; do sleep 1; done ;;
*) echo "0, GPU-true, Model, 0, 81920, 0, 30, 70.1, 550.1, Disabled, 0" ;;
esac
"""
LED = {"PATH": "/home/u/bin:relative::/opt/tools:/usr/local/bin:/bin:/usr/bin", "HOME": "/home/u", "SHELL": "/home/u/bin/sh", "DATA": "/home/u/data",
       **{name: "/home/u/lib" for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "PERL5LIB", "GCONV_PATH", "LOCPATH", "XDG_CONFIG_HOME")},
       **{name: "/home/u/lib/file" for name in ("LD_PRELOAD", "LD_AUDIT", "PYTHONSTARTUP", "BASH_ENV", "ENV", "OPENSSL_CONF", "GLIBC_TUNABLES",
                                                "MALLOC_TRACE", "HOSTALIASES", "GIT_SSH_COMMAND")}}


def owned(content, uid=0, mode=0o755):
    def make(path):
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        os.chown(path, uid, uid)
    return make


def link(target):
    return lambda path: os.symlink(target, path)


FILES = {
    **{"/home/u/bin/" + name: owned(TRAP, USER) for name in PLANTED},
    "/home/u/lib/file": owned("garbage", USER),
    "/home/u/ran": owned("", USER, 0o666),
    "/usr/bin/nvidia-smi": owned(TRUE_SMI),
    "/usr/bin/env": link("/bin/busybox"),
    # Root's, and led to the user's all the same.
    "/usr/local/bin/nvidia-smi": link("/home/u/bin/nvidia-smi"),
    "/opt/tools/nvidia-smi": owned("#!/home/u/bin/sh\n"),
    # As images have it that are made for any user of group 0.
    "/etc/passwd": owned("root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n", 0, 0o664),
    "/etc/group": owned("root:x:0:\nu:x:1000:\n", 0, 0o666),
}


class TestRoot:
    @pytest.fixture(scope="class", autouse=True)
    def node_of_a_user(self, request):
        with contextlib.ExitStack() as ending:
            host = Host()
            ending.callback(host.end)
            node = Node(host, "node-0", LED, FILES, busybox=BUSYBOX)
            ending.callback(node.end)
            for folder, uid, mode in (("/home/u", USER, 0o755), ("/home/u/bin", USER, 0o755), ("/asked", 0, 0o1777), ("/work", USER, 0o755)):
                os.makedirs(node.root + folder, exist_ok=True)
                os.chown(node.root + folder, uid, uid)
                os.chmod(node.root + folder, mode)
            os.makedirs(node.root + "/var/lib/dockdist/gpus")
            request.cls.node = node
            request.cls.records = join([node], user="1000:1000")
            yield

    def ran(self):
        """Who has run the user's programs, and which; from now on."""
        with open(self.node.root + "/home/u/ran", "r+") as file:
            lines = file.read().splitlines()
            file.truncate(0)
        return [tuple(line.split()) for line in lines]

    def asked(self, word):
        """Who the true nvidia-smi was when it was asked for that, and its environment."""
        found = [name for name in os.listdir(self.node.root + "/asked") if word in name]
        assert found, "nvidia-smi was not asked for " + word
        with open("%s/asked/%s" % (self.node.root, found[-1]), "rb") as file:
            uid, environ = file.read().split(b"\n", 1)
        return uid, dict(entry.decode().split("=", 1) for entry in environ.split(b"\0") if entry)

    def assert_nobody_led_root(self):
        assert [line for line in self.ran() if line[0] != str(USER)] == []

    def as_user(self, *command, **options):
        return self.node.run(INIT, "with-environment", "--", *command, **options)

    def as_root(self, *command, **options):
        return self.node.run(INIT, "with-environment", "--user", "0", "--", *command, **options)

    def test_who_is_believed_runs_apart_with_an_environment_of_ours(self):
        known = json.loads(self.node.run("/bin/cat", "/run/dockdist/gpus.json").stdout)
        assert [unit["id"] for unit in known["units"]] == ["GPU-true"]
        said = json.loads(self.node.run(INIT, "gpus").stdout)
        assert [unit["unit"]["id"] for unit in said["units"]] == ["GPU-true"], said
        uid, environment = self.asked("--query-gpu")
        assert uid == APART
        assert environment == {"HOME": "/", "LC_ALL": "C", "PATH": "/opt/tools:/usr/local/bin:/bin:/usr/bin:/usr/local/sbin:/usr/sbin:/sbin:"
                                                                   "/usr/local/nvidia/bin:/usr/lib/wsl/lib"}
        self.assert_nobody_led_root()

    def test_a_sampler_and_a_job_s_recorder_ask_the_same_one(self):
        sample = self.node.popen(INIT, "sample", "--interval", "100", stdin=subprocess.PIPE)
        line = b""
        while b"GPU-" not in line:  # one that was told, or what is wrong with it
            line = sample.stdout.readline()
        sample.stdin.close()
        sample.wait(DEADLINE)
        sample.stdout.close()
        assert b"GPU-true" in line, line
        uid, environment = self.asked("-lms 100")
        assert (uid, environment.pop("DOCKDIST_JOB"), sorted(environment)) == (APART, ":helper", ["HOME", "LC_ALL", "PATH"])
        opening = {"job": "led", "user": "1000:1000", "gpus": {"share": False, "count": 1, "in_use_mib": 1024}}
        job = Stream(self.node.popen(INIT, "job", "start", stdin=subprocess.PIPE, bufsize=0))
        job.process.stdin.write((json.dumps(opening) + "\n").encode())
        prepared = job.until("prepared")
        assert [unit["id"] for unit in prepared["gpus"].get("units", [])] in ([], ["GPU-true"]), prepared
        job.send(type="line", order=1)
        job.send(argv=["sh", "-c", "echo \"by $(id -u)\"; while ! [ -e /home/u/go ]; do sleep 0.1; done"])
        job.until_output(b"by 1000\n")
        wait_for("its recorder", lambda: any("-lms 1000" in name for name in os.listdir(self.node.root + "/asked")))
        assert self.asked("-lms 1000")[0] == APART
        with open(self.node.root + "/home/u/go", "w"):
            pass
        assert job.result()["code"] == 0
        ran = self.ran()
        assert {uid for uid, _ in ran} == {str(USER)} and (str(USER), "sh") in ran  # a job's own PATH counts for the job

    def test_a_check_s_questions_are_the_user_s_own_processes(self):
        question = {"ask": "facts", "names": ["node-0"], "peers": ["node-0"], "programs": [{"name": "python", "argv": ["nvidia-smi"]}]}
        facts = json.loads(self.node.run(INIT, "with-environment", "--user", "0", "--", INIT, "check", input=json.dumps(question).encode() + b"\n").stdout)
        assert "GPU-forged" in facts["programs"]["python"]["output"]  # the user's programs, as jobs would have them
        assert (facts["names"]["by"], facts["ssh"][0]["ok"]) == ("getent", True)
        ran = self.ran()
        assert {uid for uid, _ in ran} == {str(USER)} and {name for _, name in ran} >= {"getent", "nvidia-smi"}, ran

    def test_a_join_in_a_node_that_runs_believes_no_other(self):
        assert join([self.node], user="1000:1000")[0]["gpus"] == 1
        self.assert_nobody_led_root()

    def test_what_the_user_of_dockdist_has_root_do_is_not_led_by_the_container_s_user(self):
        done = self.as_root("sh", "-c", "id -u; cat /proc/$$/environ; echo; hostname")
        assert done.stdout.startswith(b"0\n"), done
        environment = dict(entry.decode().split("=", 1) for entry in done.stdout[2:].split(b"\n")[0].split(b"\0") if "=" in entry.decode())
        assert not [name for name, value in environment.items() if "/home/u" in value and name != "DATA"], environment
        assert (environment["DATA"], environment["HOME"]) == ("/home/u/data", "/root")
        assert environment["PATH"].startswith("/opt/dockdist/bin:/opt/tools:/usr/local/bin:/bin:"), environment["PATH"]
        shell = self.node.run(INIT, "with-environment", "--user", "0", "--line", "id -u", environment={"SHELL": "/home/u/bin/sh"})
        assert shell.stdout == b"0\n"
        refused = self.as_root("bash", "-c", "id -u")  # the user's alone
        assert (refused.returncode, refused.stdout) == (126, b"") and b"users other than root can change" in refused.stderr, refused
        self.assert_nobody_led_root()
        assert self.as_root("/home/u/bin/id", "-u").stdout == b"0\n"  # named by its path, it is what was asked for
        assert self.ran() == [("0", "id")]

    def line(self, run, user="user root"):
        digest, word = self.as_user(INIT, "setup", "state", json.dumps({"run": run, "user": user})).stdout.decode().split()
        return {"run": run, "user": user, "digest": digest}, word

    def test_root_s_line_of_setup_runs_with_root_s_programs_and_its_record_is_root_s(self):
        line, word = self.line("echo \"$(id -u) $DATA\"; cat /proc/$$/environ >/rootenv")
        assert word == "new"
        place = "/var/lib/dockdist/setup/" + line["digest"][:32]
        text, files = line["digest"][:32], line["digest"][32:]
        forged = self.as_user("sh", "-c", "echo '%s %s %s ' >%s" % (text, files, files, place))
        assert b"ermission denied" in forged.stderr, forged
        self.as_user("sh", "-c", "mkdir -p /var/lib/dockdist/setup/users/1000 && echo '%s %s %s ' >/var/lib/dockdist/setup/users/1000/%s" % (
            text, files, files, text))
        # As a node of an older dockdist may hold it, where everybody wrote to the folder.
        owned("%s %s %s \n" % (text, files, files), USER, 0o644)(self.node.root + place)
        assert self.line(line["run"])[1] == "new"
        self.ran()
        done = self.node.run(INIT, "setup", "run", json.dumps(line))
        assert (done.returncode, done.stdout) == (0, b"0 /home/u/data\n"), done
        self.assert_nobody_led_root()
        with open(self.node.root + "/rootenv", "rb") as file:
            assert b"/home/u/lib" not in file.read()
        assert self.line(line["run"])[1] == "done"
        assert os.stat(self.node.root + place).st_uid == 0

    def test_the_user_s_own_line_is_remembered_where_that_user_writes(self):
        line, word = self.line("id -u", user="")
        assert word == "new"
        assert self.as_user(INIT, "setup", "run", json.dumps(line)).stdout == b"1000\n"
        assert self.line("id -u", user="")[1] == "done"
        assert self.line("id -u", user="user 1000:1000")[1] == "new"  # another line
        modes = [stat.S_IMODE(os.stat(self.node.root + "/var/lib/dockdist/setup" + place).st_mode) for place in ("", "/users", "/users/1000")]
        assert modes == [0o755, 0o1777, 0o755]

    def test_who_is_who_stands_where_root_alone_writes(self):
        assert [stat.S_IMODE(os.stat(self.node.root + path).st_mode) for path in ("/etc/passwd", "/etc/group")] == [0o644, 0o644]
