"""A model behind HTTP, with what Python and torch have: GET /health, and POST / with {"x": [1, 2, 3, 4]}."""

import http.server
import json

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Linear(4, 1).to(device).eval()  # in its place: load yours


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200 if self.path == "/health" else 404, {"device": device})

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["x"]
            with torch.inference_mode():
                self.answer(200, {"y": model(torch.tensor(asked, dtype=torch.float32, device=device)).item()})
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            self.answer(400, {"error": str(error)})


print("serving on port 8000", flush=True)
http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
