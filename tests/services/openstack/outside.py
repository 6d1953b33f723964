"""Networks for tests: an external one, which only an administrator can make, and one inside."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest
from openstack.exceptions import ConflictException

from tests.services.openstack.cloud import connected

#: Its name.
OUTSIDE: Final = f"isotherm-outside-{uuid.uuid4().hex[:8]}"
CIDR: Final = "203.0.113.0/24"
NET: Final[Mapping[str, Any]] = {"type": "OS::Neutron::Net"}
SUBNET: Final[Mapping[str, Any]] = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.4.0.0/24"},
}


@dataclass(frozen=True, kw_only=True)
class Inside:
    """The ids of what is inside: a network with two subnets, and a router that leads from the first one outside."""

    network: str
    subnets: tuple[str, str]
    router: str
    #: Two ports of the first subnet.
    ports: tuple[str, str]


@pytest.fixture(scope="module")
def outside() -> Iterator[Any]:
    """Make an external network with a subnet, and return it."""
    network = connected("devcloud-admin").network
    made = network.create_network(
        name=OUTSIDE,
        is_router_external=True,
        provider_network_type="flat",
        provider_physical_network=OUTSIDE,
    )
    network.create_subnet(network_id=made.id, ip_version=4, cidr=CIDR)
    yield made
    with suppress(ConflictException):
        # A test that failed may have left something on it.
        network.delete_network(made)


@pytest.fixture(scope="module")
def inside(outside: Any) -> Iterator[Inside]:
    """Make a network with two subnets, a router and two ports."""
    service = connected("devcloud").network
    with ExitStack() as made:

        def kept(kind: str, **values: Any) -> Any:
            thing = getattr(service, f"create_{kind}")(**values)
            made.callback(getattr(service, f"delete_{kind}"), thing)
            return thing

        network = kept("network").id
        first, second = (
            kept("subnet", network_id=network, ip_version=4, cidr=cidr).id
            for cidr in ("10.4.0.0/24", "10.5.0.0/24")
        )
        router = kept("router", external_gateway_info={"network_id": outside.id}).id
        service.add_interface_to_router(router, subnet=first)
        made.callback(service.remove_interface_from_router, router, subnet=first)
        ports = [kept("port", network_id=network, fixed_ips=[{"subnet_id": first}]).id for _ in range(2)]
        yield Inside(network=network, subnets=(first, second), router=router, ports=(ports[0], ports[1]))
