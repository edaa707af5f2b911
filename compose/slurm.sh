# shellcheck shell=bash
# The files of a lab's Slurm, to be sourced by scripts/lab. slurmctld runs on host-1, slurmd on every host
# (docker/host/slurm). All of the files are below $dir, and are removed with it.
# shellcheck disable=SC2154 # set by scripts/lab

slurm_controller=host-1

# write_slurm_files COUNT GPUS WITHOUT: /etc/slurm of all hosts, and each one's keys.
write_slurm_files() {
    local count=$1 gpus=$2 without=$3 number etc key kind
    for kind in prolog epilog; do
        mkdir -p "$dir/slurm/$kind.d"
        # A pattern that matches nothing is a failure, which drains the node.
        printf '#!/bin/sh\nexit 0\n' >"$dir/slurm/$kind.d/00-nothing"
        chmod 755 "$dir/slurm/$kind.d/00-nothing"
    done
    key=$(openssl rand -hex 64)
    for ((number = 1; number <= count; number++)); do
        etc=$dir/host-$number/etc
        (umask 077 && echo -n "$key" >"$etc/munge.key")
        cp "$dir/ssh/id_ed25519" "$dir/ssh/known_hosts" "$etc/"
    done
    # A job that is requeued may start when credentials of its first run have expired (cred_expire): 120 s, unless said.
    cat >"$dir/slurm/slurm.conf" <<END
ClusterName=$name
SlurmctldHost=$slurm_controller
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=10
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
GresTypes=gpu
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=15
PrologFlags=Alloc
Prolog=/etc/slurm/prolog.d/*
Epilog=/etc/slurm/epilog.d/*
PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
END
    : >"$dir/slurm/gres.conf"
    for ((number = 1; number <= count; number++)); do
        write_slurm_node "$number" "$(gpus_of "$number" "$gpus" "$without")"
    done
}

# More processors than the machine has: what is tried here is who gets which, not how fast they are.
write_slurm_node() {
    local number=$1 gpus=$2 gres=
    if ((gpus)); then
        gres=" Gres=gpu:$gpus"
        echo "NodeName=host-$number Name=gpu File=/dev/gres/nvidia$( ((gpus == 1)) && echo 0 || echo "[0-$((gpus - 1))]")" \
            >>"$dir/slurm/gres.conf"
    fi
    echo "NodeName=host-$number NodeAddr=$(address_of "$number") CPUs=16 RealMemory=16000$gres State=UNKNOWN" >>"$dir/slurm/slurm.conf"
}

wait_for_slurm() {
    local count=$1 deadline=$((SECONDS + 60)) idle=
    until [[ $idle == "$count" ]]; do
        ((SECONDS < deadline)) || fail_slurm
        idle=$(docker exec "$slurm_controller" sinfo --noheader --partition batch --states idle --format %D 2>/dev/null || true)
        sleep 0.1
    done
}

fail_slurm() {
    docker exec "$slurm_controller" tail -n 20 /var/log/slurm/slurmctld.log /var/log/slurm/slurmd.log >&2 || true
    docker exec "$slurm_controller" sinfo --Node --long >&2 || true
    fail "Slurm's nodes are not idle"
}
