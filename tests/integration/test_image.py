"""The same image on every host, from a real registry with the user's own login."""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import secrets
import subprocess
import tarfile

from harness import assert_in, cluster, eventually, read_until
from harness.many_hosts import every_host, layers, nothing_is_left, shape
from harness.registry import PASSWORD, USER, Maker, new_image, registry


def docker_config(folder, **content):
    """A folder for DOCKER_CONFIG."""
    made = pathlib.Path(folder) / "docker-config"
    made.mkdir(exist_ok=True)
    (made / "config.json").write_text(json.dumps(content))
    return str(made)


def login(name, user=USER, password=PASSWORD):
    return {"auths": {name: {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}}}


def test_up_pulls_from_a_registry_with_the_users_login(lab):
    with registry(lab) as r, cluster(lab, "t-pull") as c:
        image = r.push(new_image(r, "t-pull/train"), "train:1")
        want = layers(lab.engines[0], "t-pull/train:latest")
        r.forget("t-pull/train:latest")
        try:
            c.write(image=image)
            assert c.run("image", "ls", code=1).stdout.count("absent") == 2
            up = c.run("up", DOCKER_CONFIG=docker_config(c.folder, **login(r.name)))
            for node in ("node-0", "node-1"):
                assert_in(f"{node}: image: pulled", up.stderr)
            assert [layers(engine, image) for engine in lab.engines[:2]] == [want, want]
            listed = json.loads(c.run("image", "ls", "-o", "json").stdout)
            assert listed["same"] and [host["layers"] for host in listed["hosts"]] == [want, want], listed
            assert len({host["chain_id"] for host in listed["hosts"]}) == 1
        finally:
            c.run("down")
            r.forget(image)


def test_a_credential_helper_and_an_identity_token_are_asked_for_a_login(lab):
    with registry(lab) as r, cluster(lab, "t-helper") as c:
        image = r.push("dockdist-lab/busybox", "bare:1")
        programs = c.folder / "bin"
        programs.mkdir()
        helper = programs / "docker-credential-lab"
        helper.write_text(f"#!/bin/sh\nread server\necho \"$1 $server\" >>{c.folder}/asked\n"
                          f"echo '{json.dumps({'ServerURL': r.name, 'Username': USER, 'Secret': PASSWORD})}'\n")
        helper.chmod(0o755)
        environment = {"DOCKER_CONFIG": docker_config(c.folder, credHelpers={r.name: "lab"}),
                       "PATH": f"{programs}:{os.environ['PATH']}"}
        try:
            c.write(image=image).run("up", **environment)
            assert (c.folder / "asked").read_text() == f"get {r.name}\n"  # once, however many hosts
            c.run("down")
            r.forget(image)
            helper.write_text("#!/bin/sh\necho the keychain is locked\nexit 1\n")
            refused = c.run("up", code=1, **environment)
            assert_in("docker-credential-lab: exited with 1: the keychain is locked", refused.stderr)
            c.assert_clean()
        finally:
            c.run("down")
            r.forget(image)


def test_a_refused_login_is_told_with_its_hosts_and_where_the_login_stands(lab):
    with registry(lab) as r, cluster(lab, "t-refused") as c:
        image = r.push("dockdist-lab/busybox", "bare:1")
        c.write(image=image)
        config = docker_config(c.folder, **login(r.name, password="wrong"))
        refused = c.run("up", code=1, DOCKER_CONFIG=config)
        for node in ("node-0", "node-1"):
            assert_in(f"error: {node} (tcp://", refused.stderr)
        assert_in(f"{r.name} refused the login from {config}/config.json: `docker login {r.name}` again", refused.stderr)
        assert "wrong" not in refused.stderr
        anonymous = c.run("up", code=1, DOCKER_CONFIG=docker_config(c.folder))
        assert_in(f"{config}/config.json has no login for {r.name}", anonymous.stderr)
        c.assert_clean()


