"""``OS::Neutron::Subnet`` on a real network service."""

from tests.services.openstack.cloud import UNIQUE, CloudConformance
from workers.resources.openstack.neutron.subnet import Subnet

NET = {"type": "OS::Neutron::Net"}


class TestSubnet(CloudConformance):
    type = Subnet
    cannot = {"replaced by its like": UNIQUE}
    others = {"net": NET}
    properties = {
        "network": {"get_resource": "net"},
        "cidr": "10.4.0.0/24",
        "host_routes": [{"destination": "10.5.0.0/24", "nexthop": "10.4.0.9"}],
        "tags": ["x"],
    }
    changes = {
        "gateway_ip": None,
        "host_routes": [{"destination": "10.6.0.0/24", "nexthop": "10.4.0.8"}],
        "cidr": "10.7.0.0/24",
    }
