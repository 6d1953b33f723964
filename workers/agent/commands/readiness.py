"""Readiness probes on this machine: a port accepts connections, or a page answers.

They run on the instance's machine: an address such as 127.0.0.1 means that machine, not the worker's.
"""

import http.client
import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final, Self

from hooks.values.dataclass import dataclass
from workers.agent.commands.reach import Reach

#: The time-out of one probe; the next poll probes again.
_PROBE_SECONDS: Final = 2.0
_LONGEST_LINE: Final = 1024
_STATUS_LINE: Final = re.compile(rb"HTTP/\d\.\d (\d{3})\b")
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

    def fault(self, reach: Reach | None = None) -> str:
        """Probe once, for two seconds at most after a look-up, and return what is still missing; empty: it is ready.

        ``reach``: what it may connect to; None: everything.
        """
        try:
            if self.when is ReadyWhen.TCP:
                self._connected(reach, _PROBE_SECONDS).close()
            elif self.when is ReadyWhen.HTTP:
                return self._ask(reach)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            return f"{self.host}:{self.port}: {reason}"
        return ""

    def occupied(self) -> bool:
        """Return whether the address accepts connections already, before the command was started."""
        if not self.port:
            return False
        try:
            self._connected(None, _PROBE_SECONDS).close()
        except OSError:
            return False
        return True

    def _connected(self, reach: Reach | None, seconds: float) -> socket.socket:
        host = self.host if reach is None else reach.address(self.host, self.port)
        return socket.create_connection((host, self.port), timeout=seconds)

    def _ask(self, reach: Reach | None) -> str:
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.host, self.port)
        ends_at = time.monotonic() + _PROBE_SECONDS
        try:
            # Connected here, to the very address that was checked; names and certificates are those of the host.
            connected = self._connected(reach, _PROBE_SECONDS)
            connected.settimeout(_left(ends_at))
            connection.sock = self._secured(connected) if self.secure else connected
            connection.request("GET", self.page, headers={"Connection": "close"})
            found = _status(connection.sock, ends_at)
        finally:
            connection.close()
        return "" if found == self.status else f"{self.page} answers {found}, expected {self.status}"

    def _secured(self, connected: socket.socket) -> socket.socket:
        try:
            context = ssl.create_default_context()
            context.set_alpn_protocols(["http/1.1"])
            return context.wrap_socket(connected, server_hostname=self.host)
        except BaseException:
            connected.close()
            raise


def _status(connected: socket.socket, ends_at: float) -> int:
    """Read the status line of an answer and nothing else, until ``ends_at`` whatever its sender does.

    Raises:
        http.client.HTTPException: there is none.
        OSError: it does not come in time.
    """
    line = b""
    while b"\n" not in line and len(line) < _LONGEST_LINE:
        connected.settimeout(_left(ends_at))
        if not (part := connected.recv(_LONGEST_LINE)):
            break
        line += part
    if (found := _STATUS_LINE.match(line)) is None:
        raise http.client.HTTPException("the answer is not HTTP")
    return int(found[1])


def _left(ends_at: float) -> float:
    """Return the seconds that are left; a time-out of 0 would not wait at all.

    Raises:
        TimeoutError: none are.
    """
    if (seconds := ends_at - time.monotonic()) <= 0:
        raise TimeoutError("timed out")
    return seconds
