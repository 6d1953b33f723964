"""Whether something on this machine is ready: a port takes connections, or a page answers.

Asked where the thing runs: an address such as 127.0.0.1 means the node, not who wants to know.
"""

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

#: One question is not waited for longer than this; the next look asks again.
_PROBE_SECONDS: Final = 2.0
#: The answer that a page is expected to give unless another is.
OK_STATUS: Final = 200


class ReadyWhen(StrEnum):
    """What is waited for."""

    RUNNING = "running"
    TCP = "tcp"
    HTTP = "http"
    EXIT = "exit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What is asked, and of whom; nothing is asked where only running or ending counts."""

    when: ReadyWhen = ReadyWhen.RUNNING
    host: str = ""
    port: int = 0
    #: Path and query of the page; a secure connection for https.
    page: str = ""
    secure: bool = False
    status: int = OK_STATUS

    @property
    def asks(self) -> bool:
        """Whether there is anything to ask."""
        return self.when in (ReadyWhen.TCP, ReadyWhen.HTTP)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, the inverse of :meth:`from_wire`."""
        return {
            "when": str(self.when),
            "host": self.host,
            "port": self.port,
            "page": self.page,
            "secure": self.secure,
            "status": self.status,
        }

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain types.

        Raises:
            TypeError, ValueError, KeyError: something is missing, there is too much, or nobody knows it.
        """
        return cls(**{**data, "when": ReadyWhen(data["when"])})

    def fault(self) -> str:
        """Ask once, for two seconds at most, and return what is still missing; empty: it is ready."""
        try:
            if self.when is ReadyWhen.TCP:
                self._connect()
            elif self.when is ReadyWhen.HTTP:
                return self._ask()
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return f"{self.host}:{self.port}: {reason}"
        return ""

    def occupied(self) -> bool:
        """Whether something takes connections at the address already, before what is waited for was started."""
        if not self.port:
            return False
        try:
            self._connect()
        except OSError:
            return False
        return True

    def _connect(self) -> None:
        with socket.create_connection((self.host, self.port), timeout=_PROBE_SECONDS):
            pass

    def _ask(self) -> str:
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=_PROBE_SECONDS)
        try:
            connection.request("GET", self.page, headers={"Connection": "close"})
            found = connection.getresponse().status
        finally:
            connection.close()
        return "" if found == self.status else f"{self.page} answers {found}, expected {self.status}"
