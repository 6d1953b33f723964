"""Errors of the machine-state cache.

::

    NodeError
    ├── NoSuchNode          no node of this name is known
    ├── NodeOffline         the operator has drained the node: its agent was not called
    ├── NodeUnreachable     no agent holds the node's lease: none was called
    │   └── NodeTimeout     the agent was called, and did not answer in time
    ├── SchemaMismatch      the agent has another version of the schema
    ├── SectionFailed       the agent answered, and one of its backends failed
    ├── LeaseHeld           another agent of this name runs
    └── LeaseLost           another agent has taken the name
    StateStoreFailed        the store of machine states is out of reach, or does not answer
"""

from typing import ClassVar


class NodeError(Exception):
    """A machine's state is unavailable; the message names the node."""

    #: Whether the error may go away by itself, or with the machine's return; then it is no statement about the
    #: machine.
    passing: ClassVar[bool] = False

    def __init__(self, node: str, sentence: str) -> None:
        super().__init__(sentence)
        self.node = node


class NoSuchNode(NodeError):
    """No node of this name is known."""


class NodeOffline(NodeError):
    """The operator has drained the node."""


class NodeUnreachable(NodeError):
    """No agent holds the node's lease."""

    passing = True


class NodeTimeout(NodeUnreachable):
    """The agent was called, and did not answer in time."""


class SchemaMismatch(NodeError):
    """The agent has another version of the schema."""


class SectionFailed(NodeError):
    """The agent answered, and one of its backends failed to report what is needed."""

    passing = True


class LeaseHeld(NodeError):
    """Another agent of this name runs; the message names its host."""


class LeaseLost(NodeError):
    """Another agent has taken the node's name since."""


class StateStoreFailed(Exception):
    """The store of machine states is out of reach, or does not answer; readers then call the agent instead."""
