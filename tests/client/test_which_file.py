"""Which cluster.yaml is gone by: one that is named, or one that is found and that nobody but its user could have written; and which
command that lists hosts is run. Each as users of this machine, who have accounts and groups of their own."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

import pytest

from harness import DOCKDIST, assert_in
from harness.command_tree import commands

ROOT, ADA, BOB, CLEO, DORA, FRIDA = 0, 61001, 61002, 61003, 61004, 61006
LAB = 61100  # a group of several
# Of Debian's kind, each with a group of its own; but cleo has let bob into hers, eve's is dora's, and frida's has two names.
PASSWD = "root:x:0:0::/:/bin/sh\n" + "".join(f"{name}:x:{uid}:{gid}::/:/bin/sh\n" for name, uid, gid in [
    ("ada", ADA, ADA), ("bob", BOB, BOB), ("cleo", CLEO, CLEO), ("dora", DORA, DORA), ("eve", 61005, DORA), ("frida", FRIDA, FRIDA)])
GROUP = f"root:x:0:\nada:x:{ADA}:\nbob:x:{BOB}:\ncleo:x:{CLEO}:bob\ndora:x:{DORA}:\nfrida:x:{FRIDA}:\nothers:x:{FRIDA}:bob\nlab:x:{LAB}:ada,bob\n"

FOUND = "found, but not used: "
ANYTHING = "image: a\nhosts: [ssh://h]\n"


class Machine:
    """A folder of root's, with what each test puts there, and its users."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dockdist-which-file-"))
        self.root.chmod(0o755)
        (self.root / "passwd").write_text(PASSWD)
        (self.root / "group").write_text(GROUP)
        self.program = shutil.copy(DOCKDIST, self.root / "dockdist")

    def folder(self, name, user=ROOT, group=None, mode=0o755):
        path = self.root / name
        path.mkdir()
        return self.own(path, user, group, mode)

    def file(self, path, text=ANYTHING, user=ROOT, group=None, mode=0o644):
        path.write_text(text)
        return self.own(path, user, group, mode)

    @staticmethod
    def own(path, user, group=None, mode=None):
        os.chown(path, user, user if group is None else group, follow_symlinks=False)
        if mode is not None:
            path.chmod(mode)
        return path

    def run(self, user, folder, *words, **environment):
        """As that user, in that folder."""
        line = 'mount --bind "$1/passwd" /etc/passwd; mount --bind "$1/group" /etc/group; cd "$2"; shift 2; exec "$@"'
        become = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.root), **environment}
        return subprocess.run(["unshare", "--mount", "sh", "-euc", line, "sh", self.root, folder, *become, self.program, *words],
                              env=env, capture_output=True, text=True, timeout=60, check=False)

    def taken(self, user, folder, *words, **environment):
        done = self.run(user, folder, "validate", *words, **environment)
        assert (done.returncode, done.stderr) == (0, ""), done
        assert_in("valid, 1 host", done.stdout)

    def refused(self, user, folder, why, **environment):
        done = self.run(user, folder, "validate", **environment)
        assert done.returncode == 2, done
        assert_in(FOUND + why + "\n", done.stderr)
        assert_in("dockdist -f ", done.stderr)


@pytest.fixture
def machine():
    made = Machine()
    yield made
    shutil.rmtree(made.root)


def test_what_is_found_is_the_users_own_in_a_folder_of_the_users_own(machine):
    home = machine.folder("ada", ADA)
    file = machine.file(home / "cluster.yaml", user=ADA)
    work = machine.folder("ada/work", ADA)
    machine.taken(ADA, work)
    machine.refused(ROOT, work, f"{home} is ada's")  # root is as careful as everybody
    machine.taken(ROOT, work, SUDO_UID=str(ADA))
    machine.refused(ROOT, work, f"{home} is ada's", SUDO_UID=str(BOB))
    machine.refused(BOB, work, f"{home} is ada's")
    for user, words, environment in ((BOB, ["-f", file], {}), (BOB, [file], {}), (ROOT, [], {"DOCKDIST_FILE": str(file)})):
        machine.taken(user, work, *words, **environment)  # whoever names it has looked
    machine.own(file, BOB)
    machine.refused(ADA, home, f"{file} is bob's")
    machine.refused(ADA, work, f"{file} is bob's")
    machine.own(file, ROOT)
    machine.refused(ADA, work, f"{file} is root's")


def test_shared_folders_above_are_nobodys_to_find_a_file_in(machine):
    shared = machine.folder("shared", mode=0o1777)
    work = machine.folder("shared/work", ADA)
    file = machine.file(shared / "cluster.yaml", user=BOB)
    machine.refused(ADA, work, f"{shared} is root's")
    machine.refused(ROOT, work, f"everybody may write to {shared}")
    machine.own(file, ADA)
    machine.refused(ADA, shared, f"{shared} is root's")
    file.unlink()
    machine.file(work / "cluster.yaml", user=ADA)
    machine.taken(ADA, work)  # nobody takes away there what is ada's
    shared.chmod(0o777)
    machine.refused(ADA, work, f"everybody may write to {shared}")
    machine.own(shared, BOB, mode=0o755)
    machine.refused(ADA, work, f"{shared} is bob's")


