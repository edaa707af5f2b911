"""All of the lab's hosts, whatever engine they run: a cluster on them, what is left there, and a slow way to them."""

import subprocess


def every_host(lab, c, image, more=""):
    """A cluster over all the lab's hosts; returns their engines in its order."""
    lines = [f"name: {c.name}", f"image: {image}", "hosts:"]
    lines += [f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: none}}" for i, address in enumerate(lab.all_addresses)]
    lines += ["container:", f"  ulimits: {{memlock: {lab.memlock}, nofile: {lab.env['LAB_NOFILE']}, nproc: {lab.env['LAB_NPROC']}}}"]
    c.file.write_text("\n".join([*lines, *more.splitlines()]) + "\n")
    return lab.all_engines


def layers(engine, ref):
    return engine.get(f"/v1.40/images/{ref}/json")["RootFS"]["Layers"]


def nothing_is_left(lab, c, but=0):
    """But so many containers: the nodes of a cluster that is up."""
    if but:
        assert len(c.all_containers()) == but, [each["Names"] for each in c.all_containers()]
    else:
        c.assert_clean()
    for engine in lab.all_engines:
        names = [name for image in engine.get("/v1.40/images/json") for name in [*(image["RepoTags"] or []), *(image["RepoDigests"] or [])]]
        assert not [name for name in names if "dockdist-relay" in name or "dockdist-toolkit" in name or "127.0.0.1" in name], names


def shape(link, rate):
    subprocess.run(["tc", "qdisc", "replace", "dev", link, "root", *f"tbf rate {rate} burst 64kb latency 100ms".split()], check=True)
