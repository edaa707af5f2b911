"""The toolkit goes from host to host: what leaves this machine, hosts that lie, drop out, or are not reached by others."""

import contextlib
import re
import threading

from harness import assert_in, cluster
from harness.lab import TOOLKIT_TAR
from harness.many_hosts import every_host, nothing_is_left
from harness.proxy import Proxy


def size():
    """Bytes of the toolkit."""
    return TOOLKIT_TAR.stat().st_size


class Counting(Proxy):
    """What the client says to one engine, in bytes, and in calls that bring the toolkit."""

    def __init__(self, address):
        super().__init__(address)
        self.said, self.uploads, self.fetches = 0, [], []
        self.on_fetch = lambda call: None
        self.on_start = lambda: None
        self.on_part = self.count

    def count(self, call):
        if call.method == "PUT" and "/archive" in call.path and call not in self.uploads:
            self.uploads.append(call)
        if "fromSrc=http" in call.path and call not in self.fetches:
            self.fetches.append(call)
            self.on_fetch(call)
        if call.path.endswith("/start") and "/containers/" in call.path:
            self.on_start()
        return True

    def _requests(self, reader, writer, waiting):
        class Heard:
            async def read(_, limit):
                data = await reader.read(limit)
                self.said += len(data)
                return data

        return super()._requests(Heard(), writer, waiting)


@contextlib.contextmanager
def counted(lab, c):
    """A cluster over all hosts, none of which has the toolkit, with a proxy before each."""
    every_host(lab, c, "dockdist-lab/busybox")
    c.run("down", "--purge")
    with contextlib.ExitStack() as stack:
        made = []
        text = c.file.read_text()
        for address in lab.all_addresses:
            made.append(stack.enter_context(contextlib.closing(Counting(address))))
            text = text.replace(f"docker: 'tcp://{address}:2375', insecure: true", f"docker: '{made[-1].url}', address: {address}")
        c.file.write_text(text)
        yield made
        c.run("down", "--purge", code=None)


def uploads(made):
    return [len(proxy.uploads) for proxy in made]


def said(made):
    return sum(proxy.said for proxy in made)


def test_the_toolkit_leaves_this_machine_twice_however_many_hosts_there_are(lab):
    with cluster(lab, "t-hand-on") as c, counted(lab, c) as made:
        hosts = len(made)
        assert hosts > 2, "a lab of four hosts"
        up = c.up()
        assert_in(f"is up: {hosts} nodes", up.stdout)
        assert sum(uploads(made)) == 2, uploads(made)
        assert 2 * size() < said(made) <= 2 * size() + 20_000 * hosts, said(made)
        assert sum(len(proxy.fetches) for proxy in made) == hosts - 2
        assert c.run("run", "--", "hostname").stdout.count("node-") >= hosts
        nothing_is_left(lab, c, but=hosts)
        # All have it: nothing of it is sent, nor fetched.
        before = said(made)
        c.run("down")
        c.up()
        assert sum(uploads(made)) == 2 and said(made) - before < 60_000 * hosts, said(made) - before
        c.run("down")
        nothing_is_left(lab, c)


def giver_of(call):
    return re.search(r"fromSrc=http%3A%2F%2F([0-9.]+)%3A", call.path).group(1)


def test_a_host_that_changes_a_byte_is_refused_and_said_and_the_toolkit_comes_from_elsewhere(lab):
    with cluster(lab, "t-liar") as c, counted(lab, c) as made:
        liars, lock, asked = [], threading.Lock(), threading.Event()

        def change(number):  # a container that is to hand it on is about to start: the toolkit lies in its volume
            if not made[number].uploads:
                return
            with lock:
                first = not liars
                liars.extend([number] if first else [])
            if first:
                files = "/var/lib/docker/volumes/dockdist-toolkit-*/_data/libexec/dockdist-probe"
                lab.script("exec", str(number + 1), "sh", "-c", f"for file in {files}; do printf X | dd of=$file bs=1 seek=5000 conv=notrunc; done")
            elif number not in liars:
                asked.wait(20)  # so that it is the other one who is asked first

        for number, proxy in enumerate(made):
            proxy.on_start = lambda number=number: change(number)
            proxy.on_fetch = lambda call: asked.set()
        up = c.up()
        (liar,) = (f"node-{number}" for number in liars)
        assert_in(f"what came from {liar} was not what it should have passed on, and was removed", up.stderr)
        assert_in(f"is up: {len(made)} nodes", up.stdout)
        digests = {node: c.run("exec", node, "--", "sha256sum", "/opt/dockdist/libexec/dockdist-probe").stdout.split()[0]
                   for node in (f"node-{i}" for i in range(len(made)))}
        changed = digests.pop(liar)
        assert len(set(digests.values())) == 1 and changed not in digests.values(), (digests, changed)
        assert sum(uploads(made)) == 2, uploads(made)


@contextlib.contextmanager
def shut(lab, made, rule):
    """`shut(number)` sets a rule of the firewall on one of the first two hosts, until all others have the toolkit: then the nodes can meet."""
    lock, shut_now, there = threading.Lock(), [], set()

    def change(number, how):
        lab.script("exec", str(number + 1), "sh", "-c", f"iptables -{how} INPUT {rule}")

    def shut_out(number):
        with lock:
            if number not in shut_now:
                shut_now.append(number)
                change(number, "I")

    def open_all():
        while shut_now:
            change(shut_now.pop(), "D")

    def come(number):  # a container with the toolkit starts
        with lock:
            there.add(number)
            if len(there) == len(made) - 2:
                open_all()

    for number, proxy in enumerate(made[2:]):
        proxy.on_start = lambda number=number: come(number)
    try:
        yield shut_out
    finally:
        open_all()


def test_a_host_that_is_cut_off_when_it_is_to_hand_the_toolkit_on_is_passed_over(lab):
    with cluster(lab, "t-drop") as c, counted(lab, c) as made, shut(lab, made, "-p tcp ! --dport 2375 -j DROP") as cut:
        first = []

        def drop(call):  # before the engine hears that it is to fetch it there
            first.append(giver_of(call))
            cut(lab.addresses.index(first[0]))

        for proxy in made[2:]:
            proxy.on_fetch = drop
        assert_in(f"is up: {len(made)} nodes", c.up().stdout)
        assert sum(uploads(made)) == 2, uploads(made)
        assert len(first) > len(made) - 2 and set(first) != {first[0]}, first


def test_hosts_that_do_not_reach_the_others_get_the_toolkit_from_here(lab):
    rule = "-p tcp --syn ! --dport 2375 -j REJECT --reject-with tcp-reset"
    with cluster(lab, "t-apart") as c, counted(lab, c) as made, shut(lab, made, rule) as reject:
        reject(0)
        reject(1)
        assert_in(f"is up: {len(made)} nodes", c.up().stdout)
        # The first of the others gets it from here, and may hand it on to the last.
        assert uploads(made)[:2] == [1, 1] and 3 <= sum(uploads(made)) <= len(made), uploads(made)
