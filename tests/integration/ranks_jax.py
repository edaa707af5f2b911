"""JAX over all processes: each finds the others by what its environment says, and a sum goes over all their devices."""
import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize()
total = multihost_utils.process_allgather(jnp.array([jax.process_index() + 1.0])).sum()
print(f"process {jax.process_index()} of {jax.process_count()}: sum {float(total)}, devices {jax.device_count()}", flush=True)
multihost_utils.sync_global_devices("done")
