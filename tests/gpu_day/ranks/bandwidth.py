"""One rank of PyTorch's collectives, timed as dockdist-probe times its own: events around each iteration, the median; the sizes are nccl-tests'.
Prints a line of JSON a measurement."""

import datetime
import json
import sys


def main():
    order = json.loads(sys.argv[1])
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    world, rank = order["world"], order["rank"]
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{order['port']}", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=60))
    for size in order["sizes"]:
        count = size // 4 // world * world
        whole = torch.ones(count, device=device)
        result = torch.empty(count, device=device)
        share = torch.ones(count // world, device=device)
        operations = {"all_gather": lambda: dist.all_gather_into_tensor(result, share),
                      "reduce_scatter": lambda: dist.reduce_scatter_tensor(share, whole),
                      "all_to_all": lambda: dist.all_to_all_single(result, whole)}
        if world == 1 or count % (world * world) == 0:  # by sends and receives, as uneven shares need it
            shares = [count // world] * world
            operations["all_to_all_by_sends"] = lambda: dist.all_to_all_single(result, whole, shares, shares)
        if world > 1:  # alone, and in place, they do nothing
            operations.update(all_reduce=lambda: dist.all_reduce(whole), broadcast=lambda: dist.broadcast(whole, 0))
        else:
            operations["copy"] = lambda: result.copy_(whole)
            both = [dist.P2POp(dist.isend, whole, 0), dist.P2POp(dist.irecv, result, 0)]
            operations["send_receive"] = lambda: [done.wait() for done in dist.batch_isend_irecv(both)]
        for name, operation in operations.items():
            for _ in range(order["warm_up"]):
                operation()
            events = [torch.cuda.Event(enable_timing=True) for _ in range(order["iterations"] + 1)]
            events[0].record()
            for event in events[1:]:
                operation()
                event.record()
            torch.cuda.synchronize()
            times = sorted(before.elapsed_time(after) * 1000 for before, after in zip(events, events[1:]))
            print(json.dumps({"operation": name, "bytes": size, "time_us": times[len(times) // 2], "least_us": times[0]}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
