"""A reduction by accelerate, over every process that its launcher has started."""
import torch
from accelerate import Accelerator, InitProcessGroupKwargs

# Debian's torch is built with MPI, which accelerate would take on a CPU.
accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
number = torch.tensor([accelerator.process_index + 1.0], device=accelerator.device)
total = accelerator.reduce(number, "sum").item()
print(f"process {accelerator.process_index} of {accelerator.num_processes}: sum {total}", flush=True)
accelerator.wait_for_everyone()
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
