"""Traversal starter: plans an operation, calls lifecycle plugins, writes it in one transaction, publishes."""

import functools
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hooks.values.parts import parts_of
from orchestrator.config.limits import Limits
from orchestrator.config.log_context import about_operation
from orchestrator.config.observation import default_policy
from orchestrator.config.settings import Settings
from orchestrator.engine.ownership import refuse_foreign, refuse_owned
from orchestrator.engine.project_limits import added_by, limits_of
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.snapshots import with_entries
from orchestrator.engine.stack_actions import without_definition
from orchestrator.errors import InvalidInput, Problem, Unavailable
from orchestrator.lifecycle.brackets import Brackets, FailedByPlugin
from orchestrator.lifecycle.frozen_stacks import (
    comparison_shown,
    definition_shown,
    stack_shown,
    tags_shown,
)
from orchestrator.model.messages import END, CheckOrder, DeleteJob, StackJob
from orchestrator.model.nested_stack import NestedJob
from orchestrator.model.plan import Plan, Row, plan_create, plan_delete, plan_update
from orchestrator.planning.cleanups import Cleanups, never_imported
from orchestrator.planning.comparison import Comparison, compare
from orchestrator.planning.matching import plan_row, successors
from orchestrator.planning.preparation import Prepared
from orchestrator.planning.stored_templates import load_registry, load_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.snapshots import SnapshotRow
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.new_traversal import Adopted, NewTraversal
from orchestrator.store.traversals.plugin_failures import Unbegun
from orchestrator.template.resource_registry import Registry
from orchestrator.template.template import Template
from orchestrator.tracing.tracer import OFF, Tracing

if TYPE_CHECKING:
    from orchestrator.model.plan_binding import PlanBinding

#: How many first checks are published at a time.
PUBLISHED_AT_ONCE = 500

