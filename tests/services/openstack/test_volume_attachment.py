"""``OS::Cinder::VolumeAttachment`` on real compute and block storage services."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from tests.services.openstack.cloud import CloudConformance
from tests.services.openstack.servers import servers
from workers.resources.openstack.cinder.volume_attachment import VolumeAttachment

VOLUME = {"type": "OS::Cinder::Volume", "properties": {"size": 1}}


class TestVolumeAttachment(CloudConformance):
    type = VolumeAttachment
    is_shown = False
    made: ClassVar[list[str]] = []
    others = {"one": VOLUME, "two": VOLUME}
    poll_seconds = 0.3

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _servers(cls) -> Iterator[None]:
        with servers(2) as made:
            cls.made = made
            yield

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"instance_uuid": self.made[0], "volume_id": {"get_resource": "one"}}

    @property
    def changes(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"instance_uuid": self.made[1], "volume_id": {"get_resource": "two"}}

    def objects(self) -> list[str]:
        compute = self.service("compute")
        found = [
            f"{server}/{each['volumeId']}"
            for server in self.made
            for each in compute.get(f"/servers/{server}/os-volume_attachments")
            .json()
            .get("volumeAttachments", ())
        ]
        return [*found, *self._volumes()]

    def _volumes(self) -> list[str]:
        volumes = self.service().get("/volumes/detail").json()["volumes"]
        return [each["id"] for each in volumes if each["name"].startswith(("s-one-", "s-two-"))]
