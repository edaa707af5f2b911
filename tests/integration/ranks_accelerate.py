"""A reduction by accelerate, over every process that its launcher has started."""
import os

import torch
from accelerate import Accelerator, InitProcessGroupKwargs

# Debian's torch is built with MPI, which accelerate would take on a CPU.
accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
number = torch.tensor([accelerator.process_index + 1.0], device=accelerator.device)
total = accelerator.reduce(number, "sum").item()
print(f"process {accelerator.process_index} of {accelerator.num_processes}: sum {total}", flush=True)
if accelerator.num_processes > 1:  # all are done before one leaves
    store = torch.distributed.distributed_c10d._get_default_store()
    store.set(f"done {accelerator.process_index}", "")
    store.wait([f"done {i}" for i in range(accelerator.num_processes)])
# None takes torch down: 2.6 at times hangs or aborts in that, when peers go and also alone.
os._exit(0)
