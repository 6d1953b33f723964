"""Types of the network service that are mostly for administrators, on a real one."""

import json
import os
from collections.abc import Collection
from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from tests.services.openstack.cloud import UNIQUE, CloudConformance
from workers.resources.openstack.neutron.address_scope import AddressScope
from workers.resources.openstack.neutron.provider_net import ProviderNet
from workers.resources.openstack.neutron.quota import Quota
from workers.resources.openstack.neutron.rbac_policy import RBACPolicy
from workers.resources.openstack.neutron.subnet_pool import SubnetPool

#: What is made has names of its own, so that two processes may run these tests.
IT = f"administration-{os.getpid()}"
PLACE = f"place-of-{IT}"
PROJECT = {"type": "OS::Keystone::Project", "properties": {"name": PLACE}}
NET = {"type": "OS::Neutron::Net", "properties": {"name": PLACE}}


class NamedConformance(CloudConformance):
    """The contract, for types of which only the names of these tests count."""

    def objects(self) -> Collection[str]:
        """Return the ids of objects with the names of this test."""
        kind = self.type.collection
        listed = self.service().get(kind.path).json()[kind.plural]
        # Until a scope has its own name, it has one that begins with that of its stack and resource.
        return [each["id"] for each in listed if each["name"].startswith((IT, "s-it-"))]


class TestProviderNet(NamedConformance):
    type = ProviderNet
    cannot = {"replaced by its like": UNIQUE}
    cloud = "devcloud-admin"
    properties = {
        "name": f"{IT}-a",
        "network_type": "vlan",
        "physical_network": "physnet1",
        "segmentation_id": "171",
        "shared": False,
    }
    changes = {"segmentation_id": 172, "tags": ["x"]}


class TestSubnetPool(NamedConformance):
    type = SubnetPool
    cannot = {"replaced": UNIQUE, "replaced by its like": UNIQUE}
    others = {"scope": {"type": "OS::Neutron::AddressScope", "properties": {"name": f"{IT}-scope"}}}
    properties = {
        "name": f"{IT}-a",
        "prefixes": ["10.121.1.0/24", "10.121.0.0/24"],
        "address_scope": {"get_resource": "scope"},
        "min_prefixlen": 25,
        "default_quota": 100,
    }
    changes = {"default_quota": 200, "min_prefixlen": 24}

    def test_it_can_have_more_prefixes_but_not_fewer(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template())
            pool = engine.resource("s", "it").physical_id
            more = self._template().replace('"10.121.0.0/24"', '"10.121.0.0/24", "10.122.0.0/24"')
            self._is(engine.update("s", more), "UPDATE_COMPLETE")
            assert engine.resource("s", "it").physical_id == pool
            shown = self.service().get(f"/subnetpools/{pool}").json()["subnetpool"]
            assert shown["prefixes"] == ["10.121.0.0/23", "10.122.0.0/24"]
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE")
            self._is(engine.update("s", self._template()), "UPDATE_FAILED")
            assert engine.delete("s") is None


class TestAddressScope(NamedConformance):
    type = AddressScope
    properties = {"name": f"{IT}-a", "ip_version": 6}
    changes = {"name": f"{IT}-b", "ip_version": 4}


class TestRBACPolicy(CloudConformance):
    type = RBACPolicy
    cloud = "devcloud-admin"
    others = {"net": NET, "project": PROJECT}
    properties = {
        "object_type": "network",
        "object_id": {"get_resource": "net"},
        "action": "access_as_shared",
        "target_tenant": {"get_resource": "project"},
    }
    changes = {"target_tenant": "0" * 32, "action": "access_as_external"}

    def test_a_permission_that_was_there_before_stays(self) -> None:
        with self._engine() as engine:
            surroundings = {"heat_template_version": "2021-04-16", "resources": self.others}
            self._is(engine.create("s", json.dumps(surroundings)), "CREATE_COMPLETE")
            ids = {name: engine.resource("s", name).physical_id for name in self.others}
            given = {**self.properties, "object_id": ids["net"], "target_tenant": ids["project"]}
            theirs = self.service().post("/rbac-policies", json={"rbac_policy": given}).json()["rbac_policy"]
            self._is(engine.update("s", self._template()), "UPDATE_FAILED")
            self._is(engine.update("s", json.dumps(surroundings)), "UPDATE_COMPLETE")
            assert list(self.objects()) == [theirs["id"]]
            self.service().delete(f"/rbac-policies/{theirs['id']}")
            assert engine.delete("s") is None

    def objects(self) -> Collection[str]:
        """Return the ids of the permissions for the network of this test."""
        service = self.service()
        nets = service.get("/networks", params={"name": PLACE}).json()["networks"]
        found = [service.get("/rbac-policies", params={"object_id": net["id"]}).json() for net in nets]
        return [each["id"] for listed in found for each in listed["rbac_policies"]]


class TestQuota(CloudConformance):
    type = Quota
    is_shown = False
    cloud = "devcloud-admin"
    others = {"project": PROJECT}
    properties = {"project": {"get_resource": "project"}, "network": 5, "rbac_policy": 20}
    changes = {"network": -1, "subnetpool": 3}

    def objects(self) -> Collection[str]:
        """Return the ids of the projects with limits of their own, of this test."""
        named = self.service("identity").get("/projects", params={"name": PLACE}).json()
        mine = {each["id"] for each in named["projects"]}
        return [each["project_id"] for each in self.limited() if each["project_id"] in mine]

    def limited(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.service().get("/quotas").json()["quotas"]
        return listed

    def test_what_is_not_limited_any_more_has_the_default(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template())
            project = engine.resource("s", "project").physical_id
            self._is(
                engine.update("s", self._template().replace(', "rbac_policy": 20', "")), "UPDATE_COMPLETE"
            )
            limits = next(each for each in self.limited() if each["project_id"] == project)
            assert (limits["network"], limits["rbac_policy"]) == (5, 10)
            assert engine.delete("s") is None
            assert not self.objects()


def test_networks_without_segments_have_no_number() -> None:
    ProviderNet.validate({"network_type": "vxlan", "segmentation_id": "7"})
    ProviderNet.validate({"network_type": UNKNOWN, "segmentation_id": "7"})
    with pytest.raises(PropertyError, match="a flat network has none"):
        ProviderNet.validate({"network_type": "flat", "segmentation_id": "7"})


def test_lengths_of_prefixes_are_in_order() -> None:
    given = {"min_prefixlen": 24, "default_prefixlen": None, "max_prefixlen": 20}
    with pytest.raises(PropertyError, match="24 is more than 20"):
        SubnetPool.validate(given)
    SubnetPool.validate({**given, "max_prefixlen": UNKNOWN, "default_prefixlen": 24})


def test_only_networks_are_permitted_as_external() -> None:
    with pytest.raises(PropertyError, match="access_as_shared"):
        RBACPolicy.validate({"object_type": "qos_policy", "action": "access_as_external"})


def test_a_quota_limits_something() -> None:
    with pytest.raises(PropertyError, match="at least one"):
        Quota.validate(dict.fromkeys(Quota.properties_schema))
