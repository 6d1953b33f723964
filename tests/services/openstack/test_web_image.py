"""``OS::Glance::WebImage`` on a real image service, which downloads from a web server of the tests."""

import socket
import threading
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from orchestrator.plugins.properties import PropertyError
from tests.services.openstack.cloud import CloudConformance, connected
from workers.resources.openstack.glance.web_image import WebImage


class Images(BaseHTTPRequestHandler):
    """Serves the same few bytes at every address but ``/none``."""

    def do_GET(self) -> None:
        data = b"an image" * 64
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve images where the service accepts to download: at port 80, and not at a loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
            server = ThreadingHTTPServer((probe.getsockname()[0], 80), Images)
        except OSError as error:
            pytest.skip(f"no web server for the image service: {error}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://{server.server_address[0]!s}"
    server.shutdown()
    server.server_close()


class ImageConformance(CloudConformance):
    """The contract for images of the run, downloaded from the server of the tests."""

    type = WebImage
    location: ClassVar[str]
    name: ClassVar[str]
    poll_seconds = 0.3

    @pytest.fixture(autouse=True)
    def _address(self, address: str) -> None:
        ImageConformance.location = f"{address}/image"

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {
            "name": self.name,
            "disk_format": "raw",
            "container_format": "bare",
            "location": self.location,
            "tags": ["a", "b"],
            "extra_properties": {"a": 1, "b": "2"},
        }

    def objects(self) -> list[str]:
        return [
            each["id"] for each in self.service().get("/images").json()["images"] if each["name"] == self.name
        ]

    def shown(self, engine: Any) -> dict[str, Any]:
        """Return the image as the service has it."""
        shown: dict[str, Any] = self.service().get(f"/images/{engine.resource('s', 'it').physical_id}").json()
        return shown


class TestWebImage(ImageConformance):
    name = f"image-{uuid.uuid4().hex[:8]}"
    changes = {"tags": ["c"], "extra_properties": {"b": "3", "c/d": "4"}, "os_distro": "debian"}

    def test_properties_and_tags_are_those_given(self) -> None:
        with self._engine() as engine:
            engine.create("s", self._template())
            shown = self.shown(engine)
            assert (shown["a"], shown["b"], sorted(shown["tags"])) == ("1", "2", ["a", "b"])
            assert shown["id"] == engine.resource("s", "it").id
            engine.update("s", self._template("extra_properties"))
            shown = self.shown(engine)
            assert (shown.get("a"), shown["b"], shown["c/d"]) == (None, "3", "4")
            engine.delete("s")

    def test_a_download_that_fails_fails_the_resource_with_its_reason(self) -> None:
        with self._engine() as engine:
            template = self._template().replace("/image", "/none")
            failed = engine.create("s", template)
            assert failed is not None
            assert failed.state == "CREATE_FAILED"
            assert "it could not be downloaded: " in failed.reason
            assert engine.delete("s") is None
            assert not self.objects()


class TestSharedImage(ImageConformance):
    """An image with members, which an administrator deactivates."""

    cloud = "devcloud-admin"
    lives = False
    changes = {"active": False, "members": ["two", "three"]}
    name = f"shared-{uuid.uuid4().hex[:8]}"

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**super().properties, "visibility": "shared", "members": ["one", "two"]}

    def test_an_id_of_another_image_is_refused_and_that_left_alone(self) -> None:
        image = connected(self.cloud).image.create_image(
            name=self.name, disk_format="raw", container_format="bare", allow_duplicates=True
        )
        with self._engine() as engine:
            template = self._template().replace('"visibility"', f'"id": "{image.id}", "visibility"')
            failed = engine.create("s", template)
            assert failed is not None
            assert f"there is an image {image.id} already" in failed.reason
            assert engine.delete("s") is None
        assert self.objects() == [image.id]
        self.service().delete_image(image.id)


@pytest.mark.parametrize(
    "properties",
    [
        {"container_format": "ami", "disk_format": "raw", "visibility": "private"},
        {"container_format": "bare", "disk_format": "raw", "visibility": "private", "members": ["a"]},
    ],
    ids=["formats", "members"],
)
def test_what_does_not_fit_together_is_refused(properties: dict[str, Any]) -> None:
    with pytest.raises(PropertyError):
        WebImage.validate({**dict.fromkeys(WebImage.properties_schema), **properties})
