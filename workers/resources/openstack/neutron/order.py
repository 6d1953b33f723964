"""Requirements between resources of the network service that templates do not say."""

from collections.abc import Iterator
from typing import Any

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.siblings import Siblings
from workers.resources.openstack.neutron.router_interface import RouterInterface
from workers.resources.openstack.neutron.subnet import Subnet


def same(value: object, other: object) -> bool:
    """Whether two properties certainly refer to the same object."""
    return value not in (None, "", UNKNOWN) and value == other


def subnets_of(network: Any, siblings: Siblings) -> Iterator[str]:
    """Yield the names of the subnets of a network, which is given as in properties."""
    return (subnet.name for subnet in siblings.of(Subnet) if same(network, subnet.properties.get("network")))


def interfaces_of(router: Any, siblings: Siblings) -> Iterator[str]:
    """Yield the names of the interfaces of a router, which is given as in properties."""
    return (
        interface.name
        for interface in siblings.of(RouterInterface)
        if same(router, interface.properties.get("router"))
    )
