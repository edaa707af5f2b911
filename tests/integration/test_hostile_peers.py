"""A hostile node and a hostile engine gain nothing. A proxy before real engines changes the messages of every protocol, one
lie a run of each command (harness/lies.py), and after each it is asked what of the promises in SECURITY.md still holds
(harness/victim.py). Longer, by hand: DOCKDIST_HOSTILE_ROUNDS=200 for so many lies a command, DOCKDIST_HOSTILE_SEED for others than
here, DOCKDIST_HOSTILE_COMMANDS="run,cp from" for some commands only."""

import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import time

from harness import cluster, remove_all
from harness.hostile import hostile_peers
from harness.lies import ESCAPES, LIES, Lie, Truth, endless_field, many_objects, places
from harness.messages import JobFrames, StdioFrames
from harness.patience import lease
from harness.victim import Victim

ROUNDS = int(os.environ.get("DOCKDIST_HOSTILE_ROUNDS", "0"))
SEED = int(os.environ.get("DOCKDIST_HOSTILE_SEED", "1"))
ONLY = [name for name in os.environ.get("DOCKDIST_HOSTILE_COMMANDS", "").split(",") if name]


DATA = "/srv/t-hostile"


class Field:
    """A cluster behind hostile peers, a user before it, and one old job."""

    def __init__(self, lab, c, peers):
        self.lab, self.c, self.peers, self.image = lab, c, peers, f"{c.name}/push:1"
        self.sleeping = None  # the name of a job that sleeps
        self.victim = Victim(c.folder / "user", c.folder / "user/work/cluster.yaml")
        c.file = self.victim.file
        work = self.victim.root / "work"
        (work / "code/pkg").mkdir(parents=True)
        (work / "code/train.py").write_text("print('one')\n")
        (work / "code/pkg/a.py").write_text("a\n")
        hosts = "".join(f"  - {{name: node-{i}, docker: '{peer.url}', address: {address}, gpus: none}}\n" for i, (peer, address) in enumerate(zip(peers, lab.addresses)))
        c.file.write_text(f"name: {c.name}\nimage: dockdist-lab/busybox\nhosts:\n{hosts}container:\n  ulimits: {{memlock: {lab.memlock}}}\n"
                          f"sync: [\"code:/workspace\"]\ncollect: [/out]\ndata: [{{from: 'node-0:{DATA}/from', to: {DATA}/to}}]\n")
        self.old_job = self.up()
        self.ssh_port = json.loads(c.run("-o", "json", "hostfile").stdout)[0]["ssh_port"]
        with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
            self.ports = [one.getsockname()[1], other.getsockname()[1]]

    def say(self, lie):
        for peer in self.peers:
            peer.lie = lie

    def again(self):
        self.say(Truth())
        remove_all(self.lab, self.c.name)
        self.c.up()

    def up(self):
        self.again()
        for node in ("node-0", "node-1"):
            self.c.run("exec", node, "--", "sh", "-c", "mkdir -p /out/sub; echo result >/out/sub/r; ln -s sub/r /out/l; echo log >/out/log")
        job = self.c.detach("--lease", lease(5), script="echo begun; sleep 1; exit 3")
        self.c.run("wait", job, code=3)
        return job

    def wake(self):
        """Ends the job that a `stop` was to end, which one that was lied to has not."""
        self.say(Truth())
        if self.sleeping:
            self.c.run("stop", self.sleeping, "--grace", "1s")
            self.sleeping = None

    def sleep(self):
        self.wake()
        self.sleeping = self.c.detach("--lease", lease(5), script="exec sleep 600")

    def may_log_in(self):
        """The user has the key, and the host keys as the nodes told them."""
        self.say(Truth())
        shutil.rmtree(self.victim.root / "work/state", ignore_errors=True)
        assert self.victim.run(["ssh-config"], ["state"]) == (0, [])

    def forget_image(self):
        engines = self.lab.engines
        if engines[0].call("GET", f"/v1.40/images/{self.image}/json")[0] != 200:
            made = engines[0].call("POST", "/v1.40/containers/create", {"Image": "dockdist-lab/busybox", "Cmd": ["true"]})
            identity = json.loads(made[1])["Id"]
            engines[0].call("POST", f"/v1.40/commit?container={identity}&repo={self.image[:-2]}&tag=1", {})
            engines[0].call("DELETE", f"/v1.40/containers/{identity}?force=1")
        engines[1].call("DELETE", f"/v1.40/images/{self.image}?force=1")

    def forget_data(self):
        self.lab.script("exec", "1", "sh", "-c", f"mkdir -p {DATA}/from/sub; echo one >{DATA}/from/one; echo two >{DATA}/from/sub/two; rm -rf {DATA}/to")
        self.lab.script("exec", "2", "rm", "-rf", DATA)

    def gone(self):
        self.say(Truth())
        remove_all(self.lab, self.c.name)

    def close(self):
        for number in ("1", "2"):
            self.lab.script("exec", number, "rm", "-rf", DATA)
        for engine in self.lab.engines:
            engine.call("DELETE", f"/v1.40/images/{self.image}?force=1")
            # What a push could not take back, since it was lied to.
            for image in engine.get("/v1.40/images/json"):
                for name in (image["RepoTags"] or []) + (image["RepoDigests"] or []):
                    if name.startswith("127.0.0.1:"):
                        engine.call("DELETE", f"/v1.40/images/{name}?force=1")


