"""The types of the identity service, on a real one."""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from http import HTTPStatus
from typing import Any, ClassVar

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from tests.services.openstack.cloud import UNIQUE, CloudConformance, connected, is_placed
from workers.resources.openstack.keystone.domain import Domain
from workers.resources.openstack.keystone.endpoint import Endpoint
from workers.resources.openstack.keystone.group import Group
from workers.resources.openstack.keystone.links import refuse_wrong_roles
from workers.resources.openstack.keystone.project import Project
from workers.resources.openstack.keystone.region import Region
from workers.resources.openstack.keystone.role import Role
from workers.resources.openstack.keystone.role_assignments import GroupRoleAssignment, UserRoleAssignment
from workers.resources.openstack.keystone.service import Service
from workers.resources.openstack.keystone.user import User

#: What is made has names of its own, so that two processes may run these tests.
IT = f"conformance-{os.getpid()}"
HOLDER = f"holder-of-{IT}"
IN_PROJECT = {"role": "reader", "project": {"get_resource": "project"}}
IN_DOMAIN = {"role": "member", "domain": "Default"}
PROJECT = {"type": "OS::Keystone::Project", "properties": {"name": f"place-of-{IT}"}}
GROUP = {"type": "OS::Keystone::Group", "properties": {"name": HOLDER}}
USER = {"type": "OS::Keystone::User", "properties": {"name": HOLDER}}


class KeystoneConformance(CloudConformance):
    """The contract, for types of which only the names of these tests count."""

    cloud = "devcloud-admin"
    names: ClassVar[str] = "name"
    query: ClassVar[Mapping[str, str]] = {}

    def objects(self) -> Collection[str]:
        """Return the ids of objects with the names of this test."""
        kind = self.type.collection
        listed = self.service().get(kind.path, params=self.query).json()[kind.plural]
        return [each["id"] for each in listed if str(each.get(self.names)).startswith(IT)]


class TestProject(KeystoneConformance):
    type = Project
    cannot = {"replaced by its like": UNIQUE}
    properties = {"name": IT, "description": "a", "tags": ["y", "x"]}
    changes = {"name": f"{IT}-b", "tags": ["z"]}


class TestProjectInAnotherDomain(KeystoneConformance):
    type = Project
    lives = False
    others = {"domain": {"type": "OS::Keystone::Domain", "properties": {"name": f"domain-of-{IT}"}}}
    properties = {"name": IT, "domain": {"get_resource": "domain"}, "enabled": False}
    changes = {"domain": "Default"}

    test_a_crash_of_any_other_operation_does_no_harm = None  # type: ignore[assignment]
    test_a_crash_makes_nothing_twice_and_loses_nothing = None  # type: ignore[assignment]


class TestUser(KeystoneConformance):
    type = User
    cannot = {"replaced by its like": UNIQUE}
    others = {"project": PROJECT, "group": GROUP}
    properties = {
        "name": IT,
        "email": "it@example.org",
        "password": "first",
        "default_project": {"get_resource": "project"},
        "groups": [{"get_resource": "group"}],
        "roles": [IN_PROJECT, IN_DOMAIN],
    }
    changes = {"groups": [], "roles": [IN_DOMAIN]}
    more_changes = {"name": f"{IT}-b"}

    def test_roles_that_are_not_wanted_any_more_end_and_those_of_others_stay(self) -> None:
        identity = self.service()
        with self._engine() as engine:

            def held() -> list[str]:
                user, project = (engine.resource("s", name).physical_id for name in ("it", "project"))
                roles = identity.get(f"/projects/{project}/users/{user}/roles").json()["roles"]
                return sorted(each["name"] for each in roles)

            engine.create("s", self._template())
            assert held() == ["reader"]
            user, project = (engine.resource("s", name).physical_id for name in ("it", "project"))
            admin = identity.find_role("admin").id
            identity.put(f"/projects/{project}/users/{user}/roles/{admin}")
            engine.update("s", self._template("roles"))
            assert held() == ["admin"]
            self._is(engine.operate("CHECK", "s"), "CHECK_COMPLETE")
            assert engine.delete("s") is None

    def test_its_password_is_that_of_the_last_update(self) -> None:
        with self._engine() as engine:

            def logs_in(password: str) -> bool:
                cloud = connected(self.cloud)
                user = {"id": engine.resource("s", "it").physical_id, "password": password}
                body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
                answer = cloud.identity.post("/auth/tokens", json=body, authenticated=False)
                return bool(answer.status_code == HTTPStatus.CREATED)

            engine.create("s", self._template())
            assert logs_in("first")
            self._is(engine.update("s", self._template().replace('"first"', '"second"')), "UPDATE_COMPLETE")
            assert logs_in("second")
            assert not logs_in("first")
            assert engine.delete("s") is None


