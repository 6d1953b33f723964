"""``OS::Cinder::EncryptedVolumeType``: how volumes of a type are encrypted."""

from collections.abc import Mapping
from typing import Any

from orchestrator.plugins.constraints import AllowedValues
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cinder.cinder_object import VOLUME_TYPES, CinderObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.openstack.recorded_first import RecordedFirst
from workers.resources.schemas import integer, text


class EncryptedVolumeType(CinderObject, RecordedFirst, OnlyOne):
    """The encryption of a volume type, which has one at most; its id is that of the type."""

    description = "How volumes of a type are encrypted, set by an administrator."
    example = """\
heat_template_version: 2021-04-16
resources:
  secret:
    type: OS::Cinder::VolumeType
    properties: {name: secret}
  encrypted:
    type: OS::Cinder::EncryptedVolumeType
    properties:
      volume_type: {get_resource: secret}
      provider: luks
      cipher: aes-xts-plain64
      key_size: 256
"""
    has_description = False
    extensions = {"": "encryption"}
    sent_as = {"volume_type": ""}
    properties_schema = {
        "provider": text("What encrypts, such as luks.", required=True, update_allowed=True),
        "control_location": text(
            "Where it is encrypted: front-end is the compute service.",
            default="front-end",
            constraints=(AllowedValues(("front-end", "back-end")),),
            update_allowed=True,
        ),
        "cipher": text(
            "The cipher and its mode.",
            constraints=(AllowedValues(("aes-xts-plain64", "aes-cbc-essiv")),),
            update_allowed=True,
        ),
        "key_size": integer("The size of its key, in bits.", update_allowed=True),
        "volume_type": text(
            "The id or name of the volume type.", required=True, constraints=(Custom("cinder.vtype"),)
        ),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return that the type may be given by its name."""
        return [looked_up("volume type", "volume_type")]

    @property
    def _encryptions(self) -> Collection:
        path = f"{VOLUME_TYPES.at(str(self.state.physical_id))}/encryption"
        return Collection(path=path, key="encryption", plural="encryption")

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement is for the same volume type."""
        return bool(self.state.physical_id == self.properties["volume_type"])

    def show(self) -> dict[str, Any] | None:
        """Return the encryption of the type; None if it has none, or is gone."""
        if self._shown is None:
            self._shown = (self._read() if self.state.physical_id else None,)
        return self._shown[0]

    def record(self) -> None:
        """Record the type's id as its own.

        Raises:
            ResourceFailure: it has an encryption already.
        """
        self.state.physical_id = self.properties["volume_type"]
        if self._read() is not None:
            self.state.physical_id = None
            raise ResourceFailure("the volume type has an encryption already")

    def make(self, token: Any) -> bool:  # noqa: ARG002 (the base's signature)
        """Set the encryption, unless that is done."""
        if self.show() is None:
            self._encryptions.create(self.service, self.values(self.properties_schema.keys()))
            self.changed()
        return True

    def handle_update(self, changes: PropertyChanges) -> None:
        """Change what differs."""
        self.change(self.changed_values(changes))

    def check_update_complete(self, token: Any) -> bool:  # noqa: ARG002 (the contract's signature)
        """Return that it was changed at once."""
        return True

    def change(self, body: Mapping[str, Any]) -> None:
        """Change the encryption, if anything differs."""
        if body:
            self._encryptions.change(self.service, self.whole()["encryption_id"], body)
            self.changed()

    def handle_delete(self) -> bool:
        """Take the encryption from the type, which may be gone."""
        shown = self.show()
        if shown is not None:
            self._encryptions.delete(self.service, shown["encryption_id"])
            self.changed()
        return shown is not None

    def _read(self) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.service.ask("GET", self._encryptions.path)
        except Exception as error:
            if self.service.is_not_found(error):
                return None
            raise
        return found if found.get("encryption_id") else None

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        return shown["volume_type_id"] if name == "volume_type" else super().seen(name, shown)
