# shellcheck shell=bash
# The files of a lab, to be sourced by scripts/lab: keys and certificates, the Compose file, and those that tell users of
# the lab what it consists of. All of them are below $dir, and are removed with it.
# shellcheck disable=SC2154 # set by scripts/lab

address_of() { echo "$subnet.$((10 + $1))"; }

write_compose_file() {
    local count=$1 gpus=$2 without=$3 number names
    names=$(for ((number = 1; number <= count; number++)); do echo -n "\"host-$number:$(address_of "$number")\", "; done)
    {
        echo "networks:"
        echo "  default:"
        echo "    driver_opts: {com.docker.network.bridge.name: lab0}"
        echo "    ipam: {config: [{subnet: $subnet.0/24}]}"
        echo "services:"
        for ((number = 1; number <= count; number++)); do
            echo "  host-$number:"
            echo "    extends: {file: $repository/compose/host.yaml, service: host}"
            echo "    image: dockdist-lab/host:$(debian_of "$number")"
            echo "    container_name: host-$number"
            echo "    hostname: host-$number"
            echo "    networks: {default: {ipv4_address: $(address_of "$number")}}"
            echo "    extra_hosts: [${names%, }]"
            echo "    environment:"
            echo "      LAB_GPUS: \"$(gpus_of "$number" "$gpus" "$without")\""
            echo "      LAB_ENGINE: $(engine_of "$number")"
            echo "      LAB_CGROUP: /dockdist-lab/$name/host-$number"
            echo "      LAB_SLURM: \"${slurm:+$slurm_controller}\""
            echo "    volumes:"
            if [[ $(engine_of "$number") == podman ]]; then
                echo "      - $dir/host-$number/containers:/var/lib/containers"
                echo "      - $dir/podman:/var/lib/lab-images:ro"
            else
                echo "      - $dir/host-$number/docker:/var/lib/docker"
            fi
            echo "      - $dir/host-$number/etc:/etc/lab:ro"
            echo "      - $run/host-$number:/run/lab"
            echo "      - $dir/shared:/shared" # one storage for all hosts, as an NFS export would be
            [[ ! $slurm ]] || echo "      - $dir/slurm:/etc/slurm"
        done
    } >"$dir/compose.yaml"
}

# Without: the numbers of hosts that have none, as in ",3,5,". Podman 4.3 could not give them to anybody.
gpus_of() {
    local number=$1 gpus=$2 without=$3
    [[ $without != *,$number,* ]] || gpus=0
    [[ $(engine_of "$number") != podman ]] || ((number % 2 == 0)) || gpus=0
    echo "$gpus"
}

# $podman: the numbers of hosts that run it, as in ",3,5,"; $containerd: of those whose Docker has the containerd image store.
engine_of() {
    if [[ $podman == *,$1,* ]]; then echo podman; elif [[ $containerd == *,$1,* ]]; then echo containerd; else echo docker; fi
}

# Only Debian 13's Docker has that store. $slurm: whether the hosts have Slurm, whose versions must not differ.
debian_of() { [[ $(engine_of "$1") == docker || $(engine_of "$1") == podman ]] && (($1 % 2)) || [[ $slurm ]] && echo 12 || echo 13; }

make_keys() {
    local count=$1 number etc
    mkdir -p "$dir/tls" "$dir/ssh"
    certificate ca "/CN=lab $name" basicConstraints=critical,CA:TRUE
    sign client "/CN=lab client" extendedKeyUsage=clientAuth
    mv "$dir/tls/client.pem" "$dir/tls/cert.pem" # the names that DOCKER_CERT_PATH asks for
    mv "$dir/tls/client-key.pem" "$dir/tls/key.pem"
    ssh-keygen -q -t ed25519 -N '' -C "lab $name" -f "$dir/ssh/id_ed25519"
    for ((number = 1; number <= count; number++)); do
        etc=$dir/host-$number/etc
        mkdir -p "$etc"
        sign "host-$number" "/CN=host-$number" extendedKeyUsage=serverAuth \
            "subjectAltName=IP:$(address_of "$number"),DNS:host-$number"
        mv "$dir/tls/host-$number.pem" "$etc/server-cert.pem"
        mv "$dir/tls/host-$number-key.pem" "$etc/server-key.pem"
        cp "$dir/tls/ca.pem" "$etc/"
        ssh-keygen -q -t ed25519 -N '' -C "host-$number" -f "$etc/ssh_host_ed25519_key"
        ssh-keygen -q -t ecdsa -N '' -C "host-$number" -f "$etc/ssh_host_ecdsa_key"
        cp "$dir/ssh/id_ed25519.pub" "$etc/authorized_keys"
        # Only one of the two keys, as after a first login with OpenSSH.
        echo "$(address_of "$number"),host-$number $(cut -d' ' -f1-2 "$etc/ssh_host_ed25519_key.pub")" \
            >>"$dir/ssh/known_hosts"
    done
}

