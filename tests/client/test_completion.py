"""Completion in real shells: commands, options, their values, and the names of the file at hand; and that it does nothing else."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess

import pytest

from harness import DOCKDIST, assert_in
from harness.command_tree import commands
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
        """What stands on the line once Tab was pressed behind `line`, and where the cursor does."""
        self.screen.type("\x15" + line + "\t").until(PROMPT + wanted.rstrip())
        self.screen.type("@").until(PROMPT + wanted + "@")
        self.screen.type("\x15")

    def offers(self, line, *wanted):
        """What is shown where several may stand there."""
        self.screen.type("\x15" + line + "\t\t").until(lambda text: all(word in text.split() for word in wanted))
        self.screen.type("\x15" if self.name != "fish" else "\x1b\x15")

    def end(self):
        self.screen.type("\x15exit\r")
        self.screen.end()


FILE = """image: a
hosts:
  - {docker: 'tcp://127.0.0.1:9', name: node-0}
  - {docker: 'tcp://127.0.0.1:10', name: node-1}
data: [{from: 'node-0:/srv/llama', to: /srv/llama}]
groups: {first: node-0}
"""


@pytest.mark.parametrize("name", SHELLS)
def test_a_real_shell_completes(name, tmp_path):
    assert shutil.which(name), f"{name} is missing: scripts/install-packages"
    (tmp_path / "cluster.yaml").write_text(FILE)
    shell = Shell(name, tmp_path, DOCKDIST_FILE=str(tmp_path / "cluster.yaml"))
    (tmp_path / "dockdist").symlink_to(DOCKDIST)
    shell.completes("dockdist stat", "dockdist status ")
    shell.completes("true; dockdist stat", "true; dockdist status ")
    shell.completes(" ~/dockdist stat", " ~/dockdist status ")
    shell.completes("dockdist image pu", "dockdist image push ")
    shell.completes("dockdist logs --fol", "dockdist logs --follow ")
    shell.completes("dockdist run --on-stall rep", "dockdist run --on-stall report ")
    shell.completes("dockdist run --on-stall=st", "dockdist run --on-stall=stop ")
    shell.completes("dockdist cp node-1", "dockdist cp node-1:")
    shell.completes("dockdist run --nodes node-0,node-", "dockdist run --nodes node-0,node-1 ")
    shell.offers("dockdist exec node-", "node-0", "node-1")
    shell.end()


def offered(line, **environment):
    done = subprocess.run([DOCKDIST, "__complete", "--", line], capture_output=True, text=True, check=True, timeout=30,
                          env={**os.environ, **environment})
    assert done.stderr == ""
    return [answer.split("\t")[0] for answer in done.stdout.splitlines()]


def test_names_come_from_the_file_at_hand_as_they_stand_there(tmp_path):
    file = tmp_path / "other.yaml"
    file.write_text("image: a\nhosts: [{name: far, docker: 'ssh://nobody@203.0.114.1'}]\ngroups: {rack1: far}\n")
    assert offered(f"dockdist -f {file} exec ") == ["far", "@rack1", ":none"]
    assert offered(f"dockdist -f {file} data ls --node ") == ["far", "@rack1", ":none"]
    assert offered(f"dockdist -f {tmp_path}/none.yaml exec ") == [":none"]
    assert offered("dockdist run --launcher torchr")[:1] == ["torchrun"]
    file.write_text(FILE)
    assert offered("dockdist data rm ", DOCKDIST_FILE=str(file)) == ["/srv/llama", ":none"]
    assert offered("dockdist logs ", DOCKDIST_FILE=str(file)) == [":none"]  # only the nodes know jobs
    file.write_text("image: '${IMAGE}'\nno_such_key: 1\nhosts: [{name: far, docker: 'tcp://${SECRET}.test', slots: '${N}'}, "
                    "{name: '${SECRET}', docker: 'ssh://h'}, 'ssh://h']\n")
    done = subprocess.run([DOCKDIST, "__complete", "--", f"dockdist -f {file} exec "], capture_output=True, text=True, check=True,
                          env={**os.environ, "SECRET": "hunter2"})
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["far", "node-1", "h", ":none"]
    assert "hunter2" not in done.stdout


@pytest.fixture
def name_server(tmp_path):
    """A name server that hears what is asked and never answers; and what a command behind it begins with."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.153\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.153", 53))
        server.settimeout(30)
        yield server, ["unshare", "--mount", "sh", "-c", f'mount --bind {tmp_path}/resolv.conf /etc/resolv.conf; exec "$@"', "sh"]


def lines_with_names():
    """Each place of a command line where a name of the cluster may stand."""
    for command, known in commands():
        line = " ".join(["dockdist", *command, ""])
        if known["positionals"]:
            yield line
        for option, kind in known["options"].items():
            if re.search("NODE|HOST|JOB|DATA|SOURCE|FROM|TO", kind):
                yield f"{line}{option} "


def test_tab_runs_nothing_asks_nobody_and_waits_for_nothing(name_server, tmp_path):
    server, behind = name_server
    pipe, ran = tmp_path / "pipe", tmp_path / "ran"
    os.mkfifo(pipe)
    with socket.create_server(("127.0.0.1", 0)) as engine:
        (tmp_path / "cluster.yaml").write_text(f"""image: a
hosts:
  - {{docker: 'tcp://127.0.0.1:{engine.getsockname()[1]}'}}
  - {{docker: 'tcp://${{SECRET}}.test:2375', insecure: true}}
  - {{docker: 'ssh://far.test'}}
  - {{from: {{command: [touch, {ran}]}}}}
  - {{from: {pipe}}}
setup: [touch {ran}]
container: {{secrets: {{TOKEN: {{file: {pipe}}}}}}}
""")
        lines = list(lines_with_names())
        for wanted in ("logs", "attach", "stop", "wait", "exec", "cp", "run --nodes", "jobs", "top --job"):
            assert f"dockdist {wanted} " in lines, lines
        script = "; ".join(f'"$0" __complete -- {shlex.quote(line)}' for line in lines)
        done = subprocess.run([*behind, "sh", "-euc", script, DOCKDIST], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100,
                              env={**os.environ, "SECRET": "hunter2"})
        assert done.stderr == "" and "hunter2" not in done.stdout
        port = engine.getsockname()[1]
        assert_in(f"node-{port}\ttcp://127.0.0.1:{port}", done.stdout)
        for heard in (engine, server):
            heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            engine.accept()
        with pytest.raises(BlockingIOError):
            server.recv(512)
        assert not ran.exists()


def test_tab_waits_for_no_file(tmp_path):
    os.mkfifo(tmp_path / "cluster.yaml")
    for line in ("dockdist exec ", f"dockdist -f {tmp_path}/cluster.yaml exec ", "dockdist -f /dev/zero exec "):
        done = subprocess.run([DOCKDIST, "__complete", "--", line], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout == ":none\n", line


def test_a_name_server_that_does_not_answer_holds_up_no_ctrl_c(name_server, tmp_path):
    server, behind = name_server
    file = tmp_path / "cluster.yaml"
    file.write_text("image: a\nhosts: [{docker: 'tcp://away.test:2375', insecure: true}]\n")
    with subprocess.Popen([*behind, DOCKDIST, "-f", file, "status"], stderr=subprocess.PIPE, text=True) as status:
        while b"away" not in server.recv(512):
            pass
        status.send_signal(signal.SIGINT)
        assert status.wait(5) == 130, status.stderr.read()
