"""A server over several nodes: ready when it answers, where, and again after a restart. The stub opens its port when all ranks have met."""

import json
import re

from harness import assert_in, cluster
from harness.running import Running

# Rank 0 counts the others in on the rendezvous port, and serves then; it fails when it is told to, in its first life.
STUB = """
import http.server, os, socket, sys, time
rank, world, head = int(os.environ["NODE_RANK"]), int(os.environ["NNODES"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank > 0:
    while True:
        try:
            meeting = socket.create_connection(head)
            break
        except OSError:
            time.sleep(0.05)
    print("rank", rank, "has met", flush=True)
    meeting.recv(1)
    sys.exit(0)
with socket.create_server(head) as listener:
    met = [listener.accept() for _ in range(world - 1)]
class Server(http.server.BaseHTTPRequestHandler):
    loading = 2
    def do_GET(self):
        Server.loading -= self.path == "/health"
        self.send_response(503 if Server.loading >= 0 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if self.path == "/fail" and os.environ["DOCKDIST_RESTART_COUNT"] == "0":
            os._exit(9)
    def log_message(self, *words):
        pass
print("serving", flush=True)
http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Server).serve_forever()
"""


def test_a_server_is_ready_when_all_ranks_have_met_and_again_after_a_restart(lab):
    with cluster(lab, "t-ready") as c:
        c.write(image="dockdist-lab/torch").up()
        server = ("--launcher", "plain", "--", "python3", "-c", STUB, "8123")
        ran = c.run("run", "--detach", "--ready", "http://:8123/health", "--max-restarts", "1", "--backoff", "100ms", "--name", "serves", *server)
        address = f"http://{lab.addresses[0]}:8123"
        assert_in(f"node-0: ready: {address} answers\n", ran.stderr)
        assert_in("rank 1 has met", ran.stdout)
        assert_in("http://:8123/health is answered with 503: the job is ready when it is 2xx", ran.stderr)
        (job,) = json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]
        assert (job["state"], job["ready"]) == ("running", address)
        assert_in(address, c.run("jobs").stdout)
        # The port is its own: who asks next is told, and nothing of that job stays.
        second = c.run("run", "--share", "--ready", "tcp://:8123", "--name", "second", *server, code=126)
        assert re.search(r"the port 8123 that it wants is taken by process \d+ \(python3\) of job serves", second.stderr), second.stderr
        assert_in("`dockdist stop serves` ends that", second.stderr)
        # It fails: the job begins anew, and is ready anew at the same address.
        follower = Running(c, "logs", "--follow", "serves")
        c.run("exec", "node-1", "--", "python3", "-c", f"import urllib.request; urllib.request.urlopen('{address}/fail')", code=None)
        follower.until_err(f"ready: {address} answers", times=2)
        (job, _) = json.loads(c.run("jobs", "-o", "json").stdout)["jobs"]
        assert (job["state"], job["ready"]) == ("running", address)
        c.run("stop", "serves")
        follower.end(0)
        # One that ends before it was ready is no service: the job's own failure, or a usage error.
        failed = c.run("run", "--detach", "--ready", "http://:8124/", "--launcher", "plain", "--", "sh", "-c", "exit 5", code=5)
        assert "goes on by itself" not in failed.stderr
        # A script that is in no node is said to be so, and not by a launcher.
        missing = c.run("run", "--launcher", "torchrun", "--workdir", "/tmp", "--", "train.py", code=2)
        assert re.search(r"exited with 2: there is no /tmp/train.py on this node(; the same on node-\d)?\n  → `sync: \[\".:/tmp\"\]` in the file brings it there", missing.stderr), missing.stderr
        assert "Traceback" not in missing.stdout + missing.stderr
        assert_in("there is no host in it", c.run("run", "--ready", "http://node-0:8124/", "--", "true", code=2).stderr)
