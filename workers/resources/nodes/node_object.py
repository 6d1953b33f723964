"""The base of objects that a machine itself identifies by a name: instances and volumes, with ids ``NODE/NAME``."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.nodes.rpc.names import is_node_name
from orchestrator.plugins.steps import ResourceFailure
from workers.resources.nodes.node_resource import SETTLED, SETTLING, NodeResource


def split_id(physical_id: str) -> tuple[str, str]:
    """Return the node and the name in an id.

    Raises:
        ResourceFailure: it is no such id.
    """
    node, slash, name = physical_id.partition("/")
    if not (is_node_name(node) and slash and name) or "/" in name:
        raise ResourceFailure(f"expected an id such as node/name, found {physical_id!r}")
    return node, name


class NodeObject(NodeResource, ABC):
    """Base of instances and volumes.

    The name is the uuid of the row that made it, and so the token by which it is found; an adopted one keeps its own.
    """

    @property
    def object_name(self) -> str:
        """Its name on the machine."""
        return split_id(self.state.physical_id)[1] if self.state.physical_id else self.state.uuid

    def _chosen_node(self) -> str | None:
        if not self.state.on_node and self.state.physical_id:
            return split_id(self.state.physical_id)[0]
        return super()._chosen_node()

    def note_made(self) -> None:
        """Record that it exists."""
        self.state.physical_id = f"{self.node}/{self.object_name}"

    @abstractmethod
    def objects(self) -> Iterator[tuple[str, str]]:
        """Yield the kind and the name of each object that this resource has on the machine."""

    @abstractmethod
    def look(self) -> Mapping[str, Any] | None:
        """Return its state on the machine; None: it certainly does not exist."""

    def find(self) -> str | None:
        """Return the id of the object that an interrupted create has made."""
        if not self.may_be_somewhere or self.look() is None:
            return None
        return f"{self.node}/{self.object_name}"

    def handle_create(self) -> dict[str, Any]:
        """Take the chosen node."""
        return dict(SETTLING if self.settle() else SETTLED)

    def resume_create(self) -> dict[str, Any]:
        """Continue where an interrupted create has made it, wholly or in part."""
        return dict(SETTLED)

    def handle_adopt(self) -> None:
        """Take over the existing object, unchanged.

        Raises:
            ResourceFailure: it belongs to another project.
        """
        self.settle()
        for kind, name in self.objects():
            self.take_over(kind, name)
