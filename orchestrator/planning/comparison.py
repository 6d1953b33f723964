"""Comparison of a new definition with the rows of its stack: the input of an update and of its preview."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.config.settings import Settings
from orchestrator.model.plan import DesiredResource, Match
from orchestrator.planning.moves import Moved
from orchestrator.planning.preparation import Prepared
from orchestrator.store.stacks.resource_history import History
from orchestrator.store.stacks.stacks import ResourceRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a stack that an update with targets visits, and the rest, which stays as it is."""

    #: The names of the targets, and of all that they require.
    names: frozenset[str]
    #: The rows of other names.
    others: Sequence[ResourceRow]
    #: Ids of rows that are not cleaned up, because rows that stay require them.
    stays: frozenset[str]
    #: The names of the resources in the part that are visited.
    visited: frozenset[str]
    #: The names of the other resources that are not as the definition has them, or may not be after the update.
    left: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A validated definition, and the row that matches each of its resources.

    With a ``part``, the desired resources, the rows and the matches are those of the part alone.
    """

    prepared: Prepared
    desired_resources: Sequence[DesiredResource]
    rows: Sequence[ResourceRow]
    history: History
    #: By the names of the desired resources.
    matches: Mapping[str, Match]
    #: The rows that have another name from now on; ``rows`` have it already.
    moved: Moved
    #: The context of the stack's last traversal.
    context: Mapping[str, Any]
    settings: Settings
    #: Whether nothing is taken to be what it was made.
    refresh: bool
    #: The names or paths of what is protected, by the id of the row that it is, or is nested in.
    protected: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Whether it may be deleted and replaced all the same.
    unprotect: bool = False
    #: Of an update with targets; None for one that visits the whole stack.
    part: Part | None = None

    @property
    def all_rows(self) -> Sequence[ResourceRow]:
        """The rows of the stack, those outside of the part included."""
        return (*self.rows, *self.part.others) if self.part else self.rows

    @property
    def planned_rows(self) -> Sequence[ResourceRow]:
        """The rows that are cleaned up unless they match."""
        stays = self.part.stays if self.part else ()
        return [row for row in self.rows if row.id not in stays]

    @property
    def other_types(self) -> Mapping[str, str]:
        """The new types of rows whose type changes, by the row's id."""
        matched = ((desired.type, self.matches[desired.name].row) for desired in self.desired_resources)
        return {row.id: name for name, row in matched if row is not None and row.type != name}

    @property
    def reverted(self) -> frozenset[str]:
        """The rows that stay as they were last applied, although another definition was planned for them."""
        planned, applied = self.history.planned, self.history.applied
        clean = (match.row.id for match in self.matches.values() if match.row and match.clean)
        return frozenset(row_id for row_id in clean if planned.get(row_id) is not applied.get(row_id))
