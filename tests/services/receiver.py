"""A real HTTP server on loopback that keeps what it is sent, byte for byte, and answers as a test says."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.services.cut_server import HOST, CutHandler, CutServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message as it came in."""

    method: str
    #: With the query.
    path: str
    #: By lower-case name.
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What is answered."""

    status: int = 200
    #: Bytes, or what is sent as JSON; None: nothing.
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether the body is repeated until the client goes away.
    endless: bool = False


#: In the place of an answer: the connection is closed.
CLOSE = None
Answering = Callable[[Received], Reply | None]


class Receiver:
    """The server; ``answering`` may be replaced at any time, and may take as long as it likes."""

    def __init__(self, answering: Answering = lambda _: Reply(), *, port: int = 0) -> None:
        self.answering = answering
        self.port = port
        #: Every message since the start, in the order in which they came in.
        self.messages: list[Received] = []
        self._server: _Server | None = None
        self._changed = threading.Condition()

    def launch(self) -> Self:
        """Listen and answer, at the same port as before."""
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        return self

    def close(self) -> None:
        """Stop: nobody is answered any more."""
        if self._server is not None:
            self._server.end()
            self._server = None

    def __enter__(self) -> Self:
        return self.launch()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://{HOST}:{self.port}"

    def wait_for(self, times: int, *, seconds: float = 300.0) -> list[Received]:
        """Return the messages when so many have come in; fails when they do not in time."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.messages) >= times, seconds)
            assert came, f"{len(self.messages)} and not {times} messages came within {seconds} seconds"
            return list(self.messages)

    def _take(self, message: Received) -> Reply | None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()
        return self.answering(message)


class _Server(CutServer):
    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(_Handler, port=receiver.port)


class _Handler(CutHandler):
    server: _Server

    def do_POST(self) -> None:  # noqa: N802  # as the base class wants it
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        reply = self.server.receiver._take(
            Received(method=self.command, path=self.path, headers=headers, body=body)
        )
        if reply is None:
            self.close_connection = True
            return
        content = reply.body if isinstance(reply.body, bytes) else b""
        if reply.body is not None and not isinstance(reply.body, bytes):
            content = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        length = {} if reply.endless else {"Content-Length": str(len(content))}
        for name, value in {**length, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        while reply.endless:
            self.wfile.write(content)
        # What is shorter than it says ends all the same.
        self.close_connection = "Content-Length" in reply.headers

    do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815
