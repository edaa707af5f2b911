"""What the launchers' tests run as a rank; it lies in the shared folder of the nodes.

sum      every rank's number plus one, summed over all by gloo, and what the rank's environment says
die HOW  rank 3 (the last) ends as HOW says, the others wait: an exit code, a signal's name, or `exception`
save     says `started`, and when it is told to end saves for longer than some launchers would let it; then how often it was told
wait     says `started` and waits
"""

import argparse
import json
import os
import signal
import sys
import time

NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT",
         "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "DOCKDIST_NODE", "ODD", "CUDA_VISIBLE_DEVICES",
         "ACCELERATE_USE_CPU", "ACCELERATE_USE_FSDP", "ACCELERATE_DEEPSPEED_ZERO_STAGE")


def total():
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    number = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(number)
    print(json.dumps({"sum": number.item(), "argv": sys.argv[1:], "folder": os.getcwd(), "token": os.environ.get("TOKEN", "")[::-1],
                      **{name: os.environ.get(name) for name in NAMES}}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def die(how):
    print("started", flush=True)
    if os.environ["RANK"] != "3":
        time.sleep(1000)
    print(f"last words at {time.time()}", file=sys.stderr, flush=True)
    if how == "exception":
        raise RuntimeError("boom")
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
    sys.exit(int(how))


class Told(BaseException):
    pass


def save():
    times = []

    def told(number, frame):  # a second signal would raise in what saves
        times.append(number)
        raise Told

    signal.signal(signal.SIGTERM, told)
    try:
        print("started", flush=True)
        time.sleep(1000)
    except (Told, KeyboardInterrupt) as why:
        time.sleep(1.2)
        print(f"saved after {type(why).__name__}, {len(times)} TERM", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local-rank", "--local_rank", type=int)
    parser.add_argument("what")
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    if arguments.what == "sum":
        total()
    elif arguments.what == "die":
        die(arguments.rest[0])
    elif arguments.what == "save":
        save()
    else:
        print("started", flush=True)
        time.sleep(1000)


main()
