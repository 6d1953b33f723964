"""Addresses of subnets, as properties give them, and as the network service has them."""

from collections.abc import Iterable, Mapping
from typing import Any


def without_null(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map without what is not given."""
    return {name: value for name, value in values.items() if value is not None}


def fixed_ips_sent(given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return addresses as the body of a request has them."""
    return [without_null({"subnet_id": each["subnet"], "ip_address": each["ip_address"]}) for each in given]


def fixed_ips_seen(shown: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return addresses that the service shows as properties give them."""
    return [{"subnet": each["subnet_id"], "ip_address": each["ip_address"]} for each in shown]
