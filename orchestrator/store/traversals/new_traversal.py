"""A new traversal: everything that its start writes in one transaction."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from hooks.values.dataclass import dataclass
from orchestrator.model.nested_stack import AtRest, Family, Fence
from orchestrator.model.plan import Plan
from orchestrator.model.project_limits import ProjectLimits
from orchestrator.store.stacks.snapshots import NewSnapshot
from orchestrator.store.traversals.operation_rows import Agreed

if TYPE_CHECKING:
    from orchestrator.model.plan_binding import PlanBinding
    from orchestrator.store.stacks.protections import ProtectionChange
    from orchestrator.store.traversals.transfers import Transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The existing object of a resource that is adopted."""

    physical_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowNames:
    """The names of a row from now on."""

    name: str
    #: Those that it had before, oldest first.
    former: tuple[str, ...]
    #: The name that it had when its stack was complete, if that is another.
    complete: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTraversal:
    """A traversal to begin: the plan, and the values of the rows of its stack."""

    id: str
    stack_id: str
    stack: str
    project: str
    template_id: str
    timeout_minutes: float
    plan: Plan
    #: The data that every check needs.
    context: Mapping[str, Any]
    #: The resource types of new rows, by row id.
    new_types: Mapping[str, str]
    #: The objects of new rows that are adopted, by row id: of all new rows, or of none.
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    #: The rows that had objects of the same ids when it was planned; once there are others, it does not begin.
    owners: frozenset[str] = frozenset()
    #: For a rollback: the template that completed last. Once another has completed, the rollback does not begin.
    completed_template_id: str | None = None
    #: The ids of the rows that existed when it was planned.
    known: Collection[str] = ()
    #: What they required then; empty if that cannot have changed since.
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Makes the plan again from what the rows require.
    planned_by: Callable[[Mapping[str, tuple[str, ...]]], Plan] | None = None
    #: What takes the place of a row from now on, by the row's id; None: a row that was replaced is wanted again.
    successors: Mapping[str, str | None] = field(default_factory=dict)
    #: The rows that are wanted as they were last applied, although another definition was planned.
    as_applied: Collection[str] = ()
    #: New names of existing rows, by row id; and those before, by the new names.
    names: Mapping[str, RowNames] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    #: Whether the names were chosen for a stack that is not complete: then it begins only as long as it is not.
    is_unfinished: bool = False
    #: The moves between stacks with which it begins; None for none.
    transfers: "Transfers | None" = None
    #: New resource types of existing rows, by row id.
    other_types: Mapping[str, str] = field(default_factory=dict)
    #: Flags of the operation.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Of an update with targets: the resources that are not as the definition has them until it is complete, and those
    #: that are not afterwards. None leaves the stack's names as they are until then; empty: the whole stack is.
    not_converged: tuple[str, ...] | None = None
    left: tuple[str, ...] = ()
    #: The stack's new tags; None leaves them as they are.
    tags: tuple[str, ...] | None = None
    #: The stack's event sinks, each a map with a type; None leaves them as they are.
    event_sinks: tuple[Mapping[str, Any], ...] | None = None
    #: The parts of the stack's observation policy that change.
    observation: Mapping[str, object] = field(default_factory=dict)
    job_id: str | None = None
    #: The limits of the project, and how many stacks and resources it adds, by the limit's name.
    limits: ProjectLimits = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    #: The snapshot that it takes.
    snapshot: NewSnapshot | None = None
    #: For a new nested stack: its place in the tree of stacks.
    family: Family | None = None
    #: For an operation that a resource begins: the condition that its attempt, or its rest, still holds.
    fence: Fence | AtRest | None = None
    #: The protection by which it was planned; None where it can take nothing away.
    protection: "ProtectionChange | None" = None
    #: Whether it begins only if no other stack reads an output of this one.
    unread: bool = False
    #: Why a lifecycle plugin refused to have the stack made: it is FAILED at once; empty if none did.
    refused: str = ""
    #: The operation that lifecycle plugins agreed to; None if there are no plugins.
    agreed: Agreed | None = None
    #: The saved plan that it applies: it begins only if the rows still are as the plan has them. None for none.
    applies: "PlanBinding | None" = None

    @property
    def names_before(self) -> Mapping[str, str]:
        """The present names of the resources that the stack has under other ones, by those; paths in nested stacks."""
        return self.moved if self.transfers is None else {**self.moved, **self.transfers.arriving}


class Fenced(Exception):
    """The attempt that wanted to begin a traversal is over, or its resource is not at rest any more; nothing began."""


class Overtaken(Exception):
    """What a traversal was planned by has changed since; nothing began."""
