"""Completion in real shells: commands, options, their values, and the names of the file and of the cluster at hand."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess

import pytest

from harness import DOCKDIST, assert_in, cluster
from harness.screen import DUMB, Screen

PROMPT = "here> "
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], f"PS1='{PROMPT}'; source <(dockdist completion bash); bind 'set bell-style none'; clear"),
    "zsh": (["zsh", "-f", "-i"],
            f"PS1='{PROMPT}'; unsetopt beep; autoload -U compinit; compinit -u -D; source <(dockdist completion zsh); clear"),
    "fish": (["fish", "--no-config", "--interactive", "--private"],
             f"function fish_prompt; echo -n '{PROMPT}'; end; function fish_greeting; end; dockdist completion fish | source; clear"),
}


class Shell:
    """One at its prompt, with the program in its PATH."""

    def __init__(self, name, folder, **environment):
        argv, setting = SHELLS[name]
        env = {**os.environ, **DUMB, "TERM": "xterm", "PATH": f"{DOCKDIST.parent}:{os.environ['PATH']}", "HOME": str(folder), **environment}
        self.screen = Screen(argv, 160, env)
        self.screen.type(setting + "; echo re''ady\r").until(lambda text: "ready" in text.split())
        self.name = name

    def completes(self, line, wanted):
        """What stands on the line once Tab was pressed behind `line`; pressed again where a busy machine took longer than Tab waits."""
        for limit in (5, 5, 5, 30):
            self.screen.type("\x15" + line + "\t")
            with contextlib.suppress(AssertionError) if limit == 5 else contextlib.nullcontext():
                self.screen.until(PROMPT + wanted.rstrip(), timeout=limit)
                break
        self.screen.type("@").until(PROMPT + wanted + "@")  # where the cursor stands
        self.screen.type("\x15")

    def offers(self, line, *wanted):
        """What is shown where several may stand there."""
        self.screen.type("\x15" + line + "\t\t").until(lambda text: all(word in text.split() for word in wanted))
        self.screen.type("\x15" if self.name != "fish" else "\x1b\x15")

    def end(self):
        self.screen.type("\x15exit\r")
        self.screen.end()


@pytest.fixture(scope="module")
def c(lab):
    with cluster(lab, "t-completion") as made:
        made.write(hosts=2, more="data: [{from: 'node-0:/srv/llama', to: /srv/llama}]\ngroups: {first: node-0}").up()
        made.run("run", "--name", "nightly-run", "--", "true")
        yield made


@pytest.mark.parametrize("name", SHELLS)
def test_a_real_shell_completes(name, c, tmp_path):
    assert shutil.which(name), f"{name} is missing: scripts/install-packages"
    shell = Shell(name, tmp_path, DOCKDIST_FILE=str(c.file))
    (tmp_path / "dockdist").symlink_to(DOCKDIST)
    shell.completes("dockdist stat", "dockdist status ")
    shell.completes("true; dockdist stat", "true; dockdist status ")
    shell.completes(" ~/dockdist stat", " ~/dockdist status ")
    shell.completes("dockdist image pu", "dockdist image push ")
    shell.completes("dockdist logs --fol", "dockdist logs --follow ")
    shell.completes("dockdist run --on-stall rep", "dockdist run --on-stall report ")
    shell.completes("dockdist run --on-stall=st", "dockdist run --on-stall=stop ")
    shell.completes("dockdist logs night", "dockdist logs nightly-run ")
    shell.completes("dockdist cp node-1", "dockdist cp node-1:")
    shell.completes("dockdist run --nodes node-0,node-", "dockdist run --nodes node-0,node-1 ")
    shell.offers("dockdist exec node-", "node-0", "node-1")
    shell.end()


def offered(line, **environment):
    done = subprocess.run([DOCKDIST, "__complete", "--", line], capture_output=True, text=True, check=True, timeout=30,
                          env={**os.environ, **environment})
    assert done.stderr == ""
    return [answer.split("\t")[0] for answer in done.stdout.splitlines()]


def test_names_come_from_the_file_at_hand_and_nobody_is_asked_for_them(c, tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text("image: a\nhosts: [{name: far, docker: 'ssh://nobody@203.0.114.1'}]\ngroups: {rack1: far}\n")
    assert offered(f"dockdist -f {file} exec ") == ["far", "@rack1", ":none"]
    assert offered(f"dockdist -f {file} data ls --host ") == ["far", ":none"]
    assert offered(f"dockdist -f {tmp_path}/none.yaml exec ") == [":none"]
    assert offered("dockdist data rm ", DOCKDIST_FILE=str(c.file)) == ["/srv/llama", ":none"]
    assert offered("dockdist run --launcher torchr")[:1] == ["torchrun"]


def test_a_cluster_that_does_not_answer_holds_up_nobody_for_longer_than_a_second(lab, c, tmp_path):
    lab.script("exec", "host-2", "pkill", "-STOP", "-x", "dockerd")
    try:
        done = subprocess.run(["timeout", "3", DOCKDIST, "__complete", "--", "dockdist logs "], capture_output=True, text=True, check=True,
                              env={**os.environ, "DOCKDIST_FILE": str(c.file)})
        assert_in(":none", done.stdout)
    finally:
        lab.script("exec", "host-2", "pkill", "-CONT", "-x", "dockerd")


def test_nothing_that_completion_runs_may_ask_on_the_terminal(tmp_path):
    file = tmp_path / "cluster.yaml"
    asking = f"true 2>/dev/null </dev/tty && touch {tmp_path}/asked; touch {tmp_path}/ran; exit 1"
    file.write_text(f"image: a\nhosts: [{{from: {{command: [sh, -c, '{asking}']}}}}]\n")
    shown = Screen(["sh", "-c", f"'{DOCKDIST}' __complete -- 'dockdist -f {file} logs '; true"], 80, {**os.environ, **DUMB})
    assert shown.end() == 0
    assert (tmp_path / "ran").exists() and not (tmp_path / "asked").exists(), shown.text()


@pytest.fixture
def silent_names(tmp_path):
    """A name server that is asked and never answers; a file with a host by name; and what a command behind that server begins with."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.153\n")
    file = tmp_path / "cluster.yaml"
    file.write_text("image: a\nhosts: [{docker: 'tcp://far.test:2375', insecure: true}]\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.153", 53))
        server.settimeout(30)
        yield server, file, ["unshare", "--mount", "sh", "-c", f'mount --bind {tmp_path}/resolv.conf /etc/resolv.conf; exec "$@"', "sh"]


def test_a_name_server_that_does_not_answer_holds_up_nobody_either(silent_names):
    server, file, behind = silent_names
    done = subprocess.run([*behind, "timeout", "3", DOCKDIST, "__complete", "--", f"dockdist -f {file} logs "], capture_output=True, text=True,
                          check=True)
    assert done.stdout == ":none\n"
    assert b"far" in server.recv(512)
    file.write_text(file.read_text().replace("far", "away"))
    with subprocess.Popen([*behind, DOCKDIST, "-f", file, "status"], stderr=subprocess.PIPE, text=True) as status:
        while b"away" not in server.recv(512):
            pass
        status.send_signal(signal.SIGINT)
        assert status.wait(5) == 130, status.stderr.read()
