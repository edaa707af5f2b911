# shellcheck shell=bash
# A private dockerd, to be sourced. It lives in its own network and mount namespaces: whatever it makes there (bridges,
# iptables rules, overlay mounts) goes with its processes, however they end, and it never meets another dockerd of the
# machine. All its processes, those of its containers included, are in one cgroup subtree, /dockdist-lab/ID, so that they
# can be found and ended even when every pid file is stale or gone.

# With cgroup v1 the subtree is in each controller's hierarchy; the pids hierarchy is where processes are looked up.
if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    process_hierarchy=/sys/fs/cgroup
else
    process_hierarchy=/sys/fs/cgroup/pids
fi

say() { echo "lab: $*" >&2; }

# take_lock FILE [--nonblock]: holds FILE's lock in the descriptor $lock, until this process ends. The holder may remove
# FILE: whoever waited for it notices, and locks the next one. Background processes have to close $lock.
take_lock() {
    local file=$1 option=${2-}
    lock=
    until [[ $lock && /dev/fd/$lock -ef $file ]]; do
        mkdir -p "${file%/*}"
        exec {lock}>>"$file" || continue # the folder may go between the two
        flock --nonblock "$lock" && continue
        [[ ! $option ]] || return 1
        say "waiting for the process that holds $file"
        flock "$lock"
    done
}

# Puts the current subshell, and what it starts, among the processes that end_engine ID ends.
join_engine() {
    local cgroup=$process_hierarchy/dockdist-lab/$1/engine
    mkdir -p "$cgroup"
    echo "$BASHPID" >"$cgroup/cgroup.procs"
}

# start_engine ID DATA_FOLDER RUN_FOLDER: dockerd on RUN_FOLDER/engine.sock, its pid in RUN_FOLDER/engine.pid. Ready on
# return.
start_engine() {
    local id=$1 data=$2 run=$3
    mkdir -p "$data" "$run"
    # Hidden from it: the system's containerd, configuration and key, which it would use, and /opt, where containerd
    # creates a folder.
    # shellcheck disable=SC2016 # expanded there
    (
        join_engine "$id"
        exec setsid unshare --net --mount --propagation private sh -euc '
            ip link set lo up
            for folder in /run/containerd /etc/docker /opt; do
                [ ! -d "$folder" ] || mount -t tmpfs lab "$folder"
            done
            exec dockerd "$@"' sh \
            --host "unix://$run/engine.sock" --pidfile "$run/engine.pid" --data-root "$data" --exec-root "$run/engine" \
            --bridge none --iptables=false --ip6tables=false --storage-driver overlay2 \
            --cgroup-parent "/dockdist-lab/$id/containers" --exec-opt native.cgroupdriver=cgroupfs \
            --default-cgroupns-mode host
    ) </dev/null >"$run/engine.log" 2>&1 {lock}>&- &
    local starter=$!
    disown "$starter" # so that the shell does not report its end
    until engine_answers "$run/engine.sock"; do
        if ! kill -0 "$starter" 2>/dev/null; then
            tail -n 20 "$run/engine.log" >&2
            return 1
        fi
        sleep 0.1
    done
}

engine_answers() {
    [[ -S $1 ]] && curl --silent --fail --max-time 5 --output /dev/null --unix-socket "$1" http://engine/_ping
}

# end_engine ID: kills everything that start_engine ID ever led to. Files are the caller's.
end_engine() {
    local id=$1 frozen processes tries
    # A paused container of cgroup v1 does not even hear SIGKILL.
    find /sys/fs/cgroup/freezer/dockdist-lab/"$id" -depth -name freezer.state 2>/dev/null |
        while read -r frozen; do echo THAWED >"$frozen"; done || true
    for ((tries = 0; tries < 200; tries++)); do
        processes=$(find "$process_hierarchy/dockdist-lab/$id" -name cgroup.procs -exec cat {} + 2>/dev/null || true)
        [[ $processes ]] || break
        # shellcheck disable=SC2086 # a list of numbers
        kill -KILL $processes 2>/dev/null || true
        sleep 0.05
    done
    for ((; tries < 200; tries++)); do
        # A cgroup whose last process has just ended may still be busy.
        find /sys/fs/cgroup/dockdist-lab/"$id" /sys/fs/cgroup/*/dockdist-lab/"$id" -depth -type d \
            -exec rmdir {} + 2>/dev/null || true
        compgen -G "/sys/fs/cgroup/dockdist-lab/$id" >/dev/null ||
            compgen -G "/sys/fs/cgroup/*/dockdist-lab/$id" >/dev/null || break
        sleep 0.05
    done
    rmdir /sys/fs/cgroup/dockdist-lab /sys/fs/cgroup/*/dockdist-lab 2>/dev/null || true # when no other lab is there
    if ((tries == 200)); then
        say "processes of $id do not end: $processes"
        return 1
    fi
}

# copy_images FROM TO: the images of one engine's data folder, into another's. Layers are linked, not copied: engines never
# write to them, and hosts that share them also share the page cache.
copy_images() {
    local from=$1 data=$2
    mkdir -p "$data"
    cp -a "$from/image" "$data/"
    cp -al "$from/overlay2" "$data/" 2>/dev/null || cp -a "$from/overlay2" "$data/" # a cache on another file system
}

# Removes folders with images in them, many trees at a time: on a disk that is told of every freed block (the mount
# option discard), a single rm would wait thousands of times.
remove_folders() {
    find "$@" -mindepth 3 -maxdepth 4 -print0 2>/dev/null | xargs -0 -r -P 16 -n 1 rm -rf 2>/dev/null || true
    rm -rf "$@"
}
