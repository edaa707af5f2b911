"""A small DistributedDataParallel training: NCCL where there are GPUs, gloo elsewhere.

Every rank fits the same network to its own share of y = sin(x); DistributedDataParallel averages the gradients, so the
loss falls in step on all of them. Ranks, addresses and ports come from the launcher:

    dockdist run -- train.py
"""

import argparse
import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="steps an epoch")
    arguments = parser.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world_size} on {os.uname().nodename}, {dist.get_backend()}", flush=True)

    torch.manual_seed(0)  # the same network everywhere
    network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    model = DistributedDataParallel(network, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    share = torch.Generator().manual_seed(rank)  # different data on each rank

    for epoch in range(1, arguments.epochs + 1):
        total = 0.0
        for _ in range(arguments.steps):
            x = ((torch.rand(64, 1, generator=share) * 2 - 1) * math.pi).to(device)
            loss = nn.functional.mse_loss(model(x), torch.sin(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / arguments.steps:.4f}", flush=True)

    # After training in step, every rank holds the same weights: check that, not just that nothing crashed.
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    mean = weights.clone()
    dist.all_reduce(mean)
    if not torch.allclose(weights, mean / world_size, atol=1e-5):
        raise SystemExit(f"rank {rank}: the weights of the ranks differ")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
