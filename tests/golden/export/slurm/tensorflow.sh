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
read -r -a addresses <<<"$NODE_ADDRS"
for i in "${!addresses[@]}"; do
    export "NODE_ADDR_$i=${addresses[i]}"
done
MASTER_ADDR=${NODE_ADDRS%% *}
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# What each node runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export NODE_RANK="$SLURM_NODEID"
python=python
command -v python >/dev/null || python=python3
export python
export NNODES=2
export WORLD_SIZE=2
export LOCAL_WORLD_SIZE=1 LOCAL_RANK=0 RANK="$NODE_RANK"
export TF_CONFIG='{"cluster":{"worker":["'"$MASTER_ADDR":"$MASTER_PORT"'","'"$NODE_ADDR_1":"$MASTER_PORT"'"]},"task":{"type":"worker","index":'"$NODE_RANK"'}}'
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
