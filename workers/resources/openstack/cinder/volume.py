"""``OS::Cinder::Volume``: a volume of the block storage service."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.definition import is_unknown
from orchestrator.plugins.asking import NamedClients
from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import PropertyError, PropertyType
from orchestrator.plugins.steps import Busy, PropertyChanges, ResourceFailure, Wait
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Rule
from workers.resources.openstack.cinder.cinder_object import (
    SNAPSHOTS,
    VOLUMES,
)
from workers.resources.openstack.cinder.volume_snapshots import BACKUP, NO_BACKUPS, SNAPSHOT, VolumeSnapshots
from workers.resources.openstack.cinder.volume_steps import RESTORED, SETTLED, VolumeSteps
from workers.resources.openstack.cloud_object import LOOK_SECONDS, UNSEEN, CloudObject
from workers.resources.openstack.comparing import as_texts, texts_as_given
from workers.resources.openstack.lookups import looked_up
from workers.resources.schemas import boolean, integer, live, mapping, text

#: Metadata that the service adds.
_ADDED = frozenset({"readonly", "attached_mode", "src_backup_id"})
#: So many volumes are listed for each that is observed.
_NEWEST = 20
#: The first microversion in which a volume can be made of a backup.
_FROM_BACKUP = "3.47"


class Volume(VolumeSteps):
    """A volume: empty, or from an image, a snapshot, another volume or a backup.

    An update that the service refuses for attached volumes detaches it meanwhile. A snapshot of the stack makes a
    backup of it, or a snapshot of the volume where the cloud has no backup service.
    """

    description = "A volume: a disk that is kept by the block storage service."
    example = """\
heat_template_version: 2021-04-16
resources:
  data:
    type: OS::Cinder::Volume
    properties:
      size: 10
      metadata: {purpose: data}
outputs:
  status: {value: {get_attr: [data, status]}}
