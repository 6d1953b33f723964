"""The head of every page about one stack: its operation, and counts of resources by state."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.views.operations import OperationView
from orchestrator.views.stacks import View
from orchestrator.views.usual import UsualView


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCounts(View):
    """The resources of a stack and of all stacks nested in it, by the present operation of each."""

    #: The number of nested stacks.
    stacks: int
    #: As in ``HeadView``.
    total: int
    done: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadView(View):
    """One operation on a stack with its progress, and the stack's tags."""

    operation: OperationView
    #: The number of resources that the operation has a part for, unchanged ones included, and how many of them are
    #: done or unchanged.
    total: int
    done: int
    #: The number of further resources of the stack, which an update in force leaves as they are; 0 for others.
    untouched: int = 0
    #: The number of resources in each of ``STATES``, without states that none is in.
    counts: Mapping[str, int]
    #: The same with nested stacks; None if there are none, and of a past operation.
    tree: TreeCounts | None = None
    #: None once the operation is over, and while too few like it are known.
    usual: UsualView | None = None
    tags: tuple[str, ...]
    #: Whether an operator protects the stack against deletion.
    protected: bool = False
    #: The names of the stack's resources that are not as defined, or may not be, after an update with targets.
    partial: tuple[str, ...] = ()
    #: When the stack was deleted; None if it is not.
    deleted_at: float | None
    #: As in ``GraphPicture``.
    cursor: int
    as_of: float
