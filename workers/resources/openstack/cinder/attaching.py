"""Attaching volumes to servers, and detaching them: the compute service does it, both services tell whether it is done.

Each function is called until it returns True; it sends its request only where that is still to be done.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.plugins.steps import Busy, ResourceFailure, Wait
from workers.clients.openstack import OpenStack
from workers.resources.openstack.cinder.cinder_object import VOLUMES
from workers.resources.openstack.cloud_object import LOOK_SECONDS
from workers.resources.openstack.collection import Collection

#: The statuses of a volume that is on its way to or from a server, or has not begun it yet.
_UNDER_WAY = frozenset({"available", "reserved", "attaching", "detaching"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a volume is attached, or is to be."""

    server: str
    volume: str
    #: The name of the device that is asked for; the hypervisor may give it another.
    device: str | None = None

    def to_token(self) -> dict[str, Any]:
        """Return plain types, for a token or a resource's data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attaching:
    """Attaches and detaches volumes, by the clients of both services."""

    nova: OpenStack
    cinder: OpenStack

    def attachments(self, server: str) -> Collection:
        """Return the collection of a server's attachments, in which they have the ids of volumes."""
        path = f"/servers/{server}/os-volume_attachments"
        return Collection(path=path, key="volumeAttachment", plural="volumeAttachments")

    def shown(self, place: Place) -> dict[str, Any] | None:
        """Return the attachment as the compute service shows it; None if there is none, or no such server."""
        return self.attachments(place.server).show(self.nova, place.volume)

    def attach(self, place: Place) -> None:
        """Begin to attach a volume, unless it is attached already.

        Raises:
            Busy: the server or the volume is doing something else.
        """
        if self.shown(place) is not None:
            return
        values = {"volumeId": place.volume, **({"device": place.device} if place.device else {})}
        try:
            self.attachments(place.server).create(self.nova, values)
        except Exception as error:
            if self.nova.is_conflict(error):
                raise Busy(f"it cannot be attached yet: {error}") from error
            raise

    def is_attached(self, place: Place) -> bool | Wait:
        """Return whether both services have the attachment that was begun.

        Raises:
            ResourceFailure: the compute service gave it up, or the volume is gone or failed.
        """
        volume = VOLUMES.show(self.cinder, place.volume)
        if volume is None:
            raise ResourceFailure(f"the volume {place.volume} does not exist")
        there = self.shown(place) is not None
        if there and _is_on(volume, place.server):
            return True
        if not there and volume["status"] == "available":
            raise ResourceFailure(f"the server {place.server} did not take the volume {place.volume}")
        if volume["status"] not in _UNDER_WAY | {"in-use"}:
            raise ResourceFailure(f"the volume {place.volume} is {volume['status']}")
        return Wait(LOOK_SECONDS)

    def detach(self, place: Place) -> None:
        """Begin to detach a volume, unless it is detached or the server is gone.

        Raises:
            Busy: the server or the volume is doing something else.
        """
        if self.shown(place) is None or self._is_detaching(place):
            return
        try:
            self.attachments(place.server).delete(self.nova, place.volume)
        except Exception as error:
            if self.nova.is_conflict(error):
                raise Busy(f"it cannot be detached yet: {error}") from error
            if not self._is_detaching(place):
                raise

    def is_detached(self, place: Place) -> bool | Wait:
        """Return whether neither service has the attachment any more.

        Raises:
            ResourceFailure: the volume failed.
        """
        volume = VOLUMES.show(self.cinder, place.volume)
        there = self.shown(place) is not None
        if not there and (volume is None or not _is_on(volume, place.server)):
            if volume is None or volume["status"] not in ("detaching", "reserved"):
                return True
        elif volume is not None and volume["status"].startswith("error"):
            raise ResourceFailure(f"the volume {place.volume} is {volume['status']}")
        return Wait(LOOK_SECONDS)

    def places(self, volume: Mapping[str, Any]) -> list[Place]:
        """Return where a volume is attached, as the block storage service shows it."""
        return [
            Place(server=each["server_id"], volume=volume["id"], device=each.get("device"))
            for each in volume.get("attachments") or ()
            if each.get("server_id")
        ]

    def _is_detaching(self, place: Place) -> bool:
        volume = VOLUMES.show(self.cinder, place.volume)
        return volume is None or volume["status"] == "detaching"


def _is_on(volume: Mapping[str, Any], server: str) -> bool:
    return any(each.get("server_id") == server for each in volume.get("attachments") or ())
