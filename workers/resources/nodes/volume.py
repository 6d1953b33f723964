"""``Isotherm::Node::Volume``: a volume on a machine's storage, for instances on that machine."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from orchestrator.plugins.constraints import Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.steps import PropertyChanges, Wait
from workers.agent.owners import VOLUME, volume_key
from workers.resources.nodes.node_object import NodeObject
from workers.resources.nodes.node_resource import SETTLED, SETTLING
from workers.resources.nodes.placing import PLACING_PROPERTIES, node_requirements, number_or_zero
from workers.resources.schemas import integer, live, mapping, text

#: The default storage unit.
DEFAULT_STORAGE = "default"


class NodeVolume(NodeObject):
    """A volume, which outlives the instances that use it. It grows in place; a smaller size makes a replacement."""

    description = "A volume on a node's storage, for instances on that node."
    example = """\
heat_template_version: 2021-04-16
resources:
  data:
    type: Isotherm::Node::Volume
    properties:
      size: 64
  server:
    type: Isotherm::Node::Instance
    properties:
      command: [sleep, "3600"]
      memory: 64
      disks:
        - volume: {get_resource: data}
outputs:
  path:
    value: {get_attr: [data, path]}
"""
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "size": integer(
            "In MiB. A larger one is grown in place, a smaller one is another volume.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "storage": text(
            "The storage unit of the node, by its name in the node's settings.",
            default=DEFAULT_STORAGE,
            constraints=(Custom("node.storage"),),
        ),
        "options": mapping("Further options of the storage for a new volume.", default={}),
        **PLACING_PROPERTIES,
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "node": Attribute("The node it is on.", PropertyType.STRING),
        "storage": Attribute("The storage unit that it is in.", PropertyType.STRING),
        "path": Attribute("Its path for instances on the node.", PropertyType.STRING),
        "format": Attribute("raw, qcow2, or dir for a directory.", PropertyType.STRING),
        "size": live("Its present size in MiB.", PropertyType.INTEGER),
    }

    @classmethod
    def machine_requirements(cls, properties: Mapping[str, Any]) -> MachineRequirements | None:
        """Return the required size, by storage unit."""
        storage = properties.get("storage") or DEFAULT_STORAGE
        disks = {storage: number_or_zero(properties.get("size"))} if isinstance(storage, str) else {}
        return MachineRequirements(**node_requirements(properties), disks_mib=disks)

    def check_create_complete(self, token: Any) -> bool | Wait:
        """Make the volume; the same one, however often."""
        if token == SETTLING:
            return Wait(0, token=SETTLED)
        given = {"size_mib": self.properties["size"], "options": dict(self.properties["options"])}
        later = self.pending(token, "storage_create", **self._named, **given)
        if later is None:
            self.note_made()
        return later or True

    def needs_replace(self, changes: PropertyChanges) -> bool:
        """Return whether it is to be smaller, or on another node."""
        before, after = changes.before.get("size"), changes.after.get("size")
        smaller = "size" in changes.names and before is not None and after is not None and after < before
        return smaller or super().needs_replace(changes)

    def handle_update(self, changes: PropertyChanges) -> dict[str, Any]:
        """Return whether there is anything to do."""
        return {"grows": "size" in changes.names}

    def check_update_complete(self, token: Any) -> bool | Wait:
        """Grow the volume; one that is that large already is no error."""
        if not token["grows"]:
            return True
        return self.pending(token, "storage_grow", **self._named, size_mib=self.properties["size"]) or True

    def handle_delete(self) -> dict[str, Any]:
        """Do nothing; the check does the work."""
        return {}

    def check_delete_complete(self, token: Any) -> bool | Wait:
        """Remove the volume with its content; a missing one is no error."""
        if not self.may_be_somewhere:
            return True
        return self.pending(token, "storage_remove", **self._named) or True

    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield the volume."""
        yield VOLUME, volume_key(**self._named)

    def look(self) -> Mapping[str, Any] | None:
        """Return the volume's state on the machine; None: it certainly does not exist."""
        found: Mapping[str, Any] | None = self.ask("volume_look", **self._named)
        return found

    def attribute(self, name: str) -> Any:
        """Return the attribute as it is now; of a volume that is gone, only its former place."""
        if name == "node":
            return self.state.on_node
        if name == "storage":
            return self.properties["storage"]
        found = self.look()
        return None if found is None else found["size_mib" if name == "size" else name]

    def observe(self) -> Mapping[str, Any] | None:
        """Return its real size; None: there is no such volume."""
        found = self.look() if self.may_be_somewhere else None
        if found is None:
            return None
        return {"size": found["size_mib"], "node": self.node_seen}

    @property
    def _named(self) -> dict[str, str]:
        return {"storage": self.properties.get("storage") or DEFAULT_STORAGE, "name": self.object_name}
