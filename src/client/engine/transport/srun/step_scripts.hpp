// What `sh` runs on a node of an allocation; and here, before a step that is to have GPUs.
#pragma once

namespace dockdist {

// $1 bytes of dockdist-init, $2 what the tunnel asks for, $3 the machine that it is made for, $4 what is said
// before it begins. A folder may forbid that programs of it run (noexec), so one is tried.
inline constexpr const char* tunnel_script = R"sh(umask 077
if [ "$(uname -m)" != "$3" ]; then
    echo "dockdist: the node's architecture is $(uname -m), and this dockdist is made for $3" >&2
    exit 1
fi
folder='' tried=''
for place in "$XDG_RUNTIME_DIR" /dev/shm "$TMPDIR" /tmp "$HOME"; do
    [ -n "$place" ] && [ -d "$place" ] || continue
    tried="$tried $place"
    folder=$(mktemp -d "$place/dockdist.XXXXXXXX" 2>/dev/null) || continue
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    { printf '#!/bin/sh\n' >"$folder/init" && chmod 700 "$folder/init" && "$folder/init"; } 2>/dev/null && break
    rm -rf "$folder"
    folder=''
done
if [ -z "$folder" ]; then
    echo "dockdist: there is not a folder where a program can be kept and run (tried:$tried)" >&2
    exit 1
fi
head -c "$1" >"$folder/init" && [ "$(wc -c <"$folder/init")" -eq "$1" ] || exit 1
exec 9<"$folder/init"
rm -rf "$folder"
trap - EXIT HUP INT TERM
printf '%s' "$4"
exec /proc/self/fd/9 tunnel "$2"
)sh";

// $1 the folder: under /tmp, which is everybody's. The lock is not handed to Podman, whose containers would
// keep it. The containers end with the step, which Slurm ends with the allocation: their monitors have left
// its process tree, so that they are not ended by that alone. Those of another allocation of the same user on
// the same node are in the same store, and stay.
inline constexpr const char* engine_script = R"sh(umask 077
mkdir -m 700 "$1" 2>/dev/null
if [ -L "$1" ] || [ ! -d "$1" ] || [ ! -O "$1" ]; then
    exit 76
fi
chmod 700 "$1" || exit 76
exec 9>"$1/lock"
flock -n 9 || exit 75
exec >"$1/log" 2>&1 </dev/null
command -v podman >/dev/null || { echo "there is no podman on the node"; exit 1; }
rm -f "$1/podman.sock"
clean() {
    trap '' HUP INT TERM
    ours="label=dockdist.slurm-job=$SLURM_JOB_ID"
    containers=$(podman ps -aq --filter "$ours" 9>&-)
    # shellcheck disable=SC2086
    [ -z "$containers" ] || podman rm -f -t 1 $containers 9>&-
    volumes=$(podman volume ls -q --filter "$ours" 9>&-)
    # shellcheck disable=SC2086
    [ -z "$volumes" ] || podman volume rm $volumes 9>&-
    kill "$engine" 2>/dev/null
    rm -rf "$1"
}
trap 'clean "$1"; exit 0' HUP INT TERM
podman system service --time=0 "unix://$1/podman.sock" 9>&- &
engine=$!
wait "$engine"
code=$?
rm -f "$1/podman.sock"
exit "$code"
)sh";

// $1 the job, $2 the node, and then srun's words, of which the first is srun: all of the job's GPUs on that
// node become the step's, since a site may let a step see no other ones. Without scontrol's answer, none.
inline constexpr const char* with_gpus_script = R"sh(job=$1 node=$2 srun=$3
shift 3
gres=$(scontrol show job --details "$job" 2>/dev/null | sed -n 's/^ *Nodes=\([^ ]*\) .* GRES=\([^ ]*\).*/\1 \2/p' |
    while read -r nodes given; do
        ! scontrol show hostnames "$nodes" | grep -qxF "$node" || echo "$given" | sed 's/([^)]*)//g'
    done)
exec "$srun" "--gres=${gres:-none}" "$@"
)sh";

// $1 the same folder.
inline constexpr const char* engine_log_script = R"sh(tail -c 2000 "$1/log")sh";

} // namespace dockdist
