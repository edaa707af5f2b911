"""What the pages show that needs a cluster, typed on one: two nodes with simulated GPUs and torch. And what is said of -o json."""

import contextlib
import getpass
import pathlib
import re
import shutil
import socket
import urllib.parse

import pytest
import yaml

from harness import ROOT, cluster
from harness.output_schema import SCHEMA, mistakes_of, name_of
from harness.pages import all_blocks, scene
from harness.typed import Typist

# Pages that begin in an empty folder: where that is, and their machines.
NEWCOMER = {"README.md": ("work/demo", "gpu1", "gpu2"), "docs/first-cluster.md": ("work", "node-0", "node-1")}

FILE = """name: {name}
image: dockdist-lab/torch
hosts:
{hosts}
container:
  ulimits: {{memlock: {memlock}}}
  workdir: /workspace
sync: [".:/workspace"]
launcher: torchrun
"""


def file_of(lab, name, nodes=("node-0", "node-1")):
    hosts = "\n".join(f"  - {{name: {node}, docker: 'tcp://{address}:2375', insecure: true}}" for node, address in zip(nodes, lab.addresses))
    return FILE.format(name=name, hosts=hosts, memlock=lab.memlock)


def written(lab, folder):
    """What stands in pages for this machine's own addresses, for who asks, and for their folder."""
    names = [(address, f"10.0.0.{number}") for number, address in enumerate(lab.addresses, 1)]
    return [*names, (f"{getpass.getuser()}@{socket.gethostname()}", "ada@desk"), (str(folder), "/home/ada/demo")]


TYPED = {}
for each in all_blocks():
    if each.needs == "lab" and not each.folder and each.page not in NEWCOMER:
        TYPED.setdefault(pathlib.Path(each.page).stem, []).append(each)
assert len(TYPED) >= 4


@pytest.mark.parametrize("page", TYPED)
def test_a_page_is_typed_and_prints_what_it_shows(lab, tmp_path, page):
    """On a cluster that is up, with a train.py that names its rank."""
    with cluster(lab, "demo"):
        work, environment = scene(tmp_path, file_of(lab, "demo"))
        typist = Typist(tmp_path, work, environment, written(lab, work))
        code, said = typist.type("dockdist up --no-check")
        assert code == 0, said
        for block in TYPED[page]:
            typist.play(block)


@contextlib.contextmanager
def machines(lab, folder, names):
    """ssh://ops@NAME leads to the lab's hosts, and they have the image that `init` writes: both as a newcomer has them, in an empty home and an
    empty folder. ssh itself goes by the account's home and not by HOME, so that it is told its configuration."""
    work, environment = scene(folder, "")
    for made in work.iterdir():
        made.unlink()
    home = pathlib.Path(environment["HOME"])
    shutil.copy(lab.env["LAB_SSH_KNOWN_HOSTS"], folder / "known_hosts")
    config = "".join(f"Host {name}\n  HostName {address}\n" for name, address in zip(names, lab.addresses))
    (folder / "ssh_config").write_text(f"{config}Host *\n  IdentityFile {lab.env['LAB_SSH_KEY']}\n  UserKnownHostsFile {folder}/known_hosts\n"
                                       "  GlobalKnownHostsFile /dev/null\n")
    ssh = folder / "programs/ssh"
    ssh.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    ssh.chmod(0o755)
    environment["SSH_AUTH_SOCK"] = ""
    assert list(home.iterdir()) == [] and list(work.iterdir()) == []
    repository, tag = yaml.safe_load((ROOT / "templates/minimal.yaml").read_text())["image"].split(":")
    for engine in lab.engines[:2]:
        assert engine.call("POST", f"/v1.40/images/dockdist-lab%2Ftorch/tag?repo={urllib.parse.quote(repository, safe='')}&tag={tag}")[0] == 201
    try:
        yield environment
    finally:
        for engine in lab.engines[:2]:
            engine.call("DELETE", f"/v1.40/images/{repository}:{tag}?noprune=1")


class Newcomer(Typist):
    """Types all that a page shows. What the lab's hosts alone want of a cluster.yaml is written into it as soon as there is one: a limit of memlock."""

    def type(self, command):
        told = super().type(command)
        file = pathlib.Path(self.work) / "cluster.yaml"
        if file.exists() and "memlock" not in file.read_text():
            file.write_text(re.sub("^container:\n", f"container:\n  ulimits: {{memlock: {self.memlock}}}\n", file.read_text(), flags=re.MULTILINE))
        return told


