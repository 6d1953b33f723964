"""The small types of the compute service, on a real one."""

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from isotherm.testing.engine import Engine
from tests.services.openstack.cloud import (
    NOTHING_CHANGES,
    UNIQUE,
    CloudConformance,
    connected,
    own_file,
)
from workers.resources.openstack.nova.flavor import Flavor
from workers.resources.openstack.nova.generated_keys import generated
from workers.resources.openstack.nova.host_aggregate import HostAggregate
from workers.resources.openstack.nova.key_pair import KeyPair
from workers.resources.openstack.nova.quota import Quota
from workers.resources.openstack.nova.server_group import ServerGroup


class TestKeyPair(CloudConformance):
    type = KeyPair
    cannot = {"updated": NOTHING_CHANGES}
    properties = {"name": "isotherm-conformance", "save_private_key": True}
    changes = {"name": "isotherm-conformance-too"}

    def objects(self) -> Collection[str]:
        answer = self.service().get("/os-keypairs").json()
        return [each["keypair"]["name"] for each in answer["keypairs"]]


class TestServerGroup(CloudConformance):
    type = ServerGroup
    cannot = {"updated": NOTHING_CHANGES}
    properties = {"rules": {"max_server_per_host": 2}}
    changes = {"name": "other"}


class TestFlavor(CloudConformance):
    type = Flavor
    cloud = "devcloud-admin"
    properties = {"ram": 64, "vcpus": 1, "is_public": False, "extra_specs": {"a": "1", "b": "2"}}
    changes = {"extra_specs": {"b": "3", "c": "4"}, "tenants": ["demo"], "ram": 128}

    def objects(self) -> Collection[str]:
        answer = self.service().get("/flavors?is_public=none").json()
        return [each["id"] for each in answer["flavors"] if each["name"].startswith("s-it-")]


class TestHostAggregate(CloudConformance):
    type = HostAggregate
    cannot = {"replaced by its like": UNIQUE}
    cloud = "devcloud-admin"
    properties = {"name": "isotherm-a", "availability_zone": "isotherm", "metadata": {"a": 1, "b": "2"}}
    changes = {"name": "isotherm-b", "metadata": {"b": "3", "c": "4"}}


class TestQuota(CloudConformance):
    type = Quota
    is_shown = False
    cloud = "devcloud-admin"
    exists_outside = False
    changes = {"cores": 4001}
    #: A project that no other test uses.
    project = ""

    @pytest.fixture(autouse=True)
    def _in_a_project(self) -> Iterator[None]:
        identity: Any = connected(self.cloud).identity
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


def _template(name: str, **properties: Any) -> str:
    key = {"type": "OS::Nova::KeyPair", "properties": {"name": name, **properties}}
    outputs = {each: {"value": {"get_attr": ["key", each]}} for each in KeyPair.attributes_schema}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": {"key": key}, "outputs": outputs})


@pytest.fixture
def engine() -> Iterator[Engine]:
    settings = {"clients": {"openstack": {"cloud": "devcloud", "config_file": own_file()}}}
    with closing(Engine(settings=settings)) as made:
        yield made


@pytest.fixture
def name() -> Iterator[str]:
    """Return a name for key pairs, none of which is left."""
    made = f"isotherm-{secrets.token_hex(4)}"
    yield made
    connected("devcloud").compute.delete_keypair(made)


class TestKeys:
    """What is special about key pairs."""

    pytestmark = CloudConformance.pytestmark

    def test_a_generated_key_is_the_private_one_of_the_service_s(self, engine: Engine, name: str) -> None:
        made = engine.create("s", _template(name, save_private_key=True))
        assert made is not None
        keys = {each.key: each.value for each in made.outputs}
        private = load_pem_private_key(keys["private_key"].encode(), None)
        public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        shown = connected("devcloud").compute.get_keypair(name)
        assert public == keys["public_key"] == shown.public_key
        assert engine.delete("s") is None

    def test_a_certificate_is_generated_too(self, engine: Engine, name: str) -> None:
        made = engine.create("s", _template(name, type="x509"))
        assert made is not None
        assert made.state == "CREATE_COMPLETE", made.reason
        assert "private_key" not in engine.resource("s", "key").data
        shown = connected("devcloud").compute.get_keypair(name)
        assert load_pem_x509_certificate(shown.public_key.encode())
        assert engine.delete("s") is None

    def test_a_foreign_key_pair_is_left_alone(self, engine: Engine, name: str) -> None:
        key = generated("ssh", name).public
        connected("devcloud").compute.create_keypair(name=name, public_key=key)
        made = engine.create("s", _template(name, public_key=key))
        assert made is not None
        assert made.state == "CREATE_FAILED"
        assert engine.delete("s") is None
        assert connected("devcloud").compute.get_keypair(name).public_key == key

    def test_a_replacement_may_have_the_name_of_the_old_one(self, engine: Engine, name: str) -> None:
        engine.create("s", _template(name))
        made = engine.update("s", _template(name, public_key=generated("ssh", name).public))
        assert made is not None
        assert made.state == "UPDATE_COMPLETE", made.reason
        shown = connected("devcloud").compute.get_keypair(name)
        assert {each.key: each.value for each in made.outputs}["public_key"] == shown.public_key
        assert engine.delete("s") is None