#: What rows require, by id. Between the reading of the rows and the transaction that begins the new traversal, the old
#: one goes on: a row that it writes by then may require others, and the traversal is planned again.
Required = Mapping[str, tuple[str, ...]]


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
        self._refuse_too_many(job, prepared)
        refuse_foreign(self._store, prepared, job.project)
        made = {
            node.resource_id: prepared.types[node.key] for node in plan.nodes if node.resource_id is not None
        }
        new = replace(self._new_traversal(job, prepared, plan, made), adopted=adopted or {}, owners=owners)
        new = _applying(new, applies)
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

    def _refuse_too_many(self, job: StackJob, prepared: Prepared) -> None:
        """Refuse a nested stack with which the whole tree would have too many resources.

        Nested stacks known when the root stack was validated were counted then.
        """
        if not isinstance(job, NestedJob):
            return
        most = self._settings.max_resources_per_stack
        others = self._store.families.count_in_tree(job.family.root_id, besides=job.stack_id)
        count = others + len(prepared.template.resources)
        if count > most:
            message = f"with these there would be {count} resources in all stacks together; at most {most} are allowed"
            hint = "raise the setting max_resources_per_stack, or make several stacks of it"
            raise InvalidInput([Problem(message=message, hint=hint)])

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
        if applies is not None:
            from orchestrator.engine.applied_plan import as_planned, require_unchanged

            require_unchanged(self._store, applies, stack)
        is_new = action in ("UPDATE", "ADOPT") and not is_repair
        compared = compare(
            self._store,
            stack,
            job,
            self._types,
            self._settings,
            action=action,
            keeps_immutable=is_new,
            renews=imports is None,
            # An earlier definition was valid before; resources made again are validated in their checks.
            clients=self._clients if is_new and not isinstance(job, NestedJob) else None,
        )
        if snapshot is not None:
            compared = replace(
                compared,
                desired_resources=with_entries(
                    compared.desired_resources, self._store.snapshots.entries(snapshot)
                ),
            )
        if applies is not None:
            compared = replace(compared, desired_resources=as_planned(applies, compared))
        adopted: Mapping[str, Adopted] = {}
        owners = frozenset[str]()
        if imports is not None:
            from orchestrator.planning.imports import with_imports

            compared, adopted = with_imports(compared, imports, self._types)
            taken = [each for each in compared.desired_resources if each.resource_id in adopted]
            owners = refuse_owned(self._store, taken, adopted, job.project)
        prepared, rows, matches = compared.prepared, compared.all_rows, compared.matches
        desired_resources = compared.desired_resources
        self._refuse_too_many(job, prepared)
        from orchestrator.engine.protection import change_of_update

        protection = change_of_update(
            stack, compared, self._types, Limits.of(self._settings), self._store.templates.file
        )
        if is_new:
            refuse_foreign(self._store, prepared, job.project)
        # A stack does not own the objects that it was to adopt, as long as it has not been complete with them.
        kept = self._store.stacks.adopted(stack.id) if action == "ROLLBACK" else frozenset[str]()
        desired_rows = {match.row.id for match in matches.values() if match.row is not None}
        kept |= never_imported(compared.rows, compared.history.planned, desired_rows)
        # Cached, so that a second plan gets the same cleanups.
        cleanups = functools.cache(
            self._cleanups(
                stack, rows, compared.history.planned, prepared.registry, kept, unprotect=job.unprotect
            )
        )
        plan_of = _planned_by(
            [plan_row(row) for row in compared.planned_rows],
            lambda planned: plan_update(
                desired_resources,
                matches,
                planned,
                action=action,
                cleanup_data=cleanups,
                makes="ADOPT" if adopted else "CREATE",
            ),
        )
        made = {
            desired.resource_id: desired.type
            for desired in desired_resources
            if matches[desired.name].row is None
        }
        new = self._new_traversal(job, prepared, plan_of({}), made)
        new = replace(
            new,
            adopted=adopted,
            owners=owners,
            options={**new.options, "snapshot": snapshot.id} if snapshot else new.options,
            known={row.id for row in rows},
            required=_may_change(stack, rows),
            planned_by=plan_of,
            completed_template_id=stack.completed_template_id,
            successors=successors(compared.rows, matches),
            names=compared.moved.names,
            transfers=compared.moved.transfers,
            moved=compared.moved.before,
            is_unfinished=compared.moved.is_unfinished,
            as_applied=compared.reverted,
            other_types=compared.other_types,
            protection=protection,
        )
        new = _applying(_partial(new, job, compared), applies)
        if action != "ROLLBACK":
            new = self._within_limits(job, new, prepared)
        tags = tags_shown(self._store, job, stack)
        shown = partial(comparison_shown, self._store, stack, compared, self._settings, tags=tags)
        types = {*prepared.types.values(), *(row.type for row in rows)}
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
        cleanups = self._cleanups(stack, rows, planned, registry, kept, unprotect=job.unprotect)
        planned_rows = [plan_row(row, cleanups(row.id)) for row in rows]
        plan_of = _planned_by(planned_rows, plan_delete)
        new = replace(
            without_definition(self._store, stack, rows, plan_of({})),
            required=_may_change(stack, rows),
            planned_by=plan_of,
            options={"abandon": True} if job.abandon else {},
            job_id=job.job_id,
            protection=protection,
            unread=unread,
        )
        return self.operate(stack, _applying(new, applies), {row.type for row in rows})

    def _cleanups(
        self,
        stack: StackRow,
        rows: Sequence[ResourceRow],
        planned: Mapping[str, Mapping[str, Any]],
        registry: Registry,
        kept: Collection[str] = (),
        *,
        unprotect: bool = False,
    ) -> Cleanups:
        return Cleanups(
            self._store,
            stack,
            rows,
            planned,
            self._template,
            registry=registry,
            kept=kept,
            unprotect=unprotect,
        )

    def _template(self, template_id: str, context: Mapping[str, Any]) -> Template:
        return load_template(self._store, template_id, context, self._settings)

    def _new_traversal(
        self, job: StackJob, prepared: Prepared, plan: Plan, made: Mapping[str, str]
    ) -> NewTraversal:
        """Return the traversal of a plan; ``made`` are the types of the rows to be made, by id."""
        return NewTraversal(
            id=str(uuid.uuid4()),
            stack_id=prepared.stack_id,
            stack=job.name,
            project=job.project,
            template_id=prepared.stored.id,
            timeout_minutes=job.timeout_minutes or self._settings.stack_timeout_minutes,
            plan=plan,
            context=prepared.context,
            new_types=made,
            # A rollback after a failure is permitted what the operation was.
            options={name: True for name in ("rollback", "unprotect") if getattr(job, name)},
            tags=job.tags,
            job_id=job.job_id or None,
            family=job.family if isinstance(job, NestedJob) else None,
            fence=job.fence if isinstance(job, NestedJob) else None,
            event_sinks=prepared.event_sinks,
            observation=prepared.observation,
        )

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


def _applying(new: NewTraversal, applies: "PlanBinding | None") -> NewTraversal:
    if applies is None:
        return new
    return replace(
        new, applies=applies, options={**new.options, "plan": applies.id, "planned_by": applies.user}
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


def _failed_at_once(new: NewTraversal, failed: FailedByPlugin) -> NewTraversal:
    """Return a new stack's traversal without resources, which is FAILED when it begins."""
    plan = plan_create([], action=new.plan.action)
    return replace(new, id=failed.operation_id, plan=plan, new_types={}, adopted={}, refused=str(failed))


def _may_change(stack: StackRow, rows: Sequence[ResourceRow]) -> Required:
    """Return the requirements of rows that may still change before the next traversal begins.

    The stack was read before the rows: the rows of a stack that was complete then do not change.
    """
    return {} if stack.status == "COMPLETE" else {row.id: row.requires for row in rows}


def _planned_by(rows: Sequence[Row], plan: Callable[[Sequence[Row]], Plan]) -> Callable[[Required], Plan]:
    """Return a function that plans by the requirements given, and by those of ``rows`` for rows not given."""
    return lambda required: plan(
        [replace(row, requires=required[row.id]) if row.id in required else row for row in rows]
    )
