"""An authorization plugin for a lab's engine: it lets every call pass but those that a test names. dockerd asks it before each
call, by JSON over HTTP on a unix socket (moby, docs/extend/plugins_authorization.md); it runs here, and the engine sees the
socket in its own /run/lab."""

import contextlib
import http.server
import json
import pathlib
import re
import socketserver
import threading

from harness.settings import engine_settings

NAME = "lab-warden"


class Plugin(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, socket):
        socket.unlink(missing_ok=True)
        self.refused = None  # a pattern of "METHOD /path?query", without the version
        self.broken = False  # it answers nothing of use
        super().__init__(str(socket), Answer)

    def refuses(self, call):
        return self.refused is not None and re.search(self.refused, call) is not None


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if self.server.broken:
            self.answer(500, b"")
            return
        answer = {"Allow": True}
        if self.path == "/Plugin.Activate":
            answer = {"Implements": ["authz"]}
        elif self.path == "/AuthZPlugin.AuthZReq":
            call = asked["RequestMethod"] + " " + re.sub(r"^/v1\.\d+", "", asked["RequestUri"])
            if self.server.refuses(call):
                answer = {"Allow": False, "Msg": "not for you"}
        self.answer(200, json.dumps(answer).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.docker.plugins.v1.1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "engine"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def authorized(lab, number):
    """The plugin of a host's engine, which was restarted for it and is restarted at the end."""
    plugin = Plugin(pathlib.Path(lab.env[f"LAB_HOST_{number}_SOCKET"]).parent / "warden.sock")
    thread = threading.Thread(target=plugin.serve_forever)
    thread.start()
    try:
        lab.script("exec", str(number), "sh", "-euc", f"mkdir -p /etc/docker/plugins; echo unix:///run/lab/warden.sock >/etc/docker/plugins/{NAME}.spec")
        with engine_settings(lab, number, {"authorization-plugins": [NAME]}):
            yield plugin
    finally:
        plugin.shutdown()
        thread.join()
        plugin.server_close()
        lab.script("exec", str(number), "rm", "-f", f"/etc/docker/plugins/{NAME}.spec", "/run/lab/warden.sock")
