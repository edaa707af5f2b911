"""A small fit with the learning rate that it is given; its last line is the result."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
lr = parser.parse_args().lr

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
for _ in range(50):
    x = torch.randn(64, 4, device=device)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"lr {lr} loss {loss.item():.4f}", flush=True)
