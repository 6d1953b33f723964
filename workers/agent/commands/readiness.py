"""Readiness probes on this machine: a port accepts connections, or a page answers.

They run on the instance's machine: an address such as 127.0.0.1 means that machine, not the worker's.
"""

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final, Self

#: The time-out of one probe; the next poll probes again.
_PROBE_SECONDS: Final = 2.0
#: The default expected status of a page.
OK_STATUS: Final = 200


class ReadyWhen(StrEnum):
    """The condition of readiness."""

    RUNNING = "running"
    TCP = "tcp"
    HTTP = "http"
    EXIT = "exit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What is probed; nothing where only running or ending counts."""

    when: ReadyWhen = ReadyWhen.RUNNING
    host: str = ""
    port: int = 0
    #: Path and query of the page; for https, TLS is used.
    page: str = ""
    secure: bool = False
    status: int = OK_STATUS

    @property
    def probes(self) -> bool:
        """Whether there is anything to probe."""
        return self.when in (ReadyWhen.TCP, ReadyWhen.HTTP)

    def to_wire(self) -> dict[str, Any]:
        """Return plain types, which :meth:`from_wire` reads; without the fields of a subclass."""
        wire = {each.name: getattr(self, each.name) for each in fields(Probe)}
        return {**wire, "when": str(self.when)}

    @classmethod
    def from_wire(cls, data: Mapping[str, Any]) -> Self:
        """Return the probe of plain types.

        Raises:
            TypeError, ValueError, KeyError: a field is missing, unknown or invalid.
        """
        return cls(**{**data, "when": ReadyWhen(data["when"])})

    def fault(self) -> str:
        """Probe once, for two seconds at most, and return what is still missing; empty: it is ready."""
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
        """Return whether the address accepts connections already, before the command was started."""
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
