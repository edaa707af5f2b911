"""Trouble while a cluster is made: the next `up` converges, and `down` leaves nothing."""

import json
import re
import signal
import threading

from harness import assert_in, cluster, eventually, read_until
from harness.proxy import proxies, write_through
from harness.faults import cut


def names(lab):
    """Every container and every dockdist volume on the hosts, by the engines' own account."""
    found = [name for engine in lab.engines for c in engine.get("/v1.40/containers/json?all=1") for name in c["Names"]]
    found += [v["Name"] for engine in lab.engines for v in engine.get("/v1.40/volumes")["Volumes"] or [] if "dockdist" in v["Name"]]
    return sorted(found)


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
        self.client = c.start("up", "--no-check")
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
            c.run("up", "--no-check")
            if c.run("plan").stdout != "nothing to do\n":
                c.run("up", "--no-check")  # an upload's container appeared when the next `up` had looked: a create was under way
            is_whole(c)
            c.run("down", "--purge")
            assert names(lab) == before, moment
            if code == 0:  # there was no such call
                break
        assert moment[1] > 15, killer.answered


def test_creates_whose_answers_are_lost_or_late_make_no_second_container(lab):
    with cluster(lab, "t-lost") as c, proxies(lab) as both:
        write_through(c, both)
        before = names(lab)

        def creates(call):  # not the one that asks for RDMA devices, which the hosts refuse
            return "/containers/create" in call.path and call.body > 0 and b"infiniband" not in call.text

        both[1].on_answer = lambda call: not creates(call)
        failed = c.run("up", code=1)
        assert_in("node-1 (tcp://127.0.0.1:", failed.stderr)
        both[1].on_answer = lambda call: True
        assert [name for name in names(lab) if c.name in name and not name.startswith("dockdist-store-")] == []
        # The engine gets to it when the client is long gone.
        let_go = threading.Event()

        def on_part(call):
            if creates(call):
                client.kill()
                let_go.wait(timeout=60)
            return True

        both[1].on_part, both[1].patient = on_part, True
        client = c.start("up")
        client.communicate()
        both[1].on_part = lambda call: True
        assert not lab.engines[1].containers(cluster=c.name)
        let_go.set()
        eventually(lambda: lab.engines[1].containers(cluster=c.name), "the container appears late")
        c.run("up")
        is_whole(c)
        c.run("down", "--purge")
        assert [name for name in names(lab) if name not in before and "toolkit" not in name and name != "dockdist-gpus"] == []


def test_up_racing_down_ends_with_all_or_nothing(lab):
    for phase in ("observe", "create", "start", "join"):
        with cluster(lab, f"t-race-{phase}") as c:
            client = c.write().start("up", "-o", "json")
            read_until(client, f'"{phase}"')
            down = c.run("down", code=None)
            out, err = client.communicate(timeout=60)
            if client.returncode == 0 and down.returncode != 0:
                is_whole(c)
            elif client.returncode != 0:
                assert err, out  # says what happened to it
                c.assert_clean()
            c.run("down")
            c.assert_clean()


def test_a_host_that_vanishes_in_the_middle_of_up_is_named_and_the_others_are_taken_back(lab):
    with cluster(lab, "t-vanish") as c:
        client = c.write().start("up", "-o", "json")
        read_until(client, '"start"')
        client.send_signal(signal.SIGSTOP)  # or it would be done before the host is cut off
        with cut(lab, 2):
            client.send_signal(signal.SIGCONT)
            out, said = client.communicate(timeout=120)
            assert client.returncode == 1, out
            errors = [event for event in map(json.loads, said.splitlines()) if event["type"] == "error"]
            assert all("node-1" in error["where"] + error["message"] for error in errors), errors
            assert_in("run `dockdist down` when the host answers again", errors[-1]["hint"])
            assert not lab.engines[0].containers(cluster=c.name)
        c.run("down")
        c.assert_clean()


def test_a_full_disk_during_the_upload_is_told_with_its_host_and_taken_back(lab):
    with cluster(lab, "t-full") as c:
        c.write().run("down", "--purge")
        before = names(lab)
        # The toolkit has 21 MB; the engine keeps volumes below this folder.
        lab.script("exec", "2", "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "/var/lib/docker/volumes")
        try:
            failed = c.run("up", code=1)
            assert_in("error: node-1 (tcp://", failed.stderr)
            assert_in("no space left on device", failed.stderr)
            assert "error: node-0" not in failed.stderr
            c.assert_clean()
            c.run("down", "--purge")
        finally:
            lab.script("exec", "2", "umount", "/var/lib/docker/volumes")
        assert names(lab) == before
        c.run("up")
        is_whole(c)


def test_an_image_that_one_host_lacks_is_told_before_anything_is_made(lab):
    with cluster(lab, "t-one-image") as c:
        engine = lab.engines[0]
        assert engine.call("POST", "/v1.40/images/dockdist-lab/busybox/tag?repo=dockdist-lab/only-here&tag=latest")[0] == 201
        try:
            failed = c.write(image="dockdist-lab/only-here").run("up", code=1)
            assert_in("error: node-1 (tcp://", failed.stderr)
            assert_in("only-here", failed.stderr)
            assert "error: node-0" not in failed.stderr
            c.assert_clean()
        finally:
            engine.call("DELETE", "/v1.40/images/dockdist-lab/only-here:latest")


def test_a_clock_that_is_an_hour_off_is_told_and_matters_to_nothing(lab):
    def an_hour_on(data):
        def later(match):
            return match[1] + b"%02d" % ((int(match[2]) + 1) % 24) + match[3]

        return re.sub(rb'("SystemTime":"[0-9-]+T)([0-9]{2})(:)', later, data)

    with cluster(lab, "t-clock") as c, proxies(lab) as both:
        write_through(c, both)
        both[1].edit = an_hour_on
        c.run("up")
        is_whole(c)
        rows = {row["subject"]: row for row in json.loads(c.run("check", "-o", "json").stdout)["rows"] if row["check"] == "clock"}
        assert rows["node-0"]["state"] == "pass", rows
        assert rows["node-1"]["state"] == "warn" and re.search("s (ahead of|behind) this machine's", rows["node-1"]["text"]), rows
        assert c.run("run", "--", "echo", "trained").stdout.count("trained\n") == 2
        c.run("down")
        c.assert_clean()