def test_what_a_registry_does_wrong_is_told_and_leaves_nothing_half_there(lab):
    with registry(lab) as r, cluster(lab, "t-faults") as c:
        r.push(new_image(r, "t-faults/train"), "train:1")
        r.forget("t-faults/train:latest")
        environment = {"DOCKER_CONFIG": docker_config(c.folder, **login(r.faulty_name))}
        image = f"{r.faulty_name}/train:1"
        try:
            missing = c.write(image=f"{r.faulty_name}/train:2").run("up", code=1, **environment)
            assert_in("the registry has no such tag: check `image:`", missing.stderr)
            c.write(image=image)
            r.fault = lambda path: "limit" if "/manifests/" in path else None
            assert_in("the registry limits pulls", c.run("up", code=1, **environment).stderr)
            r.fault = lambda path: "damage" if "/blobs/" in path else None
            damaged = c.run("up", code=1, **environment)
            assert_in("what arrived does not match its digest", damaged.stderr)
            c.assert_clean()
            for engine in lab.engines[:2]:
                assert engine.call("GET", f"/v1.40/images/{image}/json")[0] == 404
            cut = []  # once a blob: the engines go on where they were
            r.fault = lambda path: "cut" if "/blobs/" in path and path not in cut and not cut.append(path) else None
            assert_in("is up: 2 nodes", c.run("up", **environment).stdout)
            assert cut
        finally:
            c.run("down")
            r.forget(image)


