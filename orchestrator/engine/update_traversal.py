"""The traversal of an update: what a new definition makes of the rows of its stack, and the plan that leads there."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hooks.values.dataclass import dataclass
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.ownership import refuse_foreign, refuse_owned
from orchestrator.engine.planned_traversal import (
    Required,
    applying,
    may_change,
    planned_by,
    refuse_too_many,
    traversal_of,
)
from orchestrator.engine.protection import change_of_update
from orchestrator.engine.snapshots import with_entries
from orchestrator.model.messages import StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.model.plan import Plan, plan_update
from orchestrator.planning.cleanups import Cleanups, never_imported
from orchestrator.planning.comparing import compare
from orchestrator.planning.comparison import Comparison
from orchestrator.planning.matching import plan_row, successors
from orchestrator.planning.stored_templates import load_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted, NewTraversal

if TYPE_CHECKING:
    from orchestrator.model.plan_binding import PlanBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """An update that is asked for; the fields are the arguments of ``TraversalStarter.update``."""

    stack: StackRow
    job: StackJob
    action: str
    snapshot: SnapshotRow | None
    applies: "PlanBinding | None"
    is_repair: bool
    imports: Mapping[str, Any] | None

    @property
    def is_new(self) -> bool:
        """Whether its definition was not accepted before."""
        return self.action in ("UPDATE", "ADOPT") and not self.is_repair


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the traversal of an update is planned from: its definition, compared with the rows of the stack."""

    compared: Comparison
    #: The objects of new rows that are imported, by row id; and the rows that have objects of the same ids.
    adopted: Mapping[str, Adopted] = field(default_factory=dict)
    owners: frozenset[str] = frozenset()


class UpdateTraversals:
    """Makes the traversals of updates; nothing is written."""

    def __init__(
        self, store: Store, types: Mapping[str, type[Resource]], settings: Settings, *, clients: Clients
    ) -> None:
        self._store, self._types, self._settings, self._clients = store, types, settings, clients

    def of(self, update: Update) -> tuple[Comparison, NewTraversal]:
        """Return the traversal of an update, and the comparison that it is made of.

        Raises:
            InvalidInput: something is wrong with the job, or the tree of stacks would have too many resources.
            Conflict: something protected would be lost, the stack has moved on since a saved plan was made, or the plan
                lists something else.
        """
        if update.applies is not None:
            from orchestrator.engine.applied_plan import require_unchanged

            require_unchanged(self._store, update.applies, update.stack)
        basis = self._basis(update)
        compared, stack = basis.compared, update.stack
        refuse_too_many(self._store, self._settings, update.job, compared.prepared)
        protection = change_of_update(
            stack, compared, self._types, Limits.of(self._settings), self._store.templates.file
        )
        if update.is_new:
            refuse_foreign(self._store, compared.prepared, update.job.project)
        plan_of = _plan_of(update, basis, self._cleanups(update, compared))
        new = replace(_traversal(update, basis, plan_of, self._settings), protection=protection)
        return compared, applying(_partial(new, update.job, compared), update.applies)

    def _basis(self, update: Update) -> Basis:
        """Compare the definition with the rows; with a snapshot, a saved plan or imports, by what these say besides."""
        job = update.job
        compared = compare(
            self._store,
            update.stack,
            job,
            self._types,
            self._settings,
            action=update.action,
            keeps_immutable=update.is_new,
            renews=update.imports is None,
            # An earlier definition was valid before; resources made again are validated in their checks.
            clients=self._clients if update.is_new and not isinstance(job, NestedJob) else None,
        )
        if update.snapshot is not None:
            entries = self._store.snapshots.entries(update.snapshot)
            compared = replace(compared, desired_resources=with_entries(compared.desired_resources, entries))
        if update.applies is not None:
            from orchestrator.engine.applied_plan import as_planned

            compared = replace(compared, desired_resources=as_planned(update.applies, compared))
        if update.imports is None:
            return Basis(compared=compared)
        from orchestrator.planning.imports import with_imports

        compared, adopted = with_imports(compared, update.imports, self._types)
        taken = [each for each in compared.desired_resources if each.resource_id in adopted]
        owners = refuse_owned(self._store, taken, adopted, job.project)
        return Basis(compared=compared, adopted=adopted, owners=owners)

    def _cleanups(self, update: Update, compared: Comparison) -> Cleanups:
        stack, planned = update.stack, compared.history.planned
        # A stack does not own the objects that it was to adopt, as long as it has not been complete with them.
        kept = self._store.stacks.adopted(stack.id) if update.action == "ROLLBACK" else frozenset[str]()
        desired_rows = {match.row.id for match in compared.matches.values() if match.row is not None}
        kept |= never_imported(compared.rows, planned, desired_rows)
        return Cleanups(
            self._store,
            stack,
            compared.all_rows,
            planned,
            partial(load_template, self._store, settings=self._settings),
            registry=compared.prepared.registry,
            kept=kept,
            unprotect=update.job.unprotect,
        )


def _plan_of(update: Update, basis: Basis, cleanups: Cleanups) -> Callable[[Required], Plan]:
    compared = basis.compared
    # Cached, so that a second plan gets the same cleanups.
    cleanup_data = functools.cache(cleanups)
    return planned_by(
        [plan_row(row) for row in compared.planned_rows],
        lambda planned: plan_update(
            compared.desired_resources,
            compared.matches,
            planned,
            action=update.action,
            cleanup_data=cleanup_data,
            makes="ADOPT" if basis.adopted else "CREATE",
        ),
    )


def _traversal(
    update: Update, basis: Basis, plan_of: Callable[[Required], Plan], settings: Settings
) -> NewTraversal:
    compared, stack, snapshot = basis.compared, update.stack, update.snapshot
    rows = compared.all_rows
    made = {
        desired.resource_id: desired.type
        for desired in compared.desired_resources
        if compared.matches[desired.name].row is None
    }
    new = traversal_of(update.job, compared.prepared, plan_of({}), made, settings)
    return replace(
        new,
        adopted=basis.adopted,
        owners=basis.owners,
        options={**new.options, "snapshot": snapshot.id} if snapshot else new.options,
        known={row.id for row in rows},
        required=may_change(stack, rows),
        planned_by=plan_of,
        completed_template_id=stack.completed_template_id,
        successors=successors(compared.rows, compared.matches),
        names=compared.moved.names,
        transfers=compared.moved.transfers,
        moved=compared.moved.before,
        is_unfinished=compared.moved.is_unfinished,
        as_applied=compared.reverted,
        other_types=compared.other_types,
    )


def _partial(new: NewTraversal, job: StackJob, compared: Comparison) -> NewTraversal:
    """Return the traversal of an update with what it says of resources that it names, and of those that it leaves."""
    named = {name: list(getattr(job, name)) for name in ("targets", "replaces") if getattr(job, name)}
    new = replace(new, options={**new.options, **named}) if named else new
    part = compared.part
    if part is None:
        return new
    # Values that were hidden by the definition of what is left are hidden still.
    hidden = sorted({*new.context["hidden"], *compared.context.get("hidden", ())})
    return replace(
        new,
        context={**new.context, "hidden": hidden},
        not_converged=tuple(sorted(part.visited | part.left)),
        left=tuple(sorted(part.left)),
    )
