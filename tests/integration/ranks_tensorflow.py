"""TF_CONFIG as TFConfigClusterResolver reads it, of which ranks that lie beside this file have no TensorFlow: each task opens its
port and says where it is. The chief, and without one every task, meets all others; servers wait for their end."""
import json
import os
import socket
import sys
import time

config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
own = cluster[task["type"]][task["index"]]
host, port = own.rsplit(":", 1)
server = socket.create_server(("", int(port)))  # as TensorFlow's: on all addresses
servers = "ps" in cluster and task["type"] != "chief"
if servers:
    print(f"{task['type']}.{task['index']} serves at {own}", flush=True)
    while True:
        server.accept()[0].sendall(own.encode())

others = [address for addresses in cluster.values() for address in addresses if address != own]
met = []
for address in others:
    for attempt in range(200):
        try:
            with socket.create_connection((address.rsplit(":", 1)[0], int(address.rsplit(":", 1)[1])), 10) as connection:
                met.append(connection.recv(100).decode() if "ps" in cluster else address)
            break
        except OSError:
            time.sleep(0.05)
if "ps" not in cluster:  # everybody has come before anybody leaves
    for _ in others:
        server.accept()
print(json.dumps({"task": f"{task['type']}.{task['index']}", "met": met == others, "tasks": len(others) + 1,
                  "gpus": os.environ.get("CUDA_VISIBLE_DEVICES")}), flush=True)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
