"""Ten steps of DeepSpeed's engine on a line that is to be found; every rank sees other points of it."""
import argparse
import os

import deepspeed
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.parse_args()
deepspeed.init_distributed("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
config = {"train_micro_batch_size_per_gpu": 32, "optimizer": {"type": "Adam", "params": {"lr": 0.2, "torch_adam": True}}}
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
torch.manual_seed(int(os.environ["RANK"]))
for _ in range(10):
    points = torch.randn(32, 4)
    loss = ((engine(points) - points.sum(1, keepdim=True)) ** 2).mean()
    engine.backward(loss)
    engine.step()
    print(f"loss {loss.item():.4f}", flush=True)
