"""Signals that make groups larger or smaller.

What was decided stands in the store, in one transaction, before anything is begun because of it: the group's new
members among its private data, and when that was. Whoever comes after a process that died in between (the same signal,
delivered again; the next one; an update) finds it and goes on with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from orchestrator.config.settings import Settings
from orchestrator.engine.idle_nested_stacks import IdleNestedStacks
from orchestrator.engine.nested_stacks import ChangesStacks, TakenOver
from orchestrator.engine.signals import SIGNAL_TRIES, UNSIGNALLED, signalled
from orchestrator.errors import Conflict
from orchestrator.plugins.resource import Resource, ResourceFailure
from orchestrator.plugins.scaling import ScalableResource, Scaling, ScalingResource
from orchestrator.store.stacks.scalings import Decided
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store

log = structlog.get_logger()

#: What a signal comes to where somebody died over an earlier one.
_LEFT_OVER: Final = Scaling(sentence="the group is still given the members of the last scaling")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """A group as it stands."""

    row: ResourceRow
    #: The stack that the group is in.
    stack: StackRow
    resource: ScalableResource

    def why_busy(self) -> str:
        """Return what keeps the group from being changed now; "" if nothing does."""
        row, state = self.row, self.resource.stacks.state()
        if row.status != "COMPLETE" or row.lock_traversal is not None or row.action in UNSIGNALLED:
            return f"the group is {row.action}_{row.status}"
        if state is None or state.is_deleted:
            return "the group has no stack"
        if state.status != "COMPLETE" or state.action in UNSIGNALLED:
            return f"the group's stack is {state.action}_{state.status}"
        return ""


class Scaler:
    """Gives signals to resources that scale others."""

    def __init__(
        self,
        coordinator: ChangesStacks,
        store: Store,
        types: Mapping[str, type[Resource]],
        settings: Settings,
    ) -> None:
        self._store, self._types, self._settings = store, types, settings
        self._resting = IdleNestedStacks(coordinator, store, types, settings)

    def signal(
        self, stack: StackRow, resource: str, details: Mapping[str, Any], *, job_id: str = ""
    ) -> str | None:
        """Give a resource a signal; return the id of the group's stack if that is changed because of it.

        Of a job that is done already, only what was not begun is gone on with.

        Raises:
            NotFound: there is no such resource.
            Conflict: it takes no such signal, or none in its present state; or the new size cannot be had.
        """
        for _ in range(SIGNAL_TRIES):
            row = self._store.stacks.resource(stack.id, resource)
            policy = signalled(row, stack, self._types, self._settings, self._store.scalings.now())
            policy.annotations = self._store.annotations.when_looked_at(stack.id, row.name)
            if not isinstance(policy, ScalingResource):
                raise Conflict(f"resource {row.name!r} scales nothing")
            group = self._group_of(policy, stack)
            busy = group.why_busy()
            is_done = bool(job_id) and self._store.stacks.job(job_id) is not None
            is_left_over = not busy and not group.resource.is_as_asked() and self._goes_on(group)
            changed = group.row.id if is_left_over else None
            if is_done:
                return changed
            scaling = _LEFT_OVER if is_left_over else _asked(policy, group, busy, details)
            if scaling.size is None:
                if self._store.stacks.write_signal(row, stack.traversal_id, row.metadata, scaling.sentence):
                    return changed
                continue
            group.resource.resize(scaling.size)
            decided = Decided(
                policy=row,
                group=group.row,
                metadata=policy.state.metadata,
                data=group.resource.state.data,
                traversals=(stack.traversal_id, group.stack.traversal_id),
                sentence=scaling.sentence,
                job_id=job_id,
            )
            if self._store.scalings.write(decided):
                self._bring_about(decided, group.stack)
                return group.row.id
        raise Conflict(f"resource {resource!r} is being signalled by too many others; try again")

    def _bring_about(self, decided: Decided, within: StackRow) -> None:
        """Begin what was decided and is written down; undo that, if it turns out that it cannot be.

        Raises:
            Conflict: it cannot.
        """
        written = decided.written()
        try:
            self._begin(self._group(written.group, within))
        except Conflict as error:
            undone = replace(
                written,
                metadata=decided.policy.metadata,
                data=decided.group.data,
                sentence=f"undone: {error}",
            )
            self._store.scalings.undo(undone)
            raise

    def _goes_on(self, group: _Group) -> bool:
        """Begin what somebody died over; False if it cannot be had: another size may be, and is asked for now."""
        try:
            self._begin(group)
        except Conflict as error:
            log.warning(
                "what is left over of a scaling cannot be had", group=group.row.name, reason=str(error)
            )
            return False
        return True

    @staticmethod
    def _begin(group: _Group) -> None:
        """Let the group's stack become what the group says now, unless somebody works on the group.

        Raises:
            Conflict: it cannot.
        """
        try:
            group.resource.stacks.become(group.resource.child())
        except TakenOver:
            # Whoever it is goes by what is written down.
            return
        except ResourceFailure as error:
            raise Conflict(f"the group {group.row.name!r} cannot be changed: {error}") from error

    def _group_of(self, policy: ScalingResource, stack: StackRow) -> _Group:
        reference = str(policy.properties[policy.scales])
        row = self._store.stacks.row(reference)
        within = None if row is None else self._store.stacks.by_id(row.stack_id)
        if row is None or within is None or within.project != stack.project:
            raise Conflict(f"resource {policy.name!r}: {policy.scales} refers to nothing that there is")
        return self._group(row, within)

    def _group(self, row: ResourceRow, within: StackRow) -> _Group:
        resource = self._resting.stack_resource(row, within, self._store.scalings.now())
        if not isinstance(resource, ScalableResource):
            raise Conflict(f"resource {row.name!r} ({row.type}) cannot be scaled")
        return _Group(row=row, stack=within, resource=resource)


def _asked(policy: ScalingResource, group: _Group, busy: str, details: Mapping[str, Any]) -> Scaling:
    if busy:
        return Scaling(sentence=f"{busy}: nothing was done")
    try:
        return policy.scaling(group.resource, details)
    except ResourceFailure as error:
        raise Conflict(f"resource {policy.name!r} refused the signal: {error}") from error
