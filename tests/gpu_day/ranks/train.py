"""A small training with PyTorch, as a user's: DistributedDataParallel, a checkpoint at TERM and at its end, and on from there. Its first line is what it
finds around it, as JSON."""

import json
import os
import pathlib
import signal
import sys
import time

SHOWN = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_", "CUDA_", "NVIDIA_", "NCCL_", "DOCKDIST", "TORCH", "GLOO_")


def as_vllm_reads(value):
    """Its older releases take each word for a number (platforms/interface.py); newer ones ask NVML for a UUID's device."""
    try:
        return f"as the number {int(value.split(',')[0])}"
    except ValueError as error:
        return f"not: {error}"


def surroundings(torch):
    facts = {"environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith(SHOWN)}, "uid": os.geteuid()}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    facts["vllm"] = as_vllm_reads(visible) if visible else "not set"
    facts["gpus"] = torch.cuda.device_count()
    if facts["gpus"]:
        facts["uuid"] = str(torch.cuda.get_device_properties(0).uuid)
    for name in ("_parse_visible_devices", "_device_count_nvml"):  # what PyTorch makes of it before CUDA begins
        try:
            facts[name] = getattr(torch.cuda, name)()
        except Exception as error:
            facts[name] = f"{type(error).__name__}: {error}"
    return facts


def main():
    folder, seconds, size = pathlib.Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(time.monotonic()))
    import torch

    facts = surroundings(torch)
    print(json.dumps(facts, default=str), flush=True)
    device = torch.device("cuda", 0) if facts["gpus"] else torch.device("cpu")
    if facts["gpus"]:
        torch.cuda.set_device(device)
    else:
        size = 64
    torch.distributed.init_process_group("nccl" if facts["gpus"] else "gloo")
    model = torch.nn.Sequential(torch.nn.Linear(size, size), torch.nn.ReLU(), torch.nn.Linear(size, size)).to(device)
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    checkpoint = folder / "checkpoint.pt"
    step = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        step = saved["step"]
        print(f"goes on from step {step}", flush=True)
    begun = told = time.monotonic()
    while not stop and time.monotonic() - begun < seconds:
        loss = (model(torch.randn(size, size, device=device)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if time.monotonic() - told > 0.5:
            told = time.monotonic()
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    torch.save({"model": model.state_dict(), "step": step}, checkpoint)
    if stop:
        print(f"checkpoint of step {step}, {time.monotonic() - stop[0]:.1f} s after TERM", flush=True)
    torch.distributed.destroy_process_group()
    print(f"ends at step {step}", flush=True)


if __name__ == "__main__":
    main()
