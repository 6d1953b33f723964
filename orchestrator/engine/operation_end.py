"""The end of an operation: its callbacks, the rollback of a failed one, and what a parent stack waits for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hooks.values.texts import tellable
from orchestrator.config.log_context import about_order
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.engine.end_lease import extended
from orchestrator.engine.nested_stacks import ChangesStacks
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.traversal_starter import TraversalStarter
from orchestrator.engine.tried_once import tried_once
from orchestrator.errors import IsothermError, Unavailable, typed_message
from orchestrator.lifecycle.brackets import Brackets
from orchestrator.model.messages import CheckOrder, StackJob
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.resource import Resource
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals.traversals import ClaimedEnd
from orchestrator.tracing.tracer import Tracing

log = get_logger()

#: The template that a rollback applies to a stack that never was complete.
NO_RESOURCES: Final = "heat_template_version: 2021-04-16\n"


class OperationEnds:
    """Ends operations in one process, by name; any number of processes may."""

    def __init__(
        self,
        coordinator: ChangesStacks,
        brackets: Brackets,
        begin: TraversalStarter,
        *,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
        publisher: Publisher,
        clients: Clients,
        tracing: Tracing,
        name: str,
    ) -> None:
        self._coordinator, self._brackets, self._begin = coordinator, brackets, begin
        self._store, self._types, self._settings = store, types, settings
        self._publisher, self._clients, self._tracing = publisher, clients, tracing
        self._name = name

    def finish(self, order: CheckOrder) -> None:
        """Complete a traversal if it is done, and run its post-operation callbacks: lifecycle plugins' ``post_op``.

        The callbacks run at least once for every traversal, with the traversal's id as the operation id; when a
        coordinator dies during them, another takes over when its lease ends.
        """
        with about_order(order):
            ending = self._claimed(order)
            if ending is None:
                return
            held = (order.traversal_id, order.no, ending.attempt)
            with extended(
                self._store.nodes.heartbeat,
                held,
                lease_seconds=self._store.timings.lease_seconds,
                longest_seconds=self._settings.step_timeout_seconds,
            ):
                self._run_callbacks(ending)

    def _claimed(self, order: CheckOrder) -> ClaimedEnd | None:
        """Claim the end of a traversal, which a worker that died has not marked complete; None if it is not due."""
        traversals = self._store.traversals
        ending = traversals.claim_end(order, worker=self._name)
        if ending is None:
            traversals.complete(order.traversal_id)
            ending = traversals.claim_end(order, worker=self._name)
        return ending

    def _run_callbacks(self, ending: ClaimedEnd) -> None:
        self._brackets.leave(ending)
        if why := self._brackets.why_failed(ending):
            self._store.plugin_failures.fail_complete(ending.traversal_id, why)
        if ending.lost >= self._most_lost:
            self._give_up(ending)
        else:
            self._call_types(ending)
        self._tracing.ended(ending)
        self._store.traversals.finish_end(ending)
        most = self._settings.max_sink_backlog_events
        self._store.sink_cursors.bound(most, stack_id=ending.stack_id)
        self._store.purger.trim_events(ending.stack_id, most=self._settings.max_events_per_stack)

    @property
    def _most_lost(self) -> int:
        """How many attempts at an end may be lost; each lifecycle plugin may lose as many before it is given up."""
        return self._store.timings.lost_attempts * (1 + self._brackets.plugin_count)

    def _give_up(self, ending: ClaimedEnd) -> None:
        """End an operation without the code of resource types, which may be what takes the processes down."""
        why = f"its coordinator was lost {ending.lost} times"
        log.error("the end of an operation is given up in part", stack_name=ending.stack, reason=why)
        if ending.status == "FAILED" and ending.options.get("rollback"):
            self._store.traversals.leave_failed(ending.traversal_id, why=why)
        if ending.parent_resource is not None:
            publish_or_leave(self._publisher, self._store.nodes.wake_resource(ending.parent_resource))

    def _call_types(self, ending: ClaimedEnd) -> None:
        if ending.status == "FAILED" and ending.options.get("rollback"):
            self._roll_back(ending)
        if (ending.action, ending.status) == ("DELETE", "COMPLETE"):
            from orchestrator.engine.snapshots import let_go_of_all

            with tried_once("deletion of the stack's snapshots", ending):
                let_go_of_all(self._store, ending, self._types, self._settings, clients=self._clients)
        if ending.parent_resource is None and ending.status == "COMPLETE":
            from orchestrator.engine.output_marks import mark_readers

            with tried_once("marks of stacks that read the outputs", ending):
                mark_readers(self._store, self._settings, ending)
        if ending.parent_resource is not None:
            from orchestrator.engine.idle_nested_stacks import IdleNestedStacks

            # The parent resource waits for this.
            publish_or_leave(self._publisher, self._store.nodes.wake_resource(ending.parent_resource))
            # When a signal changed the stack, no check waits: record the new attributes here.
            resting = IdleNestedStacks(self._coordinator, self._store, self._types, self._settings)
            with tried_once("attributes of the parent resource", ending):
                resting.record_attributes(ending.parent_resource)

    def _roll_back(self, ending: ClaimedEnd) -> None:
        """Begin the rollback to the last complete definition, unless another operation has taken the stack.

        A rollback that fails is not rolled back.
        """
        stack = self._store.stacks.find(ending.stack_id, project=ending.project)
        if stack.traversal_id != ending.traversal_id:
            return
        try:
            unprotect = bool(ending.options.get("unprotect"))
            completed = replace(last_complete(self._store, stack), unprotect=unprotect)
            self._begin.update(stack, completed, action="ROLLBACK")
        except Unavailable:
            # The end stays claimable, so that the rollback is tried again.
            raise
        except IsothermError as error:
            # The old definition is refused now: a type is gone, or a lifecycle plugin refuses.
            log.warning("a stack cannot be rolled back", stack_name=stack.name, reason=str(error))
            self._store.traversals.leave_failed(ending.traversal_id, why=str(error))
        except Exception as error:
            # A bug of a resource type would be the same at every other try.
            log.exception("a stack cannot be rolled back", stack_name=stack.name)
            self._store.traversals.leave_failed(ending.traversal_id, why=tellable(typed_message(error)))


def last_complete(store: Store, stack: StackRow, job_id: str = "") -> StackJob:
    """Return the job that restores the last complete definition of a stack."""
    if stack.completed_template_id is None:
        return StackJob(name=stack.name, project=stack.project, template=NO_RESOURCES, job_id=job_id)
    return job_of_template(store, stack, stack.completed_template_id, job_id=job_id)
