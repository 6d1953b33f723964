"""An HTTP server on loopback that cuts every connection when it ends, so that clients see it go."""

import socket
import ssl
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

HOST = "127.0.0.1"


class CutServer(ThreadingHTTPServer):
    """Listens from the start, with one thread for each connection."""

    daemon_threads = True
    request_queue_size = 512
    # A thread that a test still holds up does not hold up the end.
    block_on_close = False
    #: For so long the end waits until all connections are closed.
    closing_seconds: ClassVar[float] = 0.0

    def __init__(
        self, handler: type["CutHandler"], *, port: int = 0, certificate: Path | None = None
    ) -> None:
        """Listen; ``certificate`` is a file with a key and its certificate: then it speaks TLS."""
        self._open: set[socket.socket] = set()
        self._all_closed = threading.Condition()
        super().__init__((HOST, port), handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake is made by the connection's own thread, with its first read.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def opened(self, connection: socket.socket) -> None:
        with self._all_closed:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._all_closed:
            self._open.discard(connection)
            self._all_closed.notify_all()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away."""

    def end(self) -> None:
        """Stop, and cut every connection."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._all_closed:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._all_closed.wait_for(lambda: not self._open, self.closing_seconds)


class CutHandler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 with one client."""

    protocol_version = "HTTP/1.1"
    # One packet for each answer: otherwise a kept connection waits 40 ms for the client's acknowledgement.
    wbufsize: ClassVar[int] = -1
    disable_nagle_algorithm: ClassVar[bool] = True

    def setup(self) -> None:
        assert isinstance(self.server, CutServer)
        self.server.opened(self.request)
        super().setup()

    def finish(self) -> None:
        assert isinstance(self.server, CutServer)
        try:
            super().finish()
        finally:
            self.server.closed(self.request)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # as the base class has it
        """Say nothing."""
