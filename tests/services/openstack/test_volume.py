"""``OS::Cinder::Volume`` on a real block storage service."""

from tests.services.openstack.cloud import CloudConformance
from workers.resources.openstack.cinder.volume import Volume


class TestVolume(CloudConformance):
    type = Volume
    properties = {"name": "a-volume", "size": 1, "metadata": {"a": "1", "b": "2"}}
    changes = {"size": 2, "metadata": {"b": "3"}, "description": "told"}

    def objects(self) -> list[str]:
        return [each["id"] for each in self.volumes() if each["name"] == "a-volume"]

    def volumes(self):
        return self.service().get("/volumes/detail").json()["volumes"]
