"""Whole stacks on a real cloud, by the command line as a person types it, and what the services have meanwhile."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from requests import Response
from requests.adapters import HTTPAdapter

from orchestrator.cli.main import isotherm
from tests.services.openstack.cloud import alone, connected, own_file, place, things
from workers.resources.openstack.nova.generated_keys import generated

pytestmark = [pytest.mark.devcloud, pytest.mark.slow]

#: What templates need besides what they make: names of things that all of them may use.
IMAGE: Final = "isotherm-image"
FLAVOR: Final = "isotherm-small"
LARGER: Final = "isotherm-larger"
#: The flavor that examples in the documentation name.
DOCUMENTED: Final = "m1.tiny"
KEY: Final = "isotherm-key"
INSIDE: Final = "isotherm-inside"
OUTSIDE: Final = "isotherm-public"
#: A web application on three servers, and how many things of each kind its stack makes.
WEB: Final = Path(__file__).parents[3] / "examples" / "cloud" / "web.yaml"
MADE_BY_WEB: Final = {
    "servers": 3,
    "keypairs": 1,
    "server_groups": 1,
    "networks": 1,
    "subnets": 1,
    # Three of servers, and the router's.
    "ports": 4,
    "routers": 1,
    "ips": 1,
    "security_groups": 1,
    "volumes": 1,
}


class Stacks:
    """The command line on an installation of its own, as the user of a cloud."""

    def __init__(self, directory: Path, cloud: str = "devcloud") -> None:
        self._runner = CliRunner()
        self.cloud: Any = connected(cloud)
        clients = {"openstack": {"cloud": cloud, "config_file": own_file()}}
        self._environment = {
            "ISOTHERM_STATE_DIRECTORY": str(directory / "state"),
            "ISOTHERM_CLIENTS": json.dumps(clients),
        }

    def configure(self, **environment: str) -> None:
        """Set variables of the environment of all further commands."""
        self._environment |= environment

    def run(self, *words: str) -> str:
        """Return what a command writes that does what it should."""
        done = self._runner.invoke(isotherm, words, env=self._environment)
        assert done.exit_code == 0, f"isotherm {' '.join(words)}: {done.output}"
        return done.output

    def create(self, name: str, template: Path, *words: str) -> None:
        """Create a stack, and wait until it is complete."""
        self.run("stack", "create", name, "-t", str(template), *words, "--wait")

    def update(self, name: str, template: Path, *words: str) -> None:
        """Update a stack, and wait until that is complete."""
        self.run("stack", "update", name, "-t", str(template), *words, "--wait")

    def delete(self, name: str) -> None:
        """Delete a stack, and wait until it is gone."""
        self.run("stack", "delete", name, "--yes", "--wait")

    def resources(self, name: str) -> list[dict[str, Any]]:
        """Return the resources of a stack and of its nested stacks."""
        found: list[dict[str, Any]] = json.loads(
            self.run("stack", "resource", "list", name, "--nested-depth", "5", "-f", "json")
        )
        return found

    def output(self, name: str, key: str) -> Any:
        """Return the value of an output."""
        return json.loads(self.run("stack", "output", "show", name, key, "-f", "json"))["value"]

    @contextmanager
    def counted(self, *, refused: int = 0) -> Iterator[Counter[tuple[str, str]]]:
        """Count the requests to services while the block runs, by method and by the words of the path.

        After the first that makes something, so many are ``refused`` by 429, but for logins.
        """
        counts: Counter[tuple[str, str]] = Counter()
        original, lock = HTTPAdapter.send, Lock()

        def send(adapter: Any, request: Any, *args: Any, **given: Any) -> Any:
            parts = [part for part in urlsplit(request.url).path.split("/") if part]
            words = [part for part in parts if part.replace("-", "").replace("_", "").isalpha()]
            with lock:
                counts[request.method, "/".join(words)] += 1
                begun = any(method == "POST" and what != "auth/tokens" for method, what in counts)
                is_refused = begun and counts["", "refused"] < refused and "tokens" not in words
                if is_refused:
                    counts["", "refused"] += 1
            if is_refused:
                return too_many(request)
            return original(adapter, request, *args, **given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(HTTPAdapter, "send", send)
            yield counts

    def things(self) -> dict[str, set[str]]:
        """Return the ids of what the user's project has, by kind."""
        return things(self.cloud)


def too_many(request: Any) -> Response:
    """Return the answer of a service that limits the rate of requests."""
    response = Response()
    response.status_code, response.url, response.request = 429, str(request.url), request
    response.headers.update({"Retry-After": "1", "Content-Type": "application/json"})
    response.raw = BytesIO(b'{"error": {"message": "slow down", "code": 429}}')
    return response


@contextmanager
def furnished() -> Iterator[None]:
    """Put into the cloud what templates need, unless it is there; it stays for others."""
    place()  # It keeps others out by itself.
    with alone():
        _furnish()
    yield


def _furnish() -> None:
    admin: Any = connected("devcloud-admin")
    user: Any = connected("devcloud")
    if admin.image.find_image(IMAGE) is None:
        admin.image.create_image(
            name=IMAGE, data=b"none", disk_format="raw", container_format="bare", visibility="public"
        )
    for name, memory in ((FLAVOR, 64), (LARGER, 128), (DOCUMENTED, 512)):
        if admin.compute.find_flavor(name) is None:
            admin.compute.create_flavor(name=name, ram=memory, vcpus=1, disk=1)
    if admin.network.find_network(OUTSIDE) is None:
        made = admin.network.create_network(
            name=OUTSIDE,
            is_router_external=True,
            provider_network_type="flat",
            provider_physical_network=OUTSIDE,
        )
        admin.network.create_subnet(network_id=made.id, ip_version=4, cidr="192.0.2.0/24")
    if user.network.find_network(INSIDE, project_id=user.session.get_project_id()) is None:
        made = user.network.create_network(name=INSIDE)
        subnet = user.network.create_subnet(
            network_id=made.id, ip_version=4, cidr="10.99.0.0/16", name=INSIDE
        )
        outside = user.network.find_network(OUTSIDE)
        router = user.network.create_router(name=INSIDE, external_gateway_info={"network_id": outside.id})
        user.network.add_interface_to_router(router, subnet=subnet.id)
    if user.compute.find_keypair(KEY) is None:
        user.compute.create_keypair(name=KEY, public_key=generated("ssh", KEY).public)
