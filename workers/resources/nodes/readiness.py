"""When a process counts as ready: it runs, a port or a page answers, or it has ended well."""

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import urlsplit

from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.groups import AT_MOST_ONE
from orchestrator.plugins.properties import Property, PropertyError, PropertyType

#: One question is not waited for longer than this; the next poll asks again.
_PROBE_SECONDS: Final = 2.0
_TIMEOUT_SECONDS: Final = 60.0
_INTERVAL_SECONDS: Final = 0.2
_OK: Final = 200

READY_SCHEMA: Final[Mapping[str, Property]] = {
    "tcp": Property(
        type=PropertyType.STRING,
        description='Ready once this address takes connections: "host:port", or a port of this machine.',
    ),
    "http": Property(type=PropertyType.STRING, description="Ready once this URL answers with `status`."),
    "status": Property(
        type=PropertyType.INTEGER,
        default=_OK,
        constraints=(Range(100, 599),),
        description="The answer that is expected of `http`; redirections are not followed.",
    ),
    "exit": Property(
        type=PropertyType.BOOLEAN, description="Ready once the process has ended with exit code 0."
    ),
    "timeout": Property(
        type=PropertyType.NUMBER,
        default=_TIMEOUT_SECONDS,
        constraints=(Range(min=0),),
        description="Seconds after which a process that is not ready has failed.",
    ),
    "interval": Property(
        type=PropertyType.NUMBER,
        default=_INTERVAL_SECONDS,
        constraints=(Range(0.01, 3600),),
        description="Seconds between two looks.",
    ),
}


class ReadyWhen(StrEnum):
    """What is waited for."""

    RUNNING = "running"
    TCP = "tcp"
    HTTP = "http"
    EXIT = "exit"


#: What ``ready`` can ask for, one at most.
_WAITED_FOR: Final = (ReadyWhen.TCP, ReadyWhen.HTTP, ReadyWhen.EXIT)
READY_GROUP: Final[Mapping[str, Any]] = {AT_MOST_ONE: [["ready", str(when)] for when in _WAITED_FOR]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The readiness of one process, as its template asks for it."""

    when: ReadyWhen = ReadyWhen.RUNNING
    host: str = ""
    port: int = 0
    #: Path and query of the page; a secure connection for https.
    page: str = ""
    secure: bool = False
    status: int = _OK
    timeout: float = _TIMEOUT_SECONDS
    interval: float = _INTERVAL_SECONDS

    @classmethod
    def parse(cls, ready: Mapping[str, Any] | None) -> Self:
        """Read the property ``ready``; a value not known yet counts as not given.

        Raises:
            PropertyError: an address cannot be read.
        """
        given = {name: value for name, value in (ready or {}).items() if not is_unknown(value)}
        number = {
            name: given[name] for name in ("status", "timeout", "interval") if given.get(name) is not None
        }
        match next((when for when in _WAITED_FOR if given.get(when)), ReadyWhen.RUNNING):
            case ReadyWhen.TCP:
                host, port = _address(str(given["tcp"]))
                return cls(when=ReadyWhen.TCP, host=host, port=port, **number)
            case ReadyWhen.HTTP:
                return cls(when=ReadyWhen.HTTP, **_page(str(given["http"])), **number)
            case when:
                return cls(when=when, **number)

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
        """Whether something takes connections at the address already, before the process was started."""
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


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        expected = 'expected "host:port" or a port'
        raise PropertyError(("ready", "tcp"), f"{expected}, found {text!r}", veiled=expected)
    return host.strip("[]") or "127.0.0.1", int(port)


def _page(url: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        secure = {"http": False, "https": True}[parts.scheme]
        port = parts.port or (443 if secure else 80)
        if not parts.hostname or not url.isprintable() or " " in url:
            raise ValueError(url)
    except (ValueError, KeyError) as error:
        expected = "expected a URL such as http://127.0.0.1:8080/"
        raise PropertyError(("ready", "http"), f"{expected}, found {url!r}", veiled=expected) from error
    query = f"?{parts.query}" if parts.query else ""
    return {"host": parts.hostname, "port": port, "page": f"{parts.path or '/'}{query}", "secure": secure}
