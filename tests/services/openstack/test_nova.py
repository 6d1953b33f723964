"""The small types of the compute service, on a real one."""

import secrets
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import openstack
import pytest

from tests.services.openstack.cloud import CloudConformance
from workers.resources.openstack.nova.flavor import Flavor
from workers.resources.openstack.nova.host_aggregate import HostAggregate
from workers.resources.openstack.nova.key_pair import KeyPair
from workers.resources.openstack.nova.quota import Quota
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


class TestHostAggregate(CloudConformance):
    type = HostAggregate
    cloud = "devcloud-admin"
    properties = {"name": "isotherm-a", "availability_zone": "isotherm", "metadata": {"a": 1, "b": "2"}}
    changes = {"name": "isotherm-b", "metadata": {"b": "3", "c": "4"}}


class TestQuota(CloudConformance):
    type = Quota
    cloud = "devcloud-admin"
    exists_outside = False
    changes = {"cores": 4001}
    #: A project that nobody else needs.
    project = ""

    @pytest.fixture(autouse=True)
    def _in_a_project(self) -> Iterator[None]:
        identity: Any = openstack.connect(cloud=self.cloud).identity
        project = identity.create_project(name=f"isotherm-{secrets.token_hex(4)}")
        self.project = project.id
        yield
        identity.delete_project(project)

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"project": self.project, "instances": 20, "cores": 40}

    def objects(self) -> Collection[str]:
        """Return the quota, while it is not as it is by default."""
        quotas = self.service()
        now, default = (
            quotas.get(f"/os-quota-sets/{self.project}{end}").json()["quota_set"] for end in ("", "/defaults")
        )
        return [self.project] if now != default else []
