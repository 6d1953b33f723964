"""What a snapshot of a stack keeps of a volume: a backup, or a snapshot of the volume where nothing makes backups.

A backup outlives its volume and can be restored into another. A volume's snapshot does neither, but needs no further
service. The plain user whose stack it is cannot ask whether there is a backup service; a cloud without one accepts the
request for a backup, fails it later, and then cannot delete it either.
"""

from collections.abc import Mapping
from typing import Any, Final

from hooks.values.dataclass import dataclass
from orchestrator.plugins.steps import ResourceFailure, Wait
from workers.clients.openstack import OpenStack
from workers.resources.openstack.cinder.cinder_object import BACKUPS, SNAPSHOTS
from workers.resources.openstack.cloud_object import LOOK_SECONDS
from workers.resources.openstack.tokens import token_of, with_token

#: The keys of entries.
BACKUP: Final = "backup"
SNAPSHOT: Final = "snapshot"
_COLLECTIONS: Final = {BACKUP: BACKUPS, SNAPSHOT: SNAPSHOTS}
#: Why a volume cannot leave a snapshot behind: its own snapshots would have to be deleted before it.
NO_BACKUPS: Final = "the volume service here has no backups, and nothing else outlives a volume"
#: How the service says that no other one makes backups, in an answer or in a failed backup.
_NO_SERVICE: Final = ("service not found", "service cinder-backup could not be found")


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeSnapshots:
    """The snapshots and backups that one resource makes of its volume."""

    cinder: OpenStack
    volume: str
    #: The id of the resource's row: the token in their descriptions.
    uuid: str

    def take(self, name: str) -> dict[str, str]:
        """Begin to make a backup, or a snapshot, and return its entry; an earlier one of this name is taken."""
        for kind, collection in _COLLECTIONS.items():
            for found in collection.listed(self.cinder, volume_id=self.volume, name=name):
                if not _lacks_service(found):
                    return {kind: found["id"], "volume": self.volume}
        if self.cinder.options["volume_backups"] and self._makes_backups():
            try:
                return self._made(BACKUP, name)
            except Exception as error:
                if not _says_no_service(str(error)):
                    raise
        return self._made(SNAPSHOT, name)

    def take_last(self, name: str) -> str:
        """Begin to make the backup that stays when the volume is deleted, and return its id; one begun before is taken.

        One that failed is deleted first, as far as there is a service that can.
        """
        for found in BACKUPS.listed(self.cinder, volume_id=self.volume, name=name):
            if token_of(found.get("description")) != self.uuid:
                continue
            if found["status"] != "error":
                return str(found["id"])
            if not _lacks_service(found):
                BACKUPS.delete(self.cinder, found["id"])
        return str(self._new(BACKUP, name)["id"])

    def is_last_taken(self, backup: str) -> bool | Wait:
        """Return whether the backup that stays is complete.

        Raises:
            ResourceFailure: it failed, or is gone.
        """
        shown = BACKUPS.show(self.cinder, backup)
        if shown is None:
            raise ResourceFailure(f"its backup {backup} is gone")
        if shown["status"] == "available":
            return True
        if shown["status"] in ("creating", "backing-up"):
            return Wait(LOOK_SECONDS)
        if _lacks_service(shown):
            raise ResourceFailure(NO_BACKUPS)
        raise ResourceFailure(f"its backup {backup} failed: {shown.get('fail_reason') or shown['status']}")

    def is_taken(self, entry: Mapping[str, str], name: str) -> bool | Wait:
        """Return whether what was begun is complete; the token of the answer may be another entry.

        Raises:
            ResourceFailure: it failed, or is gone.
        """
        kind = _kind(entry)
        shown = _COLLECTIONS[kind].show(self.cinder, entry[kind])
        if shown is None:
            raise ResourceFailure(f"its {kind} {entry[kind]} is gone")
        if shown["status"] == "available":
            return True
        if shown["status"] in ("creating", "backing-up"):
            return Wait(LOOK_SECONDS)
        if kind == BACKUP and _lacks_service(shown):
            return Wait(LOOK_SECONDS, token=self._made(SNAPSHOT, name))
        raise ResourceFailure(
            f"its {kind} {entry[kind]} failed: {shown.get('fail_reason') or shown['status']}"
        )

    def delete(self, entry: Mapping[str, str]) -> None:
        """Delete the backup or snapshot of an entry, which may be gone."""
        kind = _kind(entry)
        shown = _COLLECTIONS[kind].show(self.cinder, entry[kind])
        if shown is not None and shown["status"] != "deleting":
            _COLLECTIONS[kind].delete(self.cinder, entry[kind])

    def of_volume(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the snapshots of the volume: those that the resource made, and all others."""
        found = SNAPSHOTS.listed(self.cinder, volume_id=self.volume)
        own = [each for each in found if token_of(each.get("description")) == self.uuid]
        return own, [each for each in found if each not in own]

    def _made(self, kind: str, name: str) -> dict[str, str]:
        for found in _COLLECTIONS[kind].listed(self.cinder, volume_id=self.volume, name=name):
            if not _lacks_service(found):
                return {kind: found["id"], "volume": self.volume}
        return {kind: self._new(kind, name)["id"], "volume": self.volume}

    def _new(self, kind: str, name: str) -> dict[str, Any]:
        values = {
            "volume_id": self.volume,
            "name": name,
            "description": with_token(None, self.uuid),
            "force": True,
        }
        return _COLLECTIONS[kind].create(self.cinder, values)

    def _makes_backups(self) -> bool:
        """Return False if attempts of any resource failed for want of the service, and it still is not there."""
        for failed in BACKUPS.listed(self.cinder, status="error"):
            if not _lacks_service(failed) or token_of(failed.get("description")) is None:
                continue
            try:
                self.cinder.ask("DELETE", BACKUPS.at(failed["id"]))
            except Exception as error:
                if _says_no_service(str(error)):
                    return False
                if not self.cinder.is_not_found(error):
                    raise
        return True


def _kind(entry: Mapping[str, str]) -> str:
    return BACKUP if BACKUP in entry else SNAPSHOT


def _lacks_service(backup: Mapping[str, Any]) -> bool:
    return backup["status"] == "error" and _says_no_service(backup.get("fail_reason") or "")


def _says_no_service(message: str) -> bool:
    return any(said in message.lower() for said in _NO_SERVICE)
