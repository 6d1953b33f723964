"""An external network for tests, which only an administrator can make."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import openstack
import pytest
from openstack.exceptions import ConflictException

from tests.services.openstack.cloud import FILE

#: Its name.
OUTSIDE: Final = f"isotherm-outside-{uuid.uuid4().hex[:8]}"
CIDR: Final = "203.0.113.0/24"
#: A network inside, its subnet, a router with a gateway to the outside, and its connection to the subnet.
NET: Final[Mapping[str, Any]] = {"type": "OS::Neutron::Net"}
SUBNET: Final[Mapping[str, Any]] = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.4.0.0/24"},
}
ROUTER: Final[Mapping[str, Any]] = {
    "type": "OS::Neutron::Router",
    "properties": {"external_gateway_info": {"network": OUTSIDE}},
}
INTERFACE: Final[Mapping[str, Any]] = {
    "type": "OS::Neutron::RouterInterface",
    "properties": {"router": {"get_resource": "router"}, "subnet": {"get_resource": "subnet"}},
}


@pytest.fixture(scope="module")
def outside() -> Iterator[Any]:
    """Make an external network with a subnet, and return it."""
    if not FILE:
        pytest.skip("OS_CLIENT_CONFIG_FILE names no clouds.yaml")
    network = openstack.connect(cloud="devcloud-admin").network
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
