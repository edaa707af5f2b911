"""One task on each node of Ray's cluster, an actor on each of its GPUs, and what the command itself sees."""
import json
import os
import subprocess
import sys

import ray

ray.init(log_to_driver=False)
nodes = [node for node in ray.nodes() if node["Alive"]]


@ray.remote(num_cpus=0)
def address():
    return ray.util.get_node_ip_address()


@ray.remote(num_cpus=0, num_gpus=1)
class OnAGpu:
    def which(self):
        return os.environ["CUDA_VISIBLE_DEVICES"]


actors = [OnAGpu.remote() for _ in range(int(ray.cluster_resources().get("GPU", 0)))]
strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
tasks = [address.options(scheduling_strategy=strategy(node["NodeID"], soft=False)).remote() for node in nodes]

# A stranger on the network: no token, and Ray's own word for that. It would go on trying.
bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")} | {"HOME": "/nonexistent"}
stranger = subprocess.Popen([sys.executable, "-c", f"import ray; ray.init({os.environ['RAY_ADDRESS']!r}); print('in')"],
                            env=bare, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
said = next((word for line in stranger.stdout for word, sign in (("refused", "InvalidAuthToken"), ("in", "in"))
             if sign in line.replace(":", " ").split()), "nothing")
stranger.kill()
token = os.stat(os.environ["RAY_AUTH_TOKEN_PATH"])
commands = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit() and os.path.exists(f"/proc/{pid}/cmdline")]

print(json.dumps({"addresses": ray.get(tasks), "gpus": ray.cluster_resources().get("GPU", 0), "odd": os.environ["ODD"],
                  "actors": ray.get([actor.which.remote() for actor in actors]), "visible": os.environ["CUDA_VISIBLE_DEVICES"],
                  "stranger": said, "token": [token.st_mode, token.st_size],
                  "client_servers": sum("ray.util.client.server" in command for command in commands)}))
