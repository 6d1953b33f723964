"""Moves into and out of nested stacks, by the entries of an environment, and back by a rollback. Pure functions."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from orchestrator.errors import Conflict, InvalidInput, Problem, cut
from orchestrator.planning.moves import Moved, is_complete, nothing_to_move, obstacle
from orchestrator.planning.preparation import Prepared
from orchestrator.planning.transfers import (
    CannotMove,
    Family,
    Step,
    Tree,
    in_force,
    row_of,
    transfer_of,
)
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.traversals.transfers import Transfers
from orchestrator.template.moves import Destination, Move, destinations_of
from orchestrator.validation.rules import Types


def moved_in_tree(moved: Moved, moves: Sequence[Move], tree: Tree, prepared: Prepared, types: Types) -> Moved:
    """Return the rows of an outermost stack with what entries with paths move besides.

    ``moved`` is what the other entries move, and ``prepared`` what the stack is to be.

    Raises:
        InvalidInput: a resource has another type than the one that it would become, or both of them exist, or a path
            leads nowhere; all are listed.
        Conflict: a stack that takes part is busy.
    """
    family = Family(tree, prepared, types, moved.before)
    steps: list[Step] = []
    problems: list[Problem] = []
    warnings = [*moved.warnings]
    # What is nested in others comes after them.
    for destination in sorted(destinations_of(moves), key=lambda each: each.name.count("/")):
        if destination.has_paths:
            try:
                for step in _steps(destination, family, types, problems, warnings):
                    family.take(step)
                    steps.append(step)
            except CannotMove as error:
                problems.append(destination.last.target.problem(str(error), error.hint))
    if problems:
        raise InvalidInput(problems)
    _refuse_busy(family, steps)
    return _transferred(replace(moved, warnings=tuple(warnings)), family, steps)


def returned_in_tree(moved: Moved, tree: Tree, prepared: Prepared, types: Types) -> Moved:
    """Return the rows of an outermost stack with what a rollback moves back besides; ``moved`` is what it renames."""
    family = Family(tree, prepared, types, moved.before)
    completed = family.root.completed_template_id
    homes: dict[str, str] = {}
    for row in family.rows:
        if row.complete_path and row.complete_template_id == completed:
            homes.setdefault(family.path_of(row), row.complete_path)
    steps = []
    for path, home in sorted(homes.items(), key=lambda each: (each[1].count("/"), each)):
        # It had the place by the same definition.
        with suppress(CannotMove):
            step = Step(rows=family.rows_at(path), place=family.place_of(home), path=home)
            family.take(step)
            steps.append(step)
    return _transferred(moved, family, steps, interrupts=True)


def _steps(
    destination: Destination,
    family: Family,
    types: Types,
    problems: list[Problem],
    warnings: list[Problem],
) -> Iterator[Step]:
    """Yield what an entry with paths moves; add why it cannot, or does not.

    Raises:
        CannotMove: the new definition has no such place.
    """
    source = destination.last.source
    place = family.place_of(destination.name)
    found = {path: rows for path in destination.sources if (rows := family.rows_at(path))}
    there = family.rows_of(place)
    if not found:
        if not there and place.type is not None:
            warnings.append(nothing_to_move(destination))
        return
    path, rows = next(iter(found.items()))
    if {row.id for row in there} == {row.id for row in rows}:
        # What it is in has another name: it is there by that alone.
        return
    present = {each: _in_force(some) for each, some in found.items()}
    if there:
        present[destination.name] = _in_force(there)
    if still := family.has_place(path):
        hint = "remove it from the template, or the move from the environment"
        problems.append(source.problem(f"{still} still has a resource {cut(path)!r}", hint))
    elif problem := obstacle(destination, present, place.type, types):
        problems.append(problem)
    else:
        yield Step(rows=rows, place=place, path=destination.name)


def _in_force(rows: Sequence[ResourceRow]) -> ResourceRow:
    row = in_force(rows)
    if row is None:
        raise LookupError("a resource has no row")
    return row


def _refuse_busy(family: Family, steps: Sequence[Step]) -> None:
    """Refuse moves between stacks while one of them is busy.

    Raises:
        Conflict: one is.
    """
    for each in (stack for step in steps for stack in (family.root, *family.taking_part(step))):
        if each.status == "IN_PROGRESS":
            raise Conflict(
                f"stack {each.name!r} is {each.action}_{each.status}: what is moved into or out of a nested stack is "
                "moved once that has come to its end"
            )


def _transferred(moved: Moved, family: Family, steps: Sequence[Step], *, interrupts: bool = False) -> Moved:
    """Return the rows with moves between stacks besides."""
    if not steps:
        return moved
    root = family.root
    transfers = {
        row.id: (row, transfer_of(family, row, step, is_root_complete=is_complete(root)))
        for step in steps
        for row in step.rows
    }
    expected = {
        each.id: each.traversal_id
        for step in steps
        for each in family.taking_part(step)
        if each.id != root.id and each.id not in family.made
    }
    inside = family.rows_after({row_id: row_of(*both) for row_id, both in transfers.items()})
    others = {*transfers, *family.made}
    # Those of the outermost stack itself have their new names already.
    stays = [row for row in moved.rows if row.id not in others]
    arrivals = [row for row in inside[root.id] if row.id in others]
    rows = [*stays, *arrivals]
    return replace(
        moved,
        rows=rows,
        names={row_id: names for row_id, names in moved.names.items() if row_id not in others},
        transfers=Transfers(
            rows=tuple(transfer for _, transfer in transfers.values()),
            made=tuple(family.made.values()),
            expected=expected,
            interrupts=interrupts,
            arrivals=tuple(arrivals),
        ),
        inside={**inside, root.id: rows},
    )
