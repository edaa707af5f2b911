"""up, run, down, again and again: nothing may pile up, in the engines, on their hosts, or in the client.

The test makes ten rounds; `scripts/bench --rounds-of-life 200` makes as many as one likes, and prints the counts.
"""

import statistics

from harness import cluster, highest_memory

# On a host: the engine's descriptors and processes, layers of its containers, and files where programs leave some. dockerd
# closes an exec's connection, whose other end is gone (peer 0), when its garbage is collected and not before (seen with
# 20.10 and 26.1, whoever the client): such are not counted.
ON_HOST = """engine=$(cat /run/lab/engine.pid)
uncollected=$(ss -xp | awk -v user="pid=$engine," '$2 == "ESTAB" && $7 == "*" && $8 == 0 && index($0, user)' | wc -l)
echo descriptors $(($(ls /proc/$engine/fd | wc -l) - uncollected))
echo processes $(ls -d /proc/[0-9]* | wc -l)
echo layers $(ls /var/lib/docker/overlay2 | wc -l)
echo volumes $(ls /var/lib/docker/volumes | wc -l)
echo files $(find /tmp /run /var/tmp /root /home /etc -xdev | wc -l)"""


def on_hosts(lab):
    counts = {}
    for number, engine in enumerate(lab.engines[:2], 1):
        for line in lab.script("exec", str(number), "sh", "-euc", ON_HOST).splitlines():
            what, count = line.split()
            counts[f"host-{number} {what}"] = int(count)
        counts[f"host-{number} containers"] = len(engine.get("/v1.40/containers/json?all=1"))
    return counts


def one(c, environment, *command):
    """Runs dockdist, and tells how much memory it took at most, in KiB."""
    process = c.start(*command, **environment)
    memory = highest_memory(process)
    assert process.returncode == 0, f"{command}: {process.stdout.read()}{process.stderr.read()}"
    return memory


def rounds_of_life(lab, rounds):
    """What is counted after the first round and after the last one; and the client's memory in the first and last five."""
    with cluster(lab, "t-rounds") as c:
        c.write()
        home = c.folder / "home"
        home.mkdir()
        environment = {"HOME": str(home), "TMPDIR": str(home), "XDG_RUNTIME_DIR": str(home)}
        memory, first = [], None
        for _ in range(rounds):
            memory.append(max(one(c, environment, "up"), one(c, environment, "run", "--", "sh", "-c", "ssh node-0 true; seq 1000"),
                              one(c, environment, "down")))
            c.assert_clean()
            first = first or on_hosts(lab)
        last = on_hosts(lab)
        first["client's files"], last["client's files"] = 0, len(list(home.rglob("*")))
        first["client KiB"], last["client KiB"] = (int(statistics.median(part)) for part in (memory[:5], memory[-5:]))
        return first, last


def test_rounds_of_up_run_and_down_leave_nothing_behind(lab):
    first, last = rounds_of_life(lab, 10)
    # The engines' own descriptors come and go by a few; what leaks at every round does so nine times.
    slack = {"descriptors": 6, "processes": 4, "KiB": 1024}
    grown = {what: (first[what], last[what]) for what in first if last[what] > first[what] + slack.get(what.split()[1], 0)}
    assert not grown, grown
