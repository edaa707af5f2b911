"""Two nodes with launchers in their image, a folder that they share, and what ranks.py has printed there."""

import contextlib
import json
import re
import shutil

from harness.clusters import cluster
from harness.lab import ROOT

TORCH = "dockdist-lab/torch"
DEBIAN12 = "dockdist-lab/debian12"


@contextlib.contextmanager
def nodes(lab, name, image=TORCH, container="", gpus="2", host_more=""):
    with cluster(lab, name) as c:
        folder = lab.shared / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in (ROOT / "tests/integration").glob("ranks*.py"):
            shutil.copy(file, folder)
        c.folder_in_nodes = folder
        (c.folder / "token").write_text("s3cret")
        try:
            c.write(image=image, gpus=gpus, host_more=host_more,
                    container=f"mounts: ['/shared/{name}:/workspace']\nworkdir: /workspace\n{container}").up()
            yield c
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def answers(stdout):
    """What ranks.py printed as JSON, by rank, and from which node and rank the line came."""
    found = {}
    for line in stdout.splitlines():
        match = re.match(r"\[(node-\d):(\d+) *\] (\{.*\})$", line)
        if match:
            answer = json.loads(match[3])
            assert int(answer["RANK"]) not in found, f"twice: {line}"
            found[int(answer["RANK"])] = answer
            assert (match[1], match[2]) == (f"node-{answer['NODE_RANK']}", answer["RANK"]), line
    return found


def leftovers(c):
    """What launchers are known to leave behind, in the nodes and in the folder that they share."""
    found = [str(path) for path in c.folder_in_nodes.rglob("*") if path.name.startswith(".")]
    for node in (0, 1):
        found += c.run("exec", f"node-{node}", "--", "sh", "-c",
                       "ls -d /root/.deepspeed_env /run/dockdist/jobs/* /tmp/ray-* 2>/dev/null; "
                       "grep -rl s3cret /var/lib/dockdist /tmp 2>/dev/null; true").stdout.split()
    return found
