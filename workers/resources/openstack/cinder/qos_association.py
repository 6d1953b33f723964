"""``OS::Cinder::QoSAssociation``: volume types that have a QoS specification."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.custom import Custom
from orchestrator.plugins.translation import Rule
from workers.resources.openstack.cinder.cinder_object import CinderObject
from workers.resources.openstack.cinder.qos_specs import QOS_SPECS
from workers.resources.openstack.lookups import looked_up
from workers.resources.openstack.only_one import OnlyOne
from workers.resources.openstack.recorded_first import RecordedFirst
from workers.resources.schemas import listing, text

#: The key of the ids of all types that may have the specification because of this resource.
_TYPES: Final = "volume_types"
#: The key of the id of the specification: a deletion knows it by the name only that a template gives.
_SPECS: Final = "qos_specs"


class QoSAssociation(CinderObject, RecordedFirst, OnlyOne):
    """The relation of a QoS specification to volume types; the resource's own id is the id of its row."""

    description = "Volume types that have a QoS specification, given to them by an administrator."
    example = """\
heat_template_version: 2021-04-16
resources:
  slow:
    type: OS::Cinder::QoSSpecs
    properties:
      specs: {total_iops_sec: "100"}
  cheap:
    type: OS::Cinder::VolumeType
    properties: {name: cheap}
  cheap_is_slow:
    type: OS::Cinder::QoSAssociation
    properties:
      qos_specs: {get_resource: slow}
      volume_types: [{get_resource: cheap}]
"""
    collection = QOS_SPECS
    has_description = False
    extensions = {"": "qos-specs"}
    properties_schema = {
        "qos_specs": text(
            "The id or name of the QoS specification.",
            required=True,
            constraints=(Custom("cinder.qos_specs"),),
        ),
        "volume_types": listing(
            "The ids or names of the volume types.",
            schema=text(constraints=(Custom("cinder.vtype"),)),
            required=True,
            update_allowed=True,
        ),
    }

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> list[Rule]:  # noqa: ARG003 (the contract's)
        """Return that both may be given by their names."""
        return [
            looked_up("volume type", "volume_types"),
            looked_up("QoS specification", "qos_specs"),
        ]

    @property
    def is_in_the_way(self) -> bool:
        """Whether its replacement gives the same specification to the same types."""
        is_same = self.state.data.get(_SPECS) == self.properties["qos_specs"]
        return is_same and bool(self._ours & set(self.properties["volume_types"]))

    def show(self) -> dict[str, Any] | None:
        """Return the specification and the types that have it; None if it is gone, or none of them has it."""
        if self._shown is None:
            types = self._associated()
            ours = set(types or ()) & self._ours
            shown = {"qos_specs": self.state.data.get(_SPECS), "volume_types": types}
            self._shown = (shown if ours else None,)
        return self._shown[0]

    def record(self) -> None:
        """Record its id, the specification and the types."""
        self.state.physical_id = self.state.uuid
        self.state.data[_SPECS] = self.properties["qos_specs"]
        self.record_changes()

    def record_changes(self) -> None:
        """Record the types that may have it from now on."""
        self.state.data[_TYPES] = sorted(self._ours | set(self.properties["volume_types"]))

    def make(self, token: Any) -> bool:  # noqa: ARG002 (the base's signature)
        """Give the specification to the types that lack it, and take it from those that are no longer named."""
        wanted, has = set(self.properties["volume_types"]), set(self._associated() or ())
        for each in sorted(wanted - has):
            self._ask("associate", each)
        for each in sorted((self._ours - wanted) & has):
            self._ask("disassociate", each)
        self.state.data[_TYPES] = sorted(wanted)
        self.changed()
        return True

    def needs_replace_failed(self) -> bool:
        """Return that an update completes it."""
        return self.state.physical_id is None

    def handle_delete(self) -> bool:
        """Take the specification from the types."""
        for each in sorted(self._ours & set(self._associated() or ())):
            self._ask("disassociate", each)
        self.changed()
        return False

    @property
    def _ours(self) -> set[str]:
        """The types that have it because of this resource."""
        return set(self.state.data.get(_TYPES) or ())

    def _associated(self) -> list[str] | None:
        """Return the ids of the types that have the specification; None if that is gone."""
        if _SPECS not in self.state.data:
            return None
        try:
            answer = self.service.ask("GET", f"{QOS_SPECS.at(self.state.data[_SPECS])}/associations")
        except Exception as error:
            if self.service.is_not_found(error):
                return None
            raise
        return sorted(each["id"] for each in answer["qos_associations"])

    def _ask(self, what: str, volume_type: str) -> None:
        path = f"{QOS_SPECS.at(self.state.data[_SPECS])}/{what}"
        self.service.ask("GET", path, query={"vol_type_id": volume_type})

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it; other types may have the specification, too."""
        if name != "volume_types":
            return shown[name]
        return [each for each in self.properties[name] if each in shown[name]]