class TestGroup(KeystoneConformance):
    type = Group
    cannot = {"replaced by its like": UNIQUE}
    others = {"project": PROJECT}
    properties = {"name": IT, "description": "a", "roles": [IN_PROJECT]}
    changes = {"name": f"{IT}-b", "roles": [IN_PROJECT, IN_DOMAIN]}


class TestRole(KeystoneConformance):
    type = Role
    cannot = {"replaced by its like": UNIQUE}
    properties = {"name": IT}
    changes = {"name": f"{IT}-b"}
    query = {"domain_id": "default"}


class AssignmentConformance(KeystoneConformance):
    """The contract, for roles of what another resource made."""

    is_shown = False

    def objects(self) -> Collection[str]:
        """Return the roles of the user or group of this test."""
        identity, kind = self.service(), self.type.holder  # type: ignore[attr-defined]
        held = identity.get(f"/{kind}s", params={"name": HOLDER}).json()[f"{kind}s"]
        query = [{f"{kind}.id": each["id"]} for each in held]
        found = [identity.get("/role_assignments", params=each).json()["role_assignments"] for each in query]
        return [json.dumps(each["links"], sort_keys=True) for listed in found for each in listed]


class TestUserRoleAssignment(AssignmentConformance):
    type = UserRoleAssignment
    others = {"project": PROJECT, "user": USER}
    properties = {"user": {"get_resource": "user"}, "roles": [IN_PROJECT]}
    changes = {"roles": [IN_DOMAIN]}


class TestGroupRoleAssignment(AssignmentConformance):
    type = GroupRoleAssignment
    others = {"project": PROJECT, "group": GROUP}
    properties = {"group": {"get_resource": "group"}, "roles": [IN_PROJECT]}
    changes = {"roles": [{**IN_PROJECT, "role": "member"}]}


class TestDomain(KeystoneConformance):
    type = Domain
    cannot = {"replaced by its like": UNIQUE}
    properties = {"name": IT, "description": "a"}
    changes = {"name": f"{IT}-b", "enabled": False}


class TestRegion(KeystoneConformance):
    type = Region
    cannot = {"replaced by its like": UNIQUE}
    properties = {"id": f"{IT} a", "description": "a", "parent_region": "RegionOne"}
    changes = {"id": f"{IT}-b", "enabled": False}
    names = "id"


class TestRegionWithoutAnId(KeystoneConformance):
    type = Region
    lives = False
    properties: Mapping[str, Any] = {}

    def objects(self) -> Collection[str]:
        """Return the ids of all regions."""
        return [each["id"] for each in self.service().get("/regions").json()["regions"]]


class TestService(KeystoneConformance):
    type = Service
    properties = {"name": IT, "type": "a"}
    changes = {"name": f"{IT}-b", "type": "b"}


class TestEndpoint(KeystoneConformance):
    type = Endpoint
    others = {"service": {"type": "OS::Keystone::Service", "properties": {"type": IT}}}
    properties = {
        "name": IT,
        "service": {"get_resource": "service"},
        "interface": "public",
        "url": "https://a",
        "region": "RegionOne",
    }
    changes = {"url": "https://b", "interface": "admin"}


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    if not is_placed():
        return
    identity = connected("devcloud-admin").identity
    for plural in ("projects", "users", "groups", "domains", "services", "endpoints"):
        listed = identity.get(f"/{plural}").json()[plural]
        assert [each["name"] for each in listed if IT in each.get("name", "")] == []


def test_a_role_is_for_a_project_or_a_domain() -> None:
    role = {"role": "r", "project": None, "domain": None}
    for wrong in (role, {**role, "project": "p", "domain": "d"}):
        with pytest.raises(PropertyError, match="either"):
            refuse_wrong_roles({"roles": [wrong]})
    for right in (None, UNKNOWN, [UNKNOWN], [{**role, "domain": UNKNOWN}], [{**role, "project": "p"}]):
        refuse_wrong_roles({"roles": right})
