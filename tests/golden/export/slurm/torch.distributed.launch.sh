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
export NNODES=2
exec "$python" -m torch.distributed.run --nnodes=2 --nproc_per_node=8 --node_rank="$NODE_RANK" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" --no_python \
    sh -c 'exec "$python" -u train.py --local-rank="$LOCAL_RANK" "$@"' sh --name 'it'\''s $HOME' 100% '' 'two
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
