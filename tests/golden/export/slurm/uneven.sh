#!/bin/bash
# Written by `dockdist export slurm`, for Slurm with pyxis and enroot: `sbatch` it.
#SBATCH --job-name=vision
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))

# What each node runs.
IFS= read -r -d '' node_script <<'END_OF_NODE'
export NODE_RANK="$SLURM_NODEID"
case $NODE_RANK in
0) slots=1 first_rank=0 ;;
1) slots=2 first_rank=1 ;;
*) slots=2 first_rank=3 ;;
esac
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
export NNODES=3
export WORLD_SIZE=5
export LOCAL_WORLD_SIZE="$slots"
start_rank() {
exec ./a
}
mkfifo "$job_folder/ended" || exit 1
exec 3<>"$job_folder/ended"
stop() {
    : >"$job_folder/stop"
    kill $pids 2>/dev/null
}
pids=
trap '' TERM
LOCAL_RANK=0
while [ "$LOCAL_RANK" -lt "$slots" ]; do
    (
        trap 'stopped=1' TERM
        [ ! -e "$job_folder/stop" ] || stopped=1
        RANK=$((first_rank + LOCAL_RANK))
        export RANK LOCAL_RANK
        run start_rank
        echo "$? $LOCAL_RANK" >&3
    ) &
    pids="$pids $!"
    LOCAL_RANK=$((LOCAL_RANK + 1))
done
trap stop TERM
left=$slots
result=0
while [ "$left" -gt 0 ]; do
    read -r code rank <&3 || continue
    [ "$rank" != late ] || break
    left=$((left - 1))
    if [ "$code" -ne 0 ] && [ "$result" -eq 0 ]; then
        result=$code
        stop
        (sleep 10; echo 0 late >&3) >/dev/null 2>&1 &
    fi
done
exit "$result"
END_OF_NODE

step=(
    --kill-on-bad-exit=1
    --distribution=block
    --cpu-bind=none
    --container-image=a
    '--container-env=MASTER_ADDR,MASTER_PORT'
    --container-writable
    --no-container-mount-home
    --container-remap-root
    --no-container-entrypoint
)
srun "${step[@]}" sh -c "$node_script"
code=$?
exit "$code"
