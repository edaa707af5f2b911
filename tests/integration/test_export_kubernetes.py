"""The pods of an exported JobSet, run by the lab's engines as a kubelet would run them: the image and the exported command and
environment, and nothing of dockdist's. What JobSet and the cluster's DNS give, the test gives."""

import contextlib
import json
import re
import shutil
import struct

import yaml

from harness import cluster, eventually
from harness.kubernetes import command, environment, job_of
from harness.lab import ROOT


class Pod:
    """A container on a host, made of a pod's spec: on the network of its host, where the spec says so."""

    def __init__(self, engine, job, index, addresses, secrets=None):
        self.engine = engine
        spec = job["spec"]["template"]["spec"]
        assert spec["hostNetwork"] and spec["restartPolicy"] == "Never"
        [container] = spec["containers"]
        mounted = {mount["name"]: mount["mountPath"] for mount in container.get("volumeMounts", [])}
        shm = next(volume["emptyDir"] for volume in spec["volumes"] if volume["name"] == "shm")
        assert shm == {"medium": "Memory", "sizeLimit": "64Gi"}
        variables = environment(spec, {"JOB_COMPLETION_INDEX": str(index), "status.podIP": addresses[index]}, secrets)
        name = job["metadata"]["name"]
        subdomain = name.removesuffix("-node-0")
        made = {
            "Image": container["image"], "Entrypoint": command(spec, variables), "Cmd": [],
            "Env": [f"{name}={value}" for name, value in variables.items()],
            "User": str(container["securityContext"]["runAsUser"]), "WorkingDir": container.get("workingDir", ""),
            "HostConfig": {
                "NetworkMode": "host", "ShmSize": 64 << 20,
                "ExtraHosts": [f"{name}-{i}.{subdomain}:{address}" for i, address in enumerate(addresses)],
                "Binds": [f"{volume['hostPath']['path']}:{mounted[volume['name']]}" for volume in spec["volumes"]
                          if "hostPath" in volume]}}
        self.id = self.ask("POST", "/v1.40/containers/create", made, 201)["Id"]

    def ask(self, method, path, body=None, wanted=204):
        status, data = self.engine.call(method, path, body)
        assert status == wanted, f"{path}: {status} {data[:300]}"
        return json.loads(data) if data and data[:1] in b"{[" else data

    def start(self):
        self.ask("POST", f"/v1.40/containers/{self.id}/start")

    def log(self):
        status, data = self.engine.call("GET", f"/v1.40/containers/{self.id}/logs?stdout=1&stderr=1")
        assert status == 200
        text = b""
        while data:
            size, = struct.unpack(">I", data[4:8])
            text += data[8:8 + size]
            data = data[8 + size:]
        return text.decode(errors="replace")

    def until(self, text):
        eventually(lambda: text in self.log() or not self.engine.inspect(self.id)["State"]["Running"], f"{text!r} in its log", 60)
        assert text in self.log(), self.log()

    def end(self):
        """Its exit code and what it has said."""
        eventually(lambda: not self.engine.inspect(self.id)["State"]["Running"], "its end", 90)
        return self.engine.inspect(self.id)["State"]["ExitCode"], self.log()

    def terminate(self):
        """As the kubelet ends a pod: TERM, and KILL after the time of grace. How long it has taken is not asked: the code is."""
        self.ask("POST", f"/v1.40/containers/{self.id}/stop?t=50")

    def remove(self):
        self.engine.call("DELETE", f"/v1.40/containers/{self.id}?force=1&v=1")


@contextlib.contextmanager
def pods(lab, c, *words, **secrets):
    """Those of what `export kubernetes` prints, started on the lab's first hosts."""
    [manifest] = yaml.safe_load_all(c.run("export", "kubernetes", *words).stdout)
    job = job_of(manifest)
    count = job["spec"]["completions"]
    assert job["spec"]["parallelism"] == count and job["spec"]["completionMode"] == "Indexed"
    made = []
    try:
        for index in range(count):
            made.append(Pod(lab.engines[index], job, index, lab.addresses[:count], secrets))
        for pod in reversed(made):  # nothing says that the first one starts first
            pod.start()
        yield made
    finally:
        for pod in made:
            pod.remove()


