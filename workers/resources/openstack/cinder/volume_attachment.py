"""``OS::Cinder::VolumeAttachment``: a volume that is attached to a server."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import ResourceFailure, Wait
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cinder.attaching import Attaching, Place
from workers.resources.openstack.cinder.cinder_object import CinderObject
from workers.resources.openstack.cloud_object import LOOK_SECONDS, UNSEEN
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.openstack.recorded_first import RECORDED, RecordedFirst
from workers.resources.schemas import text

#: Where it was last attached, or is about to be: kept with the resource, as an interrupted update may not know it.
_PLACE = "place"
#: The tokens when the request to attach it, or to detach it, was sent.
_ATTACHED, _DETACHED = "attached", "detached"


class VolumeAttachment(CinderObject, RecordedFirst, OnlyOne):
    """An attachment, whose id is that of the volume; it is found by its server and its volume."""

    description = "A volume that is attached to a server."
    example = """\
heat_template_version: 2021-04-16
parameters:
  server: {type: string}
resources:
  data:
    type: OS::Cinder::Volume
    properties: {size: 10}
  attached:
    type: OS::Cinder::VolumeAttachment
    properties:
      instance_uuid: {get_param: server}
      volume_id: {get_resource: data}
"""
    has_description = False
    properties_schema = {
        "instance_uuid": text("The id of the server.", required=True, update_allowed=True),
        "volume_id": text(
            "The id or name of the volume.",
            required=True,
            update_allowed=True,
            constraints=(Custom("cinder.volume"),),
        ),
        "mountpoint": text(
            "The device name that the server is to give it, such as /dev/vdb; many hypervisors choose another.",
            update_allowed=True,
        ),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return that the volume may be given by its name."""
        return [looked_up("volume", "volume_id")]

    @property
    def _attaching(self) -> Attaching:
        return Attaching(nova=self.openstack("nova"), cinder=self.service)

    @property
    def _wanted(self) -> Place:
        return Place(
            server=self.properties["instance_uuid"],
            volume=self.properties["volume_id"],
            device=self.properties["mountpoint"] or None,
        )

    @property
    def _place(self) -> Place:
        """Where it is, as far as is known: where it was last attached, or the properties say."""
        kept = self.state.data.get(_PLACE)
        return Place(**kept) if kept else self._wanted

    def show(self) -> dict[str, Any] | None:
        """Return the attachment as the compute service shows it."""
        if self._shown is None:
            self._shown = (self._attaching.shown(self._place) if self.state.physical_id else None,)
        return self._shown[0]

    def record(self) -> None:
        """Record where it is to be attached.

        Raises:
            ResourceFailure: it is attached there already.
        """
        if self._attaching.shown(self._wanted) is not None:
            raise ResourceFailure("the volume is attached to the server already")
        self._note_place()

    def make(self, token: Any) -> bool | Wait:
        """Attach it where that is on record, and wait until it is attached for both services."""
        if token == RECORDED:
            self._attaching.attach(self._place)
            self._shown = None
            return Wait(LOOK_SECONDS, token=_ATTACHED)
        return self._attaching.is_attached(self._place)

    def make_changes(self, token: Any) -> bool | Wait:
        """Detach it where it is, if it is to be elsewhere; record where; and attach it there."""
        if self._place == self._wanted:
            return self.make(token)
        if token == RECORDED:
            self._attaching.detach(self._place)
        if self._attaching.is_detached(self._place) is not True:
            return Wait(LOOK_SECONDS, token=_DETACHED)
        # Recorded before it is attached: an attempt after a crash detaches it there.
        self._note_place()
        return Wait(0, token=RECORDED)

    def needs_replace_failed(self) -> bool:
        """Return whether it never was on record; otherwise an update attaches it anew."""
        return self.state.physical_id is None

    def handle_delete(self) -> bool:
        """Begin to detach the volume; the server may be gone."""
        if self.state.physical_id is None:
            return False
        self._attaching.detach(self._place)
        return True

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Return whether it is detached, for both services."""
        return self._attaching.is_detached(self._place) if token else True

    def handle_check(self) -> None:
        """Check that the block storage service has it, too.

        Raises:
            ResourceFailure: it has not.
        """
        if self._attaching.is_attached(self._place) is not True:
            raise ResourceFailure("the volume is not attached")

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the compute service has it; the device is the hypervisor's choice."""
        names = {"instance_uuid": "serverId", "volume_id": "volumeId"}
        return shown[names[name]] if name in names else UNSEEN

    def _note_place(self) -> None:
        self.state.physical_id = self._wanted.volume
        self.state.data[_PLACE] = self._wanted.to_token()
        self._shown = None
