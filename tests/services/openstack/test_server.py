"""``OS::Nova::Server`` on a real compute service."""

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from isotherm.testing.engine import Engine
from orchestrator.model.messages import DeleteSnapshotJob, RestoreJob, SnapshotJob
from tests.services.openstack.cloud import CloudConformance, connected, connection, own_file, place
from workers.resources.openstack.nova.server.server import Server


class Surroundings:
    """What a server needs: images, flavors, networks and a port, each with a name of its own."""

    def __init__(self) -> None:
        self.name = f"isotherm-{secrets.token_hex(4)}"
        self._admin, self._user = (connected(each) for each in ("devcloud-admin", "devcloud"))
        self._made: list[Any] = []

    def make(self) -> None:
        """Make all of it."""
        for kind in ("one", "two"):
            image = self._user.image.create_image(
                f"{self.name}-{kind}", data=b"image", disk_format="raw", container_format="bare"
            )
            self._made.append(lambda image=image: self._user.image.delete_image(image.id))
            flavor = self._admin.compute.create_flavor(name=f"{self.name}-{kind}", ram=64, vcpus=1, disk=1)
            self._made.append(lambda flavor=flavor: self._admin.compute.delete_flavor(flavor.id))
            network = self._user.network.create_network(name=f"{self.name}-{kind}")
            self._made.append(lambda network=network: self._user.network.delete_network(network.id))
            self._user.network.create_subnet(
                name=f"{self.name}-{kind}", network_id=network.id, ip_version=4, cidr="10.77.0.0/24"
            )
        huge = self._admin.compute.create_flavor(name=f"{self.name}-huge", ram=64, vcpus=2000, disk=1)
        self._made.append(lambda: self._admin.compute.delete_flavor(huge.id))
        port = self._user.network.create_port(name=f"{self.name}-port", network_id=network.id)
        self._made.append(lambda: self._user.network.delete_port(port.id))

    def delete(self) -> None:
        """Delete it, the last first."""
        for delete in reversed(self._made):
            delete()


@pytest.fixture(scope="module")
def surroundings() -> Iterator[Surroundings]:
    """Return what servers need."""
    there = Surroundings()
    try:
        there.make()
        yield there
    finally:
        there.delete()


