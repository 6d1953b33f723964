"""A traversal that is to begin: all that is written of it in one transaction."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.model.nested_stack import AtRest, Family, Fence
from orchestrator.model.plan import Plan
from orchestrator.store.stacks.snapshots import NewSnapshot
from orchestrator.store.traversals.operation_rows import Agreed


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What is there already of a resource whose row is to be made."""

    physical_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTraversal:
    """A traversal to begin: the plan, and what the rows around it need."""

    id: str
    stack_id: str
    stack: str
    project: str
    template_id: str
    timeout_minutes: float
    plan: Plan
    #: What every check needs to know.
    context: Mapping[str, Any]
    #: Resource type by resource id, of the rows to be made.
    new_types: Mapping[str, str]
    #: By row id, what the rows to be made are of already: of all of them, or of none.
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    #: Of a rollback: the template that was complete last. Once another is, there is nothing to bring back.
    completed_template_id: str | None = None
    #: The ids of the rows that were there when it was planned.
    known: Collection[str] = ()
    #: What they required then; empty where nobody can have changed it since.
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Makes the plan again by what the rows require.
    planned_by: Callable[[Mapping[str, tuple[str, ...]]], Plan] | None = None
    #: The rows that are wanted again, although another was to take their place.
    taken_back: Collection[str] = ()
    #: The rows that are wanted as they were last made, although they were to become something else.
    as_applied: Collection[str] = ()
    #: By row id, the type that takes the place of the row's.
    other_types: Mapping[str, str] = field(default_factory=dict)
    #: Flags of the operation.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Those that the stack is to have; None leaves them as they are.
    tags: tuple[str, ...] | None = None
    #: Who is told what happens to the stack, each a map with a type; None leaves them as they are.
    event_sinks: tuple[Mapping[str, Any], ...] | None = None
    job_id: str | None = None
    #: What it is to make of the stack.
    snapshot: NewSnapshot | None = None
    #: Of a new stack in a stack.
    family: Family | None = None
    #: In whose name this is begun, if in that of a resource.
    fence: Fence | AtRest | None = None
    #: What lifecycle plugins agreed to; None if none was asked.
    agreed: Agreed | None = None


class Fenced(Exception):
    """The attempt in whose name a traversal was to begin is over; nothing was begun."""
