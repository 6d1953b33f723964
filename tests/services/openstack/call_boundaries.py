"""A proxy between a worker and the services of a cloud that has the worker killed at the boundary of a call."""

from collections.abc import Callable
from http.client import HTTPConnection
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from tests.services.cut_server import HOST, CutHandler, CutServer

#: What is between a client and the proxy alone.
_OF_ONE_HOP: Final = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding"})
_PATIENCE_SECONDS: Final = 120


class Boundaries(CutServer):
    """Hands requests on to the services, and counts those that change something: its calls."""

    def __init__(self, kill: Callable[[], object]) -> None:
        """``kill`` ends the client as a power cut would, and returns when it is gone."""
        self._kill = kill
        self._lock = Lock()
        self._calls = 0
        self._chosen: tuple[int, bool] | None = None
        #: The call at which the client was killed, in words; empty before.
        self.killed = ""
        super().__init__(_Handler)

    @property
    def url(self) -> str:
        """What the environment of a client has as ``http_proxy``."""
        return f"http://{HOST}:{self.server_address[1]}"

    def choose(self, number: int, *, after: bool) -> None:
        """Have the client killed at a call, counted from 0 and from now on: before it, or once it is carried out."""
        with self._lock:
            self._calls, self._chosen, self.killed = 0, (number, after), ""

    def forget(self) -> None:
        """Have the client killed at no call any more."""
        with self._lock:
            self._chosen, self.killed = None, ""

    def counted(self) -> int:
        """Count a call; return its number."""
        with self._lock:
            self._calls += 1
            return self._calls - 1

    def is_boundary(self, number: int, *, after: bool) -> bool:
        """Whether the client is to be killed here."""
        with self._lock:
            return self._chosen == (number, after) and not self.killed

    def kill(self, words: str) -> None:
        """Kill the client, and say so once it is gone."""
        self._kill()
        self.killed = words


class _Handler(CutHandler):
    server: Boundaries

    def do_GET(self) -> None:  # noqa: N802
        self._hand_on(-1)

    def do_POST(self) -> None:  # noqa: N802
        self._hand_on(-1 if self.path.endswith("/auth/tokens") else self.server.counted())

    do_HEAD = do_GET  # noqa: N815
    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def _hand_on(self, number: int) -> None:
        there = urlsplit(self.path)
        target = f"{there.path}?{there.query}" if there.query else there.path
        words = f"{self.command} {there.path}"
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.is_boundary(number, after=False):
            self._kill(f"before {words}")
            return
        service = HTTPConnection(there.netloc, timeout=_PATIENCE_SECONDS)
        try:
            service.request(self.command, target, body or None, self._kept(self.headers.items()))
            answer = service.getresponse()
            content = answer.read()
        finally:
            service.close()
        if self.server.is_boundary(number, after=True):
            self._kill(f"after {words}: {answer.status}")
            return
        self.send_response_only(answer.status, answer.reason)
        headers = {**self._kept(answer.getheaders()), "Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _kill(self, words: str) -> None:
        self.close_connection = True
        self.server.kill(words)

    @staticmethod
    def _kept(headers: "list[tuple[str, str]]") -> dict[str, str]:
        return {name: value for name, value in headers if name.lower() not in _OF_ONE_HOP}