class ServerConformance(CloudConformance):
    """Servers of the one kind, which become servers of the other."""

    poll_seconds = 0.3

    @pytest.fixture(autouse=True)
    def _named(self, surroundings: Surroundings) -> None:
        self.name = surroundings.name

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {
            "image": f"{self.name}-one",
            "flavor": f"{self.name}-one",
            "networks": [{"network": f"{self.name}-one", "subnet": f"{self.name}-one"}],
            "metadata": {"role": "web", "sizes": [1, 2]},
            "tags": ["a", "b"],
        }

    @property
    def changes(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {
            "networks": [{"port": f"{self.name}-port"}, {"network": f"{self.name}-one"}],
            "flavor": f"{self.name}-two",
            "tags": ["c"],
        }

    def asked(self, object_id: str) -> Mapping[str, Any] | None:
        """Return the server; one that is deleted is shown for a moment longer."""
        found = super().asked(object_id)
        return found if found and found["status"] != "DELETED" else None

    def objects(self) -> list[str]:
        """Return the servers, and the ports that were made for them."""
        servers = self.service().get("/servers/detail").json()["servers"]
        ports = self.service("network").get("/ports").json()["ports"]
        own = [each for each in servers if each["name"].startswith("s-it-") and each["status"] != "DELETED"]
        own += [each for each in ports if each["name"].startswith("it-port-")]
        return [each["id"] for each in own]


class QuietServer(Server):
    """A server without most of its attributes, each of which is another instant at which a process may die."""

    attributes_schema = {"networks": Server.attributes_schema["networks"]}


class TestServer(ServerConformance):
    type = Server
    # These are the quiet one's.
    test_a_crash_makes_nothing_twice_and_loses_nothing = None  # type: ignore[assignment]
    test_a_crash_of_an_update_leaves_what_was_wanted = None  # type: ignore[assignment]
    test_a_crash_of_any_other_operation_does_no_harm = None  # type: ignore[assignment]
    # That is in test_last_images, where images are filled.
    test_a_crash_of_a_deletion_leaves_one_snapshot_where_one_is_wanted = None  # type: ignore[assignment]


class TestCrashesOfServers(ServerConformance):
    type = QuietServer
    lives = False
    test_a_crash_of_a_deletion_leaves_one_snapshot_where_one_is_wanted = None  # type: ignore[assignment]

    @property
    def changes(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"networks": super().changes["networks"]}


class TestPollingServer(ServerConformance):
    """Servers whose user data have a key, which stays whenever a process dies."""

    type = QuietServer
    lives = False
    changes: Mapping[str, Any] = {}
    # Its example reads attributes that the quiet one does not have.
    test_the_example_is_valid_and_shows_the_type = None  # type: ignore[assignment]

    @property
    def settings(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**super().settings, "api_url": "https://heat.example.com/v1"}

    @property
    def properties(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {**super().properties, "user_data_format": "SOFTWARE_CONFIG"}


class TestWhole:
    """What is special about servers, with the service looked at afterwards."""

    pytestmark = CloudConformance.pytestmark

    @pytest.fixture(autouse=True)
    def _set_up(self, surroundings: Surroundings) -> Iterator[None]:
        self.name = surroundings.name
        self.cloud: Any = connected("devcloud")
        settings = {"clients": {"openstack": {"cloud": "devcloud", "config_file": own_file()}}}
        with closing(Engine(settings=settings, poll_seconds=0.3)) as self.engine:
            try:
                yield
            finally:
                assert self.engine.delete("w") is None

    def template(self, **properties: Any) -> str:
        given: dict[str, Any] = {
            "image": f"{self.name}-one",
            "flavor": f"{self.name}-one",
            "user_data_format": "RAW",
        }
        given |= {"networks": [{"network": f"{self.name}-one"}]}
        config = {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "#!/bin/sh\\necho hello\\n"}}
        server = {"type": "OS::Nova::Server", "properties": {**given, **properties}}
        outputs = {each: {"value": {"get_attr": ["it", each]}} for each in ("show", "tags", "addresses")}
        resources = {"config": config, "it": server}
        return json.dumps({"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs})

    def made(self, made: Any, state: str) -> dict[str, Any]:
        """Return the server of a stack that is in this state, as the service shows it to its user."""
        assert made is not None
        assert made.state == state, made.reason
        answer = self.cloud.compute.get(f"/servers/{self.id}", microversion="2.26").json()
        return dict(answer["server"])

    @property
    def id(self) -> str:
        return str(self.engine.resource("w", "it").physical_id)

    def test_its_token_is_a_tag_that_is_not_shown(self) -> None:
        stack = self.engine.create("w", self.template(tags=["web"]))
        server = self.made(stack, "CREATE_COMPLETE")
        assert sorted(server["tags"]) == sorted(["web", f"isotherm:{self.engine.resource('w', 'it').id}"])
        assert stack is not None
        outputs = {each.key: each.value for each in stack.outputs}
        assert outputs["tags"] == outputs["show"]["tags"] == ["web"]
        [network] = self.cloud.network.networks(name=f"{self.name}-one")
        [port] = self.cloud.network.ports(device_id=self.id)
        for key in (network.id, network.name):
            assert [each["port"] for each in outputs["addresses"][key]] == [port.id]

    def test_a_server_that_fails_says_why(self) -> None:
        made = self.engine.create("w", self.template(flavor=f"{self.name}-huge"))
        assert made is not None
        assert made.state == "CREATE_FAILED"
        assert "No valid host" in made.reason

    def test_other_user_data_replaces_it_unless_that_is_ignored(self) -> None:
        port = {"networks": [{"port": f"{self.name}-port"}]}
        self.made(self.engine.create("w", self.template(**port)), "CREATE_COMPLETE")
        first = self.id
        given = {**port, "user_data": {"get_resource": "config"}}
        ignored = {**given, "user_data_update_policy": "IGNORE"}
        self.made(self.engine.update("w", self.template(**ignored)), "UPDATE_COMPLETE")
        assert self.id == first
        self.made(
            self.engine.update("w", self.template(**{**given, "user_data": "other"})), "UPDATE_COMPLETE"
        )
        assert self.id != first
        [card] = self.cloud.compute.server_interfaces(self.id)
        assert card.port_id == self.cloud.network.find_port(f"{self.name}-port").id

    def test_metadata_name_image_and_networks_change_in_place(self) -> None:
        self.made(self.engine.create("w", self.template(metadata={"a": "1", "b": "2"})), "CREATE_COMPLETE")
        first = self.id
        changes = {"metadata": {"b": 3, "c": [4]}, "name": f"{self.name}-x", "image": f"{self.name}-two"}
        changed = self.engine.update("w", self.template(**changes, networks=[], admin_pass="x7-Quiet"))
        server = self.made(changed, "UPDATE_COMPLETE")
        assert self.id == first
        assert server["metadata"] == {"b": "3", "c": "[4]"}
        assert server["name"] == f"{self.name}-x"
        assert server["image"]["id"] == self.cloud.image.find_image(f"{self.name}-two").id

    def test_a_snapshot_is_an_image_from_which_it_is_restored(self) -> None:
        self.made(self.engine.create("w", self.template()), "CREATE_COMPLETE")
        stop = threading.Event()
        # The hypervisor of the cloud for tests never fills the image of a snapshot.
        thread = threading.Thread(target=self._fill_images, args=(stop,))
        thread.start()
        try:
            self.engine.run(SnapshotJob(name="w", snapshot="first"))
        finally:
            stop.set()
            thread.join()
        [image] = self._snapshots()
        self.engine.run(RestoreJob(name="w", snapshot="first"))
        assert self.cloud.compute.get_server(self.id).image.id == image.id
        checked = self.engine.operate("CHECK", "w")
        assert checked is not None
        assert checked.state == "CHECK_COMPLETE", checked.reason
        self.engine.run(DeleteSnapshotJob(name="w", snapshot="first"))
        assert not self._snapshots()

    def _snapshots(self) -> list[Any]:
        return [each for each in self.cloud.image.images() if each.name.startswith("w-it-")]

    def _fill_images(self, stop: threading.Event) -> None:
        user = connection(place().file, "devcloud")
        while not stop.wait(0.3):
            for image in user.image.images(status="queued"):
                if image.name.startswith("w-it-"):
                    user.image.update_image(image, container_format="bare", disk_format="raw")
                    kind = {"Content-Type": "application/octet-stream"}
                    user.image.put(f"/images/{image.id}/file", data=b"image", headers=kind)
