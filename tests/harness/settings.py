"""A lab's Docker engine with other settings, as an administrator would set them."""

import contextlib
import json
import pathlib

# What stood in daemon.json before, empty where there was none: where this machine sees it, too.
KEPT = "own-daemon.json"

# The engine that was there ends before the next one reads the file, and that one answers before anybody goes on.
RESTART = """
old=$(cat /run/lab/engine.pid)
kill "$old"
for _ in $(seq 600); do
    [ "$(cat /run/lab/engine.pid)" = "$old" ] || ! docker version >/dev/null 2>&1 || exit 0
    sleep 0.05
done
echo "the engine does not answer" >&2
exit 1
"""

# Some settings it takes while it runs; when it has them is for the test to wait for.
RELOAD = "kill -HUP $(cat /run/lab/engine.pid)"

SET = f"""
mkdir -p /etc/docker
[ -e /run/lab/{KEPT} ] || {{ cat /etc/docker/daemon.json 2>/dev/null || true; }} >/run/lab/{KEPT}
printf %s "$1" >/etc/docker/daemon.json
"""

RESTORE = f"""
if [ -s /run/lab/{KEPT} ]; then cp /run/lab/{KEPT} /etc/docker/daemon.json; else rm -f /etc/docker/daemon.json; fi
rm /run/lab/{KEPT}
{RESTART}"""


def restore_settings(lab, number):
    """Those that the lab gave it, where a test has changed them."""
    if (pathlib.Path(lab.env[f"LAB_HOST_{number}_SOCKET"]).parent / KEPT).exists():
        lab.script("exec", str(number), "sh", "-euc", RESTORE)


@contextlib.contextmanager
def engine_settings(lab, number, settings, apply=RESTART):
    """The engine of a host with this daemon.json; afterwards with its own."""
    try:
        lab.script("exec", str(number), "sh", "-euc", SET + apply, "sh", json.dumps(settings))
        yield
    finally:
        restore_settings(lab, number)
