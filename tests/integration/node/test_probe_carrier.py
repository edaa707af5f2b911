"""`dockdist-init probe`: the lines of several probes on one stream, and their end. Shell scripts stand in for dockdist-probe."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from harness.cleanup import WithCleanup
from harness.node_process import DEADLINE, PROGRAM
from harness.patience import Watch


class TestCarrier(WithCleanup):
    def start(self, script=None, rdma="auto"):
        """Its first line is taken."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="dockdist-carrier-"))
        self.cleanup.callback(shutil.rmtree, root)
        libexec = root / "opt/dockdist/libexec"
        libexec.mkdir(parents=True)
        if script is not None:
            (libexec / "dockdist-probe").write_text(script)
            (libexec / "dockdist-probe").chmod(0o755)
        port = root / "sys/class/infiniband/mlx5_3/ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text("4: ACTIVE\n")
        (root / "run/dockdist").mkdir(parents=True)
        (root / "run/dockdist/node.json").write_text(json.dumps({"node": "node-0", "rdma": {"use": rdma}}))
        self.process = subprocess.Popen([PROGRAM, "probe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "DOCKDIST_TEST_ROOT": str(root)}, text=True, bufsize=1)
        self.cleanup.callback(self.stop, self.process)
        assert self.next() == {"rdma": [] if rdma == "off" else ["mlx5_3"]}
        return self.process

    def stop(self, process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def tell(self, local_rank, **line):
        self.process.stdin.write(json.dumps({"probe": local_rank, "line": line}) + "\n")
        self.process.stdin.flush()

    def next(self):
        return json.loads(self.process.stdout.readline())

    def test_lines_go_both_ways_with_the_local_rank(self):
        self.start('#!/bin/sh\nread -r order; echo "{\\"order\\":$order,\\"local\\":$LOCAL_RANK}"; read -r id; '
                   'echo "no JSON"; echo "{\\"id\\":$id}"\n')
        self.tell(2, rank=7)
        assert self.next() == {"probe": 2, "line": {"order": {"rank": 7}, "local": 2}}
        self.tell(2, id="x")
        assert self.next() == {"probe": 2, "line": {"id": {"id": "x"}}}
        assert self.next() == {"probe": 2, "ended": {"code": 0, "signal": 0, "message": "", "hint": ""}}
        self.process.stdin.close()
        assert self.process.wait(DEADLINE) == 0

    def test_an_end_has_its_code_its_signal_and_the_last_words(self):
        self.start('#!/bin/sh\nread -r order; echo first >&2; echo "the last words" >&2\ncase $LOCAL_RANK in 0) exit 4;; 1) kill -9 $$;; esac\n')
        self.tell(0, rank=0)
        self.tell(1, rank=1)
        ends = {line["probe"]: line["ended"] for line in (self.next(), self.next())}
        assert ends[0] == {"code": 4, "signal": 0, "message": "the last words", "hint": ""}
        assert (ends[1]["code"], ends[1]["signal"]) == (137, 9)

    def test_the_end_of_the_stream_ends_a_probe_that_hears_nothing(self):
        self.start('#!/bin/sh\necho "{\\"pid\\":$$}"; trap "" TERM HUP INT; exec sleep 1000\n')
        self.tell(0, rank=0)
        pid = self.next()["line"]["pid"]
        watch = Watch()
        self.process.stdin.close()
        assert self.process.wait(DEADLINE) == 0
        assert watch.within(10), watch
        assert not os.path.exists("/proc/%d" % pid)

    def test_probes_die_with_their_carrier(self):
        self.start('#!/bin/sh\necho "{\\"pid\\":$$}"; exec sleep 1000\n')
        self.tell(0, rank=0)
        pid = self.next()["line"]["pid"]
        self.process.kill()
        self.process.wait()
        watch = Watch()
        while os.path.exists("/proc/%d" % pid):  # no event tells of it from outside
            assert watch.within(DEADLINE), watch
            time.sleep(0.01)

    def test_a_loader_that_is_missing_is_said_in_words(self):
        self.start("#!/nowhere/ld-linux\n")  # as the kernel answers for a program whose interpreter is not there
        self.tell(0, rank=0)
        end = self.next()["ended"]
        assert end["code"] == 126
        assert "the image has no glibc" in end["message"]
        assert "Alpine" in end["hint"]

    def test_a_probe_that_is_not_there(self):
        self.start()
        self.tell(0, rank=0)
        assert "dockdist-probe: No such file or directory" in self.next()["ended"]["message"]

    def test_with_rdma_off_no_device_is_told(self):
        self.start(rdma="off")

    def test_what_is_not_of_the_protocol_ends_it(self):
        for line in ("nonsense", '{"probe":0}', '{"probe":99,"line":{}}', '{"rdma":[]}'):
            process = self.start("#!/bin/sh\nexec sleep 1000\n")
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert process.wait(DEADLINE) == 1, line
            assert "dockdist-init probe: " in process.stderr.read()
