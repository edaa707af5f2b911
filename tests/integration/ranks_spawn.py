"""A script that starts its node's ranks itself, as pytorch/examples' imagenet does: one process a node, torch.multiprocessing.spawn
in it. Arguments: the init method's URL, how many nodes, which one this is."""
import json
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

LOCAL = 2


def train(local_rank, url, nodes, node):
    rank = node * LOCAL + local_rank
    dist.init_process_group("gloo", init_method=url, world_size=nodes * LOCAL, rank=rank)
    number = torch.tensor([rank + 1.0])
    dist.all_reduce(number)
    print(json.dumps({"rank": rank, "sum": number.item()}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, nprocs=LOCAL, args=(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