# certificate FILE SUBJECT EXTENSION… makes FILE.pem and FILE-key.pem; $signer holds the options that sign it.
certificate() {
    local file=$1 subject=$2 extension options=()
    shift 2
    for extension; do options+=(-addext "$extension"); done
    openssl req -x509 -config <(printf '[req]\ndistinguished_name=dn\n[dn]\n') -newkey ec -nodes -days 3650 \
        -pkeyopt ec_paramgen_curve:P-256 -subj "$subject" "${options[@]}" ${signer+"${signer[@]}"} \
        -keyout "$dir/tls/$file-key.pem" -out "$dir/tls/$file.pem" 2>"$run/openssl.log" ||
        { cat "$run/openssl.log" >&2 && return 1; }
}

sign() {
    local signer=(-CA "$dir/tls/ca.pem" -CAkey "$dir/tls/ca-key.pem")
    certificate "$@"
}

write_env_file() {
    local count=$1 gpus=$2 without=$3 number
    {
        echo "LAB_NAME=$name"
        echo "LAB_UP='$asked'" # what `up` was given, but for --force
        echo "LAB_DIR=$dir"
        echo "LAB_CLUSTER_FILE=$dir/cluster.yaml"
        echo "LAB_HOSTS=$count"
        echo "LAB_SUBNET=$subnet.0/24"
        echo "LAB_MACHINE_ADDRESS=$subnet.254"
        echo "LAB_DOCKER_HOST=$DOCKER_HOST"
        echo "LAB_TLS_DIR=$dir/tls"
        echo "LAB_SSH_KEY=$dir/ssh/id_ed25519"
        echo "LAB_SSH_KNOWN_HOSTS=$dir/ssh/known_hosts"
        echo "LAB_MEMLOCK=$(memlock)"
        echo "LAB_NOFILE=$(ulimit -H -n)"
        echo "LAB_NPROC=$(nproc_limit)"
        echo "LAB_SHARED=$dir/shared" # /shared on every host
        [[ ! $slurm ]] || echo "LAB_SLURM_ETC=$dir/slurm" # /etc/slurm on every host
        for ((number = 1; number <= count; number++)); do
            echo "LAB_HOST_${number}_ADDRESS=$(address_of "$number")"
            echo "LAB_HOST_${number}_SOCKET=$run/host-$number/docker.sock"
            echo "LAB_HOST_${number}_CONTAINER=host-$number"
            echo "LAB_HOST_${number}_ENGINE=$(engine_version "$run/host-$number/docker.sock")"
            echo "LAB_HOST_${number}_KIND=$(engine_of "$number")"
            echo "LAB_HOST_${number}_GPUS=$(gpus_of "$number" "$gpus" "$without")"
        done
    } >"$dir/lab.env"
}

engine_version() {
    curl --silent --max-time 5 --head --unix-socket "$1" http://engine/_ping | sed -n 's,^Server: \(Docker\|Libpod\)/\([0-9.]*\).*,\2,p'
}

# What a container may lock is what this machine's limit leaves to the lab's engines.
memlock() {
    local limit
    limit=$(ulimit -H -l)
    [[ $limit == unlimited ]] && echo "$limit" || echo "${limit}k"
}

# Podman's own limit on itself.
nproc_limit() {
    local limit most
    limit=$(ulimit -H -u)
    most=$(</proc/sys/kernel/pid_max)
    [[ $limit == unlimited ]] || ((limit > most)) && echo "$most" || echo "$limit"
}

write_cluster_file() {
    local count=$1 gpus=$2 without=$3 number image='{ref: dockdist-lab/busybox}'
    # Hosts with the containerd store get it from the first host that has it.
    for ((number = count; number > 0; number--)); do
        [[ $(engine_of "$number") == containerd ]] || image="{ref: dockdist-lab/torch, from: node-$((number - 1))}"
    done
    [[ $containerd != , ]] || image=dockdist-lab/torch
    {
        echo "name: $name"
        echo "image: $image"
        echo "hosts:"
        for ((number = 1; number <= count; number++)); do
            echo "  - name: node-$((number - 1))"
            echo "    docker: tcp://$(address_of "$number"):2375"
            echo "    insecure: true"
            echo "    gpus: $(gpus_of "$number" "$gpus" "$without" | sed 's/^0$/none/')"
        done
        echo "container:"
        echo "  shm_size: 256m"
        # Podman raises open files and processes to a million unless it is told, and the lab's hosts may not.
        echo "  ulimits: {memlock: $(memlock)$([[ $podman == , ]] || echo ", nofile: $(ulimit -H -n), nproc: $(nproc_limit)")}"
    } >"$dir/cluster.yaml"
}