def sockets_of(pid):
    """(local port, whether on the loopback, peer's port) of a process's TCP sockets; the last is 0 where it listens."""
    own, found = set(), []
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                own.add(os.readlink(descriptor))
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in own:
                (address, port), peer = fields[1].split(":"), fields[2].split(":")[1]
                found.append((int(port, 16), address in ("0100007F", "0" * 24 + "01000000"), int(peer, 16)))
    return found


def use_ports(field, client):
    """Asks each forwarded port, looks whether the client has any other open, and ends it as its user does."""
    for port in field.ports:
        while client.poll() is None:
            with contextlib.suppress(ConnectionRefusedError, ConnectionResetError, TimeoutError):
                with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                    connection.settimeout(1)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass
                break
            if any(local == port and peer == 0 for local, _, peer in sockets_of(client.pid)):
                break  # it was reset, or came to nothing
            time.sleep(0.02)
    engines = [int(peer.url.rsplit(":", 1)[1]) for peer in field.peers]
    wrong = [f"has a socket of its own: {one}" for one in sockets_of(client.pid)
             if one[0] not in field.ports and one[2] not in engines or one[0] in field.ports and not one[1]]
    client.send_signal(signal.SIGINT)
    return wrong


ENTRY_LINE = re.compile(r"#.*|Host [a-z0-9-]+\.node-\d| {4}(HostName|HostKeyAlias) ([a-z0-9-]+\.)?node-\d| {4}User [\w.-]+|"
                        r" {4}ProxyCommand env XDG_STATE_HOME=\S+ \S+/dockdist -f \S+ proxy node-\d| {4}(IdentityFile|UserKnownHostsFile) \"[^\"]+\"|"
                        r" {4}(?!User |Proxy|HostName|HostKeyAlias|Local|Remote)[A-Za-z]+ [a-z0-9-]+|")
HOST_KEY = re.compile(r"node-\d ssh-ed25519 [A-Za-z0-9+/=]+")


def strange_lines(pattern, path):
    """A line that ssh would read and that says anything else."""
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return [f"{path.name} has the line {line[:200]!r}" for line in lines if not pattern.fullmatch(line)]


def judge_entries(field):
    return strange_lines(ENTRY_LINE, field.victim.root.parent / "stdout")


def judge_known_hosts(field):
    return [line for path in field.victim.root.glob("work/state/dockdist/ssh/*/known_hosts") for line in strange_lines(HOST_KEY, path)]


# channel: only there lies are told; beside, judge: what else is done, and asked afterwards.
Command = collections.namedtuple("Command", "words rounds before written waits raw input channel beside judge",
                                 defaults=(8, None, (), True, (), b"", "", None, None))

