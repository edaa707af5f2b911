#!/bin/sh
# For a site's Epilog (slurm.conf: Epilog=/etc/slurm/epilog.d/*): removes what a job of dockdist has left on its node, however
# the job has ended. Containers of Docker are no children of the job's steps, and those of Podman only where Slurm tracks
# processes by cgroups: Slurm does not end them.
#
# It removes containers with the label dockdist.slurm-job=$SLURM_JOB_ID, of Docker, of root's Podman and of the rootless Podman
# of the job's user, and nothing else. An engine that is not there or does not answer is passed over: the exit code is 0, since
# Slurm drains a node whose epilog fails. What goes wrong is in syslog, under `dockdist`. A job that left nothing costs a call to
# each engine.
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
    [ -n "$found" ] || return
    # shellcheck disable=SC2086 # a list of IDs
    if within 90 "$@" rm --force --volumes $found >/dev/null 2>&1; then
        tell "removed $(echo "$found" | wc -l) containers that were left"
    else
        tell "$* cannot remove" $found
    fi
}

has() { command -v "$1" >/dev/null; }

[ ! -S /var/run/docker.sock ] || ! has docker || remove_with docker --host unix:///var/run/docker.sock

if has podman; then
    # Asking Podman makes a store for whom has none.
    [ ! -d /var/lib/containers/storage ] || remove_with podman

    user=${SLURM_JOB_USER:-}
    uid=$(id -u "$user" 2>/dev/null) && [ -n "$user" ] && [ "$uid" -ne 0 ] || exit 0
    home=$(getent passwd "$user" | cut -d: -f6)
    if [ -d "$home/.local/share/containers/storage" ] || pgrep -u "$uid" -x conmon >/dev/null; then
        set -- setpriv --reuid "$uid" --regid "$(id -g "$user")" --init-groups env -i "HOME=$home" "PATH=$PATH"
        [ ! -d "/run/user/$uid" ] || set -- "$@" "XDG_RUNTIME_DIR=/run/user/$uid"
        remove_with "$@" podman
    fi
fi
exit 0
