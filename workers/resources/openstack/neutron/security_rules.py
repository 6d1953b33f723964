"""The comparison of security group rules: two are the same if they let the same traffic pass."""

from collections.abc import Mapping
from ipaddress import ip_network
from typing import Any, Final

#: The ways in which a rule names its traffic, of which the network service accepts each only once in a group.
RuleKey = tuple[object, ...]

#: Names of protocols with several spellings, and the numbers of the usual ones.
_SPELLED: Final = {
    "any": None,
    "": None,
    "1": "icmp",
    "6": "tcp",
    "17": "udp",
    "58": "ipv6-icmp",
    "icmpv6": "ipv6-icmp",
}
_EVERYWHERE: Final = frozenset({"0.0.0.0/0", "::/0"})


def protocol_of(rule: Mapping[str, Any]) -> str | None:
    """Return the protocol of a rule in the usual spelling; None for all protocols."""
    name = str(rule.get("protocol") or "").lower()
    protocol = _SPELLED.get(name, name)
    return "ipv6-icmp" if protocol == "icmp" and rule.get("ethertype") == "IPv6" else protocol


def prefix_of(rule: Mapping[str, Any]) -> str | None:
    """Return the addresses of a rule as a network; None for all addresses."""
    given = rule.get("remote_ip_prefix")
    if not given:
        return None
    try:
        network = str(ip_network(given, strict=False))
    except ValueError:
        return str(given)
    return None if network in _EVERYWHERE else network


def rule_key(rule: Mapping[str, Any]) -> RuleKey:
    """Return what makes two rules of a group the same."""
    return (
        rule["direction"],
        rule.get("ethertype") or "IPv4",
        protocol_of(rule),
        rule.get("port_range_min"),
        rule.get("port_range_max"),
        rule.get("remote_group_id") or None,
        prefix_of(rule),
    )
