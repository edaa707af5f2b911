"""A visit to one engine by every command that asks it something: the same for a real one and for a stub."""


def visit(c, door, image, other):
    """`door` is the way to the engine; two nodes on it. `other`: the address of one that brings it the toolkit."""

    def write(*hosts, image=image, more=""):
        lines = [f"name: {c.name}", f"image: {image}", "hosts:", *(f"  - {{name: node-{i}, gpus: none, {host}}}" for i, host in enumerate(hosts)),
                 "container:", f"  ulimits: {{memlock: {c.lab.memlock}}}{more}"]
        c.file.write_text("\n".join(lines) + "\n")

    def peers(address):
        return getattr(c.lab, "node_addresses", {}).get(address, address)

    two = f"docker: '{door.url}', nodes: 2"
    write(two, image="dockdist-test/nowhere:1")
    c.run("down", "--purge")  # what an earlier visit has left of the toolkit
    c.run("up", "--no-check", code=None)  # an image that is nowhere
    write(two)
    c.run("run", "--", "true", code=None)  # nothing is up
    c.run("up", "--no-check")
    c.run("up", "--no-check")
    c.run("status")
    c.run("check", code=None)
    c.run("run", "--", "true")
    c.run("run", "--", "sh", "-c", "exit 7", code=7)
    c.run("exec", "node-0-1", "--", "cat", input="words\n")
    c.run("exec", "node-0-1", "--", "/no/such/program", code=None)
    c.run("logs")
    c.run("image", "ls")
    write(two, more="\n  env: {NVIDIA_MADE: anew}")
    c.run("up", "--no-check")
    c.run("down", "--purge")
    # The first two of three get the toolkit from here, the third from one of them.
    write(*[f"docker: 'tcp://{other}:2375', insecure: true, address: {peers(other)}"] * 2,
          f"docker: '{door.url}', address: {peers(door.target[0])}")
    c.run("down", "--purge")
    c.run("up", "--no-check")
    c.run("down", "--purge")
