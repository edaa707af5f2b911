"""The two steps of a job's start: what is found out first, and that nothing is left when there is no second step."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from harness.node_process import DEADLINE, PROGRAM, OnANode, marked
from harness.patience import patient


def listen(port, reuse, family="AF_INET", address=""):
    """Whether a process of its own can listen there."""
    script = ("import socket\n"
              "s = socket.socket(socket.%s)\n"
              "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, %d)\n"
              "s.bind((%r, %d))\n"
              "s.listen()\n" % (family, reuse, address, port))
    return subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, check=False).returncode == 0


class TestSteps(OnANode):
    def traces(self, job):
        return [path for path in (self.node.scratch(job), "%s/var/lib/dockdist/store/jobs/%s" % (self.node.root, job))
                if os.path.exists(path)] + marked(job)

    def prepared(self, **opening):
        stream = self.node.open(**opening)
        return stream, stream.until("prepared")

    def test_nothing_is_there_before_the_start_line(self):
        stream, facts = self.prepared()
        assert (facts["ports"], facts["answers"], self.traces("job-0"), self.node.list()) == ([], [], [], [])
        stream.send(argv=["echo", "hello"])
        assert stream.result()["code"] == 0
        assert stream.output() == b"hello\n"

    def test_a_ping_is_answered_at_any_time(self):
        os.mkfifo(self.node.root + "/go")
        stream = self.node.open(questions=[{"name": "q", "argv": ["cat", self.node.root + "/go"]}])
        stream.send(type="ping")
        assert stream.next_frame().kind == "P"
        with open(self.node.root + "/go", "w") as go:
            go.write("answer\n")
        assert stream.until("prepared")["answers"][0]["output"] == "answer\n"
        stream.send(type="ping")
        assert stream.next_frame().kind == "P"

    def test_a_stop_instead_of_a_start_leaves_nothing(self):
        stream, facts = self.prepared(ports=1)
        stream.send(type="stop", grace_ms=5000)
        result = stream.result()
        assert (result["stopped"], result["reason"], result["code"], result["failures"]) == (True, "stop", 0, [])
        assert (stream.process.returncode, self.traces("job-0")) == (0, [])
        assert listen(facts["ports"][0], reuse=0)

    def test_a_client_that_goes_leaves_nothing(self):
        stream, facts = self.prepared(ports=1)
        stream.close()
        assert (stream.process.returncode, self.traces("job-0")) == (0, [])
        assert listen(facts["ports"][0], reuse=0)

    def test_a_client_that_goes_while_questions_run_ends_them(self):
        os.mkfifo(self.node.root + "/up")
        script = "echo > %s/up; exec sleep 1000" % self.node.root
        stream = self.node.open(questions=[{"name": "q", "argv": ["sh", "-c", script]}])
        with open(self.node.root + "/up") as up:
            up.read()
        stream.close()
        assert (stream.process.returncode, self.traces("job-0")) == (0, [])

    def test_a_client_without_a_word_is_forgotten_after_the_lease(self):
        stream, _ = self.prepared(lease_ms=300)
        assert stream.next_frame() is None
        assert stream.process.wait(DEADLINE) == 1

    def test_pings_hold_the_opening(self):
        lease = patient(0.3)
        stream, _ = self.prepared(lease_ms=int(lease * 1000))
        began = time.monotonic()
        while time.monotonic() - began < 3 * lease:
            stream.send(type="ping")
            assert stream.next_frame().kind == "P"
        stream.send(argv=["true"])
        assert stream.result()["code"] == 0

    def test_a_start_that_cannot_be_is_an_error_and_leaves_nothing(self):
        for start in ({"argv": [""]}, {"argv": ["true"], "files": {"/dev/null/x": "content"}}):
            stream, _ = self.prepared()
            stream.send(**start)
            stream.until("error")
            stream.close()
            assert (stream.process.returncode, self.traces(self.node.jobs[-1])) == (1, [])

    def test_files_outside_the_jobs_scratch_are_refused(self):
        outside = self.node.root + "/planted"
        for path in (outside, "%s/../../../../planted", "%sx", "%s"):
            stream, _ = self.prepared()
            stream.send(argv=["true"], files={path.replace("%s", self.node.scratch(self.node.jobs[-1])): "content"})
            assert "is refused" in stream.until("error")["message"]
            stream.close()
            assert not os.path.exists(outside)

    def test_an_opening_that_is_none_is_refused(self):
        for line, message in ((b"nonsense\n", b"not JSON"), (b"", b"cut short"), (b'{"job":"../x"}\n', b"must be 1 to 64")):
            process = self.node.popen("job", "start")
            out, _ = process.communicate(line, DEADLINE)
            assert message in out
            assert process.returncode == 1


class TestQuestions(OnANode):
    def answers(self, *argvs, **opening):
        questions = [{"name": "q%d" % number, "argv": list(argv)} for number, argv in enumerate(argvs)]
        return self.node.open(questions=questions, **opening).until("prepared")["answers"]

    def test_they_are_answered_side_by_side_in_their_order(self):
        os.mkfifo(self.node.root + "/pipe")
        answers = self.answers(["cat", self.node.root + "/pipe"], ["sh", "-c", "echo through > %s/pipe" % self.node.root])
        assert [(a["name"], a["code"], a["output"]) for a in answers] == [("q0", 0, "through\n"), ("q1", 0, "")]

    def test_a_program_that_is_not_there_is_127(self):
        assert [a["code"] for a in self.answers(["no-such-program"], ["/etc"])] == [127, 126]

    def test_they_see_what_the_job_will_see(self):
        self.node.record(A="container", GONE="1")
        answers = self.answers(["sh", "-c", "echo $A $TOKEN $GONE $DOCKDIST_JOB; pwd"], env={"TOKEN": "t"}, unset=["GONE"],
                               workdir=self.node.root)
        assert answers[0]["output"] == "container t job-0\n%s\n" % self.node.root

    def test_they_run_as_the_job_s_user(self):
        assert self.answers(["id", "-u"], user="nobody")[0]["output"] == "65534\n"

    def test_python_means_python3_where_there_is_no_python(self):
        folder = self.node.root + "/only-python3"
        os.mkdir(folder)
        shutil.copy(shutil.which("echo"), folder + "/python3")
        assert self.answers(["python", "-x"], env={"PATH": folder})[0]["output"] == "-x\n"

    def test_bytes_that_are_not_text_travel(self):
        assert self.answers(["printf", "\\377\\n"])[0]["output"] == {"hex": "ff0a"}


class TestPorts(OnANode):
    def test_they_are_the_job_s_own_until_its_end(self):
        stream = self.node.open(ports=2)
        ports = stream.until("prepared")["ports"]
        assert len(set(ports)) == 2
        stream.send(argv=["sleep", "1000"])
        stream.until("started")
        for port in ports:
            assert port in range(20000, 30000)
            assert (listen(port, reuse=0), listen(port, reuse=0, address="127.0.0.1"), listen(port, reuse=1)) == (False, False, True)
        stream.send(type="stop", grace_ms=5000)
        stream.result()
        assert [listen(port, reuse=0) for port in ports] == [True, True]

    @pytest.mark.skipif(not (socket.has_ipv6 and os.path.exists("/proc/net/if_inet6")), reason="no IPv6 here")
    def test_they_are_held_for_ipv6_too(self):
        port = self.node.open(ports=1).until("prepared")["ports"][0]
        assert (listen(port, 0, "AF_INET6"), listen(port, 1, "AF_INET6")) == (False, True)

    def test_another_node_of_the_host_gives_others(self):
        first = self.node.open(job="same", ports=3).until("prepared")["ports"]
        # No job is there of that name before its start, so that the same beginning is tried.
        second = self.node.open(job="same", ports=3).until("prepared")["ports"]
        assert set(first) & set(second) == set()

    def test_a_port_that_somebody_listens_on_is_passed_over(self):
        first = self.node.open(job="same", ports=1)
        port = first.until("prepared")["ports"][0]
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen()
            first.close()
            assert self.node.open(job="same", ports=1).until("prepared")["ports"][0] != port


class TestScontrol:
    """A name of dockdist-init like ssh."""

    def scontrol(self, *words, **variables):
        return subprocess.run(["scontrol", *words], executable=PROGRAM, env={"PATH": "/no/such/folder", **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_host_lists_are_expanded(self):
        assert self.scontrol("show", "hostnames", "node-[08-10],x").stdout == "node-08\nnode-09\nnode-10\nx\n"
        for name in ("SLURM_JOB_NODELIST", "SLURM_NODELIST"):
            assert self.scontrol("show", "hostname", **{name: "a,b"}).stdout == "a\nb\n"
        assert self.scontrol("show", "hostlist", "a,b").stdout == "a,b\n"

    def test_it_takes_its_words_as_slurm_s_does(self):
        for words in (["sho", "hostn", "a-[3-4]"], ["SHOW", "HostNames", "a-[3-4]"], ["show", "hostnames=a-[3-4]"], ["-o", "show", "hostname", "a-[3-4]"],
                      ["show", "--oneliner", "hostnames", "a-[3-4]"], ["-M", "here", "show", "hostnames", "a-[3-4]"]):
            assert self.scontrol(*words).stdout == "a-3\na-4\n", words
        assert self.scontrol("show", "hostlistsorted", "a-2,a-1,b").stdout == "a-[1-2],b\n"
        with tempfile.NamedTemporaryFile("w") as file:
            print("a-3", "a-2", sep="\n", file=file, flush=True)
            assert self.scontrol("show", "hostnames", file.name).stdout == "a-3\na-2\n"
        assert self.scontrol("--version").stdout == self.scontrol("version").stdout == "slurm-wlm 22.05.8\n"
        assert "is UP" in self.scontrol("ping").stdout

    def test_it_tells_of_the_job(self):
        job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "fit", "SLURM_JOB_NODELIST": "a-[0-1]", "SLURM_NNODES": "2", "SLURM_NTASKS": "8",
               "DOCKDIST_BATCH_SCRIPT": "/work/fit.sbatch", "SLURM_SUBMIT_DIR": "/work"}
        for words in (["show", "job", "4711"], ["show", "jobid", "4711"], ["show", "job=4711"], ["show", "JobId=4711"], ["show", "jobs"], ["-dd", "show", "job", "4711"]):
            said = self.scontrol(*words, **job).stdout
            assert said.startswith("JobId=4711 JobName=fit\n   "), words
            for word in ("JobState=RUNNING", "NodeList=a-[0-1]", "BatchHost=a-0", "NumNodes=2", "NumTasks=8", "Command=/work/fit.sbatch", "WorkDir=/work"):
                assert word in said.split(), (words, word)
        line = self.scontrol("-o", "show", "job", "4711", **job).stdout
        assert line.count("\n") == 1 and " Command=/work/fit.sbatch " in line
        for words, variables in ((["show", "job", "99"], job), (["show", "job"], {})):
            done = self.scontrol(*words, **variables)
            assert (done.returncode, done.stdout) == (1, "") and "Invalid job id specified" in done.stderr

    def test_what_it_cannot_do_it_says(self):
        for words, message in ((("show", "hostnames"), "no host list is given"), (("show", "hostnames", "a["), "invalid host list"),
                               (("requeue", "1"), "there is no Slurm here")):
            done = self.scontrol(*words)
            assert (done.returncode, done.stdout) == (1, "")
            assert message in done.stderr

    def test_the_image_s_own_is_asked_for_the_rest(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(shutil.which("echo"), folder + "/scontrol")
            assert self.scontrol("requeue", "1", PATH=folder).stdout == "requeue 1\n"
