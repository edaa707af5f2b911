"""Hosts of two architectures: a node of arm64 is a real one, of an arm64 image and toolkit, run by qemu; that its host is of arm64 too is
what a proxy in front of its engine says."""

import urllib.parse

import pytest

from harness import assert_in, cluster
from harness.emulation import arm64_runs_here, busybox_image
from harness.proxy import proxies, write_through

IMAGE = "dockdist-lab/mixed"


def as_arm64(data):
    """What an engine says of its machine; as many bytes as before."""
    return data.replace(b'"Architecture":"x86_64"', b'"Architecture":"arm64" ').replace(b'"Arch":"amd64"', b'"Arch":"arm64"')


@pytest.fixture
def mixed(lab):
    """The image, by one name for amd64 on the first host and for arm64 on the second."""
    one, two = lab.engines[:2]
    assert one.call("POST", f"/v1.40/images/dockdist-lab%2Fbusybox/tag?repo={urllib.parse.quote(IMAGE, safe='')}&tag=latest")[0] == 201
    with arm64_runs_here():
        status, said = two.call("POST", "/v1.40/images/load?quiet=1", busybox_image(IMAGE + ":latest"))
        assert status == 200, said
        yield
    for engine in (one, two):
        engine.call("DELETE", f"/v1.40/images/{urllib.parse.quote(IMAGE, safe='')}?force=1")


def machine(c, node, *through):
    return c.run("exec", node, "--", *through, "uname", "-m").stdout.strip()


def test_a_node_of_arm64_beside_one_of_amd64(lab, mixed):
    with cluster(lab, "t-mixed") as c:
        with proxies(lab) as made:
            made[1].edit = as_arm64
            write_through(c, made)
            c.file.write_text(c.file.read_text().replace("dockdist-lab/busybox", IMAGE) + 'sync: ["code:/code"]\n')
            code = c.folder / "code"
            code.mkdir()
            c.up()
            assert [machine(c, f"node-{i}") for i in range(2)] == ["x86_64", "aarch64"]
            # Each by the other's toolkit: its sshd, its ssh, its keys.
            assert machine(c, "node-0", "ssh", "node-1") == "aarch64"
            assert machine(c, "node-1", "ssh", "node-0") == "x86_64"
            (code / "word").write_text("synced")
            c.run("sync")
            done = c.run("run", "--", "sh", "-c", 'echo "rank $RANK of $WORLD_SIZE: $(uname -m) $(cat /code/word)"')
            assert sorted(done.stdout.splitlines()) == ["[node-0] rank 0 of 2: x86_64 synced", "[node-1] rank 1 of 2: aarch64 synced"]
            row = next(line for line in c.run("check", code=None).stdout.splitlines() if " architecture " in line)
            assert row.split() == "warn all nodes architecture amd64: node-0; arm64: node-1".split()
            c.run("down")
            c.assert_clean()


def test_an_image_of_another_architecture_is_refused_before_anything_is_made_and_taken_where_it_is_asked_for(lab, mixed):
    with cluster(lab, "t-foreign") as c:
        c.write(hosts=1, machines=[1], image=IMAGE)
        refused = c.run("up", "--no-check", code=None)
        assert refused.returncode != 0
        for word in ("arm64", "image.platform", lab.addresses[1]):
            assert_in(word, refused.stderr)
        c.assert_clean()
        c.file.write_text(c.file.read_text().replace(f"image: {IMAGE}", f"image: {{ref: {IMAGE}, platform: linux/arm64}}"))
        c.up()
        assert machine(c, "node-0") == "aarch64"
        c.run("down")
        c.assert_clean()
