"""Models and data sets on every host: data push, ls, rm."""

import json
import os
import subprocess

from harness import assert_in, cluster, eventually
from harness.many_hosts import every_host, nothing_is_left, shape

TARGET = "/srv/t-data"
SUMS = f"cd {TARGET} && find . -type f ! -name '.dockdist-*' -exec sha256sum {{}} + | sort -k2"


def on(lab, number, script):
    return lab.script("exec", str(number), "sh", "-c", script)


def remove_everywhere(lab):
    for number in lab.all_numbers:
        on(lab, number, f"rm -rf {TARGET} /srv/t-source /srv/t-link")


def test_data_goes_from_one_host_to_all_and_only_what_differs(lab):
    with cluster(lab, "t-data") as c:
        source, *others = lab.all_numbers
        every_host(lab, c, "dockdist-lab/busybox", f"data: [{{from: 'node-0:/srv/t-source', to: {TARGET}, exclude: ['*.tmp']}}]")
        try:
            on(lab, source, "mkdir -p /srv/t-source/snapshots/a && cd /srv/t-source && head -c 24000007 /dev/urandom >weights && : >empty"
                            " && for i in $(seq 100); do head -c $i /dev/urandom >small-$i; done && chmod 640 weights && touch -d @1500000000 weights"
                            " && ln -s ../../weights snapshots/a/model && ln -s /etc/passwd out && echo x >left.tmp")
            on(lab, others[0], f"mkdir -p {TARGET} && chown 4321:4322 {TARGET} && echo mine >{TARGET}/mine")
            want = on(lab, source, SUMS.replace(TARGET, "/srv/t-source"))
            want = "".join(line + "\n" for line in want.splitlines() if not line.endswith("left.tmp"))
            before = json.loads(c.run("data", "ls", "-o", "json", code=1).stdout)
            assert [host["state"] for host in before["data"][0]["hosts"]][:2] == ["absent", "differs"], before
            pushed = c.run("data", "push")
            assert_in(f"node-0:/srv/t-source → {TARGET}: ", pushed.stdout)
            assert_in("102 files (22.9 MiB) sent", pushed.stdout)
            assert_in("out is a link to /etc/passwd, which leads out of the folder", pushed.stderr)
            nothing_is_left(lab, c)
            for number in (source, *others):
                own = on(lab, number, SUMS)
                assert "".join(line + "\n" for line in own.splitlines() if not line.endswith("/mine")) == want, number
                shown = on(lab, number, f"cd {TARGET} && stat -c '%a %Y' weights && readlink snapshots/a/model && ls -A | grep -c dockdist || true")
                assert shown == "640 1500000000\n../../weights\n0\n", shown
            assert on(lab, others[0], f"stat -c %u:%g {TARGET}/weights {TARGET}/snapshots/a") == "4321:4322\n" * 2
            assert_in("complete", c.run("data", "ls").stdout)
            # One file of one host differs.
            on(lab, others[0], f"echo other >{TARGET}/small-7")
            listed = c.run("data", "ls", code=1).stdout
            assert_in("node-1", next(line for line in listed.splitlines() if "lacks 1 file (7 B)" in line))
            again = c.run("data", "push", TARGET).stdout
            assert_in("node-1: 1 file (7 B) sent", again)
            assert_in("had it all", again)
            removed = c.run("data", "rm", TARGET)
            assert_in(f"removed what node-0:/srv/t-source has from {TARGET} on node-", removed.stdout)
            assert on(lab, others[0], f"find {TARGET} -mindepth 1") == f"{TARGET}/mine\n"
            assert on(lab, source, "ls /srv/t-source | wc -l") == "105\n"
            nothing_is_left(lab, c)
            missing = c.run("data", "push", "/elsewhere", code=2)
            assert_in(f"no entry of `data` goes to /elsewhere\n  → there are: {TARGET}", missing.stderr)
            # The source by another path is the source.
            on(lab, source, "ln -s /srv/t-source /srv/t-link")
            every_host(lab, c, "dockdist-lab/busybox", "data: [{from: 'node-0:/srv/t-source', to: /srv/t-link}]")
            c.run("data", "rm", "/srv/t-link", "--node", "node-0")
            assert on(lab, source, "ls -A /srv/t-source | wc -l") == "105\n"
        finally:
            remove_everywhere(lab)


def relay_has_nothing_but_its_folder(lab, number, engine):
    (relay,) = engine.containers(role="relay")
    told = engine.inspect(relay["Id"])
    host = told["HostConfig"]
    assert host["ReadonlyRootfs"] and host["PidsLimit"] == 512 and not host["Privileged"], host
    assert "no-new-privileges" in host["SecurityOpt"], host
    assert [(mount["Source"], mount["Destination"]) for mount in told["Mounts"]] == [(TARGET, "/data")], told["Mounts"]
    find = 'for i in /proc/[0-9]*; do [ "$(readlink $i/exe)" != /dockdist-relay ] || { cat $i/status; echo; }; done'
    for process in on(lab, number, find).split("\n\n")[:-1]:
        status = dict(line.split(":\t") for line in process.splitlines() if ":\t" in line)
        assert status["NoNewPrivs"] == "1" and {int(status[kind], 16) for kind in ("CapPrm", "CapEff", "CapBnd")} == {0}, status


def test_data_from_here_goes_on_where_a_client_that_was_killed_left_it(lab):
    with cluster(lab, "t-data-cut") as c:
        engines = every_host(lab, c, "dockdist-lab/busybox", f"data: [{{from: ./models, to: {TARGET}}}]")
        first = lab.all_numbers[0]
        (c.folder / "models").mkdir()
        (c.folder / "models/weights").write_bytes(os.urandom(6 << 20))
        link = lab.link()
        begun = f"stat -c %s {TARGET}/.dockdist-data-* 2>/dev/null || echo 0"
        try:
            shape(link, "8mbit")
            client = c.start("data", "push", "--node", "node-0")  # alone: each gets its relay over the slow link first
            eventually(lambda: int(on(lab, first, begun)) > 1 << 20, "a megabyte of it")
            relay_has_nothing_but_its_folder(lab, first, engines[0])
            client.kill()
            client.communicate()
            subprocess.run(["tc", "qdisc", "del", "dev", link, "root"], capture_output=True)
            c.run("down")  # the relays of the one that was killed
            left = int(on(lab, first, begun))
            assert left >= 1 << 20
            sent = json.loads(c.run("data", "push", "-o", "json").stdout.splitlines()[-1])
            assert [host["files"] for host in sent["data"][0]["hosts"]] == [1] * len(engines)
            for number in lab.all_numbers:
                got = on(lab, number, f"ls -A {TARGET}; sha256sum <{TARGET}/weights")
                want = subprocess.run(["sha256sum"], stdin=open(c.folder / "models/weights"), capture_output=True, text=True).stdout
                assert got == "weights\n" + want, number
            nothing_is_left(lab, c)
        finally:
            subprocess.run(["tc", "qdisc", "del", "dev", link, "root"], capture_output=True)
            c.run("down", code=None)
            remove_everywhere(lab)
