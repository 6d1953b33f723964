"""``OS::Neutron::FloatingIP`` and ``OS::Neutron::FloatingIPAssociation`` on a real network service."""

from collections.abc import Collection

import pytest

from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.outside import OUTSIDE, Inside, inside, outside
from workers.resources.openstack.neutron.floating_ip import FloatingIP
from workers.resources.openstack.neutron.floating_ip_association import FloatingIPAssociation

__all__ = ["inside", "outside"]
ADDRESS = {"type": "OS::Neutron::FloatingIP", "properties": {"floating_network": OUTSIDE}}


class TestFloatingIP(CloudConformance):
    type = FloatingIP

    @pytest.fixture(autouse=True)
    def _inside(self, inside: Inside) -> None:
        self.properties = {"floating_network": OUTSIDE, "port_id": inside.ports[0]}
        self.changes = {"port_id": inside.ports[1]}


class TestFloatingIPAssociation(CloudConformance):
    type = FloatingIPAssociation
    is_shown = False
    others = {"address": ADDRESS, "other": ADDRESS}

    @pytest.fixture(autouse=True)
    def _inside(self, inside: Inside) -> None:
        self.properties = {"floatingip_id": {"get_resource": "address"}, "port_id": inside.ports[0]}
        self.changes = {"floatingip_id": {"get_resource": "other"}, "port_id": inside.ports[1]}

    def objects(self) -> Collection[str]:
        """Return the floating IPs that lead to ports."""
        found = self.service().get("/floatingips").json()["floatingips"]
        return [str(each["id"]) for each in found if each["port_id"]]
