"""The list of members goes from node to node, by their own ssh or on one host without; whom it does not come to asks the client."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness.cleanup import WithCleanup
from harness.knocks import Knock
from harness.namespaces import ADDRESS, BUSYBOX, DEADLINE, NEEDED, Host, Join, Node, members_list, only_child

pytestmark = NEEDED

PATIENT = 60000  # longer than a test waits for anything
NAMES = ["dockdist/members/%s%d" % (address, port) for port in range(2222, 2232) for address in ("", ADDRESS + ":")]
# Says something to whoever waits for the list, with a connection beside it of which the close takes an hour.
LINGER = """
import array, socket, struct, sys, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
listener.bind(("127.0.0.1", 0))
listener.listen()
stuck = socket.create_connection(listener.getsockname())
other = listener.accept()
stuck.setblocking(False)
try:
    while True:
        stuck.send(b"x" * 65536)
except BlockingIOError:
    pass
stuck.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
name = [line.split()[-1] for line in open("/proc/net/unix") if "@dockdist/members/" in line and line.split()[-1].endswith(sys.argv[1])]
door = socket.socket(socket.AF_UNIX)
door.connect("\\0" + name[0][1:])
door.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [stuck.fileno()]))])
stuck.close()
door.close()
print("sent", flush=True)
time.sleep(1000)
"""


class TestHandedOn(WithCleanup):
    @pytest.fixture(autouse=True)
    def one_host(self, ending):
        self.host = Host()
        self.cleanup.callback(self.host.end)

    def begin(self, count, together=False, **request):
        """Nodes that have said hello, and the list. `together`: they have one address, as on one host."""
        addresses = [ADDRESS] * count if together else [ADDRESS, *Host.OTHERS][:count]
        self.nodes = []
        for rank in range(count):
            self.nodes.append(Node(self.host, "node-%d" % rank, busybox=BUSYBOX))
            self.cleanup.callback(self.nodes[-1].end)
        self.joins = [Join(node, rank, nodes=count, nodes_beside=count, address=addresses[rank], ready_timeout_ms=DEADLINE * 1000, **request)
                      for rank, node in enumerate(self.nodes)]
        for join in self.joins:
            self.cleanup.callback(join.end)
        self.records = [join.line() for join in self.joins]
        assert [record["type"] for record in self.records] == ["hello"] * count, self.records
        self.text = members_list(self.records)

    def tell(self, patience_of=None):
        """What the client tells each: the list to the first alone."""
        for place, join in enumerate(self.joins):
            words = {"first": 1, "patience_ms": (patience_of or {}).get(place, PATIENT)}
            if place:
                words["giver"] = self.records[(place - 1) // 8]
            join.notice(self.text, **words)
        self.joins[0].tell(self.text)

    def is_ready(self, place):
        assert self.joins[place].line() == {"type": "ready"}

    def test_it_reaches_all_through_two_hands(self):
        self.begin(10)
        self.tell()
        for place in range(10):
            self.is_ready(place)  # nobody has asked
        there = {node.run("sha256sum", "/run/dockdist/members.json").stdout for node in self.nodes}
        assert len(there) == 1
        assert self.nodes[9].ssh("node-0", "hostname").stdout == b"node-0\n"

    def test_on_one_host_it_needs_no_login(self):
        self.begin(10, together=True)
        for node in self.nodes:
            os.unlink(node.root + "/opt/dockdist/bin/ssh")
        self.joins[0].notice(self.text, first=1)
        for join in self.joins[1:]:
            join.notice(self.text, first=1, giver=self.records[0], patience_ms=PATIENT)
        self.joins[0].tell(self.text)
        for place in range(10):
            self.is_ready(place)  # nobody has asked

    # One that is root, as a node of another cluster is, is found out by its silence.
    @pytest.mark.parametrize("squatter", [{"listen": False}, {"uid": 4242}, {"uid": 0}], ids=["deaf", "a-user", "root"])
    def test_a_neighbour_whose_name_somebody_else_has_is_told_by_ssh(self, squatter):
        self.host.squat(NAMES, **squatter)
        self.begin(2, together=True)
        self.joins[0].notice(self.text, first=1)
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=PATIENT)
        self.joins[0].tell(self.text)
        self.is_ready(0)
        self.is_ready(1)

    @pytest.mark.parametrize("uid", [4242, 0], ids=["a-user", "root"])
    def test_callers_who_say_nothing_keep_no_giver_out(self, uid):
        self.begin(2, together=True)
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=PATIENT)
        self.host.call(NAMES, times=20, uid=uid)
        self.joins[0].notice(self.text, first=1)
        self.joins[0].tell(self.text)
        self.is_ready(0)
        self.is_ready(1)

    def test_users_that_are_not_root_hand_it_on_too(self):
        self.begin(2, user="4242:77")
        self.tell()
        self.is_ready(0)
        self.is_ready(1)

    def test_who_waits_for_a_giver_that_hangs_asks_the_client(self):
        self.begin(10)
        entered = self.joins[1].process.pid  # nsenter, which stops with what it has started
        hanging = only_child(entered)
        os.kill(hanging, signal.SIGSTOP)
        self.tell({9: 200})
        assert self.joins[9].line() == {"type": "want"}
        self.joins[9].tell(self.text)
        for place in (0, *range(2, 10)):
            self.is_ready(place)
        for pid in (hanging, entered):
            os.kill(pid, signal.SIGCONT)
        self.is_ready(1)  # its giver has gone on trying

    def test_who_waits_for_a_giver_that_is_gone_asks_the_client(self):
        self.begin(2)
        self.joins[0].end()
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=200)
        assert self.joins[1].line() == {"type": "want"}
        self.joins[1].tell(self.text)
        self.is_ready(1)

    def test_another_list_than_the_announced_one_is_not_taken(self):
        self.begin(2)
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=PATIENT)
        forged = self.text.replace(self.records[0]["host_key"], self.records[1]["host_key"])
        place = "/proc/%d/root/run/dockdist" % self.nodes[1].pid
        knock = Knock(place + "/members.door", place + "/user", "list", names=("in", "back"))
        knock.write("in", forged.encode())
        knock.until_heard()
        knock.close("in")
        self.cleanup.callback(knock.close)
        assert self.joins[1].line() == {"type": "want"}
        self.joins[1].tell(forged)
        answer = self.joins[1].line()
        assert (answer["kind"], answer["message"]) == ("protocol", "the list of members is not the one that the client has announced")
        assert b"known_hosts" not in self.nodes[1].run("ls", "/run/dockdist").stdout

    def test_a_stranger_s_descriptors_hold_up_nobody(self):
        """Whoever is on the host's network can send some, and a close may take for ever."""
        self.begin(2, together=True)
        stranger = subprocess.Popen(self.host.command(sys.executable, "-c", LINGER, str(self.records[1]["ssh_port"])), stdout=subprocess.PIPE)
        self.cleanup.callback(stranger.communicate)
        self.cleanup.callback(stranger.kill)
        assert stranger.stdout.readline() == b"sent\n"
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=200)
        assert self.joins[1].line() == {"type": "want"}
        self.joins[1].tell(self.text)
        self.joins[0].notice(self.text, first=1)
        self.joins[0].tell(self.text)
        self.is_ready(0)
        self.is_ready(1)

    def test_sshd_lets_nobody_in_before_it_knows_a_giver(self):
        self.begin(2)
        self.joins[0].notice(self.text, first=1)
        self.joins[0].tell(self.text)
        assert self.joins[0].line() == {"type": "ready"}
        refused = self.nodes[0].ssh("node-1", "true")
        assert (refused.returncode, b"Permission denied" in refused.stderr) == (255, True), refused
        self.joins[1].notice(self.text, first=1, giver=self.records[0], patience_ms=PATIENT)
        self.is_ready(1)
