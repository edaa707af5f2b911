umask 077
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