def test_a_full_disk_during_a_pull_is_told_with_its_host(lab):
    with registry(lab) as r, cluster(lab, "t-full-pull") as c:
        image = r.push(new_image(r, "t-full/train", size=24 << 20), "train:1")
        r.forget("t-full/train:latest")
        lab.script("exec", "2", "mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "/var/lib/docker/tmp")
        try:
            failed = c.write(image=image).run("up", code=1, DOCKER_CONFIG=docker_config(c.folder, **login(r.name)))
            assert_in("error: node-1 (tcp://", failed.stderr)
            assert_in("free disk space on that host", failed.stderr)
            assert "error: node-0" not in failed.stderr
            c.assert_clean()
        finally:
            lab.script("exec", "2", "umount", "/var/lib/docker/tmp")
            r.forget(image)


def test_hosts_with_different_images_of_one_name_are_told_and_brought_together(lab):
    with registry(lab) as r, cluster(lab, "t-differs") as c:
        image = r.push(new_image(r, "t-differs/train"), "train:1")
        r.forget("t-differs/train:latest")
        environment = {"DOCKER_CONFIG": docker_config(c.folder, **login(r.name))}
        try:
            r.docker(1, "tag", "dockdist-lab/busybox", image)
            r.docker(0, "tag", "dockdist-lab/debian12", image)
            told = c.write(image=image).run("up", code=1, **environment)
            assert_in("it is not the same on every host: node-0 has ", told.stderr)
            assert_in("pull: always", told.stderr)
            c.assert_clean()
            assert_in("it is not the same on every host:\n  node-0 has ", c.run("image", "ls", code=1).stdout)
            c.write(image=f"{{ref: '{image}', pull: always}}").run("up", **environment)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
        finally:
            c.run("down")
            r.forget(image)


def test_podman_pulls_with_the_users_login(lab):
    if not lab.podman:
        print("needs hosts with Podman; skipped")
        return
    with registry(lab) as r, cluster(lab, "t-podman-pull") as c:
        image = r.push("dockdist-lab/busybox", "bare:1")
        c.write(image=image)
        hosts = [f"  - {{name: node-{i}, docker: 'tcp://{address}:2375', insecure: true, gpus: none}}" for i, address in enumerate(lab.podman_addresses)]
        text = c.file.read_text().splitlines()
        limits = f"  ulimits: {{memlock: {lab.memlock}, nofile: {lab.env['LAB_NOFILE']}, nproc: {lab.env['LAB_NPROC']}}}"
        c.file.write_text("\n".join([*text[:3], *hosts, "container:", limits]) + "\n")
        try:
            for engine in lab.podman_engines:
                engine.call("DELETE", f"/v1.40/images/{image}?force=1")
            c.run("up", DOCKER_CONFIG=docker_config(c.folder, **login(r.name)))
            listed = json.loads(c.run("image", "ls", "-o", "json").stdout)
            assert listed["same"], listed
        finally:
            c.run("down", code=None)
            for engine in lab.podman_engines:
                engine.call("DELETE", f"/v1.40/images/{image}?force=1")


# --- without a registry ----------------------------------------------------------------------------------------------


def forget_everywhere(lab, *images):
    for engine in lab.all_engines:
        for image in images:
            engine.call("DELETE", f"/v1.40/images/{image}?force=1")


def received(lab, host):
    return int(lab.script("exec", str(host), "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


def test_an_image_goes_from_host_to_host_without_a_registry(lab):
    with cluster(lab, "t-push") as c:
        r = Maker(lab)
        engines = every_host(lab, c, "t-push/train:1")
        try:
            new_image(r, "t-push/train:1", size=24 << 20)
            were_there = [volumes(engine) for engine in engines]
            want = layers(engines[0], "t-push/train:1")
            pushed = c.run("image", "push", "--from", "node-0")
            assert_in(f"t-push/train:1 is on every host: sent to {len(engines) - 1} of {len(engines)}", pushed.stdout)
            assert [layers(engine, "t-push/train:1") for engine in engines] == [want] * len(engines)
            listed = json.loads(c.run("image", "ls", "-o", "json").stdout)
            assert listed["same"] and len({host["id"] for host in listed["hosts"][:2]}) == 1, listed
            nothing_is_left(lab, c)
            assert [volumes(engine) for engine in engines] == were_there
            assert_in("is on every host already", c.run("image", "push", "--from", "node-0").stdout)
            # A layer more: what went there before is not sent again.
            r.docker(0, "run", "--name", "t-push", "t-push/train:1", "touch", "/new")
            r.docker(0, "commit", "t-push", "t-push/train:1")
            r.docker(0, "rm", "t-push")
            before = received(lab, 2)
            c.run("image", "push", "--from", "node-0")
            assert received(lab, 2) - before < 8 << 20, "the layers of the first time were sent again"
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
        finally:
            forget_everywhere(lab, "t-push/train:1")
            r.remove()


def test_an_image_goes_to_an_engine_that_is_two_hosts_of_the_file(lab):
    with cluster(lab, "t-push-twin") as c:
        r = Maker(lab)
        first, twin = (f"docker: 'tcp://{address}:2375', insecure: true, gpus: none" for address in lab.addresses[:2])
        c.file.write_text(f"""name: {c.name}
image: t-push/twin:1
hosts: [{{name: a, {first}}}, {{name: b, {twin}}}, {{name: c, {twin}}}]
""")
        try:
            new_image(r, "t-push/twin:1", size=1 << 20)
            assert_in("t-push/twin:1 is on every host: sent to 2 of 3", c.run("image", "push", "--from", "a").stdout)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            nothing_is_left(lab, c)
        finally:
            forget_everywhere(lab, "t-push/twin:1")
            r.remove()


def test_up_brings_the_image_of_this_machines_engine(lab):
    with cluster(lab, "t-local") as c:
        local = lab.env["LAB_DOCKER_HOST"]
        save = subprocess.run(["docker", "--host", f"unix://{lab.sockets[0]}", "save", "dockdist-lab/busybox"], check=True,
                              capture_output=True).stdout
        subprocess.run(["docker", "--host", local, "load"], input=save, check=True, capture_output=True)
        subprocess.run(["docker", "--host", local, "tag", "dockdist-lab/busybox", "t-local/train:1"], check=True)
        engines = every_host(lab, c, "{ref: 't-local/train:1', from: local}")
        environment = {"DOCKER_HOST": local}
        try:
            assert_in("node-1  send image t-local/train:1 from local  # the host lacks it", c.run("plan", **environment).stdout)
            assert_in(f"is up: {len(engines)} nodes", c.run("up", **environment).stdout)
            assert_in("is up already", c.run("up", **environment).stdout)
            c.run("down")
            nothing_is_left(lab, c)
            # One host has another image of that name: it gets the right one.
            engines[1].call("DELETE", "/v1.40/images/t-local/train:1?force=1")
            engines[1].call("POST", "/v1.40/images/dockdist-lab/debian12/tag?repo=t-local/train&tag=1")
            assert_in("node-1  send image t-local/train:1 from local  # the host has another", c.run("plan", **environment).stdout)
            c.run("up", **environment)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            missing = c.run("image", "push", "t-local/none:1", code=1, **environment)
            assert_in("this machine: the image t-local/none:1 is not there", missing.stderr)
        finally:
            c.run("down", code=None)
            forget_everywhere(lab, "t-local/train:1")
            for image in ("t-local/train:1", "dockdist-lab/busybox"):
                subprocess.run(["docker", "--host", local, "rmi", image], capture_output=True)


def relay_is_confined(lab, number, engine):
    """As the engine tells it, and as the kernel does."""
    find = 'for i in /proc/[0-9]*; do [ "$(readlink $i/exe)" != /dockdist-relay ] || { cat $i/status; echo; }; done'
    processes = []

    def are_there():  # the container's first process, and the one that the client speaks to
        processes[:] = lab.script("exec", str(number), "sh", "-c", find).split("\n\n")[:-1]
        return len(processes) == 2

    eventually(are_there, f"a relay on host {number}", timeout=60)  # its own program comes over a slow link first
    for process in processes:
        relay = dict(line.split(":\t") for line in process.splitlines() if ":\t" in line)
        assert relay["Uid"].split() == ["65534"] * 4 and relay["Gid"].split() == ["65534"] * 4, relay
        assert relay["NoNewPrivs"] == "1" and relay["Seccomp"] == "2", relay
        for kind in ("CapPrm", "CapEff", "CapBnd"):
            assert int(relay[kind], 16) == 0, relay
    (relay,) = engine.containers(role="relay")
    told = engine.inspect(relay["Id"])
    host = told["HostConfig"]
    assert told["Config"]["User"] == "65534:65534" and host["ReadonlyRootfs"] and host["PidsLimit"] == 512, told
    assert "no-new-privileges" in host["SecurityOpt"] and not host["Privileged"], host


def volumes(engine):
    return {volume["Name"] for volume in engine.get("/v1.40/volumes")["Volumes"] or []}


def test_a_host_that_drops_out_of_the_chain_does_not_stop_the_others(lab):
    with cluster(lab, "t-chain") as c:
        r = Maker(lab)
        engines = every_host(lab, c, "t-chain/train:1")
        link = lab.link()
        try:
            new_image(r, "t-chain/train:1", size=64 << 20)
            # The first host of the chain gets it slowly, and so do all; more slowly while we look at the relays.
            shape(link, "16mbit")
            client = c.start("image", "push", "--from", "node-0", "-o", "json")
            for number, engine in zip(lab.all_numbers[1:], engines[1:]):
                relay_is_confined(lab, number, engine)
            shape(link, "40mbit")
            seen = read_until(client, '"node-1"', times=3)  # it is under way there, and far from its end
            lab.script("cut", "2")
            errors, complaints = client.communicate(timeout=150)
            assert client.returncode == 1, (seen, errors, complaints)
            assert_in("node-1 (tcp://", complaints)
            for i in range(2, len(engines)):
                assert f"node-{i} (" not in complaints, complaints
                assert layers(engines[i], "t-chain/train:1") == layers(engines[0], "t-chain/train:1")
        finally:
            lab.script("mend", "2")
            subprocess.run(["tc", "qdisc", "del", "dev", link, "root"], capture_output=True)
            c.run("down", "--purge", code=None)
            half_there = engines[1].call("GET", "/v1.40/images/t-chain/train:1/json")[0]
            forget_everywhere(lab, "t-chain/train:1")
            r.remove()
        nothing_is_left(lab, c)
        assert half_there == 404


def engine_version(lab, i):
    return ".".join(lab.env[f"LAB_HOST_{lab.all_numbers[i]}_ENGINE"].split(".")[:2])


def output_of(engine, image, command):
    body = {"Image": image, "Cmd": ["sh", "-c", command], "Tty": True, "HostConfig": {"NetworkMode": "host"}}
    container = json.loads(engine.call("POST", "/v1.40/containers/create", body)[1])["Id"]
    try:
        engine.call("POST", f"/v1.40/containers/{container}/start")
        engine.call("POST", f"/v1.40/containers/{container}/wait")
        return engine.call("GET", f"/v1.40/containers/{container}/logs?stdout=1&stderr=1")[1].decode()
    finally:
        engine.call("DELETE", f"/v1.40/containers/{container}?force=1")


def unpacked(archive):
    """What lies in an image that an engine has saved: each file of it, layers without their compression."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for data in (tar.extractfile(member).read() for member in tar if member.isfile()):
            yield gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def test_a_build_has_secrets_caches_and_ignore_rules_of_its_own_on_each_kind_of_engine(lab):
    builders = ["BuildKit"] * len(lab.engines) + ["Buildah"] * len(lab.podman) + ["BuildKit"] * len(lab.containerd)
    with registry(lab) as r, cluster(lab, "t-kit") as c:
        base = r.push("dockdist-lab/busybox", "bare:1")  # which takes a login
        r.forget(base)
        folder = c.folder / "context"
        folder.mkdir()
        (folder / "Dockerfile.train").write_text(
            "ARG BASE=dockdist-lab/busybox\nFROM $BASE\nCOPY . /context\n"
            "RUN --mount=type=secret,id=TOKEN,required=true --mount=type=cache,target=/cache \\\n"
            "    sed s/hunter/found-/ /run/secrets/TOKEN >/found && echo x >>/cache/runs\n"
            "RUN --mount=type=secret,id=deploy-key,required=true sha256sum </run/secrets/deploy-key >/sum\n")
        (folder / "Dockerfile.train.dockerignore").write_text("*.log\n")
        (folder / ".dockerignore").write_text("*\n")
        (folder / "model").write_text("one\n")
        (folder / "noise.log").write_text("noise\n")
        token, key = "hunter" + secrets.token_hex(8), b"\0key\n" + secrets.token_hex(8).encode() + b"\r\n"
        (c.folder / "key").write_bytes(key)
        given = {"TOKEN": token, "DOCKER_CONFIG": docker_config(c.folder, **login(r.name))}
        refs = [f"t-kit/train:{i}" for i in range(len(builders))]
        try:
            for i, (ref, builder) in enumerate(zip(refs, builders)):
                # Engine 20.10's BuildKit learns of a registry's certificate when the engine starts.
                private = f"args: {{BASE: '{base}'}}, " if engine_version(lab, i) != "20.10" else ""
                build = "build: {context: context, dockerfile: Dockerfile.train, %ssecrets: {TOKEN: , deploy-key: {file: key}}}" % private
                engines = every_host(lab, c, "{ref: '%s', from: node-%d, %s}" % (ref, i, build))
                assert_in("the variable `TOKEN` is not set", c.run("image", "build", code=2).stderr)
                done = c.run("image", "build", **given)
                assert_in(f"built with {builder}", done.stderr)
                again = c.run("image", "build", **given)
                assert_in("is on every host already", again.stdout)  # of the engine's cache
                in_json = c.run("image", "build", "-o", "json", **given)
                assert_in("is on every host already", c.run("image", "push").stdout)  # which builds nothing, and needs no secret
                found = output_of(engines[i], ref, "cat /found; echo; cat /sum; ls -A /context").split()
                changed = token.replace("hunter", "found-")
                assert [word for word in found if not word.endswith(".dockerignore")] == [
                    changed, hashlib.sha256(key).hexdigest(), "-", "Dockerfile.train", "model"]
                layers_and_more = list(unpacked(engines[i].call("GET", f"/v1.40/images/{ref}/get")[1]))
                assert any(changed.encode() in data for data in layers_and_more)  # so the secrets would be seen there
                everything = [text.encode() for run in (done, again, in_json) for text in (run.stdout, run.stderr)]
                everything += [engines[i].call("GET", f"/v1.40/images/{ref}/{of}")[1] for of in ("json", "history")]
                for secret in (token.encode(), key):
                    assert [text for text in everything + layers_and_more if secret in text] == []
                left = f"grep -rl -e {token} -e {key[5:-2].decode()} /var/tmp || true"  # where Podman's service unpacks the context
                assert lab.script("exec", str(lab.all_numbers[i]), "sh", "-c", left) == ""
            # What a frontend of its own costs, and how it is told where the registry cannot be reached.
            (folder / "Dockerfile.train").write_text(f"# syntax={r.name}/none:1\nFROM {base}\n")
            every_host(lab, c, "{ref: '%s', from: node-0, %s}" % (refs[0], build))
            assert_in("the Dockerfile's line `# syntax=`", c.run("image", "build", code=1, **given).stderr)
        finally:
            forget_everywhere(lab, base, *refs)
        nothing_is_left(lab, c)


def test_an_image_is_built_on_one_host_and_brought_to_the_others(lab):
    with cluster(lab, "t-build") as c:
        folder = c.folder / "context"
        folder.mkdir()
        (folder / "Dockerfile.train").write_text("FROM dockdist-lab/busybox\nARG WHO=nobody\nCOPY data /data\n"
                                                 'RUN echo "for $WHO" >/data/who\n')
        (folder / ".dockerignore").write_text("**/*.log\n")
        (folder / "data").mkdir()
        for name in ("model", "noise.log"):
            (folder / "data" / name).write_text("one\n")
        build = "build: {context: context, dockerfile: Dockerfile.train, args: {WHO: ada}}"
        engines = every_host(lab, c, "{ref: 't-build/train:1', %s}" % build)
        last = f"node-{len(engines) - 1}"
        try:
            assert_in("node-0  build image t-build/train:1 of ", c.run("plan").stdout)
            assert_in(f"is up: {len(engines)} nodes", c.run("up").stdout)
            for node in ("node-0", last):
                assert c.run("exec", node, "--", "sh", "-c", "cd /data; cat who model; ls").stdout == "for ada\none\nmodel\nwho\n"
            assert_in("is up already", c.run("up").stdout)
            assert_in("is on every host already", c.run("image", "build").stdout)  # of the engine's cache
            (folder / "data/model").write_text("two\n")
            assert_in("is up already", c.run("up").stdout)  # builds what is not there, and no more
            c.run("up", "--build")
            assert c.run("exec", last, "--", "cat", "/data/model").stdout == "two\n"
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            c.run("down")
            nothing_is_left(lab, c)
            # Each kind of engine tells what went wrong, and keeps its image.
            with (folder / "Dockerfile.train").open("a") as file:
                file.write("RUN echo the compiler is unhappy >&2; exit 3\n")
            for i in range(len(engines)):
                every_host(lab, c, "{ref: 't-build/train:1', from: node-%d, %s}" % (i, build))
                failed = c.run("image", "build", code=2).stderr
                assert_in(f"node-{i}: the compiler is unhappy", failed)
                assert_in("(RUN echo the compiler is unhappy >&2; exit 3) ended with exit code 3", failed)
            assert json.loads(c.run("image", "ls", "-o", "json").stdout)["same"]
            nothing_is_left(lab, c)
        finally:
            c.run("down", code=None)
            forget_everywhere(lab, "t-build/train:1")
