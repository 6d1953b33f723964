"""What several operations of one stack did to each of its resources, for grids of resources by operations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.views.facts import NodeFact
from orchestrator.views.stacks import TraversalView, View

#: What an operation did to a resource, by the letter that stands for it in ``RunRow.cells``.
MADE: Final = "m"
CHANGED: Final = "c"
REPLACED: Final = "r"
DELETED: Final = "d"
#: Another action was done with it, such as a check or a snapshot.
OTHER: Final = "o"
FAILED: Final = "f"
#: It is under way, or waits for its turn in an operation under way.
RUNNING: Final = "w"
PENDING: Final = "p"
UNCHANGED: Final = "u"
#: Not done when the operation ended.
UNREACHED: Final = "n"
#: The operation had no such resource, or its steps are no longer kept.
ABSENT: Final = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNode:
    """A node of an operation with a resource; ``alike`` has only what decides its state, and may be shared."""

    traversal_id: str
    name: str
    alike: NodeFact


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWork:
    """One action on a resource in one operation, by its events."""

    traversal_id: str
    name: str
    action: str
    #: When it first began, and when it last ended; None if that is not recorded.
    begun_at: float | None
    ended_at: float | None
    is_complete: bool
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts of some operations of one stack, all of one moment."""

    nodes: Sequence[RunNode]
    work: Sequence[RunWork]
    #: The reasons of failures, newest first: (traversal, resource, reason); bounded.
    reasons: Sequence[tuple[str, str, str]]
    #: The types of the stack's present resources, and the ids of the stacks nested in them, by name.
    types: Mapping[str, str]
    nested: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(View):
    """One resource in several operations."""

    name: str
    type: str
    #: The id of its nested stack; None for none.
    nested_stack_id: str | None
    #: A letter for each operation, in their order.
    cells: str
    #: How long it was worked on, and why it failed, by the place of the operation; without those that are not known.
    seconds: Mapping[int, float]
    reasons: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsView(View):
    """Operations of a stack, newest first, and what each did to each resource; resources in the order of names."""

    operations: tuple[TraversalView, ...]
    rows: tuple[RunRow, ...]
    #: Whether there are older operations.
    more: bool
    #: The ids of operations whose steps are no longer kept.
    trimmed: tuple[str, ...] = ()
