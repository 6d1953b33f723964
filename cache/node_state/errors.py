"""Why a node's state cannot be told.

::

    NodeError
    ├── NoSuchNode          nobody has heard of a node of this name
    ├── NodeOffline         the operator has drained the node: it was not asked
    ├── NodeUnreachable     no agent holds the node's lease: it was not asked
    │   └── NodeTimeout     it was asked, and did not answer in time
    ├── SchemaMismatch      its agent speaks another version of the schema
    ├── SectionFailed       it answered, and a backend of its own failed
    ├── LeaseHeld           an agent of this name runs already
    └── LeaseLost           another agent has taken the name
    StateStoreFailed        the store of what nodes said is out of reach, or does not answer
"""

from typing import ClassVar


class NodeError(Exception):
    """A node's state cannot be told; the sentence names the node."""

    #: Whether nothing but time, or the node's return, is needed for another answer: it says nothing of what is there.
    passing: ClassVar[bool] = False

    def __init__(self, node: str, sentence: str) -> None:
        super().__init__(sentence)
        self.node = node


class NoSuchNode(NodeError):
    """Nobody has heard of a node of this name."""


class NodeOffline(NodeError):
    """The operator has drained the node."""


class NodeUnreachable(NodeError):
    """No agent holds the node's lease."""

    passing = True


class NodeTimeout(NodeUnreachable):
    """The node was asked, and did not answer in time."""


class SchemaMismatch(NodeError):
    """The node's agent speaks another version of the schema."""


class SectionFailed(NodeError):
    """The node answered, and what was wanted of it is what a backend could not tell."""

    passing = True


class LeaseHeld(NodeError):
    """An agent of this name runs already; the sentence says where."""


class LeaseLost(NodeError):
    """Another agent has taken the node's name since."""


class StateStoreFailed(Exception):
    """The store of what nodes said is out of reach, or does not answer; whoever reads asks the node instead."""
