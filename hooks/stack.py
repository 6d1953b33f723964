"""A stack as hooks see it: frozen, with nothing in it that a stack could be changed by.

The members have the names of :class:`orchestrator.definition.StackDefinition`, and mean the same; here are, besides,
tags and what each resource is made of. Values of hidden parameters are masked wherever they appear.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hooks.values.frozen import FrozenDict
from hooks.values.nearest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenResource:
    """A resource of a definition, and what is there of it."""

    name: str
    #: Such as ``Isotherm::Http::Object``; aliases of the environment are followed.
    type: str
    #: By name, with functions resolved; ``hooks.values.unknown.UNKNOWN`` where only a resource can tell, ``******``
    #: where a value comes from a hidden parameter or a file. Under ``*``, what stands for all of them if nothing more
    #: is known.
    properties: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: The names of the resources that it needs.
    requires: tuple[str, ...] = ()
    #: Of what is there: its row's id, its last action and that one's status; empty where there is nothing yet.
    uuid: str = ""
    action: str = ""
    status: str = ""
    #: What the outside world calls it; None while there is none.
    physical_id: str | None = None
    #: The node that it is on; empty for what is on none.
    on_node: str = ""
    #: What else is there under its name: what it replaces or replaced, and nobody has taken away yet.
    others: tuple["FrozenResource", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenStack:
    """A stack's definition, and what is there of it."""

    name: str
    id: str
    project: str = "default"
    #: By name; hidden ones are masked: ``******``.
    parameters: Mapping[str, Any] = field(default_factory=FrozenDict)
    #: Those of a stack in a stack are the outermost one's.
    tags: tuple[str, ...] = ()
    #: By name. What it holds may be read from the store when it is first looked at.
    resources: Mapping[str, FrozenResource] = field(default_factory=FrozenDict)
    #: The stack that this one is a resource of; empty if it is in none.
    parent_id: str = ""
    #: The outermost of the stacks that it is in; its own id if it is in none.
    root_id: str = ""

    def __contains__(self, name: object) -> bool:
        return name in self.resources

    def resource(self, name: str) -> FrozenResource:
        """Return the resource called ``name``.

        Raises:
            KeyError: the stack has no such resource; the sentence names the nearest.
        """
        try:
            return self.resources[name]
        except KeyError:
            hint = did_you_mean(name, self.resources)
            raise KeyError(f"stack {self.name!r} has no resource {name!r}{hint}") from None
