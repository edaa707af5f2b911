"""Data-parallel JAX: each process brings its share of the batch, and one jitted step works on the whole of it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_cpu_collectives_implementation", "gloo")  # where there are no GPUs
jax.distributed.initialize()  # its launcher says who and where
rank = jax.process_index()
print(f"process {rank} of {jax.process_count()}, {jax.device_count()} devices", flush=True)

mesh = Mesh(np.array(jax.devices()), ("batch",))
sharded = NamedSharding(mesh, PartitionSpec("batch"))
weights = jax.device_put(jnp.zeros(4), NamedSharding(mesh, PartitionSpec()))


@jax.jit
def step(weights, x, y):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)
    return weights - 0.1 * gradient, loss


draw = np.random.default_rng(rank)  # different data in each process
for number in range(1, 31):
    x = draw.normal(size=(32, 4)).astype(np.float32)
    batch, targets = (jax.make_array_from_process_local_data(sharded, each) for each in (x, x.sum(1)))
    weights, loss = step(weights, batch, targets)
    if rank == 0 and number % 10 == 0:
        print(f"step {number} loss {float(loss):.4f}", flush=True)
