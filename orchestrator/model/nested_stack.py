"""Nested stacks: the place of one in its tree, the fence of its operations, and the job that makes it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.definition import AttributePath, ParentResourceProxy
from orchestrator.model.messages import StackJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """The origin of a nested stack's definition."""

    #: The name of the outermost template's file.
    root_file: str
    #: The resources that it is nested in, outermost first: the name and the written type of each.
    route: tuple[tuple[str, str], ...]
    #: The parameters whose values are secrets.
    secrets: frozenset[str] = frozenset()
    #: The resource in the parent stack.
    facade: ParentResourceProxy
    #: The attributes of its resources that are referred to from outside: a resource's name and a path each.
    asks: tuple[AttributePath, ...] = ()

    def to_wire(self) -> list[Any]:
        """Return plain types in a fixed order, the inverse of :meth:`from_wire`."""
        return [
            self.root_file,
            [list(step) for step in self.route],
            sorted(self.secrets),
            self.facade.to_wire(),
            [list(path) for path in self.asks],
        ]

    @classmethod
    def from_wire(cls, data: list[Any]) -> "Nesting":
        """Rebuild from plain types."""
        root_file, route, secrets, facade, asks = data
        return cls(
            root_file=root_file,
            route=tuple((step, kind) for step, kind in route),
            secrets=frozenset(secrets),
            facade=ParentResourceProxy.from_wire(facade),
            asks=tuple(tuple(path) for path in asks),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The attempt of a resource's node that changes its nested stack: the change is refused once it is over."""

    resource_id: str
    traversal_id: str
    no: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """A resource at rest whose nested stack is changed: the change is refused once a step or signal has changed it."""

    resource_id: str
    #: Its version while it is at rest.
    metadata_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The place of a nested stack in its tree."""

    parent_id: str
    #: The id of its row in the parent stack.
    parent_resource: str
    #: The outermost stack.
    root_id: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedJob(StackJob):
    """A job for a nested stack. It never travels: the worker that checks the resource makes it and carries it out."""

    stack_id: str
    family: Family
    nesting: Nesting
    #: The digest of each file's content.
    digests: Mapping[str, str] = field(default_factory=dict)
    #: The condition under which the job may begin; None for none.
    fence: Fence | AtRest | None = None