"""
    collection = VOLUMES
    entity = "volume"
    sent_as = {"image": "imageRef", "imageRef": "", "scheduler_hints": "", "read_only": "", "multiattach": ""}
    shown_as = {"display_name": "name", "display_description": "description", "metadata_values": "metadata"}
    busy_statuses = frozenset(
        {
            "creating",
            "downloading",
            "restoring-backup",
            "extending",
            "retyping",
            "reverting",
            "backing-up",
            "uploading",
            "attaching",
            "detaching",
            "reserved",
            "maintenance",
        }
    )
    failed_statuses = frozenset(
        {"error", "error_extending", "error_restoring", "error_deleting", "error_backing-up", "deleting"}
    )
    microversions = {"backup_id": _FROM_BACKUP}
    properties_schema = {
        "availability_zone": text("The availability zone it is made in."),
        "size": integer(
            "In GiB; a larger one grows in place, a smaller one is another volume. Needed unless it is made of a "
            "snapshot, another volume or a backup.",
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "snapshot_id": text(
            "The volume snapshot that it is made of.", constraints=(Custom("cinder.snapshot"),)
        ),
        "backup_id": text(
            "The backup that is restored into it; other sources are then ignored.",
            update_allowed=True,
            constraints=(Custom("cinder.backup"),),
        ),
        "name": text("Its name.", update_allowed=True),
        "description": text("Its description.", update_allowed=True),
        "volume_type": text(
            "The id or name of its type.", update_allowed=True, constraints=(Custom("cinder.vtype"),)
        ),
        "metadata": mapping("Its metadata: keys and texts.", update_allowed=True, default={}),
        "imageRef": text(
            "The image that it is made of.",
            support_status=SupportStatus(
                status=Support.HIDDEN,
                message="use image",
                version="5.0.0",
                previous=SupportStatus(status=Support.DEPRECATED, version="2014.1"),
            ),
        ),
        "image": text(
            "The id or name of the image that it is made of.", constraints=(Custom("glance.image"),)
        ),
        "source_volid": text(
            "The volume of which it becomes a copy.", constraints=(Custom("cinder.volume"),)
        ),
        "scheduler_hints": mapping("Hints for the scheduler of the service."),
        "read_only": boolean("Whether it can only be read.", update_allowed=True),
        "multiattach": boolean(
            "Without effect: the volume's type tells whether it may be attached to several servers.",
            default=False,
            support_status=SupportStatus(status=Support.HIDDEN, version="13.0.0"),
        ),
    }
    attributes_schema = {
        "availability_zone": live("Its availability zone.", PropertyType.STRING),
        "size": live("Its size in GiB.", PropertyType.STRING),
        "snapshot_id": live("The snapshot that it was made of.", PropertyType.STRING),
        "display_name": live("Its name.", PropertyType.STRING),
        "display_description": live("Its description.", PropertyType.STRING),
        "volume_type": live("The name of its type.", PropertyType.STRING),
        "metadata": live("Its metadata, as JSON text.", PropertyType.STRING),
        "source_volid": live("The volume that it was copied from.", PropertyType.STRING),
        "status": live("Its status.", PropertyType.STRING),
        "created_at": live("When it was made.", PropertyType.STRING),
        "bootable": live("Whether servers can boot from it: true or false.", PropertyType.STRING),
        "metadata_values": live("Its metadata, as a map.", PropertyType.MAP),
        "encrypted": live("Whether it is encrypted: True or False.", PropertyType.STRING),
        "attachments": live(
            "Its attachments, as text.",
            PropertyType.STRING,
            support_status=SupportStatus(
                status=Support.DEPRECATED, version="9.0.0", message="use attachments_list"
            ),
        ),
        "attachments_list": live("Its attachments.", PropertyType.LIST),
        "multiattach": live("Whether it may be attached to several servers.", PropertyType.BOOLEAN),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return the old name of the image, and what may be given by its name."""
        return [
            Replace(path=("image",), source=("imageRef",)),
            looked_up("image", "image"),
            looked_up("volume snapshot", "snapshot_id"),
            looked_up("volume", "source_volid"),
            looked_up("volume backup", "backup_id"),
        ]

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Check that its size is known from somewhere, and that it is made of one thing.

        Raises:
            PropertyError: it is not.
        """
        if properties["backup_id"] is not None:
            return
        sources = [name for name in ("image", "snapshot_id", "source_volid") if properties[name]]
        known = [name for name in sources if not is_unknown(properties[name])]
        if len(known) > 1:
            raise PropertyError((known[1],), f"give only one of {' and '.join(known)}")
        if properties["size"] is None and not set(sources) & {"snapshot_id", "source_volid"}:
            raise PropertyError(
                ("size",), "give the size, or what it is made of: snapshot_id, source_volid or backup_id"
            )

    # -- creating ----------------------------------------------------------------------------------------------

    def values(self, names: Any) -> dict[str, Any]:
        """Return the properties as a body."""
        body = super().values(names)
        if body.get("backup_id"):
            for source in ("imageRef", "snapshot_id", "source_volid"):
                body.pop(source, None)
        if "metadata" in body:
            body["metadata"] = as_texts(body["metadata"])
        return {name: value for name, value in body.items() if value != "" or name == "description"}

    def handle_create(self) -> None:
        """Create the volume, and record its id."""
        body: dict[str, Any] = {"volume": self.values(self.properties_schema.keys())}
        if self.properties["scheduler_hints"]:
            body["OS-SCH-HNT:scheduler_hints"] = dict(self.properties["scheduler_hints"])
        version = _FROM_BACKUP if self.properties["backup_id"] else None
        made = self.service.ask("POST", VOLUMES.path, body=body, microversion=version)["volume"]
        self.state.physical_id = str(made["id"])
        self.changed()

    def check_create_complete(self, token: Any) -> bool | Wait:  # noqa: ARG002 (the contract's signature)
        """Return whether it can be used; then it is made read-only, if it is to be."""
        if (ready := self.is_ready()) is not True:
            return ready
        if self.properties["backup_id"]:
            self.state.data[RESTORED] = self.properties["backup_id"]
        if self.needs_read_only(self.whole()):
            self.act("os-update_readonly_flag", readonly=self.properties["read_only"])
        return True

    def failure(self, shown: Mapping[str, Any]) -> str:
        """Return why it failed: its status, and what the service tells its user about it."""
        told = self.service.listed(
            "/messages", "messages", {"resource_uuid": shown["id"]}, microversion="3.5"
        )
        reasons = "; ".join(sorted({str(each["user_message"]) for each in told}))
        return f"its status is {shown['status']}{': ' if reasons else ''}{reasons}"

    # -- updating ----------------------------------------------------------------------------------------------

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether it is to be smaller: volumes do not shrink."""
        after = changes.after.get("size")
        if "size" not in changes.names or after is None:
            return False
        before = changes.before.get("size")
        if before is None:
            before = (self.show() or {}).get("size")
        return before is not None and bool(after < before)

    def needs_replace_failed(self) -> bool:
        """Return whether it was never made, is gone or failed; one that could not grow has its data still."""
        shown = self.show()
        return shown is None or shown["status"] in ("error", "deleting")

    def handle_update(self, changes: PropertyChanges) -> dict[str, Any]:
        """Change what a request does at once; return the steps that take time."""
        shown = self.whole()
        self.change(self.changed_values(changes))
        wanted = as_texts(self.properties["metadata"])
        kept = {name: value for name, value in shown["metadata"].items() if name in _ADDED - wanted.keys()}
        if shown["metadata"] != {**kept, **wanted}:
            self.service.ask("PUT", f"{self.path}/metadata", body={"metadata": wanted})
            self.changed()
        backup = self.properties["backup_id"]
        steps = []
        if backup and self.state.data.get(RESTORED) != backup:
            steps.append("restore")
        steps += ["extend", "retype"]
        if self.needs_read_only(shown):
            steps.append("read_only")
        if {"restore", "read_only"} & set(steps):
            return self.detached_for(*steps, source=backup)
        return {"steps": steps, "sent": False, "places": [], "source": None}

    def changed_values(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return the new name and description; all else has requests of its own."""
        body = super().changed_values(changes)
        return {name: body[name] for name in ("name", "description") if name in body}

    # -- deleting ----------------------------------------------------------------------------------------------

    @classmethod
    def refuses_snapshots(cls, clients: NamedClients) -> str:
        """Return that there are no backups, if the settings say so: a plain user cannot ask the service."""
        client: Any = clients.get(cls.client_name)
        return "" if client.options["volume_backups"] else NO_BACKUPS

    def handle_snapshot_delete(self) -> str | None:
        """Begin to make a backup, which stays, once nothing writes to the volume any more; return its id.

        Raises:
            Busy: it is attached to a server.
            ResourceFailure: there is no service for backups, or the volume has failed.
        """
        shown = self.show()
        if shown is None or shown["status"] in ("deleting", "error_deleting"):
            return None
        if not self.service.options["volume_backups"]:
            raise ResourceFailure(NO_BACKUPS)
        if shown["status"] in self.failed_statuses:
            raise ResourceFailure(f"no backup of it can be made: {self.failure(shown)}")
        self._refuse_attached(shown)
        return self._snapshots.take_last(f"{self.unique_name[:200]}-deleted")

    def check_snapshot_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether the backup is complete."""
        return self._snapshots.is_last_taken(token)

    def handle_delete(self) -> bool:
        """Return whether it is there; the deletion has several parts, which follow."""
        return self.show() is not None

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Delete the snapshots that this resource made, then the volume.

        Raises:
            Busy: it is attached to a server.
            ResourceFailure: there are snapshots that this resource did not make, or the service could not delete it.
        """
        shown = self.show() if token else None
        if shown is None:
            return True
        # It is to be read anew whenever this is called.
        self._shown = None
        if shown["status"] == "error_deleting":
            raise ResourceFailure(self.failure(shown))
        self._refuse_attached(shown)
        if shown["status"] == "deleting" or shown["status"] in self.busy_statuses:
            return Wait(LOOK_SECONDS)
        own, others = self._snapshots.of_volume()
        if others:
            names = ", ".join(each["id"] for each in others)
            raise ResourceFailure(f"it has snapshots that this resource did not make: {names}")
        for each in own:
            if each["status"] != "deleting":
                SNAPSHOTS.delete(self.service, each["id"])
        if not own:
            super().handle_delete()
        return Wait(LOOK_SECONDS)

    def _refuse_attached(self, shown: Mapping[str, Any]) -> None:
        if shown["status"] == "in-use":
            servers = ", ".join(place.server for place in self.attaching.places(shown))
            raise Busy(f"it cannot be deleted yet: it is attached to {servers or 'a server'}")

    # -- snapshots ---------------------------------------------------------------------------------------------

    def handle_snapshot(self) -> dict[str, str]:
        """Begin to make a backup, or a snapshot where there is no service for backups."""
        return self._snapshots.take(self._snapshot_name)

    def check_snapshot_complete(self, token: Any) -> bool | Wait:
        """Return whether the backup or snapshot is complete."""
        return self._snapshots.is_taken(token, self._snapshot_name)

    def handle_delete_snapshot(self, entry: Any) -> None:
        """Delete the backup or snapshot of an entry."""
        self._snapshots.delete(entry)

    def handle_restore(self, entry: Any) -> dict[str, Any]:
        """Begin to restore a backup into the volume, or to revert the volume to its snapshot.

        Raises:
            ResourceFailure: it is gone, or is a snapshot of another volume.
        """
        if BACKUP in entry:
            return self.detached_for("restore", source=entry[BACKUP])
        if SNAPSHOTS.show(self.service, entry[SNAPSHOT]) is None:
            raise ResourceFailure(
                f"the snapshot {entry[SNAPSHOT]} is gone: it is deleted together with its volume"
            )
        if entry["volume"] != self.state.physical_id:
            raise ResourceFailure(
                f"the snapshot {entry[SNAPSHOT]} is of the volume {entry['volume']}, which this one replaced"
            )
        return self.detached_for("revert", source=entry[SNAPSHOT])

    def check_restore_complete(self, token: Any) -> bool | Wait:
        """Carry out the steps of a restore."""
        return self.check_update_complete(token)

    @property
    def _snapshots(self) -> VolumeSnapshots:
        return VolumeSnapshots(cinder=self.service, volume=str(self.state.physical_id), uuid=self.state.uuid)

    @property
    def _snapshot_name(self) -> str:
        """The name of what one snapshot of the stack makes, the same when it is begun again."""
        return f"{self.unique_name[:200]}-{int(self.state.started_at * 1_000_000):x}"

    # -- reading -----------------------------------------------------------------------------------------------

    def handle_check(self) -> None:
        """Check that it can be used.

        Raises:
            ResourceFailure: it cannot.
        """
        if (shown := self.show()) and shown["status"] not in SETTLED:
            raise ResourceFailure(self.failure(shown))

    @classmethod
    def list_query(cls, resources: Sequence[CloudObject]) -> Mapping[str, Any] | None:
        """Return the query for the newest volumes: the service selects by no more than one id."""
        return {"limit": _NEWEST * len(resources)}

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "metadata":
            return texts_as_given(self.properties[name], shown["metadata"])
        if name == "read_only":
            return shown["metadata"].get("readonly") == "True"
        if name == "volume_type":
            given = self.properties[name]
            return given if self.is_of_type(given) else shown[name]
        return UNSEEN if name == "backup_id" else super().seen(name, shown)

    def attribute(self, name: str) -> Any:
        """Return an attribute, of the type that Heat's has."""
        value = self.whole().get(name) if name == "metadata" else super().attribute(name)
        if name == "display_description":
            return super().attribute("description")
        if name == "metadata":
            return json.dumps(value)
        if name == "attachments_list":
            return self.whole()["attachments"]
        if name in ("size", "encrypted", "attachments"):
            return str(value)
        return value
