"""Code to the nodes and results back: sync, cp, collect."""

import json
import os
import pathlib
import shutil
import signal
import socket
import stat

from harness import assert_in, cluster, eventually, read_until
from harness.patience import Watch


def inside(c, node, script):
    return c.run("exec", node, "--", "sh", "-c", script).stdout


def put(path, content="x", mode=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    if mode is not None:
        path.chmod(mode)
    return path


def sources(c):
    code = c.folder / "code"
    put(code / "train.py", "print('one')\n")
    put(code / "run.sh", "#!/bin/sh\necho hi\n", 0o755)
    put(code / "pkg/a.py", "a\n", 0o640)
    (code / "pkg/l.py").symlink_to("a.py")
    return code


SYNC = 'sync: ["code:/workspace"]'


def test_sync_brings_what_changed_and_nothing_else(lab):
    with cluster(lab, "t-sync") as c:
        code = sources(c)
        up = c.write(more=SYNC).up()
        assert_in("synced code → /workspace: 3 files", up.stderr)
        for node in ("node-0", "node-1"):
            shown = inside(c, node, "cd /workspace && cat train.py && ./run.sh && readlink pkg/l.py && stat -c '%a %U' pkg/a.py run.sh")
            assert shown == "print('one')\nhi\na.py\n640 root\n755 root\n", shown
        watch = Watch()
        again = c.run("sync")
        assert watch.within(5), watch
        assert again.stdout == "code → /workspace: nothing to do on 2 nodes\n", again.stdout
        put(code / "train.py", "print('two')\n")
        os.utime(code / "run.sh")  # another time, the same content
        changed = c.run("sync", "-o", "json")
        result = json.loads(changed.stdout.splitlines()[-1])
        assert [(n["node"], n["files"], n["bytes"]) for n in result["nodes"]] == [("node-0", 1, 13), ("node-1", 1, 13)], result
        assert inside(c, "node-1", "cat /workspace/train.py") == "print('two')\n"
        (code / "run.sh").chmod(0o700)
        assert_in("1 folder, link or mode", c.run("sync").stdout)
        assert inside(c, "node-1", "stat -c %a /workspace/run.sh") == "700\n"


def test_sync_removes_only_when_asked_and_never_what_is_ignored(lab):
    with cluster(lab, "t-sync-delete") as c:
        code = sources(c)
        put(code / ".gitignore", "*.ckpt\n/out/\n")
        put(code / "pkg/.dockdistignore", "big*\n")
        put(code / "pkg/big.bin")
        put(code / "here.ckpt")
        put(code / ".git/HEAD", "ref: refs/heads/main\n")
        c.write(more=SYNC).up()
        assert inside(c, "node-0", "cd /workspace && ls -A . pkg") == \
            ".:\n.gitignore\npkg\nrun.sh\ntrain.py\n\npkg:\n.dockdistignore\na.py\nl.py\n"
        inside(c, "node-0", "cd /workspace && mkdir -p out old/deep && touch a.ckpt out/x old/deep/y old/z.ckpt pkg/big2 pkg/gone")
        (code / "run.sh").unlink()
        assert_in("nothing to do", c.run("sync").stdout)
        dry = c.run("sync", "--delete", "--dry-run", "--node", "0")
        assert_in("remove run.sh\n", dry.stdout)
        assert_in("remove pkg/gone\n", dry.stdout)
        assert inside(c, "node-0", "ls /workspace/run.sh") == "/workspace/run.sh\n"
        c.run("sync", "--delete")
        left = inside(c, "node-0", "cd /workspace && find . -type f | sort")
        assert left == "./.gitignore\n./a.ckpt\n./old/z.ckpt\n./out/x\n./pkg/.dockdistignore\n./pkg/a.py\n./pkg/big2\n./train.py\n", left


def test_the_long_form_of_sync_and_a_single_file(lab):
    with cluster(lab, "t-sync-long") as c:
        code = sources(c)
        put(c.folder / "conf.yaml", "lr: 1\n")
        put(code / "notes.md")
        c.write(more='sync: [{from: code, to: /workspace, delete: true, exclude: ["*.md"]}, "conf.yaml:/etc/job/conf.yaml"]').up()
        assert inside(c, "node-1", "cat /etc/job/conf.yaml; cd /workspace; ls") == "lr: 1\npkg\nrun.sh\ntrain.py\n"
        (code / "train.py").unlink()
        c.run("sync")
        assert inside(c, "node-1", "cd /workspace; ls") == "pkg\nrun.sh\n"


def test_files_belong_to_the_user_of_the_jobs(lab):
    with cluster(lab, "t-sync-user") as c:
        code = sources(c)
        c.write(container="user: '1234:1234'\nworkdir: /code/deep", more='sync: ["code:/code/deep"]').up()
        done = c.run("run", "--nodes", "1", "--", "sh", "-c", "stat -c '%u:%g' /code/deep train.py && echo more >> train.py && id -u")
        assert done.stdout.splitlines() == ["[node-0] 1234:1234"] * 2 + ["[node-0] 1234"], done.stdout
        inside_as_root = c.run("exec", "--user", "root", "node-0", "--", "sh", "-c",
                               "mkdir /locked && touch /locked/x && chmod 755 /locked").stdout
        assert inside_as_root == ""
        refused = c.write(container="user: '1234:1234'", more='sync: ["code:/locked"]')
        failed = refused.run("sync", "--node", "0", code=None)
        assert failed.returncode == 1, failed.stderr
        assert_in("node-0: /locked: the user ", failed.stderr)
        assert_in("may not write there", failed.stderr)


def test_a_shared_mount_is_written_once(lab):
    with cluster(lab, "t-sync-shared") as c:
        code = sources(c)
        folder = lab.shared / c.name
        try:
            c.write(container=f"mounts: ['/shared/{c.name}:/workspace']", more=SYNC)
            folder.mkdir(exist_ok=True)
            assert_in("3 files", c.up().stderr)
            put(code / "train.py", "print('shared')\n")
            done = c.run("sync")
            assert_in("1 file (16 B) sent on 1 node; node-1 shared with node-0\n", done.stdout)
            assert inside(c, "node-1", "cat /workspace/train.py") == "print('shared')\n"
            assert sorted(p.name for p in folder.iterdir()) == ["pkg", "run.sh", "train.py"]  # no token is left
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def test_a_mount_of_each_hosts_own_is_not_taken_for_shared(lab):
    with cluster(lab, "t-sync-own") as c:
        sources(c)
        c.write(container="mounts: ['t-sync-own:/workspace']", more=SYNC)
        assert_in("on 2 nodes\n", c.up().stderr)
        assert inside(c, "node-1", "ls /workspace/train.py") == "/workspace/train.py\n"


def test_nothing_leaves_the_tree_on_the_way_there(lab):
    with cluster(lab, "t-sync-escape") as c:
        code = sources(c)
        (code / "passwd").symlink_to("/etc/passwd")
        (code / "up").symlink_to("../../x")
        os.mkfifo(code / "pipe")
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(code / "door"))
            up = c.write(more=SYNC).up()
        assert_in("warning: code: passwd is a link to /etc/passwd, which leads out of the folder: left out\n", up.stderr)
        assert_in("up is a link to ../../x, which leads out of the folder: left out\n", up.stderr)
        assert_in("pipe is not a file, folder or link: left out\n", up.stderr)
        assert_in("door is not a file, folder or link: left out\n", up.stderr)
        # What a job has put in the way inside is not followed.
        inside(c, "node-0", "rm -r /workspace/pkg && mkdir -p /victim && ln -s /victim /workspace/pkg")
        c.run("sync")
        assert inside(c, "node-0", "ls /victim; ls /workspace/pkg; stat -c %F /workspace/pkg") == "a.py\nl.py\ndirectory\n"


