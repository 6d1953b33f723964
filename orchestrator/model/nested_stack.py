"""Stacks in stacks: what the definition of one owes to those around it, and the job that makes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.definition import AttributePath, ParentResourceProxy
from orchestrator.model.messages import StackJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Where a stack's definition comes from, if it is in another stack."""

    #: The name of the outermost template's file.
    root_file: str
    #: The resources it is in, outermost first: each the name, and the type as written.
    route: tuple[tuple[str, str], ...]
    #: The parameters whose values are secrets.
    secrets: frozenset[str] = frozenset()
    #: The resource that the stack is.
    facade: ParentResourceProxy
    #: What is asked from outside of its resources: each a resource's name and the path of an attribute.
    asks: tuple[AttributePath, ...] = ()

    def to_wire(self) -> list[Any]:
        """Return plain types, in an order that is always the same; the inverse of :meth:`from_wire`."""
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
    """The attempt at a resource's node in whose name a stack in it is changed: nothing is, once it is over."""

    resource_id: str
    traversal_id: str
    no: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """A resource on which nobody works, in whose name a stack in it is changed: nothing is, once somebody did."""

    resource_id: str
    #: What its version is until somebody works on it.
    metadata_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Where a stack is among those it is in."""

    parent_id: str
    #: The row there that it is.
    parent_resource: str
    #: The outermost stack.
    root_id: str
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedJob(StackJob):
    """A job for a stack in a stack; it never travels: whoever carries out the resource makes it and does it."""

    stack_id: str
    family: Family
    nesting: Nesting
    #: The address of each file's content.
    digests: Mapping[str, str] = field(default_factory=dict)
    #: None where nobody else can come in between.
    fence: Fence | AtRest | None = None
