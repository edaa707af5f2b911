job=$1 node=$2 srun=$3
shift 3
gres=$(scontrol show job --details "$job" 2>/dev/null | sed -n 's/^ *Nodes=\([^ ]*\) .* GRES=\([^ ]*\).*/\1 \2/p' |
    while read -r nodes given; do
        ! scontrol show hostnames "$nodes" | grep -qxF "$node" || echo "$given" | sed 's/([^)]*)//g'
    done)
exec "$srun" "--gres=${gres:-none}" "$@"
