"""A training loop of accelerate's, which knows from its launcher how many processes there are, and where."""

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    # Without GPUs accelerate has to be told so, and a torch that is built with MPI would take that.
    cpu = not torch.cuda.is_available()
    accelerator = Accelerator(cpu=cpu, kwargs_handlers=[InitProcessGroupKwargs(backend="gloo" if cpu else None)])
    if accelerator.is_main_process:
        print(f"{accelerator.num_processes} processes, {accelerator.distributed_type}", flush=True)

    torch.manual_seed(0)
    points = torch.randn(2048, 4)
    data = DataLoader(TensorDataset(points, points.sum(1, keepdim=True)), batch_size=32, shuffle=True)
    model = torch.nn.Linear(4, 1)
    model, optimizer, data = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.1), data)

    for epoch in range(1, 4):
        for x, y in data:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        mean = accelerator.reduce(loss.detach(), "mean").item()
        if accelerator.is_main_process:
            print(f"epoch {epoch} loss {mean:.4f}", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
