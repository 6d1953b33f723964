"""Addresses of networks: ``ip_addr``, ``net_cidr``, ``ip_or_cidr``, ``mac_addr``.

Only the syntax is checked.
"""

import ipaddress
import re
from typing import Final

from orchestrator.plugins.constraints import shown
from orchestrator.plugins.custom import CustomConstraint

_MAC: Final = re.compile(r"[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}", re.IGNORECASE)


class IpAddr(CustomConstraint):
    """An address of IPv4 or IPv6, such as ``192.0.2.7`` or ``2001:db8::7``, without an interface's name."""

    name = "ip_addr"

    def fault(self, value: object) -> str | None:
        """Return the fault of an address."""
        return None if isinstance(value, str) and _is_address(value) else f"{shown(value)} is no IP address"


class NetCidr(CustomConstraint):
    """A network as its address, a slash and the length of its prefix, such as ``192.0.2.0/24``.

    The address may be that of any host in it.
    """

    name = "net_cidr"

    def fault(self, value: object) -> str | None:
        """Return the fault of a network."""
        return (
            None
            if isinstance(value, str) and _is_network(value)
            else f"{shown(value)} is no network in CIDR form"
        )


class IpOrCidr(CustomConstraint):
    """An address as of ``ip_addr``, or a network as of ``net_cidr``."""

    name = "ip_or_cidr"

    def fault(self, value: object) -> str | None:
        """Return the fault of an address or a network."""
        if isinstance(value, str) and (_is_address(value) or _is_network(value)):
            return None
        return f"{shown(value)} is neither an IP address nor a network in CIDR form"


class MacAddr(CustomConstraint):
    """A hardware address of six bytes, such as ``00:16:3e:7f:00:01``, with colons or hyphens between them."""

    name = "mac_addr"

    def fault(self, value: object) -> str | None:
        """Return the fault of an address."""
        return (
            None if isinstance(value, str) and _MAC.fullmatch(value) else f"{shown(value)} is no MAC address"
        )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_network(text: str) -> bool:
    address, _, length = text.partition("/")
    # The library also accepts a mask in place of the length, which is another notation.
    if not (length.isascii() and length.isdigit() and _is_address(address)):
        return False
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True
