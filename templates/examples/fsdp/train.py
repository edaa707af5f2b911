"""Fully sharded data parallel (FSDP): each rank holds a part of every layer, and gathers a layer's weights while it is computed."""

import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


def main() -> None:
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(0)
    network = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(4)], nn.Linear(256, 1))
    whole = sum(each.numel() for each in network.parameters())
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=50_000)
    model = FullyShardedDataParallel(network, auto_wrap_policy=policy, device_id=device)
    mine = sum(each.numel() for each in model.parameters())
    print(f"rank {rank} of {world_size} holds {mine} of {whole} weights", flush=True)

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.manual_seed(rank)  # different data on each rank
    for step in range(1, 31):
        x = torch.randn(64, 256, device=device)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
