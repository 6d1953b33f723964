"""Volume types, and what administrators attach to them, on a real block storage service."""

import uuid
from typing import Any

from tests.services.openstack.cloud import UNIQUE, CloudConformance
from workers.resources.openstack.cinder.encrypted_volume_type import EncryptedVolumeType
from workers.resources.openstack.cinder.qos_association import QoSAssociation
from workers.resources.openstack.cinder.qos_specs import QoSSpecs
from workers.resources.openstack.cinder.volume_type import VolumeType

#: Names are unique in the cloud, which others may use at the same time.
RUN = uuid.uuid4().hex[:8]


class AdminConformance(CloudConformance):
    """The contract, for a type of an administrator whose objects have names with the run's part."""

    cloud = "devcloud-admin"

    def named(self, path: str, plural: str) -> list[dict[str, Any]]:
        """Return the objects of this run in a collection."""
        listed = self.service().get(path).json()[plural]
        return [each for each in listed if RUN in each["name"]]

    def objects(self) -> list[str]:
        return [
            *(each["id"] for each in self.named("/types?is_public=None", "volume_types")),
            *(each["id"] for each in self.named("/qos-specs", "qos_specs")),
        ]


class TestVolumeType(AdminConformance):
    type = VolumeType
    cannot = {"replaced by its like": UNIQUE}
    properties = {
        "name": f"type-{RUN}",
        "is_public": False,
        "projects": ["demo"],
        "metadata": {"a": "1", "b": 2},
    }
    changes = {"name": f"other-{RUN}", "projects": ["admin"], "metadata": {"b": "3"}}

    def test_projects_and_extra_specifications_are_those_given(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template())
            path = f"/types/{engine.resource('s', 'it').physical_id}"
            shown = self.service().get(path).json()["volume_type"]
            assert shown["extra_specs"] == {"a": "1", "b": "2"}
            engine.update("s", self._template("metadata"))
            assert self.service().get(path).json()["volume_type"]["extra_specs"] == {"b": "3"}
            access = self.service().get(f"{path}/os-volume-type-access").json()["volume_type_access"]
            assert len(access) == 1
            engine.delete("s")


class TestQoSSpecs(AdminConformance):
    type = QoSSpecs
    cannot = {"replaced by its like": UNIQUE}
    more_changes = {"name": f"other-{RUN}"}
    properties = {"name": f"qos-{RUN}", "specs": {"consumer": "front-end", "total_iops_sec": 100, "b": "x"}}
    changes = {"specs": {"consumer": "both", "total_iops_sec": 200}}

    def test_keys_that_are_no_longer_given_are_taken_away(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template())
            engine.update("s", self._template("specs"))
            found = self.named("/qos-specs", "qos_specs")
            assert [(each["specs"], each["consumer"]) for each in found] == [
                ({"total_iops_sec": "200"}, "both")
            ]
            engine.delete("s")

    def test_one_of_somebody_else_with_its_name_is_left_alone(self) -> None:
        body = {"qos_specs": {"name": f"qos-{RUN}", "total_iops_sec": "1"}}
        made = self.service().post("/qos-specs", json=body).json()["qos_specs"]
        with self._engine() as engine:
            self._is(engine.create("s", self._template()), "CREATE_FAILED")
            assert engine.delete("s") is None
        assert [each["id"] for each in self.named("/qos-specs", "qos_specs")] == [made["id"]]
        self.service().delete(f"/qos-specs/{made['id']}")


TYPES = {
    name: {"type": "OS::Cinder::VolumeType", "properties": {"name": f"{name}-{RUN}"}}
    for name in ("one", "two", "three")
}
QOS = {"type": "OS::Cinder::QoSSpecs", "properties": {"name": f"some-{RUN}", "specs": {"a": "1"}}}


class TestQoSAssociation(AdminConformance):
    type = QoSAssociation
    is_shown = False
    others = {**TYPES, "qos": QOS}
    properties = {
        "qos_specs": {"get_resource": "qos"},
        "volume_types": [{"get_resource": "one"}, {"get_resource": "two"}],
    }
    changes = {"volume_types": [{"get_resource": "three"}, {"get_resource": "two"}]}

    def objects(self) -> list[str]:
        found = super().objects()
        for each in self.named("/qos-specs", "qos_specs"):
            answer = self.service().get(f"/qos-specs/{each['id']}/associations").json()
            found += [f"{each['id']}/{one['id']}" for one in answer["qos_associations"]]
        return found


class TestEncryptedVolumeType(AdminConformance):
    type = EncryptedVolumeType
    is_shown = False
    others = {"one": TYPES["one"]}
    properties = {"volume_type": {"get_resource": "one"}, "provider": "luks", "key_size": 256}
    changes = {"key_size": 128, "cipher": "aes-xts-plain64"}

    def objects(self) -> list[str]:
        found = super().objects()
        for each in self.named("/types?is_public=None", "volume_types"):
            answer = self.service().get(f"/types/{each['id']}/encryption").json()
            found += [answer["encryption_id"]] if answer else []
        return found