def test_a_target_that_is_a_file_and_a_source_that_is_missing_are_told(lab):
    with cluster(lab, "t-sync-wrong") as c:
        sources(c)
        c.write(more=SYNC).up()
        inside(c, "node-1", "rm -r /workspace && touch /workspace")
        failed = c.run("sync", code=1)
        assert_in("error: node-1: /workspace: a file is there", failed.stderr)
        c.write(more='sync: ["none:/workspace"]')
        assert_in("No such file", c.run("sync", code=2).stderr)
        c.write()
        assert_in("it has no `sync`", c.run("sync", code=2).stderr)


def test_a_full_disk_is_told_with_its_node(lab):
    with cluster(lab, "t-sync-full") as c:
        code = sources(c)
        c.write(container="ipc: private\nshm_size: 16m", more='sync: ["code:/dev/shm/full"]').up()
        with open(code / "big", "wb") as big:
            big.truncate(64 << 20)
        failed = c.run("sync", "--node", "1", code=1)
        assert_in("error: node-1: big: No space left on device\n", failed.stderr)
        assert_in("free space there", failed.stderr)
        assert inside(c, "node-1", "cd /dev/shm/full && ls -A") == "pkg\nrun.sh\ntrain.py\n"


def test_run_syncs_first_and_says_so(lab):
    with cluster(lab, "t-sync-run") as c:
        code = sources(c)
        c.write(container="workdir: /workspace", more=SYNC).up("--no-sync")
        done = c.run("run", "--", "sh", "./run.sh")
        assert done.stdout.splitlines() == ["[node-0] hi", "[node-1] hi"] or sorted(done.stdout.splitlines()) == ["[node-0] hi", "[node-1] hi"]
        assert done.stderr.count("synced code → /workspace: 3 files") == 1, done.stderr
        put(code / "run.sh", "echo new\n")
        assert_in("hi\n", c.run("run", "--no-sync", "--", "sh", "./run.sh").stdout)
        done = c.run("run", "--", "sh", "./run.sh")
        assert_in("synced code → /workspace: 1 file (9 B) sent on 2 nodes\n", done.stderr)
        assert_in("[node-1] new\n", done.stdout)
        assert "synced" not in c.run("run", "--", "sh", "./run.sh").stderr  # nothing was


