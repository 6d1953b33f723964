"""Stacks as hooks see them: frozen values that cannot change a stack.

The members have the names and meanings of :class:`orchestrator.definition.StackDefinition`; besides, there are
tags and the state of each resource. Values of hidden parameters are masked wherever they appear.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hooks.values.dataclass import dataclass
from hooks.values.frozen import FrozenDict
from hooks.values.nearest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenResource:
    """A resource of a definition, and its state."""

    name: str
    #: Such as ``Isotherm::Http::Object``; aliases of the environment are followed.
    type: str
    #: By name, with functions resolved; ``hooks.values.unknown.UNKNOWN`` where only a resource gives the value,
    #: ``******`` where a value comes from a hidden parameter or a file. Under ``*``, the value of all of them if
    #: nothing more is known.
    properties: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: The names of its requirements.
    requires: tuple[str, ...] = ()
    #: The id of its row, its last action and the status of that; empty where it does not exist yet.
    uuid: str = ""
    action: str = ""
    status: str = ""
    #: Its physical id; None while it has none.
    physical_id: str | None = None
    #: The machine that it is on; empty if it is on none.
    on_node: str = ""
    #: Further rows of its name: what it replaces or replaced, and is not removed yet.
    others: tuple["FrozenResource", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenStack:
    """A stack's definition, and its state."""

    name: str
    id: str
    project: str = "default"
    #: By name; hidden ones are masked: ``******``.
    parameters: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: Those of a nested stack are the outermost stack's.
    tags: tuple[str, ...] = ()
    #: By name. Their content may be read from the store at the first access.
    resources: Mapping[str, FrozenResource] = field(default_factory=FrozenDict)
    #: The stack that this nested stack is a resource of; empty for an outermost stack.
    parent_id: str = ""
    #: The outermost stack; its own id for an outermost stack.
    root_id: str = ""

    def __contains__(self, name: object) -> bool:
        return name in self.resources

    def resource(self, name: str) -> FrozenResource:
        """Return the resource called ``name``.

        Raises:
            KeyError: the stack has no such resource; the message names the nearest.
        """
        try:
            return self.resources[name]
        except KeyError:
            hint = did_you_mean(name, self.resources)
            raise KeyError(f"stack {self.name!r} has no resource {name!r}{hint}") from None
