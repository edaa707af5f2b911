"""DeepSpeed's engine finds a line; every rank sees other points of it. ds.json says how it trains."""

import argparse
import os

import deepspeed
import torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, help="DeepSpeed's launcher gives it")
    parser = deepspeed.add_config_arguments(parser)
    arguments = parser.parse_args()

    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    rank = int(os.environ["RANK"])
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    engine, _, _, _ = deepspeed.initialize(args=arguments, model=model, model_parameters=model.parameters())

    torch.manual_seed(rank)
    for step in range(1, 31):
        points = torch.randn(32, 4, device=engine.device)
        loss = ((engine(points) - points.sum(1, keepdim=True)) ** 2).mean()
        engine.backward(loss)
        engine.step()
        if rank == 0 and step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
