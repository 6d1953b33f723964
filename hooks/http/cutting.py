"""Cut a connection whose time is over: a server that sends a byte now and then would hold a thread for ever.

The time-outs of HTTP clients are for each read. They bound neither how long the head of an answer takes, nor how many
answers of the kind that says "go on" come before it.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

#: What httpcore says when there is a new stream, of TCP and then of TLS on it.
_NEW_STREAM: Final = ("connect_tcp.complete", "start_tls.complete")


class Cutter:
    """Knows the one connection of a client, and cuts it when an exchange takes too long; for one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Any = None
        self._exchange: object = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Hear what becomes of the connection; for the request's extension ``trace``."""
        if event.endswith(_NEW_STREAM):
            self._stream = info["return_value"]

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Cut what is still going on after so long; whoever reads then hears that the connection broke."""
        exchange = self._exchange = object()
        timer = threading.Timer(seconds, self._cut, (exchange,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:
                self._exchange = None

    def _cut(self, exchange: object) -> None:
        with self._lock:
            if self._exchange is not exchange or self._stream is None:
                return
            # Past TLS, whose own goodbye is none of another thread's business. To close it would wake nobody.
            with suppress(OSError):
                socket.socket.shutdown(self._stream.get_extra_info("socket"), socket.SHUT_RDWR)
