"""A small REST API to try stacks on: ``python3 api.py 8099`` keeps servers and their disks in memory.

It wants the token of the environment variable ``API_TOKEN``, and needs nothing but Python.

=================================  ======================================================================
``GET /images/NAME``               200 for ``small`` and ``large``
``POST /servers``                  201; the header ``Idempotency-Key`` makes sure that there is one
``GET, PATCH, DELETE /servers/ID`` its ``status`` is ``building`` for a second, and then ``active``
``GET /disks?label=TEXT``          200, ``{"disks": [...]}``
``POST /disks``                    201, ``{"disk": {...}}``
``GET, DELETE /disks/ID``          200, ``{"disk": {...}}``
=================================  ======================================================================
"""

import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BUILD_SECONDS = 1.0
IMAGES = ("small", "large")


class Api(ThreadingHTTPServer):
    """Listens on the loopback interface, and keeps what was made."""

    daemon_threads = True

    def __init__(self, port: int, token: str) -> None:
        self.token = token
        self.objects: dict[str, dict[str, object]] = {}
        self.keys: dict[str, str] = {}
        self.count = 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)

    def make(self, kind: str, body: dict[str, object], key: str) -> str:
        """Return the path of a new object, or of the one that was made with this key."""
        if key not in self.keys or not key:
            self.count += 1
            path = f"/{kind}/{self.count}"
            self.objects[path] = {"id": str(self.count), "made": time.monotonic(), **body}
            self.keys[key] = path
        return self.keys[key]


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other."""

    server: Api

    def do_GET(self) -> None:
        """Answer to whoever knows the token."""
        given = self.headers.get("Authorization", "")
        if hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            with self.server.lock:
                {"GET": self._get, "POST": self._post, "PATCH": self._patch, "DELETE": self._delete}[
                    self.command
                ]()
        else:
            self._answer(401, {"error": "a token, please"})

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - as the base class has them

    def _get(self) -> None:
        url = urlsplit(self.path)
        _, kind, *name = url.path.split("/")
        if kind == "images" and name and name[0] in IMAGES:
            self._answer(200, {"name": name[0]})
        elif kind == "disks" and not name:
            label = parse_qs(url.query).get("label", [""])[0]
            disks = [each for path, each in self.server.objects.items() if path.startswith("/disks/")]
            self._answer(200, {"disks": [disk for disk in disks if disk.get("label") == label]})
        else:
            self._tell(url.path)

    def _post(self) -> None:
        path = self.server.make(self.path.strip("/"), self._body(), self.headers.get("Idempotency-Key", ""))
        self._tell(path, status=201)

    def _patch(self) -> None:
        self.server.objects.get(self.path, {}).update(self._body())
        self._tell(self.path)

    def _delete(self) -> None:
        gone = self.server.objects.pop(self.path, None)
        self._answer(200 if gone else 404, {})

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class has it
        """Say nothing."""

    def _tell(self, path: str, status: int = 200) -> None:
        found = self.server.objects.get(path)
        if found is None:
            self._answer(404, {"error": "there is no such object"})
            return
        told = {name: value for name, value in found.items() if name != "made"}
        if path.startswith("/disks/"):
            self._answer(status, {"disk": told})
            return
        is_built = time.monotonic() > float(str(found["made"])) + BUILD_SECONDS
        address = f"192.0.2.{found['id']}"
        state = {"status": "active", "address": address} if is_built else {"status": "building"}
        self._answer(status, {**told, **state})

    def _body(self) -> dict[str, object]:
        body: dict[str, object] = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        return body

    def _answer(self, status: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    with Api(int(sys.argv[1]), os.environ["API_TOKEN"]) as api:
        api.serve_forever()