# rounds: how many lies are told in the tests that always run.
COMMANDS = {
    "status": Command(lambda f: ["status"], waits=False),
    "plan": Command(lambda f: ["plan"], waits=False),
    "hostfile": Command(lambda f: ["hostfile", "-o", "json"], waits=False),
    "image ls": Command(lambda f: ["image", "ls"], waits=False),
    "jobs": Command(lambda f: ["jobs"]),
    "jobs json": Command(lambda f: ["-o", "json", "jobs"]),
    "wait": Command(lambda f: ["wait", f.old_job]),
    "logs": Command(lambda f: ["logs", f.old_job, "--log-dir", "out/logs"], written=["out"]),
    "attach": Command(lambda f: ["attach", f.old_job, "--log-dir", "out/logs"], written=["out", "collected"]),
    "run": Command(lambda f: ["run", "--lease", lease(3), "--log-dir", "out/logs", "--", "sh", "-c", "echo out; echo err >&2; exit 0"], 12,
                   written=["out", "collected"]),
    "run json": Command(lambda f: ["-o", "json", "run", "--lease", lease(3), "--", "true"], 6, written=["collected"]),
    "run restarts": Command(lambda f: ["run", "--lease", lease(3), "--max-restarts", "1", "--backoff", "10ms", "--", "false"], 6, written=["collected"]),
    "run detached": Command(lambda f: ["run", "--lease", lease(3), "--detach", "--", "true"], 6, written=["collected"]),
    "stop": Command(lambda f: ["stop", f.sleeping, "--grace", "1s"], 6, before=Field.sleep),
    "exec": Command(lambda f: ["exec", "node-0", "--", "cat"], raw=("stdout", "stderr"), input=b"text\n"),
    "forward": Command(lambda f: ["forward", "node-0", f"{f.ports[0]}:node-0:{f.ssh_port}", f"{f.ports[1]}:29999"], channel="tunnel", beside=use_ports),
    "ssh-config": Command(lambda f: ["ssh-config"], 4, written=["state"], judge=judge_entries),
    "proxy": Command(lambda f: ["proxy", "node-0"], 6, before=Field.may_log_in, written=["state"], raw=("stdout",), input=b"SSH-2.0-victim\r\n",
                     judge=judge_known_hosts),
    "sync": Command(lambda f: ["sync", "--delete"], before=Field.wake),
    "cp from": Command(lambda f: ["cp", "node-0:/out", "out"], 12, written=["out"]),
    "cp to": Command(lambda f: ["cp", "code", "node-0:/tmp/in"]),
    "check": Command(lambda f: ["check"], 6),
    "check report": Command(lambda f: ["check", "--report", "out/report.html"], 1, written=["out"]),
    "image push": Command(lambda f: ["image", "push", f.image, "--from", "node-0"], 6, before=Field.forget_image),
    "data push": Command(lambda f: ["data", "push"], 6, before=Field.forget_data),
    "up": Command(lambda f: ["up"], 6, before=Field.gone),
    "down": Command(lambda f: ["down"], 2, before=Field.again, waits=False, written=["state"]),  # with this machine's key
}


def ask(field, name, lie):
    """What is wrong after one run of a command to which `lie` is told."""
    command = COMMANDS[name]
    for place in command.written:
        shutil.rmtree(field.victim.root / "work" / place, ignore_errors=True)
    (field.victim.root / "work/out").mkdir(exist_ok=True)
    if command.before:
        command.before(field)
    words = command.words(field)
    field.say(lie)
    begin = time.monotonic()
    code, wrong = field.victim.run(words, command.written, command.waits, command.raw, command.input,
                                   command.beside and functools.partial(command.beside, field))
    wrong += command.judge(field) if command.judge else []
    field.say(Truth())
    for peer in field.peers:
        wrong += [f"asked an engine: {line!r}" for line in peer.malformed]
        peer.malformed.clear()
    return code, wrong, time.monotonic() - begin


def campaign(field, name, rounds, seed, changes=LIES):
    """`rounds` lies to one command: what is wrong after each."""
    truth = Truth()
    code, wrong, _ = ask(field, name, truth)
    assert not wrong, (name, wrong)
    targets = sorted(target for target in truth.kinds if target[1].startswith(COMMANDS[name].channel))
    found, codes = [], collections.Counter()
    begin, told, slowest, most = time.monotonic(), 0, (0, ""), (0, "")
    for number in range(rounds):
        lie = Lie(f"{name}/{seed + number}", truth, targets, changes)
        code, wrong, taken = ask(field, name, lie)
        codes[code] += 1
        told += lie.told > 0
        slowest = max(slowest, (taken, lie.name))
        most = max(most, (field.victim.memory >> 20, lie.name))
        if taken > 10:
            print(f"\n{taken:.0f} s, {lie.told} told, code {code}: {lie.name}", flush=True)
        if wrong:
            found.append(f"{lie.name}: " + "; ".join(wrong))
            print(f"\n!! {found[-1]}", flush=True)
    print(f"\n{name}: {sum(truth.kinds.values())} messages of {len(targets)} kinds, {rounds} lies ({told} told) in {time.monotonic() - begin:.0f} s, "
          f"codes {dict(codes)}, slowest {slowest[0]:.1f} s ({slowest[1]}), most {most[0]} MiB ({most[1]})", flush=True)
    return found


