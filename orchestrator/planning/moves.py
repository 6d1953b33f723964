"""Moves: which rows serve their stack under another name from now on. Pure functions.

A row keeps its id and its object, so nothing but its name changes. An entry of an environment counts where the stack
has a resource of its old name and none of its new one; where that has happened already, it does nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from hooks.values.dataclass import dataclass
from orchestrator.errors import InvalidInput, Problem, cut
from orchestrator.model.graph import Graph
from orchestrator.model.plan import DesiredResource, Match, begins_no_update
from orchestrator.planning.decision import takes_its_place
from orchestrator.store.stacks.in_service import DEFINING
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.traversals.new_traversal import RowNames
from orchestrator.template.moves import Destination, Move, destinations_of
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

if TYPE_CHECKING:
    from orchestrator.store.traversals.transfers import Transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The rows of a stack by the names that they have from now on."""

    rows: Sequence[ResourceRow]
    #: What is written to rows, by id: other names, or that their present name is the one of a complete stack.
    names: Mapping[str, RowNames] = field(default_factory=dict)
    #: The names before, by the names from now on.
    before: Mapping[str, str] = field(default_factory=dict)
    #: Whether ``names`` hold only as long as the stack is not complete.
    is_unfinished: bool = False
    #: About entries that found nothing to move.
    warnings: tuple[Problem, ...] = ()
    #: The moves into and out of nested stacks; None for none.
    transfers: "Transfers | None" = None
    #: With such moves, the rows of each stack of the tree from now on.
    inside: Mapping[str, Sequence[ResourceRow]] = field(default_factory=dict)

    @property
    def made(self) -> frozenset[str]:
        """The ids of the rows whose nested stacks are made for what is moved into them."""
        made = self.transfers.made if self.transfers else ()
        return frozenset(each.row.id for each in made)

    @property
    def names_before(self) -> dict[str, str]:
        """The present names of the resources that the stack has under other ones, by those; paths in nested stacks."""
        return {**self.before, **(self.transfers.arriving if self.transfers else {})}

    @property
    def paths(self) -> dict[str, str]:
        """The names before, by the names from now on; of what is moved into or out of nested stacks, the paths."""
        return {**self.before, **(self.transfers.paths if self.transfers else {})}


def moved_by(
    moves: Sequence[Move],
    stack: StackRow,
    rows: Sequence[ResourceRow],
    desired: Mapping[str, str],
    types: Types,
) -> Moved:
    """Return the rows as the entries of an environment move them; ``desired`` are the types by resource.

    Entries with paths are left out: see :mod:`orchestrator.planning.moves_in_tree`.

    Raises:
        InvalidInput: a resource has another type than the one that it would become, or both of them exist.
    """
    before: dict[str, str] = {}
    problems: list[Problem] = []
    warnings: list[Problem] = []
    present = _by_name(rows)
    for destination in destinations_of(moves):
        if destination.has_paths:
            continue
        found = [name for name in destination.sources if name in present]
        if not found:
            # It is not desired if its condition does not hold.
            if destination.name not in present and destination.name in desired:
                warnings.append(nothing_to_move(destination))
        elif problem := obstacle(destination, present, desired.get(destination.name), types):
            problems.append(problem)
        else:
            before[destination.name] = found[0]
    if problems:
        raise InvalidInput(problems)
    return _renamed(stack, rows, before, warnings)


def returned(stack: StackRow, rows: Sequence[ResourceRow]) -> Moved:
    """Return the rows as they were called when the stack was complete last: what a rollback brings back."""
    before = {
        row.complete_name: row.name
        for row in rows
        if row.complete_name
        and not is_complete(stack)
        and not (row.complete_path and row.complete_template_id == stack.completed_template_id)
    }
    return _renamed(stack, rows, {name: was for name, was in before.items() if name != was})


def restored(stack: StackRow, rows: Sequence[ResourceRow], desired: Collection[str]) -> Moved:
    """Return the rows by their latest names that an earlier definition has, where it lacks the present ones."""
    taken = {row.name for row in rows if row.name in desired}
    before: dict[str, str] = {}
    for row in rows:
        free = [name for name in row.former_names if name in desired and name not in taken]
        if row.name not in desired and free and row.name not in before.values():
            before[free[-1]] = row.name
            taken.add(free[-1])
    return _renamed(stack, rows, before)


