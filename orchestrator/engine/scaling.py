"""Scaling: signals that make groups larger or smaller.

A decision is stored in one transaction before it is carried out: the group's new members among its private data, and
the time. After the death of a process in between, the same signal delivered again, the next one, or an update carries
it out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.config.log_masking import masking_logs
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.engine.idle_nested_stacks import IdleNestedStacks
from orchestrator.engine.nested_stacks import ChangesStacks, TakenOver
from orchestrator.engine.row_secrets import RowSecrets
from orchestrator.engine.signals import SIGNAL_TRIES, UNSIGNALLED, refuse_unstorable, signalled
from orchestrator.errors import Conflict
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.scaling import ScalableResource, Scaling, ScalingResource
from orchestrator.plugins.steps import ResourceFailure
from orchestrator.store.stacks.scalings import Decided
from orchestrator.store.stacks.stacks import ResourceRow, StackRow
from orchestrator.store.store import Store

log = get_logger()

#: The result of a signal that carries out an earlier decision.
_LEFT_OVER: Final = Scaling(sentence="the group is still given the members of the last scaling")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    row: ResourceRow
    #: The stack of the group's row.
    stack: StackRow
    resource: ScalableResource

    def why_busy(self) -> str:
        """Return why the group cannot be changed now; "" if it can."""
        row, state = self.row, self.resource.stacks.state()
        if row.status != "COMPLETE" or row.lock_traversal is not None or row.action in UNSIGNALLED:
            return f"the group is {row.action}_{row.status}"
        if state is None or state.is_deleted:
            return "the group has no stack"
        if state.status != "COMPLETE" or state.action in UNSIGNALLED:
            return f"the group's stack is {state.action}_{state.status}"
        return ""


class Scaler:
    """Carries out signals to scaling policies."""

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
        self, stack: StackRow, resource: str, details: Mapping[str, object], *, job_id: str = ""
    ) -> str | None:
        """Signal a scaling policy; return the id of the group's stack if that changes because of it.

        A job that is done already only carries out a stored decision that was not begun.

        Raises:
            NotFound: there is no such resource.
            Conflict: it takes no such signal, or none in its present state; or the group cannot get the new size.
            PluginMistake: a type left a value that cannot be stored.
        """
        for _ in range(SIGNAL_TRIES):
            row = self._store.stacks.resource(stack.id, resource)
            policy = signalled(row, stack, self._types, self._settings, self._store.database.time())
            policy.annotations = self._store.annotations.when_looked_at(stack.id, row.name)
            if not isinstance(policy, ScalingResource):
                raise Conflict(f"resource {row.name!r} scales nothing")
            group = self._group_of(policy, stack)
            busy = group.why_busy()
            is_done = bool(job_id) and self._store.stacks.job(job_id) is not None
            is_left_over = not busy and not group.resource.is_as_asked() and self._continue(group)
            changed = group.row.id if is_left_over else None
            if is_done:
                return changed
            secrets = RowSecrets(
                store=self._store, types=self._types, settings=self._settings, stack=stack, row=row
            )
            scaling = _LEFT_OVER if is_left_over else _scaling(policy, group, busy, details, secrets)
            if scaling.size is None:
                if self._store.stacks.write_signal(row, stack.traversal_id, row.metadata, scaling.sentence):
                    return changed
                continue
            group.resource.resize(scaling.size)
            refuse_unstorable(policy, metadata=policy.state.metadata)
            refuse_unstorable(group.resource, data=group.resource.state.data)
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
                self._carry_out(decided, group.stack)
                return group.row.id
        raise Conflict(f"resource {resource!r} is being signalled by too many others; try again")

    def _carry_out(self, decided: Decided, within: StackRow) -> None:
        """Begin a stored decision; undo it in the store if the group refuses it."""
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

    def _continue(self, group: _Group) -> bool:
        """Begin an earlier decision; False if the group refuses it, so that the present signal may set another size."""
        try:
            self._begin(group)
        except Conflict as error:
            log.warning("an earlier scaling cannot be carried out", group=group.row.name, reason=str(error))
            return False
        return True

    @staticmethod
    def _begin(group: _Group) -> None:
        """Update the group's stack to the group's members, unless another attempt holds the group."""
        try:
            group.resource.stacks.become(group.resource.child())
        except TakenOver:
            # The other attempt reads the stored decision.
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
        resource = self._resting.stack_resource(row, within, self._store.database.time())
        if not isinstance(resource, ScalableResource):
            raise Conflict(f"resource {row.name!r} ({row.type}) cannot be scaled")
        return _Group(row=row, stack=within, resource=resource)


def _scaling(
    policy: ScalingResource, group: _Group, busy: str, details: Mapping[str, object], secrets: RowSecrets
) -> Scaling:
    if busy:
        return Scaling(sentence=f"{busy}: nothing was done")
    with masking_logs(secrets.masked):
        try:
            scaling = policy.scaling(group.resource, details)
        except ResourceFailure as error:
            why = secrets.masked(str(error))
            raise Conflict(f"resource {policy.name!r} refused the signal: {why}") from error
    return replace(scaling, sentence=secrets.masked(scaling.sentence))
