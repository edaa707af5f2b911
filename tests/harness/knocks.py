"""The doors of a job (src/node/system/fifo_door.hpp), as any process of its user may use them."""

import os
import secrets


def supervisor_of(node, job):
    """The process that has the job's door open."""
    door = node.scratch(job) + ":rank"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        links = opened(pid)
        if door in links and any("/log.0" in link for link in links):
            return int(pid)
    raise AssertionError("nobody is behind " + door)


def opened(pid):
    """What the process has open, in the words of /proc."""
    links = []
    try:
        for fd in os.listdir("/proc/%s/fd" % pid):
            try:
                links.append(os.readlink("/proc/%s/fd/%s" % (pid, fd)))
            except OSError:
                pass
    except OSError:
        pass
    return links


def is_fifo_or_ours(link):
    return link.startswith(("pipe:", "socket:", "anon_inode:", "/dev/null")) or "/fifo." in link or ":rank" in link or ":member" in link \
        or "/log." in link


class Knock:
    """One knock. `instead` says what stands in place of one of its FIFOs: {"out": lambda path: os.symlink("/dev/zero", path)}."""

    def __init__(self, door, folder, words, names=("in", "back", "out", "err"), instead=None):
        self.door, self.number = door, secrets.token_hex(8)
        self.ends = {}
        for name in names:
            path = "%s/fifo.%s.%s" % (folder, self.number, name)
            if instead and name in instead:
                instead[name](path)
            else:
                os.mkfifo(path)
                self.ends[name] = os.open(path, os.O_RDWR)  # which blocks, whatever the other side does
        self.say("\n%s %s\n" % (self.number, words))

    def say(self, line):
        door = os.open(self.door, os.O_WRONLY)
        os.write(door, line.encode())
        os.close(door)

    def until_heard(self):
        """What is in a FIFO is lost when nobody has it open."""
        assert os.read(self.ends["back"], 1) == b"\n"

    def write(self, name, data):
        os.write(self.ends[name], data)

    def close(self, *names):
        for name in names or list(self.ends):
            os.close(self.ends.pop(name))


def knock_as_rank(node, job, rank, instead=None):
    return Knock(node.scratch(job) + ":rank", node.scratch(job), "%d %d %d" % (rank, rank, os.getpid()), instead=instead)
