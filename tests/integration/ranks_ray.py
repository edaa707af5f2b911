"""One task on each node of Ray's cluster, and what the command itself sees."""
import json
import os

import ray

ray.init(log_to_driver=False)
nodes = [node for node in ray.nodes() if node["Alive"]]


@ray.remote(num_cpus=0)
def address():
    return ray.util.get_node_ip_address()


strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
tasks = [address.options(scheduling_strategy=strategy(node["NodeID"], soft=False)).remote() for node in nodes]
print(json.dumps({"addresses": ray.get(tasks), "gpus": ray.cluster_resources().get("GPU", 0), "odd": os.environ["ODD"]}))
