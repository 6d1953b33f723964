"""Key pairs, server groups and flavors on a real compute service."""

from collections.abc import Collection

from tests.services.openstack.cloud import CloudConformance
from workers.resources.openstack.nova.flavor import Flavor
from workers.resources.openstack.nova.key_pair import KeyPair
from workers.resources.openstack.nova.server_group import ServerGroup


class TestKeyPair(CloudConformance):
    type = KeyPair
    properties = {"name": "isotherm-conformance", "save_private_key": True}
    changes = {"name": "isotherm-conformance-too"}

    def objects(self) -> Collection[str]:
        answer = self.service().get("/os-keypairs").json()
        return [each["keypair"]["name"] for each in answer["keypairs"]]


class TestServerGroup(CloudConformance):
    type = ServerGroup
    properties = {"rules": {"max_server_per_host": 2}}
    changes = {"name": "other"}


class TestFlavor(CloudConformance):
    type = Flavor
    cloud = "devcloud-admin"
    properties = {"ram": 64, "vcpus": 1, "is_public": False, "extra_specs": {"a": "1", "b": "2"}}
    changes = {"extra_specs": {"b": "3", "c": "4"}, "tenants": ["demo"], "ram": 128}

    def objects(self) -> Collection[str]:
        answer = self.service().get("/flavors?is_public=none").json()
        return [each["id"] for each in answer["flavors"]]
