"""Traversal starter: plans an operation, calls lifecycle plugins, writes it in one transaction, publishes."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hooks.values.parts import parts_of
from orchestrator.config.log_context import about_operation
from orchestrator.config.observation import default_policy
from orchestrator.config.settings import Settings
from orchestrator.engine.ownership import refuse_foreign
from orchestrator.engine.planned_traversal import (
    applying,
    may_change,
    planned_by,
    refuse_too_many,
    traversal_of,
)
from orchestrator.engine.project_limits import added_by, limits_of
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.stack_actions import without_definition
from orchestrator.errors import Unavailable
from orchestrator.lifecycle.brackets import Brackets, FailedByPlugin
from orchestrator.lifecycle.frozen_stacks import (
    comparison_shown,
    definition_shown,
    stack_shown,
    tags_shown,
)
from orchestrator.model.messages import END, CheckOrder, DeleteJob, StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.model.plan import Plan, plan_create, plan_delete
from orchestrator.planning.cleanups import Cleanups, never_imported
from orchestrator.planning.matching import plan_row
from orchestrator.planning.preparation import Prepared
from orchestrator.planning.stored_templates import load_registry, load_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted, NewTraversal
from orchestrator.store.traversals.plugin_failures import Unbegun
from orchestrator.tracing.tracer import OFF, Tracing

if TYPE_CHECKING:
    from orchestrator.model.plan_binding import PlanBinding

#: How many first checks are published at a time.
PUBLISHED_AT_ONCE = 500


class TraversalStarter:
    """Begins operations, each in one transaction; orders that were not published are left to the sweep."""

    def __init__(
        self,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
        publisher: Publisher,
        brackets: Brackets,
        *,
        clients: Clients,
        tracing: Tracing = OFF,
    ) -> None:
        self._clients = clients
        self._tracing = tracing
        self._store, self._types, self._settings = store, types, settings
        self._publisher, self._brackets = publisher, brackets

    def create(
        self,
        job: StackJob,
        prepared: Prepared,
        plan: Plan,
        adopted: Mapping[str, Adopted] | None = None,
        *,
        owners: frozenset[str] = frozenset(),
        applies: "PlanBinding | None" = None,
    ) -> NewTraversal:
        """Begin to create a stack; ``adopted`` are its existing objects, by the id of the row to be made.

        ``owners`` are the rows that have objects of the same ids and prevent nothing
        (:func:`orchestrator.engine.ownership.refuse_owned`). ``applies`` is the saved plan that the job applies; None
        for none.

        Raises:
            InvalidInput: the tree of stacks would have too many resources, or an external_id is another project's.
            Conflict: the name is taken, the plan was applied before, the project would have too much, another stack has
                just taken an object, or a lifecycle plugin refused.
        """
        if applies is not None:
            from orchestrator.engine.applied_plan import require_new

            require_new(self._store, applies, prepared.stack_id)
        refuse_too_many(self._store, self._settings, job, prepared)
        refuse_foreign(self._store, prepared, job.project)
        made = {
            node.resource_id: prepared.types[node.key] for node in plan.nodes if node.resource_id is not None
        }
        new = traversal_of(job, prepared, plan, made, self._settings)
        new = replace(new, adopted=adopted or {}, owners=owners)
        new = applying(new, applies)
        if not isinstance(job, NestedJob) and self._settings.observation:
            default = default_policy(self._settings.observation, job.project)
            new = replace(new, observation={**default, **new.observation})
        new = self._within_limits(job, new, prepared, is_new=True)
        shown = partial(definition_shown, prepared, tags=tags_shown(self._store, job))
        types = frozenset(prepared.types.values())
        with about_operation(new.stack, new.stack_id, new.id):
            try:
                new = self._brackets.enter(new, shown=shown, now=None, keeps=True, types=types)
            except FailedByPlugin as failed:
                new = _failed_at_once(new, failed)
            with self._given_up_on_error(new):
                self._store.templates.save(prepared.stored, prepared.files)
                self._store.traversal_starts.begin_create(new)
            self._publish_first(new)
        return new

    def update(
        self,
        stack: StackRow,
        job: StackJob,
        *,
        action: str = "UPDATE",
        snapshot: SnapshotRow | None = None,
        applies: "PlanBinding | None" = None,
        is_repair: bool = False,
        imports: Mapping[str, Any] | None = None,
    ) -> NewTraversal | None:
        """Begin to update a stack to a new definition; None if another operation was faster.

        With a ``snapshot``, the resources are restored from its entries. With a saved plan that it ``applies``, only
        the actions that the plan lists are taken. A repair is an update to the definition that the stack has: it was
        accepted before, and nothing is renewed. ``imports`` are entries of existing objects, by the names of their
        resources: these are adopted, and nothing else may change. Other systems are queried for root stacks only: their
        validation includes the nested ones.

        Raises:
            InvalidInput: something is wrong with the job, or the tree of stacks would have too many resources.
            Conflict: the project would have too much, something protected would be lost, the stack has moved on since
                the plan was made, the plan lists something else, or a lifecycle plugin refused.
        """
        # A create needs none of it.
        from orchestrator.engine.update_traversal import Update, UpdateTraversals

        compared, new = UpdateTraversals(self._store, self._types, self._settings, clients=self._clients).of(
            Update(
                stack=stack,
                job=job,
                action=action,
                snapshot=snapshot,
                applies=applies,
                is_repair=is_repair,
                imports=imports,
            )
        )
        prepared = compared.prepared
        if action != "ROLLBACK":
            new = self._within_limits(job, new, prepared)
        tags = tags_shown(self._store, job, stack)
        shown = partial(comparison_shown, self._store, stack, compared, self._settings, tags=tags)
        types = {*prepared.types.values(), *(row.type for row in compared.all_rows)}
        with about_operation(stack.name, stack.id, new.id):
            try:
                new = self._brackets.enter(new, shown=shown, now=stack, keeps=True, types=types)
            except FailedByPlugin as failed:
                self._fail_unbegun(stack, new, failed)
                return new
            with self._given_up_on_error(new):
                self._store.templates.save(prepared.stored, prepared.files)
                if new.transfers is not None and new.transfers.made:
                    from orchestrator.planning.transfers import EMPTY

                    self._store.templates.save(EMPTY, {})
            return self._begin_next(stack, new)

    def operate(self, stack: StackRow, new: NewTraversal, types: Collection[str] = ()) -> bool:
        """Begin a traversal that supersedes the stack's present one; False if another operation was faster.

        ``types`` are those of the resources that it deletes, if any.

        Raises:
            Conflict: a lifecycle plugin refused.
        """
        shown = partial(stack_shown, self._store, stack, self._settings)
        with about_operation(stack.name, stack.id, new.id):
            try:
                new = self._brackets.enter(new, shown=shown, now=stack, keeps=False, types=types)
            except FailedByPlugin as failed:
                self._fail_unbegun(stack, new, failed)
                return True
            return self._begin_next(stack, new) is not None

    def _begin_next(self, stack: StackRow, new: NewTraversal) -> NewTraversal | None:
        """Begin a traversal that lifecycle plugins agreed to; None if another operation was faster."""
        with self._given_up_on_error(new):
            begun = self._store.traversal_starts.begin_next(new, expected=stack.traversal_id)
        if begun is None:
            self._brackets.give_up(new, "another operation took the stack first")
            return None
        self._publish_first(begun)
        return begun

    def _fail_unbegun(self, stack: StackRow, new: NewTraversal, failed: FailedByPlugin) -> None:
        """Fail a stack whose operation a lifecycle plugin refused; if another operation has it now, only refuse."""
        unbegun = Unbegun(
            stack_id=stack.id,
            expected=stack.traversal_id,
            operation_id=failed.operation_id,
            action=new.plan.action,
            reason=str(failed),
            job_id=new.job_id,
        )
        if not self._store.plugin_failures.fail_unbegun(unbegun):
            raise failed

    @contextmanager
    def _given_up_on_error(self, new: NewTraversal) -> Iterator[None]:
        """Notify lifecycle plugins if an error certainly keeps the operation from beginning."""
        try:
            yield
        except Unavailable:
            # It may have begun; if not, the job is delivered again, or the sweep finds the lost operation.
            raise
        except Exception as error:
            self._brackets.give_up(new, str(error) or type(error).__name__)
            raise

    def delete(self, stack: StackRow, job: DeleteJob, *, applies: "PlanBinding | None" = None) -> bool:
        """Begin the deletion of a stack; False if another operation took the stack first.

        ``applies`` is the saved plan that the job applies; None for none.

        Raises:
            Conflict: the stack, or something in it, is protected, other stacks read its outputs, or a lifecycle plugin
                refused.
        """
        from orchestrator.engine.protection import change_of_delete

        if applies is not None:
            from orchestrator.engine.applied_plan import require_unchanged

            require_unchanged(self._store, applies, stack)
        # Nested stacks are never read.
        unread = not job.force and stack.parent_id is None and stack.action != "DELETE"
        if unread:
            self._store.output_readers.refuse_read(stack.id, stack.project)
        rows = self._store.stacks.resources(stack.id)
        held = self._store.protections.held(stack, rows)
        protection = change_of_delete(stack, rows, held, unprotect=job.unprotect)
        planned = self._store.histories.planned(stack.id)
        registry = load_registry(self._store, stack.template_id, self._settings)
        kept = {row.id for row in rows} if job.abandon else never_imported(rows, planned)
        cleanups = Cleanups(
            self._store,
            stack,
            rows,
            planned,
            partial(load_template, self._store, settings=self._settings),
            registry=registry,
            kept=kept,
            unprotect=job.unprotect,
        )
        planned_rows = [plan_row(row, cleanups(row.id)) for row in rows]
        plan_of = planned_by(planned_rows, plan_delete)
        new = replace(
            without_definition(self._store, stack, rows, plan_of({})),
            required=may_change(stack, rows),
            planned_by=plan_of,
            options={"abandon": True} if job.abandon else {},
            job_id=job.job_id,
            protection=protection,
            unread=unread,
        )
        return self.operate(stack, applying(new, applies), {row.type for row in rows})

    def _within_limits(
        self, job: StackJob, new: NewTraversal, prepared: Prepared, *, is_new: bool = False
    ) -> NewTraversal:
        """Return a traversal with the limits of its project, which the transaction that begins it enforces.

        Raises:
            Conflict: the project would exceed one already; lifecycle plugins were not called.
        """
        names = [node.key for node in new.plan.nodes if node.resource_id in new.new_types]
        added = added_by(job, {name: prepared.nested.get(name) for name in names}, is_new=is_new)
        limits = limits_of(self._store, self._settings, job.project)
        self._store.project_limits.refuse(job.project, limits, added)
        return replace(new, limits=limits, added=added)

    def _publish_first(self, new: NewTraversal) -> None:
        """Publish the nodes without requirements, in parts, so that workers begin with the first meanwhile."""
        self._tracing.began(new.id)
        orders = [
            CheckOrder(
                stack_id=new.stack_id,
                traversal_id=new.id,
                no=node.no,
                key=node.key,
                phase=node.phase,
                stack=new.stack,
                action=node.action,
                # Node data of nodes that are done from the start is read from the store.
                node_data=None if node.requirements else (),
            )
            for node in new.plan.ready
        ]
        if len(orders) == 1 and orders[0].phase == END:
            self._store.traversals.complete(new.id)
        for some in parts_of(orders, PUBLISHED_AT_ONCE):
            publish_or_leave(self._publisher, some)


def _failed_at_once(new: NewTraversal, failed: FailedByPlugin) -> NewTraversal:
    """Return a new stack's traversal without resources, which is FAILED when it begins."""
    plan = plan_create([], action=new.plan.action)
    return replace(new, id=failed.operation_id, plan=plan, new_types={}, adopted={}, refused=str(failed))