@pytest.mark.parametrize("page", NEWCOMER, ids=lambda page: pathlib.Path(page).stem)
def test_a_newcomer_types_the_page_line_by_line(lab, tmp_path, page):
    blocks = [block for block in all_blocks() if block.page == page and block.language == "console" and block.needs in ("", "lab")]
    folder, *names = NEWCOMER[page]
    with cluster(lab, "demo"), machines(lab, tmp_path, names) as environment:
        (tmp_path / folder).mkdir(exist_ok=True)
        typist = Newcomer(tmp_path, str(tmp_path / folder), environment, written(lab, tmp_path / "work"))
        typist.memlock = lab.memlock
        for block in blocks:
            typist.play(block)


EXAMPLES = [block for block in all_blocks() if block.folder]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: pathlib.Path(block.folder).name)
def test_an_example_runs_as_its_page_shows_it(lab, tmp_path, block):
    """Those that the lab's image has the software for; of the others, what each node would start."""
    name = pathlib.Path(block.folder).name
    with cluster(lab, name):
        work, environment = scene(tmp_path, "")
        shutil.rmtree(work)
        shutil.copytree(ROOT / block.folder, work)
        said, here = (yaml.safe_load(text) for text in ((work / "cluster.yaml").read_text(), file_of(lab, name, ("gpu1", "gpu2"))))
        said.pop("setup", None)  # what it installs is in the image, or not to be had here
        container = {**here["container"], **said["container"]}
        (work / "cluster.yaml").write_text(yaml.safe_dump({**said, "name": name, "image": here["image"], "hosts": here["hosts"], "container": container}))
        typist = Typist(tmp_path, str(work), environment, written(lab, work))
        code, told = typist.type("dockdist up --no-check")
        assert code == 0, told
        if block.needs == "lab":
            typist.play(block)
            return
        for line in re.findall(r"^dockdist run .*", block.commands(), re.MULTILINE):
            code, told = typist.type(line.replace("dockdist run ", "dockdist run --dry-run ").replace("--detach ", ""))
            assert code == 0, told


def test_what_is_printed_as_json_is_what_its_schema_says(lab):
    with cluster(lab, "t-json") as c:
        c.file.write_text(file_of(lab, c.name) + f"setup: ['true']\ndata: [{{from: 'node-0:/etc/hostname', to: {c.folder}/data}}]\n")
        wrong, seen = [], set()

        def say(*words, code=0):
            done = c.run("-o", "json", *words, code=code)
            wrong.extend(mistakes_of(words, done.stdout) + mistakes_of(words, done.stderr))
            seen.add(name_of(words))
            return done

        say("validate")
        say("plan")
        say("up", "--timings")
        for words in (["status"], ["check"], ["top", "--once"], ["gpus"], ["hostfile"], ["image", "ls"], ["data", "ls"], ["version"], ["self-check"], ["help"],
                      ["ssh-config"]):
            say(*words, code=None)
        say("run", "--dry-run", "--", "train.py")
        say("run", "--launcher", "plain", "--name", "well", "--", "sh", "-c", "echo out; sleep 1.5")
        say("run", "--launcher", "plain", "--name", "badly", "--nodes", "1", "--", "sh", "-c", "echo no >&2; exit 7", code=7)
        say("run", "--launcher", "plain", "--name", "on", "--detach", "--", "sleep", "1000")
        say("jobs")
        say("jobs", "badly")
        say("jobs", "nosuch", code=None)
        say("gpus")
        say("stacks", "on")
        say("diagnose", "on")
        say("stop", "on")
        say("logs", "well")
        say("cp", "node-0:/etc/hostname", str(c.folder / "name"))
        say("sync", "--dry-run")
        say("sync")
        say("setup", "--again")
        say("export", "slurm", "--gpus", "2", "--", "train.py")
        say("export", "kubernetes", "--gpus", "2", "--", "train.py")
        say("init", str(c.folder / "other.yaml"))
        say("down")
        say("nosuch", code=2)
        assert wrong == [], "\n".join(wrong)
        shown_elsewhere = {"event", "error", "metrics", "run: gpus", "run: output", "run: forward", "slurm submit", "image push", "data push", "nosuch", "logs"}
        assert set(SCHEMA["properties"]) - shown_elsewhere <= seen