def only_looked_at(
    desired_resources: Sequence[DesiredResource], matches: Mapping[str, Match]
) -> list[DesiredResource]:
    """Return the desired resources so that no visit of what only refers to others by new names begins an update."""
    desired = {each.name: each for each in desired_resources}
    certain: set[str] = set()
    for name in Graph({name: each.requires for name, each in desired.items()}).in_order():
        if desired[name].requires <= certain and (matches[name].clean or matches[name].reworded):
            certain.add(name)
    return [
        begins_no_update(each) if each.name in certain and not matches[each.name].clean else each
        for each in desired_resources
    ]


def _renamed(
    stack: StackRow, rows: Sequence[ResourceRow], before: Mapping[str, str], warnings: Iterable[Problem] = ()
) -> Moved:
    now = {was: name for name, was in before.items()}
    names = {row.id: each for row in rows if (each := _names_of(stack, row, now.get(row.name, row.name)))}
    return Moved(
        rows=[_with(row, names.get(row.id)) for row in rows],
        names=names,
        before=before,
        # One that was updated in part is at rest.
        is_unfinished=bool(names) and not is_complete(stack) and stack.status != "COMPLETE",
        warnings=tuple(warnings),
    )


def _names_of(stack: StackRow, row: ResourceRow, name: str) -> RowNames | None:
    """Return the names of a row that is called ``name`` from now on; None if what is on record is right."""
    complete = None if is_complete(stack) else row.complete_name
    if name != row.name and complete is None:
        complete = row.name
    complete = None if complete == name else complete
    if (name, complete) == (row.name, row.complete_name):
        return None
    former = row.former_names
    if name != row.name:
        # The first is the one by which its type knows it, and never leaves its place.
        former = tuple(dict.fromkeys((*former, row.name)))
    return RowNames(name=name, former=former, complete=complete)


def _with(row: ResourceRow, names: RowNames | None) -> ResourceRow:
    if names is None:
        return row
    return replace(row, name=names.name, former_names=names.former, complete_name=names.complete)


def is_complete(stack: StackRow) -> bool:
    """Return whether a stack is what its last definition says, or was before an operation that gave it no other."""
    is_at_rest = stack.status == "COMPLETE" or stack.action not in DEFINING
    return is_at_rest and stack.template_id == stack.completed_template_id


def _by_name(rows: Iterable[ResourceRow]) -> dict[str, ResourceRow]:
    """Return the rows that stand for an object, or may, by name; of several the one that is in force."""
    there = [row for row in rows if row.action not in ("INIT", "DELETE")]
    return {row.name: row for row in sorted(there, key=lambda row: (row.replaced_by is None, row.created_at))}


def obstacle(
    destination: Destination, present: Mapping[str, ResourceRow], wanted: str | None, types: Types
) -> Problem | None:
    """Return why what exists of a destination and its sources cannot be one resource; None if it can.

    ``present`` are the rows in force by name or path, and ``wanted`` is the type that it is to have.
    """
    move = destination.last
    name, *others = (each for each in (*destination.sources, destination.name) if each in present)
    if others:
        both = " and ".join(repr(cut(each)) for each in (name, others[0]))
        message = f"the stack has resources of both names, {both}"
        return move.source.problem(message, "remove one of them by an update without this move")
    row = present[name]
    if wanted is None or row.type == wanted:
        return None
    kinds = kind_of_type(types, row.type), kind_of_type(types, wanted)
    if takes_its_place((row.type, wanted), *kinds, row.properties or ()):
        return None
    message = f"{cut(name)!r} is of the type {row.type}, and {cut(destination.name)!r} of the type {wanted}"
    return move.target.problem(message, "a move keeps the object: to have another one made, remove the move")


def nothing_to_move(destination: Destination) -> Problem:
    """Return the warning that no source of a destination is there."""
    names = " or ".join(repr(cut(name)) for name in destination.sources)
    return destination.last.source.problem(
        f"nothing is moved: the stack has no resource {names}, and {cut(destination.name)!r} is made"
    )
