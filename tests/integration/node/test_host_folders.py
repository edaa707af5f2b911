"""Folders of the host that are mounted where a node's preparation writes: they stay as they are."""

import os
import stat

import pytest

from harness.cleanup import WithCleanup
from harness.namespaces import BUSYBOX, NEEDED, Host, Join, Node, join

pytestmark = NEEDED

PASSWD = b"root:x:0:0:root:/root:/bin/sh\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n"
ADA = b"ada:x:1000:1000::%s:/bin/sh\n"


def look(folder):
    """Every entry with its mode, owner and content, the folder itself included."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            entry = os.path.join(path, name)
            status = os.lstat(entry)
            content = None
            if stat.S_ISREG(status.st_mode):
                with open(entry, "rb") as file:
                    content = file.read()
            found[os.path.relpath(entry, folder)] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
    return found


class TestHostFolders(WithCleanup):
    @pytest.fixture(autouse=True)
    def host_folders(self, tmp_path):
        self.tmp_path, self.mounts = tmp_path, {}

    def mount(self, target, mode=0o755, **files):
        source = self.tmp_path / target.strip("/").replace("/", "-")
        source.mkdir()
        source.chmod(mode)
        for name, content in files.items():
            (source / name).write_bytes(content)
        self.mounts[target] = str(source)
        return source

    def start(self, **files):
        host = Host()
        self.cleanup.callback(host.end)
        node = Node(host, "node-0", busybox=BUSYBOX, mounts=self.mounts,
                    files={"/etc/" + name: content for name, content in files.items()})
        self.cleanup.callback(node.end)
        self.before = self.all()
        return node

    def all(self):
        return {source: look(source) for source in self.mounts.values()}

    def refused(self, node, *words, **request):
        one = Join(node, 0, mounts=list(self.mounts), **request)
        answer = one.line()
        one.end()
        assert answer["type"] == "error", answer
        for word in words:
            assert word in answer["message"] + answer["hint"], answer
        assert self.all() == self.before

    def test_a_host_s_etc_is_used_and_left_alone(self):
        etc = self.mount("/etc", passwd=PASSWD, shadow=b"root:*:19000:0:99999:7:::\nada:!:19000:0:99999:7:::\n",
                         hosts=b"127.0.0.1 localhost\n127.0.1.1 node-0\n")
        (etc / "profile.d").mkdir()
        node = self.start()
        join([node], mounts=["/etc"])
        assert self.all() == self.before
        assert node.ssh("node-0", "hostname").stdout == b"node-0\n"

    def test_accounts_of_the_host_that_would_have_to_change_are_refused(self):
        etc = self.mount("/etc", passwd=b"root:x:0:0:root:/root:/bin/sh\n")
        node = self.start()
        self.refused(node, "/etc/passwd is mounted into the container", "leave that mount out")
        (etc / "passwd").write_bytes(PASSWD)
        (etc / "shadow").write_bytes(b"root:!:19000:0:99999:7:::\n")
        self.before = self.all()
        self.refused(node, "/etc/shadow is mounted into the container", "locks the account root")

    def test_folders_of_the_host_keep_their_modes_and_get_nothing(self):
        self.mount("/job", 0o700)
        (self.mount("/home", 0o750) / "more").mkdir()
        self.mount("/home/more", 0o700)  # of the host's own, below what is mounted
        (self.mount("/run") / "sshd").mkdir(0o755)
        (self.tmp_path / "run" / "dockdist").mkdir()
        node = self.start(passwd=PASSWD + ADA % b"/home/more/ada")
        join([node], user="ada", mounts=["/job", "/home", "/run"])
        assert self.all() == self.before
        assert node.ssh("node-0", "id -un").stdout == b"ada\n"

    def test_what_leads_into_a_host_s_folder_by_a_link_is_that_folder_s(self):
        self.mount("/data", 0o700)
        node = self.start(passwd=PASSWD + ADA % b"/link/ada")
        for name in ("job", "link"):
            os.symlink("/data", "%s/%s" % (node.root, name))
        join([node], user="1000", mounts=["/data"])
        assert self.all() == self.before

    def test_a_place_that_dockdist_cannot_do_without_is_refused(self):
        self.mount("/var")
        self.refused(self.start(passwd=PASSWD), "/var/lib/dockdist/store", "leave out the mount")
