import os, shutil, signal, socket, subprocess, sys, time

role, head, port, client_port, address, nodes, gpus, folder, init = sys.argv[1:]
at = f"[{head}]:{port}" if ":" in head else f"{head}:{port}"
patience = 120
# Of AMD's GPUs newer versions of Ray refuse ROCm's variable without HIP's, which counts among those of the former.
visible = os.environ.get("ROCR_VISIBLE_DEVICES")
if visible and "HIP_VISIBLE_DEVICES" not in os.environ:
    indices = ",".join(str(index) for index in range(len(visible.split(","))))
    os.environ["HIP_VISIBLE_DEVICES"] = os.environ.pop("CUDA_VISIBLE_DEVICES", indices)
# `ray start` has no option to leave out the server for clients: it leaves it out where it finds no gRPC.
head_start = """import importlib.util, sys
import ray.scripts.scripts as scripts
client_port = sys.argv.pop(1)
if hasattr(scripts, "get_ray_client_dependency_error"):
    scripts.get_ray_client_dependency_error = lambda: ImportError("not wanted")
elif importlib.util.find_spec("grpc"):
    sys.argv.append("--ray-client-server-port=" + client_port)
scripts.main()
"""


def ended(*_):
    raise SystemExit(143)


signal.signal(signal.SIGTERM, ended)
common = ["ray", "start", "--node-ip-address=" + address, "--num-gpus=" + gpus,
          "--node-manager-port=0", "--object-manager-port=0", "--min-worker-port=0", "--max-worker-port=0",
          "--dashboard-agent-listen-port=0", "--disable-usage-stats"]
try:
    if role == "worker":
        deadline = time.monotonic() + patience
        while True:
            try:
                socket.create_connection((head, int(port)), 5).close()
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    sys.exit(f"the head at {at} does not answer: {error}")
                time.sleep(0.1)
        sys.exit(subprocess.call(common + ["--address=" + at, "--block"]))
    common += ["--head", "--port=" + port, "--temp-dir=" + folder, "--include-dashboard=false"]
    code = subprocess.call([sys.executable, "-c", head_start, client_port] + common[1:], stdout=subprocess.DEVNULL)
    if code:
        sys.exit(code)
    import ray
    ray.init(address=at, log_to_driver=False, logging_level="ERROR")
    deadline = time.monotonic() + patience
    while sum(node["Alive"] for node in ray.nodes()) < int(nodes):
        if time.monotonic() > deadline:
            sys.exit(f"only {len(ray.nodes())} of {nodes} nodes have joined")
        time.sleep(0.1)
    ray.shutdown()
    os.environ.update(RAY_ADDRESS=at, RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1")
    sys.exit(subprocess.call([init, "rank"]))
finally:
    shutil.rmtree(folder, ignore_errors=True)
