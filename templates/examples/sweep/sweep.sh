#!/bin/sh
# A job for each learning rate. Each waits for a GPU of its own; the nodes take turns.
set -eu

# shellcheck disable=SC2046  # a word a node
set -- $(dockdist hostfile | cut -d ' ' -f 1)
jobs=
for lr in 0.3 0.1 0.03 0.01; do
    dockdist run --detach --name "lr-$lr" --launcher plain --nodes "$1" --gpus 1 -- python3 train.py --lr "$lr"
    jobs="$jobs lr-$lr"
    set -- "$@" "$1"
    shift
done

dockdist wait $jobs
for job in $jobs; do
    dockdist logs "$job" --tail 1
done
