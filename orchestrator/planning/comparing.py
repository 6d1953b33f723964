"""Compares a new definition with the rows of its stack: validates it, and finds the row of each resource."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.config.garbage import paused_collection
from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.matching import Matcher
from orchestrator.planning.moves import Moved, moved_by, only_looked_at, restored, returned
from orchestrator.planning.preparation import Prepared, prepare_update
from orchestrator.plugins.clients import Clients
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.template.template_resource import kind_of_type
from orchestrator.validation.rules import Types

if TYPE_CHECKING:
    from orchestrator.planning.transfers import Tree


@paused_collection()
def compare(
    store: Store,
    stack: StackRow,
    job: StackJob,
    types: Types,
    settings: Settings,
    *,
    action: str = "UPDATE",
    keeps_immutable: bool = True,
    renews: bool = True,
    clients: Clients | None = None,
    context: Mapping[str, Any] | None = None,
    given: Sequence[ResourceRow] | None = None,
) -> Comparison:
    """Validate a new definition of a stack, and match it with the stack's rows; nothing is written.

    ``action`` says where the names of rows come from: a ``ROLLBACK`` or a ``RESTORE`` brings earlier ones back. Unless
    ``keeps_immutable``, parameters that are declared immutable may change. Unless ``renews``, what every update
    replaces stays. ``context`` and ``given`` are the context of the last traversal and the rows of a nested stack that
    moves are planned for; without them, they are read.

    Raises:
        InvalidInput: the job, or a resource that it names, has problems, or one cannot be moved; all are listed.
        Conflict: a nested stack is busy into or out of which something is to be moved.
        NotVerified: another system that ``clients`` query did not answer.
    """
    if context is None:
        context = store.traversals.context(stack.traversal_id)
    job = replace(job, credential=job.credential or context.get("credential", ""))
    before = context["parameters"] if keeps_immutable else {}
    prepared, desired_resources = prepare_update(
        job,
        types,
        settings,
        stack_id=stack.id,
        before=before,
        clients=clients,
        # A restored definition was accepted before.
        was_accepted=not keeps_immutable,
    )
    history = store.histories.read(stack.id, stack.traversal_id)
    history = replace(history, unsettled=history.unsettled | store.families.troubled(stack))
    rows = store.stacks.resources(stack.id) if given is None else given
    moved = _moved(store, stack, rows, prepared, types, action=action)
    rows = moved.rows
    if elsewhere := [row for row in rows if row.id not in history.planned and row.transferred_at]:
        history = store.histories.with_rows(history, elsewhere)
    has_moves = bool(moved.before) or any(row.transferred_at for row in rows)
    protected = store.protections.held(stack, rows)
    focus = None
    if job.is_partial:
        from orchestrator.planning.targets import focus_of

        focus = focus_of(job, desired_resources, rows)
    matches = Matcher(
        prepared,
        desired_resources,
        rows,
        history,
        types,
        values_before=context["parameters"],
        refresh=job.refresh,
        doubted=store.drifts.under_repair(stack.id) | _stale(store, stack, rows, types),
        # Restored values are not renewed.
        renews=renews and keeps_immutable,
        protected=protected,
        unprotect=job.unprotect,
        focus=focus,
        replaces=job.replaces,
        has_moves=has_moves,
    ).matches()
    if has_moves:
        desired_resources = only_looked_at(desired_resources, matches)
    compared = Comparison(
        prepared=prepared,
        desired_resources=[
            each if matches[each.name].row else replace(each, resource_id=str(uuid.uuid4()))
            for each in desired_resources
        ],
        rows=rows,
        history=history,
        matches=matches,
        moved=moved,
        context=context,
        settings=settings,
        refresh=job.refresh,
        protected=protected,
        unprotect=job.unprotect,
    )
    if not job.is_partial:
        return compared
    from orchestrator.planning.targets import targeted

    return targeted(compared, job, focus)


def _moved(
    store: Store,
    stack: StackRow,
    rows: Sequence[ResourceRow],
    prepared: Prepared,
    types: Types,
    *,
    action: str,
) -> Moved:
    if stack.parent_id is not None:
        # What is moved in a tree of stacks is moved when the operation on the outermost one begins.
        return restored(stack, rows, prepared.types) if action == "RESTORE" else Moved(rows=rows)
    if action == "RESTORE":
        return restored(stack, rows, prepared.types)
    if action == "ROLLBACK":
        moved = returned(stack, rows)
        if not store.families.has_transfers(stack.id):
            return moved
        from orchestrator.planning.moves_in_tree import returned_in_tree

        return returned_in_tree(moved, _tree(store, stack), prepared, types)
    moved = moved_by(prepared.moves, stack, rows, prepared.types, types)
    if not any(move.has_paths for move in prepared.moves):
        return moved
    from orchestrator.planning.moves_in_tree import moved_in_tree

    return moved_in_tree(moved, prepared.moves, _tree(store, stack), prepared, types)


def _tree(store: Store, stack: StackRow) -> "Tree":
    from orchestrator.planning.transfers import Tree

    # The stacks first: one that is made meanwhile has rows alone, and is not looked at.
    stacks = store.families.in_tree(stack.id)
    return Tree(root=stack, stacks=stacks, rows=store.stacks.resources_in_tree(stack.id))


def _stale(store: Store, stack: StackRow, rows: Sequence[ResourceRow], types: Types) -> frozenset[str]:
    """Return the ids of the rows whose values, read from outputs of other stacks, are outdated."""
    kinds = (kind_of_type(types, name) for name in {row.type for row in rows})
    if not any(kind is not None and kind.reads_outputs for kind in kinds):
        # As in most stacks: nothing is read for it.
        return frozenset()
    return store.output_readers.stale_in_tree(stack.root_id)