def test_links_count_where_they_lie_and_where_they_lead(machine):
    work = machine.folder("work", ADA)
    other = machine.folder("other", BOB)
    real = machine.file(other / "real.yaml", user=BOB)
    link = work / "cluster.yaml"
    link.symlink_to("../other/real.yaml")
    machine.own(link, ADA)
    machine.refused(ADA, work, f"{link} is bob's")
    machine.own(real, ADA)
    machine.refused(ADA, work, f"{other} is bob's")
    machine.own(other, ADA)
    machine.taken(ADA, work)


def test_a_users_own_group_is_that_user_and_no_other_group_is(machine):
    for user, name, group, why in ((ADA, "ada", ADA, None), (CLEO, "cleo", CLEO, "cleo"), (DORA, "dora", DORA, "dora"), (FRIDA, "frida", FRIDA, "frida"),
                                   (ADA, "team", LAB, "lab"), (ADA, "unknown", 61999, "61999")):
        work = machine.folder(name, user, group, 0o2775)  # as umask 002 makes them
        file = machine.file(work / "cluster.yaml", user=user, group=group, mode=0o664)
        if why is None:
            machine.taken(user, work)
            continue
        machine.refused(user, work, f"the group {why} may write to {work}")
        work.chmod(0o755)
        machine.refused(user, work, f"the group {why} may write to {file}")
        file.chmod(0o644)
        machine.taken(user, work)


NEEDED = {"cp": ["node-0:/a", "b"], "forward": ["node-0", "80"], "run": ["--", "true"], "exec": ["node-0", "--", "true"], "slurm submit": ["--", "run", "--", "true"],
          "slurm job": ["--", "run", "--", "true"], "export slurm": ["--", "true"], "export kubernetes": ["--", "true"],
          "metrics": ["--textfile", "nodes.prom"]}
WITHOUT_A_FILE = {"init", "version", "self-check", "help", "completion"}


def test_no_command_reads_a_file_of_another_user_that_nobody_has_named(machine):
    theirs = machine.folder("bob", BOB)
    work = machine.folder("bob/work", ADA)
    ran = machine.root / "ran"
    machine.root.chmod(0o1777)
    with socket.create_server(("127.0.0.1", 0)) as engine:
        machine.file(theirs / "cluster.yaml", user=BOB, text=f"""image: '${{NOT_SET}}'
hosts: [{{docker: 'tcp://127.0.0.1:{engine.getsockname()[1]}'}}, {{from: {{command: [touch, {ran}]}}}}]
""")
        seen = set()
        for command, known in commands():
            name = " ".join(command)
            if not command or known["commands"]:
                continue
            needed = NEEDED.get(name, ["x"] * sum(required for _, required in known["positionals"]))
            done = machine.run(ADA, work, *command, *needed)
            if name not in WITHOUT_A_FILE:
                assert done.returncode == 2, (name, done)
                assert_in(f"{FOUND}{theirs} is bob's\n", done.stderr)
            assert "NOT_SET" not in done.stdout + done.stderr, (name, done)
            seen.add(name)
        assert seen > WITHOUT_A_FILE | {"up", "down", "run", "validate", "status", "image ls", "data rm", "slurm submit", "proxy"}, seen
        assert_in(f"{FOUND}{theirs} is bob's", machine.run(ADA, work, "self-check", "-o", "json").stdout)
        assert machine.run(ADA, work, "__complete", "--", "dockdist exec ").stdout == ":none\n"
        engine.setblocking(False)
        with pytest.raises(BlockingIOError):
            engine.accept()
    assert not ran.exists()


def test_a_command_of_a_named_file_is_run_where_nobody_else_could_have_written_it(machine):
    team = machine.folder("team", ADA)
    file = machine.file(team / "cluster.yaml", f"image: a\nhosts: [{{from: {{command: [{team}/who]}}}}]\n", ADA)
    program = machine.file(team / "who", "#!/bin/sh\necho h\n", ADA, mode=0o755)
    link = machine.root / "link.yaml"
    link.symlink_to(file)
    machine.taken(ADA, machine.root, file)
    machine.taken(ROOT, machine.root, link, SUDO_UID=str(ADA))
    for path in (file, program, team):
        mode = path.stat().st_mode & 0o777
        for user, group, bits, why in ((ADA, LAB, mode | 0o020, f"the group lab may write to {path}"), (BOB, BOB, mode, f"{path} is bob's")):
            machine.own(path, user, group, bits)
            for named in (file, link):
                done = machine.run(ADA, machine.root, "validate", named)
                assert done.returncode == 2, done
                assert_in(f"the command is not run: {why}\n", done.stderr)
            machine.own(path, ADA, mode=mode)
    machine.taken(ADA, machine.root, file)


def test_a_pipe_gives_no_moment_to_put_another_file_in_place(machine):
    work = machine.folder("work", ADA)
    ran = work / "ran"
    os.mkfifo(work / "hosts")
    file = machine.file(work / "cluster.yaml", f"image: a\nhosts: [{{from: hosts}}, {{from: {{command: [touch, {ran}]}}}}]\n", ADA)
    done = machine.run(ADA, work, "validate")
    assert_in(f"the list {work}/hosts cannot be read: it is a pipe, not a file\n", done.stderr)
    file.unlink()
    os.mkfifo(file)
    machine.own(file, ADA)
    for words in (["validate"], ["validate", file]):
        assert_in("the file cannot be read: it is a pipe, not a file\n", machine.run(ADA, work, *words).stderr)
