"""Pi, by a task for every slot of the cluster; on machines with GPUs each task has one."""

import random

import ray

ray.init(log_to_driver=False)
found = ray.cluster_resources()
gpus = int(found.get("GPU", 0))
tasks = gpus or int(found["CPU"])
nodes = sum(node["Alive"] for node in ray.nodes())
print(f"{nodes} nodes, {tasks} tasks, {'a GPU' if gpus else 'a core'} each", flush=True)


@ray.remote(num_cpus=0 if gpus else 1, num_gpus=1 if gpus else 0)
def inside(seed: int, points: int) -> int:
    draw = random.Random(seed)
    return sum(draw.random() ** 2 + draw.random() ** 2 < 1 for _ in range(points))


points = 200_000
hits = sum(ray.get([inside.remote(seed, points) for seed in range(tasks)]))
print(f"pi is about {4 * hits / (tasks * points):.2f}", flush=True)
