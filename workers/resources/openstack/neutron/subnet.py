"""``OS::Neutron::Subnet``: a range of addresses of a network."""

import ipaddress
from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.constraints import AllowedValues, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError, PropertyType
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.neutron.neutron_object import (
    TAGS,
    VALUE_SPECS,
    NeutronObject,
    neutron_collection,
    old_name,
    renamed,
)
from workers.resources.schemas import boolean, integer, listing, live, mapping, text

#: The gateway's address that leaves it to the service, and those for none.
AUTO: Final = "auto"
_NO_GATEWAY: Final = frozenset({"", "~"})
_NETWORK: Final = (Custom("neutron.network"),)
_ADDRESS: Final = (Custom("ip_addr"),)
_IPV6_MODE: Final = (AllowedValues(("dhcpv6-stateful", "dhcpv6-stateless", "slaac")),)
_POOL: Final = {
    "start": text("Its first address.", required=True, constraints=_ADDRESS),
    "end": text("Its last address.", required=True, constraints=_ADDRESS),
}
#: The properties of a route.
ROUTE: Final = {
    "destination": text("The network that it leads to.", required=True, constraints=(Custom("net_cidr"),)),
    "nexthop": text("The address of the next router.", required=True, constraints=_ADDRESS),
}


class Subnet(NeutronObject):
    """A subnet of the network service."""

    description = "A range of addresses of a network, from which its ports have theirs."
    example = """\
heat_template_version: 2021-04-16
resources:
  network:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: network}
      cidr: 10.0.0.0/24
      dns_nameservers: [10.0.0.2]
"""
    collection = neutron_collection("subnet")
    entity = "subnet"
    sent_as = {"network": "network_id", "subnetpool": "subnetpool_id", "segment": "segment_id"}
    extensions = {
        "subnetpool": "subnet_allocation",
        "prefixlen": "subnet_allocation",
        "segment": "segment",
        "tags": "standard-attr-tag",
    }
    properties_schema = {
        "network_id": old_name("network", constraints=_NETWORK),
        "network": text("The id or name of its network.", required=True, constraints=_NETWORK),
        "subnetpool": text(
            "The id or name of the pool from which it has its addresses; either this or `cidr` is required.",
            constraints=(Custom("neutron.subnetpool"),),
        ),
        "prefixlen": integer(
            "The length of the prefix of a subnet from a pool.", constraints=(Range(min=0),)
        ),
        "cidr": text(
            "Its addresses, such as `10.0.0.0/24`; either this or `subnetpool` is required.",
            constraints=(Custom("net_cidr"),),
        ),
        "value_specs": VALUE_SPECS,
        "name": text("Its name.", update_allowed=True),
        "ip_version": integer(
            "The version of the protocol: 4 or 6.", default=4, constraints=(AllowedValues((4, 6)),)
        ),
        "dns_nameservers": listing("The addresses of its DNS servers.", default=[], update_allowed=True),
        "gateway_ip": text(
            "The address of its gateway. Null or empty text means that it has none; `auto`, and by default, that the "
            "service chooses one when the subnet is made.",
            update_allowed=True,
        ),
        "enable_dhcp": boolean(
            "Whether its ports get their addresses by DHCP.", default=True, update_allowed=True
        ),
        "allocation_pools": listing(
            "The ranges from which ports get addresses that they do not choose; by default all.",
            schema=mapping("A range.", schema=_POOL),
            update_allowed=True,
        ),
        "tenant_id": text("The id of its project; only administrators may name another than their own."),
        "host_routes": listing(
            "Further routes of the hosts in it.",
            schema=mapping("A route.", schema=ROUTE),
            update_allowed=True,
        ),
        "ipv6_ra_mode": text(
            "How routers advertise it, with IPv6; the same as `ipv6_address_mode` where both are given.",
            constraints=_IPV6_MODE,
        ),
        "ipv6_address_mode": text("How its hosts get their addresses, with IPv6.", constraints=_IPV6_MODE),
        "segment": text(
            "The id or name of the network's segment that it is on; it can be given later, but not be changed.",
            constraints=(Custom("neutron.segment"),),
            update_allowed=True,
        ),
        "tags": TAGS,
    }
    attributes_schema = {
        "name": live("Its name.", PropertyType.STRING),
        "network_id": live("The id of its network.", PropertyType.STRING),
        "tenant_id": live("The id of its project.", PropertyType.STRING),
        "allocation_pools": live("The ranges of addresses for ports.", PropertyType.LIST),
        "gateway_ip": live("The address of its gateway.", PropertyType.STRING),
        "host_routes": live("Further routes of the hosts in it.", PropertyType.LIST),
        "ip_version": live("The version of the protocol."),
        "cidr": live("Its addresses.", PropertyType.STRING),
        "dns_nameservers": live("The addresses of its DNS servers.", PropertyType.LIST),
        "enable_dhcp": live("Whether its ports get their addresses by DHCP."),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:  # noqa: ARG003 (the contract)
        """Return the rules of the old name of the network, and of names."""
        return (
            renamed("network_id", "network"),
            looked_up("network", "network"),
            looked_up("subnet pool", "subnetpool"),
            looked_up("segment", "segment"),
        )

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check what depends on several properties, and the gateway.

        Raises:
            PropertyError: one is wrong.
        """
        pool, cidr = properties["subnetpool"], properties["cidr"]
        if UNKNOWN not in (pool, cidr) and pool is not None and cidr:
            raise PropertyError(("subnetpool",), "it cannot be given together with cidr")
        if pool is None and not cidr:
            raise PropertyError(("cidr",), "either this or subnetpool is required")
        if UNKNOWN not in (properties["prefixlen"], cidr) and properties["prefixlen"] and cidr:
            raise PropertyError(("prefixlen",), "it cannot be given together with cidr")
        cls._validate_modes(properties)
        gateway = properties["gateway_ip"]
        if gateway is not UNKNOWN and gateway not in (None, AUTO, *_NO_GATEWAY) and not _is_address(gateway):
            raise PropertyError(("gateway_ip",), "it is no IP address")

    @classmethod
    def _validate_modes(cls, properties: Mapping[str, Any]) -> None:
        names = ("ipv6_ra_mode", "ipv6_address_mode")
        modes = {name: properties[name] for name in names if properties[name] not in (None, UNKNOWN)}
        if properties["ip_version"] == 4 and modes:
            raise PropertyError((min(modes),), "it needs ip_version 6")
        if len({*modes.values()}) > 1:
            raise PropertyError(("ipv6_address_mode",), "it must be the same as ipv6_ra_mode")

    def values(self, names: Names[str]) -> dict[str, Any]:
        """Return the body of a request, where null means no gateway."""
        body = super().values(names)
        if body.get("gateway_ip") in _NO_GATEWAY:
            body["gateway_ip"] = None
        if body.get("gateway_ip") == AUTO:
            del body["gateway_ip"]
        return body

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the body of an update.

        Raises:
            ResourceFailure: something is changed that can only be chosen when a subnet is made.
        """
        before, after = changes.before, self.properties
        if after["gateway_ip"] == AUTO and "gateway_ip" in self._different():
            raise ResourceFailure("gateway_ip: the service chooses a gateway only when it makes a subnet")
        if "segment" in changes.names and before.get("segment") and before["segment"] != after["segment"]:
            raise ResourceFailure("segment: a subnet that is on a segment stays there")
        body = super().changed_values(changes)
        if "allocation_pools" in body:
            body["allocation_pools"] = body["allocation_pools"] or []
        return body

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "gateway_ip" and self.properties[name] in _NO_GATEWAY:
            return shown[name] or self.properties[name]
        if name == "gateway_ip" and self.properties[name] == AUTO:
            return AUTO if shown[name] else None
        if name == "prefixlen":
            return int(shown["cidr"].rpartition("/")[2])
        return super().seen(name, shown)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
