"""DistributedDataParallel with a checkpoint: NCCL where there are GPUs, gloo elsewhere. A restarted job goes on from its last epoch.

Nodes that share no folder have a checkpoint each: rank 0 of every node writes one."""

import argparse
import math
import os
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--fail-at", type=int, default=0, help="the last rank fails once in this epoch, to see a restart")
    parser.add_argument("--out", type=pathlib.Path, default="out")
    arguments = parser.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()

    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    model = DistributedDataParallel(network, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    file = arguments.out / "checkpoint.pt"
    begin = 1
    if file.exists():
        saved = torch.load(file, map_location=device, weights_only=True)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = saved["epoch"] + 1
        if rank == 0:
            print(f"going on from epoch {begin}", flush=True)

    share = torch.Generator().manual_seed(rank)  # different data on each rank
    for epoch in range(begin, arguments.epochs + 1):
        if epoch == arguments.fail_at and rank == dist.get_world_size() - 1 and os.environ["DOCKDIST_RESTART_COUNT"] == "0":
            raise SystemExit(f"failed in epoch {epoch}, as asked")
        for _ in range(40):
            x = ((torch.rand(64, 1, generator=share) * 2 - 1) * math.pi).to(device)
            loss = nn.functional.mse_loss(model(x), torch.sin(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
        if local_rank == 0:
            arguments.out.mkdir(exist_ok=True)
            part = file.with_suffix(".part")  # a checkpoint is whole, or not there
            torch.save({"network": network.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, part)
            part.replace(file)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
