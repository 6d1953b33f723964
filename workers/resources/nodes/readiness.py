"""Readiness of processes and instances: running, a port or a page that answers, or a successful end."""

from collections.abc import Mapping
from typing import Any, Final, Self
from urllib.parse import urlsplit

from hooks.values.dataclass import dataclass
from orchestrator.definition import is_unknown
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.groups import AT_MOST_ONE
from orchestrator.plugins.properties import Property, PropertyError
from workers.agent.commands.readiness import OK_STATUS, Probe, ReadyWhen
from workers.resources.schemas import boolean, integer, number, text

_TIMEOUT_SECONDS: Final = 60.0
_INTERVAL_SECONDS: Final = 0.2

READY_SCHEMA: Final[Mapping[str, Property]] = {
    "tcp": text('Ready once this address takes connections: "host:port", or a port of the node.'),
    "http": text("Ready once this URL answers with `status`."),
    "status": integer(
        "The expected status of `http`; redirections are not followed.",
        default=OK_STATUS,
        constraints=(Range(100, 599),),
    ),
    "exit": boolean("Ready once the process has ended with exit code 0."),
    "timeout": number(
        "Seconds after which a process that is not ready has failed.",
        default=_TIMEOUT_SECONDS,
        constraints=(Range(min=0),),
    ),
    "interval": number(
        "Seconds between two polls.", default=_INTERVAL_SECONDS, constraints=(Range(0.01, 3600),)
    ),
}


#: The conditions of ``ready``, at most one of which may be given.
_WAITED_FOR: Final = (ReadyWhen.TCP, ReadyWhen.HTTP, ReadyWhen.EXIT)
READY_GROUP: Final[Mapping[str, Any]] = {AT_MOST_ONE: [["ready", str(when)] for when in _WAITED_FOR]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness(Probe):
    """The readiness condition of one process or instance."""

    timeout: float = _TIMEOUT_SECONDS
    interval: float = _INTERVAL_SECONDS

    @classmethod
    def parse(cls, ready: Mapping[str, Any] | None) -> Self:
        """Return the condition of the property ``ready``; an unknown value counts as not given.

        Raises:
            PropertyError: an address is invalid.
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
