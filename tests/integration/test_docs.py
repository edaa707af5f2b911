"""What the pages show that needs a cluster, on one: two nodes with simulated GPUs and torch. And what is said of -o json."""

import re
import subprocess

import yaml

from harness import cluster
from harness.output_schema import SCHEMA, mistakes_of, name_of
from harness.pages import all_blocks, scene

FILE = """name: {name}
image: dockdist-lab/torch
hosts:
{hosts}
container:
  ulimits: {{memlock: {memlock}}}
  workdir: /workspace
sync: [".:/workspace"]
setup: ["true"]
launcher: torchrun
"""


def file_of(lab, name):
    hosts = "\n".join(f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: 2}}" for i, address in enumerate(lab.addresses[:2]))
    return FILE.format(name=name, hosts=hosts, memlock=lab.memlock)


def test_the_first_example_of_the_readme_runs_as_it_stands(lab, tmp_path):
    """From an empty folder, with the hosts, the image and the limit of the lab in place of those that it names."""
    block = next(block for block in all_blocks() if block.page == "README.md" and block.needs == "lab")
    first, rest = block.text.split("\n", 1)
    work, environment = scene(tmp_path, "")
    for made in work.iterdir():
        made.unlink()
    with cluster(lab, "work") as c:  # the folder's name
        def run(script):
            return subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=work, env=environment, text=True, capture_output=True, timeout=240,
                                  check=False, stdin=subprocess.DEVNULL)
        done = run(first)
        assert done.returncode == 0, done.stderr
        file = work / "cluster.yaml"
        said = yaml.safe_load(file.read_text())
        c.write(image="dockdist-lab/torch", gpus="2")
        of_lab = yaml.safe_load(c.file.read_text())
        said["container"].update(of_lab["container"])
        file.write_text(yaml.safe_dump({**said, "image": of_lab["image"], "hosts": of_lab["hosts"]}))
        done = run(rest)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert {f"rank {rank} of 4 on" for rank in range(4)} <= set(re.findall(r"rank \d of 4 on", done.stdout)), done.stdout
        assert "epoch 5 loss" in done.stdout, done.stdout


def test_the_blocks_of_the_pages_that_need_a_cluster_run(lab, tmp_path):
    pages = {}
    for block in all_blocks():
        if block.needs == "lab" and block.page != "README.md":
            pages.setdefault(block.page, []).append(block)
    assert len(pages) >= 4
    for page, blocks in pages.items():
        folder = tmp_path / page.replace("/", "-")
        folder.mkdir()
        with cluster(lab, "demo"):
            work, environment = scene(folder, file_of(lab, "demo"))
            script = "dockdist up --no-check\n" + "\n".join(f"# {block}\n{block.commands()}" for block in blocks)
            done = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=work, env=environment, text=True, capture_output=True, timeout=240,
                                  check=False, stdin=subprocess.DEVNULL)
            assert done.returncode == 0, f"{page}\n{done.stdout}\n{done.stderr}"


def test_what_is_printed_as_json_is_what_its_schema_says(lab):
    with cluster(lab, "t-json") as c:
        c.file.write_text(file_of(lab, c.name) + f"data: [{{from: 'node-0:/etc/hostname', to: {c.folder}/data}}]\n")
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