@contextlib.contextmanager
def hostile_field(lab, name):
    with cluster(lab, name) as c, hostile_peers(lab) as peers:
        field = Field(lab, c, peers)
        try:
            yield field
        finally:
            field.close()


def test_whatever_a_node_or_an_engine_says_gains_nothing(lab):
    with hostile_field(lab, f"hostile-{SEED}" if ROUNDS else "t-hostile") as field:
        found = []
        if not ONLY:  # those that have taken much memory
            found += campaign(field, "status", ROUNDS or 6, SEED, [many_objects])
            found += campaign(field, "jobs", ROUNDS or 6, SEED, [many_objects, endless_field])
        for name in ONLY or COMMANDS:
            found += campaign(field, name, ROUNDS or COMMANDS[name].rounds, SEED)
        assert not found, "\n\n".join(found)


JOBS = "/var/lib/dockdist/store/jobs"
RECORDS = "node.json members.json hostfile environ"
# What root does to dockdist-init's files and processes in its node: $F is the folder of a job that has ended, $TEXT a JSON text which
# bears escape sequences wherever it has a string; and the commands that meet it.
TAKEN_OVER = {
    "a summary full of escapes": ('printf %s "$TEXT" >$F/summary.json', ["jobs", "jobs json", "wait", "attach"]),
    "a summary that is a link": ("ln -sf /etc/shadow $F/summary.json", ["jobs", "attach"]),
    "a summary that never ends": ("ln -sf /dev/zero $F/summary.json", ["jobs", "wait"]),
    "a summary that nobody writes": ("rm $F/summary.json; mkfifo $F/summary.json", ["jobs"]),
    "a summary of a gigabyte": ("truncate -s 1G $F/summary.json", ["jobs", "logs"]),
    "a log that nobody writes": ("for l in $F/log.*; do rm $l; mkfifo $l; done", ["attach"]),
    "a log that never ends": ("for l in $F/log.*; do ln -sf /dev/zero $l; done", ["logs", "attach"]),
    "a log that is a link": ("for l in $F/log.*; do ln -sf /etc/passwd $l; done", ["logs", "attach"]),
    "a log with a hole": ("for l in $F/log.*; do truncate -s 1G $l; done", ["logs", "attach"]),
    "ten thousand jobs": (f"for i in $(seq 9999); do mkdir {JOBS}/job-$i; done", ["jobs", "run"]),
    "jobs that lead elsewhere": (f"mv {JOBS} /moved; ln -s / {JOBS}", ["jobs", "wait", "run"]),
    "no folder for jobs": (f"mv {JOBS} /moved; mkfifo {JOBS}", ["jobs", "run"]),
    "records that nobody writes": (f"cd /run/dockdist; rm {RECORDS}; for f in {RECORDS}; do mkfifo $f; done", ["status", "hostfile"]),
    "records that never end": (f"cd /run/dockdist; for f in {RECORDS}; do ln -sf /dev/zero $f; done", ["status", "cp from", "run"]),
    "a log of the container that says ready": ('echo "$TEXT" >/proc/1/fd/1', ["status", "plan", "hostfile", "run"]),
    "every process killed": ("kill -9 -1", ["status", "jobs", "run"]),
}
SAVE = f"cp -a {JOBS} /saved-jobs; mkdir /saved-run; cd /run/dockdist; cp -a {RECORDS} /saved-run"
RESTORE = f"rm -rf {JOBS} /moved; cp -a /saved-jobs {JOBS}; cd /run/dockdist; rm -f {RECORDS}; cp -a /saved-run/* ."


def inside(field, script, text=""):
    """As the engine itself runs it in the first node, with `text` as $TEXT; its output."""
    engine, container = field.c.container("node-0")
    made = engine.call("POST", f"/v1.40/containers/{container}/exec", {"AttachStdout": True, "User": "0:0", "Env": [f"TEXT={text}"],
                                                                      "Cmd": ["sh", "-c", script]})
    _, frames = engine.call("POST", f"/v1.40/exec/{json.loads(made[1])['Id']}/start", {})
    return b"".join(frame[8:] for frame in StdioFrames().split(frames)[0]).decode()


def with_escapes(text):
    """The same JSON, but for its strings: what a name must be, stays."""
    value = json.loads(text)
    for container, key in places(value):
        if isinstance(container[key], str) and key not in ("job", "type", "node"):
            container[key] += ESCAPES
    return json.dumps(value)


