"""exec and ssh: what they start, on every kind of engine, and how it ends with its client."""

import contextlib
import os
import signal
import subprocess

from harness import assert_in, cluster, eventually
from harness.patience import Watch
from harness.running import Running
from harness.terminal import Terminal

# On the node, in a process of its own that no hangup reaches by a terminal, and on another node by ssh.
SPREAD = "sleep {0} & ssh {1} 'echo there; exec sleep {0}' & ssh {1} 'sleep {0} & wait' & (trap '' HUP; exec sleep {0}9) >/dev/null 2>&1 & echo here; wait"


def write(c):
    """Two engines of Docker, two of Podman."""
    addresses = [*c.lab.addresses[:2], *c.lab.podman_addresses]
    hosts = "".join(f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: none}}\n" for i, address in enumerate(addresses))
    limits = f"memlock: {c.lab.memlock}, nofile: {c.lab.env['LAB_NOFILE']}, nproc: {c.lab.env['LAB_NPROC']}"
    c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n{hosts}container:\n  ulimits: {{{limits}}}\n")
    return c


def processes(c, seconds):
    """On all hosts, as these see them; the one that hears no hangup sleeps longer."""
    see = r"for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' 2>/dev/null <$f; echo; done"
    lines = "\n".join(c.lab.script("exec", str(host), "sh", "-c", see) for host in range(1, 5)).splitlines()
    return [line for line in lines if line.strip() in (f"sleep {seconds}", f"sleep {seconds}9")]


def test_what_exec_and_ssh_have_started_ends_with_their_client_on_all_nodes(lab):
    with cluster(lab, "t-exec") as c:
        write(c).up()
        with contextlib.ExitStack() as ending:
            # Its output waits for its reader, for longer than the lease: that client is not gone.
            paged = subprocess.Popen(c.command("exec", "--lease", "6s", "node-1", "--", "head", "-c", "64000000", "/dev/zero"),
                                     env=c.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            ending.callback(paged.kill)
            clients = []
            ways = [("SIGKILL", ()), ("SIGINT", ()), ("SIGTERM", ()), ("silence", ("--lease", "6s")), ("detached", ("--detach",))]
            for i, (way, flags) in enumerate(ways * 2):  # each with an engine of Docker and one of Podman
                node, seconds = i % 5 % 2 + i // 5 * 2, 4800 + i
                peer = (node + 1) % 4
                client = Running(c, "exec", *flags, f"node-{node}", "--", "sh", "-c", SPREAD.format(seconds, f"node-{peer}"))
                ending.callback(client.kill)
                clients.append((way, seconds, client))
            for _, seconds, client in clients:
                client.until("^there$")
                client.until("^here$")
                eventually(lambda seconds=seconds: len(processes(c, seconds)) == 4, f"the sleeps of {seconds}")
            sent = {"SIGKILL": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "silence": signal.SIGSTOP, "detached": signal.SIGKILL}
            for way, _, client in clients:
                client.process.send_signal(sent[way])
            for way, seconds, client in clients:
                if way in ("SIGINT", "SIGTERM"):
                    _, said = client.end(130)
                    assert_in("ending what was started in node-", said)
                stay = 4 if way == "detached" else 1
                eventually(lambda seconds=seconds, stay=stay: len(processes(c, seconds)) == stay, f"the end of {seconds} by {way}", timeout=40)
            output, _ = paged.communicate(timeout=60)
            assert (len(output), paged.returncode) == (64000000, 0)


def test_a_shell_on_a_terminal_is_one_of_the_user_s_own(lab):
    with cluster(lab, "t-shell") as c:
        write(c).up()
        # As ssh does it: one line for the shell there; exec's words are the program's own.
        assert c.run("ssh", "node-0", "--", "cd /proc; ls -d self |", "tr a-z A-Z", "&& exit 3", code=3).stdout == "SELF\n"
        assert c.run("exec", "node-0", "--", "echo", "a; b").stdout == "a; b\n"
        # A file is input as any other, and has an end.
        for node in range(4):
            with c.file.open() as file:
                done = subprocess.run(c.command("exec", f"node-{node}", "--", "cat"), env=c.environment(), stdin=file, capture_output=True, timeout=60)
            assert done.stdout == c.file.read_bytes(), done
        for node in range(4):
            terminal = Terminal(c.command("ssh", f"node-{node}"), {**c.environment(), "TERM": "vt100"})
            # What is typed before a prompt may be thrown away: each line waits for its own.
            def line(text, until, terminal=terminal):
                terminal.seen = ""
                terminal.type(text)
                terminal.read_until(until)
                return terminal.seen

            line("PS1='ready'-'> '\r", "ready-> ")
            seen = line("stty size; tty; echo $TERM; sh -c 'echo front-$((1+1)); exec sleep 4790'\r", "front-2")
            assert_in("/dev/pts/", seen)
            assert_in("vt100", seen)
            assert_in("Stopped", line("\x1a", "ready-> "))
            terminal.type("kill -9 %1; exec sh -c 'exit 5'\r")
            assert terminal.end() == 5
        # What the node says itself begins each line at its beginning, though the terminal is raw.
        refused = Terminal(c.command("exec", "--user", "nobody-such", "node-0", "--", "true"), c.environment())
        assert refused.end() == 126
        assert_in("nobody-such", refused.seen)
        assert "\n" not in refused.seen.replace("\r\n", ""), refused.seen
        # The window is closed: the kernel tells the client, and the client's end tells the node.
        terminal = Terminal(c.command("ssh", "node-1"), c.environment())
        terminal.read_until("# ")
        terminal.type("ssh node-2 'echo there-$((1+1)); exec sleep 4791' & sleep 4791\r")
        terminal.read_until("there-2")
        os.close(terminal.fd)
        watch = Watch()
        eventually(lambda: not processes(c, 4791), "its end on both nodes")
        assert watch.within(15), watch
        os.waitpid(terminal.pid, 0)
