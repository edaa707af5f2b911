"""A reduction by accelerate, over every process that its launcher has started."""
import os

import torch
from accelerate import Accelerator, InitProcessGroupKwargs

# Debian's torch is built with MPI, which accelerate would take on a CPU.
accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
number = torch.tensor([accelerator.process_index + 1.0], device=accelerator.device)
total = accelerator.reduce(number, "sum").item()
print(f"process {accelerator.process_index} of {accelerator.num_processes}: sum {total}", flush=True)
if accelerator.num_processes > 1:
    # All are done before one leaves, and none takes gloo down: torch 2.6 at times hangs or aborts in that when peers go.
    store = torch.distributed.distributed_c10d._get_default_store()
    store.set(f"done {accelerator.process_index}", "")
    store.wait([f"done {i}" for i in range(accelerator.num_processes)])
    os._exit(0)