def test_root_that_takes_over_its_node_gains_nothing(lab):
    with hostile_field(lab, "t-taken") as field:
        folder = f"{JOBS}/{field.old_job}"
        summary = with_escapes(inside(field, f"cat {folder}/summary.json"))
        record = with_escapes(inside(field, "cat /run/dockdist/node.json"))
        inside(field, SAVE)
        found = []
        for act, (script, commands) in TAKEN_OVER.items():
            inside(field, f"F={folder}; {script}", '{"type":"ready",' + record[1:] if "ready" in act else summary)
            for name in commands:
                code, wrong, taken = ask(field, name, Truth())
                if taken > 5:
                    print(f"\n{taken:.0f} s, code {code}, {field.victim.memory >> 20} MiB: {act}: {name}", flush=True)
                if wrong:
                    found.append(f"{act}: {name}: " + "; ".join(wrong))
                    print(f"\n!! {found[-1]}", flush=True)
            inside(field, RESTORE)
        assert not found, "\n\n".join(found)


# What a job writes into the streams of its own node's followers.
FORGED = {
    "an end": [{"kind": "C", "payload": {"type": "exited", "attempt": 0, "code": 0}}],
    "an end full of escapes": [{"kind": "C", "payload": {"type": "exited", "code": 300, "reason": ESCAPES, "failures": [
        {"rank": 1, "local_rank": 1, "code": 7, "tail": ESCAPES, "finding": ESCAPES, "node": ESCAPES}], "left_out": [ESCAPES]}}],
    "an error": [{"kind": "C", "payload": {"type": "error", "kind": "node", "message": ESCAPES, "hint": "run" + ESCAPES}}],
    "ranks that fail": [{"kind": "C", "payload": {"type": "rank_failed", "rank": rank, "code": 1, "tail": ESCAPES}} for rank in (-2, 0, 1, 1 << 40)],
    "a beginning without ports": [{"kind": "C", "payload": {"type": "prepared", "attempt": 0}}],
    "output of others": [{"kind": "O", "stream": 1, "rank": rank, "position": 1 << 63, "payload": ESCAPES + "\n"} for rank in (-1, 0, 1, 77, (1 << 20) - 1)],
    "two hundred ranks": [{"kind": "O", "stream": 1, "rank": rank, "payload": "x\n"} for rank in range(200)],
    "lines without end": [{"kind": "O", "stream": 1, "rank": 0, "payload": "x" * (1 << 20)}] * 40,
    "noise": [{"kind": "Z", "stream": 9, "rank": -9, "payload": "x"}],
}


def bears_escapes(act):
    return json.dumps(ESCAPES)[1:-1] in json.dumps(FORGED.get(act))


# On the first node alone; the shell's own words do not begin with a path.
IN_EVERY_FOLLOWER = "[ -e /forged ] || exit 0; sleep 0.3; for p in /proc/[0-9]*; do case $(tr '\\0' ' ' <$p/cmdline 2>/dev/null) in /*'init job '*) %s;; esac; done"
ACTS = {
    **dict.fromkeys(FORGED, IN_EVERY_FOLLOWER % "timeout 5 cat /forged >$p/fd/1" + "; sleep 1"),
    "the supervisor is killed": IN_EVERY_FOLLOWER % "kill -9 ${p#/proc/}" + "; sleep 100",
    "the supervisor stands still": IN_EVERY_FOLLOWER % "kill -STOP ${p#/proc/}" + "; sleep 100",
}


def test_a_job_that_writes_into_the_clients_stream_gains_nothing(lab):
    with hostile_field(lab, "t-forged") as field:
        found = []
        for act, script in ACTS.items():
            forged = b"".join(map(JobFrames().close, FORGED.get(act, [])))
            (field.victim.root / "work/forged").write_bytes(forged)
            field.c.run("cp", str(field.victim.root / "work/forged"), "node-0:/forged")
            for words in (["run"], ["-o", "json", "run"])[:2 if bears_escapes(act) else 1]:
                begin = time.monotonic()
                code, wrong = field.victim.run([*words, "--lease", lease(3), "--grace", "1s", "--log-dir", "out/logs", "--", "sh", "-c", script],
                                               ["out", "collected"], waits=True)
                shutil.rmtree(field.victim.root / "work/out", ignore_errors=True)
                print(f"\n{time.monotonic() - begin:.0f} s, code {code}, {field.victim.memory >> 20} MiB: {act}: {words}", flush=True)
                if act == "an error":
                    assert code == 125  # the forgery has been heard
                if wrong:
                    found.append(f"{act}: {words}: " + "; ".join(wrong))
                    print(f"\n!! {found[-1]}", flush=True)
        assert not found, "\n\n".join(found)
