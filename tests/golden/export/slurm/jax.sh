#!/bin/bash
# Written by `dockdist export slurm`, for Slurm with pyxis and enroot: `sbatch` it.
#SBATCH --job-name=vision
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# What each task runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export NODE_RANK="$SLURM_NODEID"
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID"
export WORLD_SIZE=16 LOCAL_WORLD_SIZE=8
python=python
command -v python >/dev/null || python=python3
export python
export JAX_COORDINATOR_ADDRESS="$MASTER_ADDR":"$MASTER_PORT"
export NNODES=2
exec "$python" -u train.py --name 'it'\''s $HOME' 100% '' 'two
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
