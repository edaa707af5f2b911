stopped=
run() {
    child=
    trap 'stopped=1; kill "$child" 2>/dev/null' TERM
    "$@" 3>&- &
    child=$!
    [ -z "$stopped" ] || kill "$child"
    wait "$child"
    code=$?
    while kill -0 "$child" 2>/dev/null; do
        wait "$child"
        code=$?
    done
    return "$code"
}
