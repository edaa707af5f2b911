#!/bin/sh
# For a site's Epilog (slurm.conf: Epilog=/etc/slurm/epilog.d/*): removes what a job of dockdist has left on its node, however
# the job has ended. Containers of Docker are no children of the job's steps, and those of Podman only where Slurm tracks
# processes by cgroups: Slurm does not end them.
#
# It removes containers and volumes (a lock of dockdist is one) with the label dockdist.slurm-job=$SLURM_JOB_ID, of Docker, of
# root's Podman and of the rootless Podman of the job's user, and nothing else. An engine that is not there or does not answer is
# passed over: the exit code is 0, since Slurm drains a node whose epilog fails. What goes wrong is in syslog, under `dockdist`. A
# job that left nothing costs two calls to each engine.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
job=${SLURM_JOB_ID:?is set by Slurm}
cd / || exit 0

# The first call is the one that hangs when an engine does.
within() { timeout --kill-after=5 "$@"; }

tell() { logger -t dockdist "job $job: $*" 2>/dev/null || true; }

# remove_with ENGINE…: a command line of docker or podman.
remove_with() {
    found=$(within 20 "$@" ps --all --quiet --no-trunc --filter "label=dockdist.slurm-job=$job" 2>/dev/null) || {
        tell "$* does not answer"
        return
    }
    if [ -n "$found" ]; then
        # Podman's removal would wait ten seconds for each that heeds no TERM.
        # shellcheck disable=SC2086 # a list of IDs
        within 30 "$@" kill --signal KILL $found >/dev/null 2>&1
        # shellcheck disable=SC2086
        told "$found" containers within 90 "$@" rm --force --volumes $found
    fi
    found=$(within 20 "$@" volume ls --quiet --filter "label=dockdist.slurm-job=$job" 2>/dev/null)
    # shellcheck disable=SC2086
    [ -z "$found" ] || told "$found" volumes within 30 "$@" volume rm $found
}

# told FOUND WHAT COMMAND…: runs it, and says what came of it.
told() {
    found=$1 what=$2
    shift 2
    if "$@" >/dev/null 2>&1; then
        tell "removed $(echo "$found" | wc -l) $what that were left"
    else
        tell "failed: $*"
    fi
}

has() { command -v "$1" >/dev/null; }

[ ! -S /var/run/docker.sock ] || ! has docker || remove_with docker --host unix:///var/run/docker.sock

has podman || exit 0
# Asking Podman makes a store for whom has none.
[ ! -d /var/lib/containers/storage ] || remove_with podman

user=${SLURM_JOB_USER:-}
[ -n "$user" ] && uid=$(id -u "$user" 2>/dev/null) && [ "$uid" -ne 0 ] || exit 0
home=$(getent passwd "$user" | cut -d: -f6)
set -- setpriv --reuid "$uid" --regid "$(id -g "$user")" --init-groups env -i "HOME=$home" "PATH=$PATH"
[ ! -d "/run/user/$uid" ] || set -- "$@" "XDG_RUNTIME_DIR=/run/user/$uid"
if [ -d "$home/.local/share/containers/storage" ] || pgrep -u "$uid" -x conmon >/dev/null; then remove_with "$@" podman; fi
# The folder of an engine that dockdist has started (srun+podman://), removed as its user: /tmp is everybody's.
within 10 "$@" rm -rf "/tmp/dockdist-engine-$uid-$job"
exit 0
