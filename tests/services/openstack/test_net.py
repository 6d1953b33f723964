"""``OS::Neutron::Net`` on a real network service."""

from tests.services.openstack.cloud import CloudConformance
from workers.resources.openstack.neutron.net import Net


class TestNet(CloudConformance):
    type = Net
    properties = {"name": "a", "tags": ["x"]}
    changes = {"name": "b", "admin_state_up": False, "tags": ["y", "z"]}