@contextlib.contextmanager
def torch_file(lab, name):
    with cluster(lab, name) as c:
        folder = lab.shared / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(ROOT / "tests/integration/ranks.py", folder)
        c.write(image="dockdist-lab/torch", host_more=", slots: 2",
                container=f"mounts: ['/shared/{name}:/workspace']\nworkdir: /workspace\nsecrets: {{TOKEN: }}\n"
                          "env: {ODD: \"$$(TOKEN) 'x' no\"}")
        try:
            yield c
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def answers(pod):
    code, log = pod.end()
    assert code == 0, log
    # Two ranks write at the same time: their lines may stand on one.
    return [json.JSONDecoder().raw_decode(log, found.start())[0] for found in re.finditer(r'\{"sum"', log)]


def test_exported_pods_meet_by_torchrun_and_by_each_slot(lab):
    with torch_file(lab, "t-export-torch") as c:
        for launcher in (["torchrun"], ["plain", "--per-rank"]):
            with pods(lab, c, "--launcher", *launcher, "--", "ranks.py", "sum", "it's $HOME", TOKEN="s3cret") as made:
                found = [answer for pod in made for answer in answers(pod)]
            assert sorted(answer["RANK"] for answer in found) == ["0", "1", "2", "3"], found
            for answer in found:
                assert answer["sum"] == 10.0 and answer["WORLD_SIZE"] == "4" and answer["argv"][-2:] == ["sum", "it's $HOME"]
                assert answer["ODD"] == "$(TOKEN) 'x' no" and answer["token"] == "terc3s" and answer["folder"] == "/workspace"


def test_exported_pods_need_nothing_but_sh(lab):
    with cluster(lab, "t-export-sh") as c:
        c.write(host_more=", slots: 2")
        with pods(lab, c, "--launcher", "plain", "--", "sh", "-c", 'echo "node $NODE_RANK of $NNODES at $MASTER_PORT: $*"', "sh", "a b", "$x") as made:
            assert [pod.end() for pod in made] == [(0, f"node {i} of 2 at 29500: a b $x\n") for i in range(2)]
        with pods(lab, c, "--launcher", "plain", "--per-rank", "--", "sh", "-c", "echo $RANK $LOCAL_RANK $WORLD_SIZE") as made:
            ended = [pod.end() for pod in made]
            assert [(code, sorted(log.split("\n")[:-1])) for code, log in ended] == [(0, ["0 0 4", "1 1 4"]), (0, ["2 0 4", "3 1 4"])]


def test_an_exported_pod_ends_with_its_first_failure_and_with_the_kubelet_s_signal(lab):
    with cluster(lab, "t-export-end") as c:
        c.write(host_more=", slots: 2")
        with pods(lab, c, "--nodes", "1", "--launcher", "plain", "--per-rank", "--", "sh", "-c",
                  'trap "echo ended; exit 0" TERM; [ $RANK = 0 ] || { until [ -e /tmp/armed ]; do sleep 0.1; done; exit 7; }; '
                  'touch /tmp/armed; sleep 1000 & wait') as [pod]:
            code, log = pod.end()
            assert code == 7 and log == "ended\n"
        for launcher in (["plain"], ["plain", "--per-rank"]):
            with pods(lab, c, "--nodes", "1", "--launcher", *launcher, "--", "sh", "-c",
                      'trap "echo ended; exit 9" TERM; echo started; sleep 1000 & wait') as [pod]:
                pod.until("started")
                pod.terminate()
                code, log = pod.end()
                assert code != 137 and "ended" in log, (code, log)
