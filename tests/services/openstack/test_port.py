"""``OS::Neutron::Port`` on a real network service."""

from collections.abc import Collection

from tests.services.openstack.cloud import CloudConformance
from workers.resources.openstack.neutron.port import Port

NET = {"type": "OS::Neutron::Net"}
SUBNET = {
    "type": "OS::Neutron::Subnet",
    "properties": {"network": {"get_resource": "net"}, "cidr": "10.4.0.0/24"},
}


class TestPort(CloudConformance):
    type = Port
    others = {"net": NET, "subnet": SUBNET}
    properties = {
        "network": {"get_resource": "net"},
        "security_groups": ["default"],
        "allowed_address_pairs": [{"ip_address": "10.9.0.1"}],
    }
    changes = {
        "fixed_ips": [{"subnet": {"get_resource": "subnet"}, "ip_address": "10.4.0.77"}],
        "security_groups": [],
        "mac_address": "FA-16-3E-00-00-01",
    }

    def objects(self) -> Collection[str]:
        """Return the ids of the ports of the project that are not a network's own."""
        ports = self.service().get("/ports").json()["ports"]
        return [str(port["id"]) for port in ports if not port["device_owner"].startswith("network:")]
