#!/bin/bash
# Written by `dockdist export slurm`, for Slurm with pyxis and enroot: `sbatch` it.
#SBATCH --job-name=vision
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# What each node runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export NODE_RANK="$SLURM_NODEID"
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
export DS_ENV_FILE="$job_folder"/deepspeed_env
export NNODES=2
cat >"$job_folder"/accelerate.yaml <<END
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
deepspeed_config:
  deepspeed_multinode_launcher: standard
num_machines: 2
num_processes: 16
machine_rank: $NODE_RANK
main_process_ip: $MASTER_ADDR
main_process_port: $MASTER_PORT
gpu_ids: all
mixed_precision: 'no'
main_training_function: main
rdzv_backend: static
same_network: true
use_cpu: false
END
run "$python" -m accelerate.commands.launch --config_file="$job_folder"/accelerate.yaml --num_machines=2 --num_processes=16 --machine_rank="$NODE_RANK" --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" --rdzv_backend=static --same_network --no_python \
    "$python" -u train.py --name 'it'\''s $HOME' 100% '' 'two
lines'
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
srun "${step[@]}" sh -c "$node_script"
code=$?
exit "$code"
