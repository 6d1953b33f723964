"""Allow-list of targets: the hosts that requests may be sent to whose address a tenant names; pure.

An entry is one of these, in lower or upper case:

- a host, ``hooks.example.com``: also where its addresses are private, because the operator has named it;
- a domain, ``*.example.com``: every host below it, or ``*``: every host. Both permit public addresses alone, because
  who owns a name in a domain decides which addresses it has;
- an address or a network, ``10.0.0.7``, ``fd00::1`` or ``10.8.0.0/16``: every host, by the addresses that it has. A
  network permits addresses that are not public only if it lies within one of the ranges in ``NOT_PUBLIC``: that of all
  addresses names none of them.

All but a network may be followed by a port, ``hooks.example.com:8443`` or ``[fd00::1]:8443``; without one, an entry
permits every port.
"""

import re
from collections.abc import Iterable
from functools import cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from hooks.errors import HookError
from hooks.values.dataclass import dataclass

#: Address ranges that are not the public Internet (the special-purpose registries of IANA): this host, private and
#: shared networks, link-local, documentation, benchmarks, relays, multicast and reserved. Of IPv6 that is all but
#: 2000::/3, hence also IPv4 addresses translated by NAT64 (64:ff9b::/96); and in it Teredo and 6to4, which hold IPv4
#: addresses too.
NOT_PUBLIC: Final = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    *("::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
)

#: What may be requested where a user runs everything on their own machine: that machine, and the public Internet.
OWN_MACHINE: Final = ("*", "127.0.0.0/8", "::1")

_NAMED: Final = (
    r"(\[(?P<bracketed>[0-9a-f:.]+)\]|(?P<host>\*|(\*\.)?[a-z0-9_][a-z0-9_.-]*))(:(?P<port>[0-9]{1,5}))?"
)
_EXPECTED: Final = "expected a host, host:port, *.domain, an address, or a network such as 10.8.0.0/16"


class NotATarget(HookError):
    """A request may not be sent where it was to go; the message shows no address that a name has."""


@dataclass(frozen=True, slots=True)
class _Entry:
    #: ``*``, a domain that begins with ``*.``, or a host; empty for a network.
    name: str = ""
    network: IPv4Network | IPv6Network | None = None
    port: int | None = None

    def names(self, host: str) -> bool:
        is_below = self.name.startswith("*.") and host.endswith(self.name[1:])
        return self.name in ("*", host) or is_below

    def permits(self, host: str, address: IPv4Address | IPv6Address) -> bool:
        if self.network is not None:
            return address in self.network and (_is_public(address) or _within_special_range(self.network))
        return self.names(host) and (not self.name.startswith("*") or _is_public(address))


class Targets:
    """The targets that an operator permits; none without entries."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Parse the entries.

        Raises:
            ValueError: one is none; the message names it, and what is expected.
        """
        self._entries = tuple(map(_parsed, entries))

    def may_permit(self, host: str, port: int) -> bool:
        """Return whether the host could be a target; if not, none of its addresses is, and none need be looked up.

        The host is in ASCII, as it is connected to; an address may be in brackets.
        """
        host = _plain(host)
        if (address := _address(host)) is not None:
            return self.permits(host, port, str(address))
        return any(each.network is not None or each.names(host) for each in self._on(port))

    def permits(self, host: str, port: int, address: str) -> bool:
        """Return whether a connection to an address of a host, which was looked up, is permitted.

        IPv4 addresses within IPv6 (``::ffff:10.0.0.1``) count as IPv4; an address with a zone is never permitted.
        """
        host, at = _plain(host), _address(address)
        return at is not None and any(each.permits(host, at) for each in self._on(port))

    def _on(self, port: int) -> Iterable[_Entry]:
        return (each for each in self._entries if each.port in (None, port))


def _parsed(text: str) -> _Entry:
    plain = text.strip().lower()
    if _address(plain.partition("/")[0]) is not None:
        try:
            return _Entry(network=ip_network(_address(plain) or plain))
        except ValueError as error:
            raise ValueError(f"{text!r} is no network: {error}") from None
    found = re.fullmatch(_NAMED, plain)
    port = int(found["port"]) if found and found["port"] else None
    if found is None or port == 0 or (port or 0) > 65535:
        raise ValueError(f"{text!r} is no target: {_EXPECTED}")
    host = _plain(found["bracketed"] or found["host"])
    if (address := _address(host)) is not None:
        return _Entry(network=ip_network(address), port=port)
    if found["bracketed"]:
        raise ValueError(f"{text!r} is no target: {_EXPECTED}")
    return _Entry(name=host, port=port)


def _plain(host: str) -> str:
    """Return a host as it is compared: a name that is absolute ends with a full stop."""
    return host.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address without another spelling; None where the text is none, or has a zone."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return None if address.scope_id else address.ipv4_mapped or address
    return address


@cache
def _not_public() -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the ranges that are not public; most processes send no requests."""
    return tuple(map(ip_network, NOT_PUBLIC))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return not any(address in each for each in _not_public())


def _within_special_range(network: IPv4Network | IPv6Network) -> bool:
    return any(
        network.version == each.version and network.subnet_of(each)  # type: ignore[arg-type]  # of one version
        for each in _not_public()
    )
