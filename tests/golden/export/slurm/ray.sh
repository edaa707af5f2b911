#!/bin/bash
# Written by `dockdist export slurm`, for Slurm with pyxis and enroot: `sbatch` it.
#SBATCH --job-name=vision
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue

address_of() {
    { getent ahostsv4 "$1"; getent ahosts "$1"; } | awk '$1 !~ /^(127\.|::1$|::ffff:127\.)/ { print $1; exit }'
}
NODE_ADDRS=
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
    address=$(address_of "$node")
    NODE_ADDRS="$NODE_ADDRS${NODE_ADDRS:+ }${address:-$node}"
done
export NODE_ADDRS
MASTER_ADDR=${NODE_ADDRS%% *}
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
JOB_SECRET=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
export JOB_SECRET

# What each node runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export NODE_RANK=$((SLURM_NODEID + FIRST_NODE))
NODE_ADDR="$(echo "$NODE_ADDRS" | cut -d ' ' -f "$((NODE_RANK + 1))")"
python=python
command -v python >/dev/null || python=python3
export python
mkdir -p "${TMPDIR:-/tmp}"
job_folder=$(mktemp -d) || exit 1
trap 'rm -rf "$job_folder"' EXIT
stopped=
run() {
    child=
    trap 'stopped=1; kill "$child" 2>/dev/null' TERM
    "$@" 3>&- &
    child=$!
    [ -z "$stopped" ] || kill "$child"
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    return "$code"
}
export NNODES=2
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN_PATH="$job_folder"/ray-token
printf %s "$JOB_SECRET" >"$job_folder"/ray-token
cat >"$job_folder"/start-ray.py <<'END'
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
END
cat >"$job_folder/rank" <<'END'
#!/bin/sh
exec "$python" -u train.py --name 'it'\''s $HOME' 100% '' 'two
lines'
END
chmod +x "$job_folder/rank"
case $NODE_RANK in
0)
run "$python" -u "$job_folder"/start-ray.py head "$MASTER_ADDR" "$MASTER_PORT" "$((MASTER_PORT + 1))" "$MASTER_ADDR" 2 8 /tmp/ray-"$SLURM_JOB_ID" "$job_folder/rank"
;;
*)
run "$python" -u "$job_folder"/start-ray.py worker "$MASTER_ADDR" "$MASTER_PORT" "$((MASTER_PORT + 1))" "$NODE_ADDR" 2 8 /tmp/ray-"$SLURM_JOB_ID" "$job_folder/rank"
;;
esac
END_OF_NODE

step=(
    --kill-on-bad-exit=1
    --distribution=block
    --cpu-bind=none
    '--container-image=nvcr.io#nvidia/pytorch:24.01-py3'
    '--container-env=MASTER_ADDR,MASTER_PORT'
    --container-writable
    --no-container-mount-home
    --container-remap-root
    --no-container-entrypoint
)
# The first node ends the job; the others serve it until then.
FIRST_NODE=1 srun "${step[@]}" --relative=1 --nodes=1 --ntasks=1 sh -c "$node_script" &
others=$!
FIRST_NODE=0 srun "${step[@]}" --relative=0 --nodes=1 --ntasks=1 sh -c "$node_script"
code=$?
# To the steps that are left, not to this script: srun itself would end them at once.
scancel --signal=TERM "$SLURM_JOB_ID"
{ sleep 10; kill "$others"; } 2>/dev/null &
limit=$!
wait "$others"
kill "$limit" 2>/dev/null
exit "$code"
