"""``OS::Nova::Server`` on a real compute service."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import openstack
import pytest

from isotherm.testing.engine import Engine
from tests.services.openstack.cloud import FILE, CloudConformance
from workers.resources.openstack.nova.server.server import Server


class Surroundings:
    """What a server needs: images, flavors, networks and a port, each with a name of its own."""

    def __init__(self) -> None:
        self.name = f"isotherm-{secrets.token_hex(4)}"
        self._admin, self._user = (openstack.connect(cloud=each) for each in ("devcloud-admin", "devcloud"))
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
        port = self._user.network.create_port(name=f"{self.name}-port", network_id=network.id)
        self._made.append(lambda: self._user.network.delete_port(port.id))

    def delete(self) -> None:
        """Delete it, the last first."""
        for delete in reversed(self._made):
            delete()


@pytest.fixture(scope="module")
def surroundings() -> Iterator[Surroundings]:
    """Return what servers need."""
    if not FILE:
        pytest.skip("OS_CLIENT_CONFIG_FILE names no clouds.yaml")
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

    def objects(self) -> list[str]:
        """Return the servers, and the ports that were made for them."""
        servers = self.service().get("/servers").json()["servers"]
        ports = self.service("network").get("/ports").json()["ports"]
        own = [each for each in servers if each["name"].startswith("s-it-")]
        own += [each for each in ports if each["name"].startswith("it-port-")]
        return [each["id"] for each in own]


class QuietServer(Server):
    """A server without most of its attributes, each of which is another instant at which a process may die."""

    attributes_schema = {"networks": Server.attributes_schema["networks"]}


class TestServer(ServerConformance):
    type = Server

    def test_a_crash_makes_nothing_twice_and_loses_nothing(self) -> None:
        """Leave it to the quiet one."""

    def test_a_crash_of_an_update_leaves_what_was_wanted(self) -> None:
        """Leave it to the quiet one."""

    def test_a_crash_of_any_other_operation_does_no_harm(self) -> None:
        """Leave it to the quiet one."""


class TestCrashesOfServers(ServerConformance):
    """Every third instant: each takes some seconds."""

    type = QuietServer

    @property
    def changes(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"networks": super().changes["networks"]}

    def _crashes(self, engine: Engine) -> Iterator[Callable[[], str]]:
        for calls in count(step=3):
            engine.watch.crash_after(calls)
            yield lambda: f"the process died {engine.watch.crashed}: " if engine.watch.crashed else ""
            if not engine.watch.crashed:
                engine.watch.disarm()
                return
