#!/bin/bash
# Written by `dockdist export slurm`, for Slurm with pyxis and enroot: `sbatch` it.
#SBATCH --job-name=vision
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --time=1-06:01:00
#SBATCH --signal=TERM@10
#SBATCH --requeue
#SBATCH --partition=gpu
#SBATCH "--comment=\#1 of 2: \"it's\" \\"

: "${HF_TOKEN?is a secret of the job: export it before sbatch, which hands it on}"

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# What each node runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export LR=0.2
export NOTE='it'\''s'
export NODE_RANK="$SLURM_NODEID"
python=python
command -v python >/dev/null || python=python3
export python
export NNODES=1
exec "$python" -m torch.distributed.run --nnodes=1 --nproc_per_node=4 --node_rank=0 --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" --no_python \
    "$python" -u train.py
END_OF_NODE

step=(
    --kill-on-bad-exit=1
    --distribution=block
    --cpu-bind=none
    --container-image=ubuntu:24.04
    '--container-mounts=/data:/data:ro,/my data:/more,/home/ada/vision:/workspace'
    --container-workdir=/workspace/run
    '--container-env=HF_TOKEN,MASTER_ADDR,MASTER_PORT'
    --container-writable
    --no-container-mount-home
    --container-remap-root
    --no-container-entrypoint
    --mpi=none
)
pause=1
for restart in {1..2} last; do
    srun "${step[@]}" sh -c "$node_script"
    code=$?
    if [ "$code" -eq 0 ] || [ "$restart" = last ] || [ "$SECONDS" -ge 107940 ]; then
        break
    fi
    echo "exit code $code: restart $restart of 2 in $pause s" >&2
    sleep "$pause"
    pause=$((pause < 15 ? 2 * pause : 30))
done
exit "$code"
