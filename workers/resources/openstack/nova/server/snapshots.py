"""Snapshots of a server, which are images.

A snapshot before the deletion has the row's id among its properties: the service copies them from the request.
"""

from typing import TYPE_CHECKING, Final

from orchestrator.plugins.steps import ResourceFailure
from workers.clients.openstack import OpenStack
from workers.resources.openstack.collection import Collection

if TYPE_CHECKING:
    from workers.resources.openstack.nova.server.server import Server

_IMAGES: Final = Collection(path="/images", key="", plural="images")
#: The first version whose answer has the image's id.
_TELLS_IMAGE: Final = "2.45"
#: The property of an image with the id of the row that it was made for.
_RESOURCE: Final = "isotherm_resource"
_FAILED: Final = frozenset({"killed", "deleted", "pending_delete", "deactivated"})


def image_of(server: "Server", glance: OpenStack, name: str) -> str:
    """Return the id of the server's image of this name, which is begun if there is none."""
    if listed := _IMAGES.listed(glance, name=name):
        return str(listed[0]["id"])
    answer = server.act("createImage", {"name": name}, microversion=_TELLS_IMAGE)
    return str(answer["image_id"])


def last_image_of(server: "Server", glance: OpenStack) -> str:
    """Return the id of the image that stays when the server is deleted, which is begun if there is none.

    One that failed is deleted first: it holds nothing.
    """
    name, uuid = f"{server.unique_name}-deleted", server.state.uuid
    for found in _IMAGES.listed(glance, name=name):
        if found.get(_RESOURCE) == uuid and found["status"] not in _FAILED:
            return str(found["id"])
        if found.get(_RESOURCE) == uuid and found["status"] in ("killed", "deactivated"):
            _IMAGES.delete(glance, found["id"])
    body = {"name": name, "metadata": {_RESOURCE: uuid}}
    return str(server.act("createImage", body, microversion=_TELLS_IMAGE)["image_id"])


def is_complete(glance: OpenStack, image: str) -> bool:
    """Return whether an image is complete.

    Raises:
        ResourceFailure: it never will be.
    """
    shown = _IMAGES.show(glance, image)
    if shown is None or shown["status"] in _FAILED:
        raise ResourceFailure(f"image {image} was not made: {shown['status'] if shown else 'it is gone'}")
    return bool(shown["status"] == "active")


def delete(glance: OpenStack, image: str) -> None:
    """Delete an image, which may be gone."""
    _IMAGES.delete(glance, image)
