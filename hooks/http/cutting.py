"""A watchdog of connections: a server that sends a byte now and then must not hold a thread forever.

The time-outs of HTTP clients apply to each read. They bound neither how long the head of an answer takes, nor how
many interim responses (1xx) come before it.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

#: httpcore's trace events of a new stream: of TCP, and then of TLS on it.
_NEW_STREAM: Final = ("connect_tcp.complete", "start_tls.complete")


class Cutter:
    """Cuts the one connection of a client when an exchange takes too long; for one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: Any = None
        self._exchange: object = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note events of the connection; for the request's extension ``trace``."""
        if event.endswith(_NEW_STREAM):
            self._stream = info["return_value"]

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Cut an exchange that takes longer; its reader gets an error of a broken connection."""
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
            # Below TLS, whose closing handshake belongs to the other thread. Closing the socket would not wake it.
            with suppress(OSError):
                socket.socket.shutdown(self._stream.get_extra_info("socket"), socket.SHUT_RDWR)
