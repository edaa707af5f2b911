# shellcheck shell=bash
# The lab's images, made while the caller does something else; to be sourced in the repository's root.

# start_images [--all]: see scripts/lab --help. Making them ends with this process, unless that is killed with SIGKILL.
start_images() {
    mkdir -p build
    scripts/lab images "$@" </dev/null >build/images.log 2>&1 &
    images=$!
    trap end_images EXIT
}

# Fails when they cannot be made, and then shows why.
wait_for_images() {
    local failed=''
    ! kill -0 "$images" 2>/dev/null || echo "waiting for the lab's images (build/images.log)"
    wait "$images" || failed=yes
    trap - EXIT
    [[ $failed ]] || return 0
    cat build/images.log >&2
    return 1
}

end_images() {
    kill "$images" 2>/dev/null || true
    wait "$images" || true
}
