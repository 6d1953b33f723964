"""``OS::Neutron::FloatingIP`` and ``OS::Neutron::FloatingIPAssociation`` on a real network service."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import pytest

from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.outside import INTERFACE, NET, OUTSIDE, ROUTER, SUBNET, outside
from workers.resources.openstack.neutron.floating_ip import FloatingIP
from workers.resources.openstack.neutron.floating_ip_association import FloatingIPAssociation

__all__ = ["outside"]
PORT = {"type": "OS::Neutron::Port", "properties": {"network": {"get_resource": "net"}}}
ADDRESS = {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": OUTSIDE}}
INSIDE: Final[Mapping[str, Any]] = {
    "net": NET,
    "subnet": SUBNET,
    "router": ROUTER,
    "interface": INTERFACE,
    "port": PORT,
    "other_port": PORT,
}


@pytest.mark.usefixtures("outside")
class TestFloatingIP(CloudConformance):
    type = FloatingIP
    others = INSIDE
    properties = {"floating_network": OUTSIDE, "port_id": {"get_resource": "port"}}
    changes = {"port_id": {"get_resource": "other_port"}}


@pytest.mark.usefixtures("outside")
class TestFloatingIPAssociation(CloudConformance):
    type = FloatingIPAssociation
    others = {**INSIDE, "address": ADDRESS, "other_address": ADDRESS}
    properties = {"floatingip_id": {"get_resource": "address"}, "port_id": {"get_resource": "port"}}
    changes = {
        "floatingip_id": {"get_resource": "other_address"},
        "port_id": {"get_resource": "other_port"},
    }

    def objects(self) -> Collection[str]:
        """Return the floating IPs that lead to ports."""
        found = self.service().get("/floatingips").json()["floatingips"]
        return [str(each["id"]) for each in found if each["port_id"]]
