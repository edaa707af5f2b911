"""A rank that calls collectives over and over, as a training does, and does what is asked of it: an order is a file, and every rank reads it between two steps.

  skip AT    at step AT rank 1 leaves the first group's all_reduce out and goes on to the second group's: each rank waits for the other in another place
  dump AT    at step AT its flight recorder is written by Python (python_RANK.pickle, .json)
  end AT     it leaves at that step"""

import datetime
import json
import os
import pathlib
import sys
import time


class Rank:
    def __init__(self, order):
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        self.folder = pathlib.Path(order["folder"])
        self.rank, self.world, self.pause = order["rank"], order["world"], order["pause_s"]
        self.backend = "nccl" if torch.cuda.is_available() else "gloo"
        self.device = torch.device("cuda", 0) if self.backend == "nccl" else torch.device("cpu")
        if self.backend == "nccl":
            torch.cuda.set_device(self.device)
        dist.init_process_group(self.backend, init_method=f"tcp://127.0.0.1:{order['port']}", rank=self.rank, world_size=self.world,
                                timeout=datetime.timedelta(seconds=order["timeout_s"]))
        self.second = dist.new_group(list(range(self.world)))
        self.gradients, self.metrics = [torch.ones(1 << power, device=self.device) for power in (14, 4)]

    def tell(self, name, text):
        path = self.folder / f"{name}_{self.rank}"
        path.with_suffix(".new").write_text(text, encoding="utf-8")
        os.replace(path.with_suffix(".new"), path)

    def orders(self):
        try:
            return json.loads((self.folder / "orders").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def reduce_gradients(self):
        self.dist.all_reduce(self.gradients)
        self.wait()

    def reduce_metrics(self):
        self.dist.all_reduce(self.metrics, group=self.second)
        self.wait()

    def wait(self):
        if self.backend == "nccl":
            self.torch.cuda.synchronize()

    def dump(self):
        from torch._C import _distributed_c10d as c10d

        (self.folder / f"python_{self.rank}.pickle").write_bytes(c10d._dump_nccl_trace())
        text = c10d._dump_nccl_trace_json()
        (self.folder / f"python_{self.rank}.json").write_text(text if isinstance(text, str) else text.decode(), encoding="utf-8")

    def train(self):
        step = 0
        while True:
            orders = self.orders()
            if orders.get("end") == step:
                break
            if orders.get("dump") == step:
                self.dump()
            if self.rank != 1 or orders.get("skip") != step:
                self.reduce_gradients()
            self.reduce_metrics()
            step += 1
            self.tell("step", str(step))
            time.sleep(self.pause)
        self.dist.destroy_process_group()


def main():
    rank = Rank(json.loads(sys.argv[1]))
    rank.tell("backend", rank.backend)
    rank.tell("step", "0")
    rank.train()
    print("stopped on request", flush=True)


if __name__ == "__main__":
    main()
