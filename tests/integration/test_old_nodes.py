"""Nodes that an older dockdist created on the same hosts: seen, not overrun. A node of this one stands for such a one, made anew
without the label of its GPUs and without the volume in which nodes say who holds which."""

import json

from harness import assert_in, cluster


def age(c, node):
    engine, container = c.container(node)
    details = engine.inspect(container)
    body = {**details["Config"], "HostConfig": details["HostConfig"]}
    del body["Labels"]["dockdist.gpus"]
    mounts = body["HostConfig"]["Mounts"]
    body["HostConfig"]["Mounts"] = [mount for mount in mounts if mount.get("Source") != "dockdist-gpus"]
    assert len(body["HostConfig"]["Mounts"]) == len(mounts) - 1, mounts
    engine.call("DELETE", f"/v1.40/containers/{container}?force=1")
    status, data = engine.call("POST", f"/v1.40/containers/create?name={details['Name'].strip('/')}", body)
    assert status == 201, data
    status, data = engine.call("POST", f"/v1.40/containers/{json.loads(data)['Id']}/start")
    assert status == 204, data


def test_a_job_in_an_old_node_has_its_gpus_while_it_runs(lab):
    with cluster(lab, "t-old") as old, cluster(lab, "t-new") as new:
        old.write(hosts=1, gpus="[0]").up()
        age(old, "node-0")
        assert_in("is up", old.up().stdout)  # it is started and joins
        new.write(hosts=1, gpus="all").up()
        job = old.detach(script="exec sleep 4721")
        said = new.run("run", "--no-wait", "--", "true", code=75).stderr
        assert_in("GPU 0", said)
        assert_in(job, said)
        seen = new.run("run", "--gpus", "1", "--launcher", "plain", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES").stdout
        listing = new.run("exec", "node-0", "--", "nvidia-smi", "-L").stdout.splitlines()
        assert seen.split()[-1] in listing[1], (seen, listing)
        # A line behind it moves when it ends, which no board tells.
        waiting = new.start("run", "--", "true")
        assert_in(job, waiting.stderr.readline())
        old.run("stop", job)
        out, err = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, err
