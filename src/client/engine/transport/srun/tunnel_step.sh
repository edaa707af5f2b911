umask 077
if [ "$(uname -m)" != "$3" ]; then
    echo "dockdist: the node's architecture is $(uname -m), and this dockdist is made for $3" >&2
    exit 1
fi
folder='' tried=''
for place in "$XDG_RUNTIME_DIR" /dev/shm "$TMPDIR" /tmp "$HOME"; do
    [ -n "$place" ] && [ -d "$place" ] || continue
    tried="$tried $place"
    folder=$(mktemp -d "$place/dockdist.XXXXXXXX" 2>/dev/null) || continue
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 1' HUP INT TERM
    { printf '#!/bin/sh\n' >"$folder/init" && chmod 700 "$folder/init" && "$folder/init"; } 2>/dev/null && break
    rm -rf "$folder"
    folder=''
done
if [ -z "$folder" ]; then
    echo "dockdist: no folder found where a program can be kept and run (tried:$tried)" >&2
    exit 1
fi
head -c "$1" >"$folder/init" && [ "$(wc -c <"$folder/init")" -eq "$1" ] || exit 1
exec 9<"$folder/init"
rm -rf "$folder"
trap - EXIT HUP INT TERM
printf '%s' "$4"
exec /proc/self/fd/9 tunnel "$2"
