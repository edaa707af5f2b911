"""dockdist on machines that lack what others have: it works, or says what it needs. The engines are stubs, the nodes real."""

import os
import subprocess

import pytest

from harness import DOCKDIST, assert_in, cluster, old_kernel
from harness.namespaces import NEEDED
from harness.odd import run, whole_life
from harness.stubs import IMAGE, stubs

pytestmark = NEEDED

# As a container's or a batch system's process may find its machine: each line is run in a mount namespace of its own before dockdist.
NOEXEC = """mount -t tmpfs -o noexec,nosuid,nodev tmpfs /tmp; mount -t tmpfs -o noexec tmpfs /var/tmp
printf %s "$TEXT" > /tmp/cluster.yaml; export DOCKDIST_FILE=/tmp/cluster.yaml"""
READ_ONLY = """mount -t tmpfs -o ro tmpfs "$FOLDER"; export HOME="$FOLDER\""""


def as_changed(change, folder, *command):
    return ["env", f"FOLDER={folder}", "unshare", "--mount", "sh", "-ec", change + '\nexec "$@"', "sh", *command]


@pytest.fixture(scope="module")
def host():
    with stubs(1) as made:
        yield made


@pytest.mark.parametrize("changed", [
    {"HOME": None}, {"HOME": "/nowhere"}, {"PATH": "/nowhere"}, {"TMPDIR": "/nowhere"},
    {"LC_ALL": "xx_XX.UTF-8"}, {"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1", "all_proxy": "socks5://127.0.0.1:1"},
], ids=lambda changed: "_".join(f"{name}={value}".replace("/", "") for name, value in changed.items())[:40])
def test_an_environment_that_lacks_something_or_has_a_proxy_is_no_reason_to_fail(host, changed):
    with cluster(host, "t-odd") as c:
        c.write(hosts=1, image=IMAGE)
        environment = {name: value for name, value in {**c.environment(), **changed}.items() if value is not None}
        done = whole_life(c, lambda *words: run([str(DOCKDIST), *words], environment))
        assert "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("change", [NOEXEC, READ_ONLY], ids=["noexec-tmp", "read-only-home"])
def test_a_tmp_that_runs_nothing_and_a_home_that_takes_nothing_are_no_reason_to_fail(host, change, tmp_path):
    with cluster(host, "t-odd") as c:
        c.write(hosts=1, image=IMAGE)
        environment = {**c.environment(), "TEXT": c.file.read_text()}
        whole_life(c, lambda *words: run(as_changed(change, tmp_path, str(DOCKDIST), *words), environment))


def test_a_home_that_takes_nothing_is_told_by_what_writes_there(host, tmp_path):
    with cluster(host, "t-odd") as c:
        c.write(hosts=1, image=IMAGE).up()
        done = subprocess.run(as_changed(READ_ONLY, tmp_path, str(DOCKDIST), "ssh-config"), env=c.environment(), capture_output=True,
                              text=True, timeout=60, check=False)
        assert done.returncode == 1 and str(tmp_path) in done.stderr and "Read-only" in done.stderr, done


def test_self_check_works_on_each_of_them(tmp_path):
    environment = {**os.environ, "TEXT": ""}
    for command in (old_kernel.command(), as_changed(NOEXEC, tmp_path), as_changed(READ_ONLY, tmp_path)):
        run([*command, str(DOCKDIST), "self-check"], environment)
    # What would wait for a writer, or has no place any more.
    (tmp_path / ".docker").mkdir()
    os.mkfifo(tmp_path / ".docker/config.json")
    assert_in("cannot be read", run([str(DOCKDIST), "self-check"], {**os.environ, "HOME": str(tmp_path)}).stdout)
    gone = 'mkdir "$FOLDER/gone"; cd "$FOLDER/gone"; rmdir "$FOLDER/gone"'
    run(as_changed(gone, tmp_path, str(DOCKDIST), "self-check"), environment)
    assert_in("the account's, as HOME is not set", run(["env", "-i", str(DOCKDIST), "self-check"], environment).stdout)
