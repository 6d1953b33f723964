"""``OS::Cinder::QoSSpecs``: limits of the throughput of volumes, for volume types to refer to."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from workers.resources.openstack.cinder.cinder_object import CinderObject
from workers.resources.openstack.collection import Collection
from workers.resources.openstack.comparing import as_texts, texts_as_given
from workers.resources.openstack.recorded_first import RecordedFirst
from workers.resources.schemas import mapping, text

QOS_SPECS: Final = Collection(path="/qos-specs", key="qos_specs", plural="qos_specs")
#: The one key that is no limit: who enforces them; shown apart from the others.
_CONSUMER: Final = "consumer"
#: The key of the name that is on record before anything of that name is made.
_NAME: Final = "name"


class QoSSpecs(CinderObject, RecordedFirst):
    """A QoS specification. Most clouds let administrators alone make one."""

    description = "A QoS specification of volumes, which administrators make."
    example = """\
heat_template_version: 2021-04-16
resources:
  slow:
    type: OS::Cinder::QoSSpecs
    properties:
      name: slow
      specs: {consumer: front-end, total_iops_sec: "100"}
"""
    collection = QOS_SPECS
    entity = "QoS specification"
    whole_list = {}
    has_description = False
    extensions = {"": "qos-specs"}
    properties_schema = {
        "name": text("Its name, which no other has."),
        "specs": mapping(
            "Its keys and texts; consumer is front-end, back-end or both.", required=True, update_allowed=True
        ),
    }

    def values(self, names: Any) -> dict[str, Any]:
        """Return the specifications beside the name, as the service wants them."""
        body = super().values(names)
        return {**as_texts(body.pop("specs", None)), **body}

    def record(self) -> None:
        """Record its name: the id is chosen by the service.

        Raises:
            ResourceFailure: another has its name.
        """
        if self._named() is not None:
            raise ResourceFailure(f"there is a QoS specification {self.physical_name} already")
        self.state.data[_NAME] = self.physical_name

    def make(self, token: Any) -> bool:  # noqa: ARG002 (the base's signature)
        """Make it, unless that is done, and record its id."""
        if self.state.physical_id is None:
            made = self._named()
            if made is None:
                made = self.collection.create(self.service, self.values(self.properties_schema.keys()))
            self.state.physical_id = str(made["id"])
            self.changed()
        return True

    def find(self) -> str | None:
        """Return the id on record, or that of what has the name on record."""
        if self.state.physical_id is None and self.state.data.get(_NAME) == self.physical_name:
            return str(found["id"]) if (found := self._named()) else None
        return self.state.physical_id

    def _named(self) -> dict[str, Any] | None:
        listed = self.collection.listed(self.service)
        return next((each for each in listed if each["name"] == self.physical_name), None)

    def handle_update(self, changes: PropertyChanges) -> None:  # noqa: ARG002 (the contract's signature)
        """Set the keys that differ, and take away the others."""
        wanted, has = as_texts(self.properties["specs"]), _specs(self.whole())
        self.change({name: value for name, value in wanted.items() if has.get(name) != value})
        if gone := sorted(has.keys() - wanted.keys() - {_CONSUMER}):
            path = f"{self.collection.at(str(self.state.physical_id))}/delete_keys"
            self.service.ask("PUT", path, body={"keys": gone})
            self.changed()

    def check_update_complete(self, token: Any) -> bool:  # noqa: ARG002 (the contract's signature)
        """Return that it was changed at once."""
        return True

    def change(self, body: Mapping[str, Any]) -> None:
        """Send a change, whose answer is a part of the object only."""
        super().change(body)
        self.changed()

    def handle_delete(self) -> bool:
        """Take it away from all volume types, then delete it."""
        if self.show() is not None:
            self.service.ask("GET", f"{self.collection.at(str(self.state.physical_id))}/disassociate_all")
        return super().handle_delete()

    def seen(self, name: str, shown: Mapping[str, Any]) -> Any:
        """Return a property as the service has it."""
        if name == "specs":
            return texts_as_given(self.properties[name], _specs(shown))
        return super().seen(name, shown)


def _specs(shown: Mapping[str, Any]) -> dict[str, str]:
    consumer = {_CONSUMER: shown[_CONSUMER]} if shown.get(_CONSUMER) else {}
    return {**(shown.get("specs") or {}), **consumer}
