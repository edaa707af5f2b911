#!/bin/sh
# For a site's Prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/*, better with PrologFlags=Alloc): removes what earlier jobs of
# dockdist have left on this node that no epilog has seen, because the node was lost or slurmd did not run.
#
# It removes containers and volumes (a lock of dockdist is one) with the label dockdist.slurm-job=ID whose job is not on this node
# any more, of Docker and of the Podman of root and of users with running containers. Slurm is asked (one call of squeue) only if
# something of other jobs is there, and when it does not answer, nothing is removed. An engine that is not there or does not answer
# is passed over: the exit code is 0, since Slurm drains a node whose prolog fails. What is done is in syslog, under `dockdist`.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
job=${SLURM_JOB_ID:?is set by Slurm}
cd / || exit 0

# The first call is the one that hangs when an engine does.
within() { timeout --kill-after=5 "$@"; }

tell() { logger -t dockdist "prolog of job $job: $*" 2>/dev/null || true; }

# The jobs that are on this node, one a line: asked for once, and not at all where nothing is left.
present=
jobs_here() {
    [ -n "$present" ] || present=$(within 20 squeue --noheader --nodelist "${SLURMD_NODENAME:-$(hostname -s)}" --format %A 2>/dev/null) ||
        present=
    # This job is there, so an empty answer is none.
    [ -n "$present" ]
}

# remove_with ENGINE…: a command line of docker or podman.
remove_with() {
    found=$(within 20 "$@" ps --all --quiet --no-trunc --filter label=dockdist.slurm-job 2>/dev/null) || {
        tell "$* does not answer"
        return
    }
    for id in $found; do
        owner=$(within 20 "$@" inspect --type container --format '{{index .Config.Labels "dockdist.slurm-job"}}' "$id" 2>/dev/null) || continue
        is_over "$owner" || continue
        # Podman's removal would wait ten seconds for one that heeds no TERM.
        within 30 "$@" kill --signal KILL "$id" >/dev/null 2>&1
        told "container $id" within 60 "$@" rm --force --volumes "$id"
    done
    for name in $(within 20 "$@" volume ls --quiet --filter label=dockdist.slurm-job 2>/dev/null); do
        owner=$(within 20 "$@" volume inspect --format '{{index .Labels "dockdist.slurm-job"}}' "$name" 2>/dev/null) || continue
        is_over "$owner" || continue
        told "volume $name" within 20 "$@" volume rm "$name"
    done
}

# is_over JOB
is_over() {
    [ "$1" != "$job" ] || return 1
    jobs_here || {
        tell "squeue does not answer, so what job $1 has left stays"
        return 1
    }
    ! echo "$present" | grep -qx "$1"
}

# told WHAT COMMAND…: runs it, and says what came of it.
told() {
    what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        tell "removed $what of job $owner"
    else
        tell "cannot remove $what of job $owner"
    fi
}

has() { command -v "$1" >/dev/null; }

[ ! -S /var/run/docker.sock ] || ! has docker || remove_with docker --host unix:///var/run/docker.sock

has podman || exit 0
# Asking Podman makes a store for whom has none.
[ ! -d /var/lib/containers/storage ] || remove_with podman
for uid in $(ps -C conmon -o uid= | sort -u); do
    [ "$uid" -ne 0 ] || continue
    user=$(getent passwd "$uid" | cut -d: -f1)
    [ -n "$user" ] || continue
    set -- setpriv --reuid "$uid" --regid "$(id -g "$user")" --init-groups env -i "HOME=$(getent passwd "$uid" | cut -d: -f6)" "PATH=$PATH"
    [ ! -d "/run/user/$uid" ] || set -- "$@" "XDG_RUNTIME_DIR=/run/user/$uid"
    remove_with "$@" podman
done
exit 0