def test_cp_goes_both_ways(lab):
    with cluster(lab, "t-cp") as c:
        code = sources(c)
        c.write().up()
        c.run("cp", str(code), "node-1:/data/code")
        assert inside(c, "node-1", "cd /data/code && ./run.sh && stat -c %a pkg/a.py && readlink pkg/l.py") == "hi\n640\na.py\n"
        c.run("cp", str(code / "train.py"), "1:/data/")
        c.run("cp", str(code / "train.py"), "1:/data/named.py")
        assert inside(c, "node-1", "cat /data/train.py /data/named.py") == "print('one')\n" * 2
        out = c.folder / "out"
        done = c.run("cp", "node-1:/data/code", str(out))
        assert_in("3 files", done.stdout)
        assert (out / "pkg/a.py").read_text() == "a\n" and stat.S_IMODE((out / "pkg/a.py").stat().st_mode) == 0o640
        assert (out / "run.sh").stat().st_mtime_ns == (code / "run.sh").stat().st_mtime_ns
        assert os.readlink(out / "pkg/l.py") == "a.py"
        c.run("cp", "node-1:/data/train.py", str(out))  # into it
        c.run("cp", "node-1:/data/code/.", str(c.folder / "flat"))
        assert (out / "train.py").exists() and (c.folder / "flat/run.sh").exists()
        assert_in("there is no /nowhere", c.run("cp", "node-0:/nowhere", str(out), code=1).stderr)
        assert_in("neither side names a node", c.run("cp", "a", "b", code=2).stderr)
        inside(c, "node-0", "mkdir /odd && ln -s /etc/passwd /odd/l && mkfifo /odd/p && echo x > /odd/f")
        odd = c.run("cp", "node-0:/odd", str(c.folder / "odd"))
        assert_in("l is a link to /etc/passwd, which leads out of the folder: left out", odd.stderr)
        assert sorted(p.name for p in (c.folder / "odd").iterdir()) == ["f"]


def test_what_a_job_has_made_is_collected(lab):
    with cluster(lab, "t-collect") as c:
        put(c.folder / "train.sh", "mkdir -p out/$NODE_RANK; echo result of $NODE_RANK > out/$NODE_RANK/r; exit $1\n")
        c.write(container="workdir: /workspace", more='sync: [".:/workspace"]\ncollect: [/workspace/out]').up()
        done = c.run("run", "--name", "first", "--", "sh", "train.sh", "0")
        assert_in("collected 2 files", done.stderr)
        collected = c.folder / "collected/first"
        for i in (0, 1):
            assert (collected / f"node-{i}/workspace/out/{i}/r").read_text() == f"result of {i}\n"
        failed = c.run("run", "--name", "second", "--", "sh", "train.sh", "3", code=3)
        assert (c.folder / "collected/second/node-0/workspace/out/0/r").exists(), failed.stderr
        assert_in("nothing to do", c.run("sync").stdout)  # what was collected does not travel back
        c.run("run", "--name", "third", "--no-collect", "--", "true")
        assert not (c.folder / "collected/third").exists()


def test_attach_collects_what_a_detached_job_has_made(lab):
    with cluster(lab, "t-late") as c:
        put(c.folder / "train.sh", "mkdir -p out; mkfifo go; echo waits; read end < go; echo late > out/r\n")
        c.write(container="workdir: /workspace", more='sync: [".:/workspace"]\ncollect: [/workspace/out]').up()
        c.run("run", "--detach", "--name", "late", "--", "sh", "train.sh")
        assert not (c.folder / "collected").exists()
        client = c.start("attach", "late")
        read_until(client, "waits", times=2)
        for node in ("node-0", "node-1"):
            inside(c, node, "echo end > go")
        _, said = client.communicate(timeout=60)
        assert client.returncode == 0, said
        assert_in("collected 2 files", said)
        assert (c.folder / "collected/late/node-1/workspace/out/r").read_text() == "late\n"
        shutil.rmtree(c.folder / "collected")
        c.run("attach", "late")  # it has ended before: the nodes may hold another job's results
        assert not (c.folder / "collected").exists()


def test_watch_sends_what_changes_as_it_does(lab):
    with cluster(lab, "t-watch") as c:
        code = sources(c)
        c.write(more=SYNC).up()
        client = c.start("sync", "--watch", "--delete")
        try:
            read_until(client, "nothing to do on 2 nodes")
            put(code / "train.py", "print('watched')\n")
            read_until(client, "1 file (17 B) sent on 2 nodes")
            assert inside(c, "node-1", "cat /workspace/train.py") == "print('watched')\n"
            put(code / "fresh/deep/b.py", "b\n")
            read_until(client, "file")
            eventually(lambda: inside(c, "node-0", "cat /workspace/fresh/deep/b.py 2>/dev/null || true") == "b\n", "the new folder came")
            shutil.rmtree(code / "fresh")
            read_until(client, "removed")
            client.send_signal(signal.SIGINT)
            client.communicate(timeout=20)
            assert client.returncode == 0, client.returncode
        finally:
            client.kill()
            client.communicate()
