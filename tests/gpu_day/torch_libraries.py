"""What a Python with PyTorch has: its versions and libraries; and ports for its ranks."""

import json
import random
import socket
import subprocess

FACTS = """
import json, sys
facts = {"python": sys.version.split()[0]}
try:
    import torch
    facts["torch"] = torch.__version__
    facts["cuda"] = torch.version.cuda
    facts["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    facts["gpus"] = torch.cuda.device_count()
    if facts["gpus"]:
        properties = torch.cuda.get_device_properties(0)
        facts["gpu"], facts["memory_bytes"] = properties.name, properties.total_memory
except Exception as error:
    facts["problem"] = f"{type(error).__name__}: {error}"
print(json.dumps(facts))
"""


def facts(python, limit=60):
    done = subprocess.run([python, "-c", FACTS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=limit, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else {"problem": f"python3 ended with {done.returncode}"}


def nccl(python):
    """The path of the NCCL that came with PyTorch, or None."""
    script = "import importlib.util; spec = importlib.util.find_spec('nvidia.nccl'); print(list(spec.submodule_search_locations)[0])"
    done = subprocess.run([python, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=30, check=False)
    return done.stdout.strip() + "/lib/libnccl.so.2" if done.returncode == 0 else None


def free_port():
    """Of those that the kernel gives to no connection: who tries to reach one of these before anybody listens may be given it, and reach itself."""
    while True:
        port = random.randint(20000, 29999)
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
                return port
            except OSError:
                continue
