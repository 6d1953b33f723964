"""The deletion policy ``Snapshot`` of ``OS::Nova::Server``, on a real compute service."""

import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from isotherm.testing import ResourceConformance
from tests.services.openstack.cloud import USER, connection, place
from tests.services.openstack.test_server import QuietServer, ServerConformance, surroundings

__all__ = ["surroundings"]

#: How images of the servers of these tests are called.
_NAMES = "s-it-"


class TestLastImages(ServerConformance):
    """The one test of the contract that is about them; the others are elsewhere."""

    type = QuietServer
    lives = False
    changes: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]

    @pytest.fixture(autouse=True)
    def _filled(self) -> Iterator[None]:
        """Fill the images, as the hypervisor of the cloud for tests never does."""
        stop = threading.Event()
        thread = threading.Thread(target=self._fill, args=(stop,))
        thread.start()
        yield
        stop.set()
        thread.join()

    def objects(self) -> list[str]:
        """Return the servers that these tests made, which are of a flavor of their own."""
        found = self.service().get("/servers/detail", microversion="2.47").json()["servers"]
        own = [each for each in found if each["flavor"]["original_name"].startswith(self.name)]
        # For a moment, the service lists a deleted one.
        return [f"{each['id']} {each['status']}" for each in own if each["status"] != "DELETED"]

    def snapshots(self) -> list[str]:
        """Return the images."""
        return [each["id"] for each in self._images()]

    def discard(self, snapshot: str) -> None:
        """Delete one, which was complete."""
        image = self.service("image").get(f"/images/{snapshot}").json()
        assert image["status"] == "active"
        assert image["isotherm_resource"]
        self.service("image").delete(f"/images/{snapshot}")

    def _images(self) -> list[dict[str, Any]]:
        found = self.service("image").get("/images").json()["images"]
        return [each for each in found if each["name"].startswith(_NAMES) and "isotherm_resource" in each]

    @staticmethod
    def _fill(stop: threading.Event) -> None:
        own: Any = connection(place().file, USER)
        while not stop.wait(0.3):
            for image in own.image.images(status="queued"):
                if image.name.startswith(_NAMES):
                    own.image.update_image(image, container_format="bare", disk_format="raw")
                    kind = {"Content-Type": "application/octet-stream"}
                    own.image.put(f"/images/{image.id}/file", data=b"image", headers=kind)


for _name in dir(ResourceConformance):
    if _name.startswith("test_") and "snapshot" not in _name:
        setattr(TestLastImages, _name, None)
