"""Trouble while a cluster is made: the next `up` converges, and `down` leaves nothing."""

import json

from harness import assert_in, cluster, eventually, read_until
from proxy import proxies, write_through
from test_bad_input import replace
from test_silence import cut


def names(lab):
    """Every container and every dockdist volume on the hosts, by the engines' own account."""
    found = [name for engine in lab.engines for c in engine.get("/v1.40/containers/json?all=1") for name in c["Names"]]
    return found + [v["Name"] for engine in lab.engines for v in engine.get("/v1.40/volumes")["Volumes"] or [] if "dockdist" in v["Name"]]


def is_whole(c):
    assert c.run("plan").stdout == "nothing to do\n"
    assert len(c.all_containers()) == 2, c.all_containers()


class Killer:
    """Kills a client at one moment of its talk with the engines, as the proxies see it."""

    def __init__(self, made):
        self.made, self.client, self.moment, self.answered = made, None, None, []
        for proxy in made:
            proxy.on_part, proxy.on_answer = self.on_part, self.on_answer

    def run(self, c, moment):
        """The client's exit code. A moment: ("answered", k), call k is done and its answer lost; ("removing", k), the
        k-th removal does not reach the engine; ("uploading", 8 << 20), so many bytes of the toolkit do."""
        self.moment, self.answered, self.removals = moment, [], 0
        self.client = c.start("up")
        self.client.communicate()
        self.moment = None
        return self.client.returncode

    def kill(self):
        self.client.kill()
        self.client.wait()
        return False

    def on_part(self, call):
        self.removals += call.method == "DELETE"
        kind, number = self.moment or ("", 0)
        if (kind == "removing" and self.removals == number) or (kind == "uploading" and call.body > number):
            return self.kill()
        return True

    def on_answer(self, call):
        self.answered.append(call)
        return self.kill() if self.moment == ("answered", len(self.answered)) else True


def test_a_client_killed_at_each_call_of_up_leaves_what_the_next_up_completes(lab):
    with cluster(lab, "t-kill-call") as c, proxies(lab) as both:
        write_through(c, both).run("down", "--purge")
        before, killer = names(lab), Killer(both)
        # The third removal gives back the lock, when all is done but that.
        for moment in [("uploading", 8 << 20), ("removing", 3), *(("answered", k) for k in range(1, 100))]:
            code = killer.run(c, moment)
            assert code in (0, -9), (code, moment)
            c.run("up")
            if c.run("plan").stdout != "nothing to do\n":
                c.run("up")  # an upload's container appeared when the next `up` had looked: a create was under way
            is_whole(c)
            c.run("down", "--purge")
            assert names(lab) == before, moment
            if code == 0:  # there was no such call
                break
        assert moment[1] > 15, killer.answered
