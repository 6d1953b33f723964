"""Existence on the installation's nodes: ``node``, ``node.hypervisor``, ``node.storage``."""

from typing import Any

from orchestrator.plugins.custom import ClientConstraint
from workers.clients.nodes import HYPERVISOR, NODE, STORAGE


class Node(ClientConstraint):
    """A node that has an agent, or had one; an empty text names none, and is left to placement."""

    name = "node"
    client = "nodes"
    entity = NODE

    def fault(self, value: object) -> str | None:
        """Return the fault of a name as it is written."""
        return None if value == "" else super().fault(value)

    def fault_by(self, value: Any, clients: Any) -> str | None:
        """Return the fault of a name that no node has."""
        return None if value == "" else super().fault_by(value, clients)


class NodeHypervisor(ClientConstraint):
    """A hypervisor that a node offers, such as ``process``."""

    name = "node.hypervisor"
    client = "nodes"
    entity = HYPERVISOR


class NodeStorage(ClientConstraint):
    """A storage unit that a node offers, such as ``default``."""

    name = "node.storage"
    client = "nodes"
    entity = STORAGE
