"""Servers for tests of types that need one, made beside the type under test."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.services.openstack.cloud import connected


@contextmanager
def servers(count: int) -> Iterator[list[str]]:
    """Make servers without networks, and yield their ids; they and what they need are deleted afterwards."""
    cloud, admin = connected("devcloud"), connected("devcloud-admin")
    name = f"test-{uuid.uuid4().hex[:8]}"
    flavor = admin.compute.create_flavor(name=name, ram=64, vcpus=1, disk=1)
    image = cloud.image.create_image(
        name=name, data=b"none", disk_format="raw", container_format="bare", allow_duplicates=True
    )
    made = []
    try:
        for number in range(count):
            server = cloud.compute.create_server(
                name=f"{name}-{number}", flavor_id=flavor.id, image_id=image.id, networks="none"
            )
            made.append(server)
        for server in made:
            cloud.compute.wait_for_server(server, interval=0.5, wait=120)
        yield [server.id for server in made]
    finally:
        for server in made:
            cloud.compute.delete_server(server, ignore_missing=True)
        for server in made:
            cloud.compute.wait_for_delete(server, interval=0.5, wait=120)
        cloud.image.delete_image(image.id, ignore_missing=True)
        admin.compute.delete_flavor(flavor, ignore_missing=True)
