"""`job stacks`: where the ranks of a running job stand; real processes, no engine."""

import json
import os
import sys
import tarfile

from harness.node_process import OnANode

HANG = """
import sys, threading
def wait_for_ever():
    threading.Event().wait()
def lose_itself(depth):
    return wait_for_ever() if depth == 0 else lose_itself(depth - 1)
print("begun", flush=True)
lose_itself(int(sys.argv[1]))
"""


class TestStacks(OnANode):
    def install(self, script=None):
        """The toolkit's py-spy, or what stands in for one that goes wrong."""
        folder = self.node.root + "/opt/dockdist/libexec"
        os.makedirs(folder, exist_ok=True)
        if script is None:
            with tarfile.open(os.environ["DOCKDIST_TOOLKIT_TAR"]) as tar:
                member = tar.getmember("libexec/py-spy")
                with open(folder + "/py-spy", "wb") as file:
                    file.write(tar.extractfile(member).read())
        else:
            with open(folder + "/py-spy", "w") as file:
                file.write("#!/bin/sh\n" + script)
        os.chmod(folder + "/py-spy", 0o755)

    def begin(self, *argv, **words):
        stream = self.node.start([sys.executable, "-c", HANG, *argv], **words)
        stream.until_output(b"begun")
        return stream

    def stacks(self, job="job-0"):
        process = self.node.popen("job", "stacks", job)
        out, _ = process.communicate(timeout=60)
        lines = [json.loads(line) for line in out.splitlines()]
        if not lines:
            return process.returncode, []
        assert lines[-1]["type"] == "stacks_told", lines
        return process.returncode, lines[:-1]

    def test_where_a_python_stands_is_told_and_it_goes_on(self):
        self.install()
        self.begin("2")
        for _ in range(2):  # it was not disturbed
            code, [told] = self.stacks()
            assert (code, told["rank"], told["tool"], told["problem"]) == (0, -1, "py-spy", ""), told
            [main] = [thread for thread in told["threads"] if thread["name"] == "MainThread"]
            functions = [frame["function"] for frame in main["frames"]]
            begin = functions.index("wait_for_ever")
            assert functions[begin:] == ["wait_for_ever", "lose_itself", "lose_itself", "lose_itself", "<module>"], functions
            assert main["frames"][begin]["line"] == 4, main
            assert told["state"] == "sleeping" and not told["moves"], told
        assert self.node.list()[0]["running"]

    def test_each_rank_is_told_for_itself_as_whoever_it_runs_as(self):
        self.install()
        os.chmod(self.node.root, 0o755)
        stream = self.node.start([], rank_command=[sys.executable, "-c", HANG, "1"])
        stream.until("started")
        ranks = [self.node.rank("job-0", RANK=str(rank), LOCAL_RANK=str(rank)) for rank in range(3)]
        while stream.output().count(b"begun") < 3:
            assert stream.next_frame() is not None
        code, told = self.stacks()
        assert code == 0 and sorted(each["rank"] for each in told) == [0, 1, 2], told
        assert {each["tool"] for each in told} == {"py-spy"}, told
        assert len({each["pid"] for each in told}) == 3, told
        self.node.stop("job-0")
        for rank in ranks:
            rank.communicate(timeout=60)

    def test_a_stopped_rank_is_read_too(self):
        self.install()
        stream = self.node.start([sys.executable, "-c", "import os, signal\nprint('begun', flush=True)\n"
                                  "os.kill(os.getpid(), signal.SIGSTOP)"])
        stream.until_output(b"begun")
        while True:
            _, [told] = self.stacks()
            if told["state"] == "stopped":
                break
        assert told["tool"] == "py-spy" and told["threads"], told

    def test_what_is_no_python_tells_its_state_alone(self):
        stream = self.node.start(["/bin/sh", "-c", "echo begun; exec /bin/sleep 1000"], env={"PATH": self.node.root})  # no gdb
        stream.until_output(b"begun")
        while True:  # until the shell has become it
            _, [told] = self.stacks()
            if told["command"].startswith("/bin/sleep"):
                break
        assert (told["tool"], told["threads"], told["state"]) == ("", [], "sleeping"), told
        assert "gdb" in told["advice"], told

    def test_a_tool_that_goes_wrong_is_told_and_the_job_goes_on(self):
        for job, (script, problem, advice) in enumerate((
                ("echo 'Error: Permission Denied: Try running again' >&2; exit 1", "py-spy failed: ", "SYS_PTRACE"),
                ("echo '[{\"frames\": 7}, nonsense'", "py-spy failed: ", ""),
                ("printf '\\033[2J\\n' >&2; exit 3", "py-spy failed: \\x1b[2J", ""))):
            self.install(script)
            self.begin("1", env={"PATH": self.node.root})  # no gdb
            code, [told] = self.stacks("job-%d" % job)
            assert code == 0 and told["problem"].startswith(problem) and advice in told["advice"], told
            assert told["threads"] == [] and told["state"] == "sleeping", told

    def test_a_job_that_is_over_has_no_ranks_and_one_that_nobody_knows_is_an_error(self):
        self.node.run(["true"])
        assert self.stacks() == (0, [])
        assert self.stacks("nobody")[0] == 1
        assert self.node.popen("job", "stacks", "../x").wait(30) == 2
