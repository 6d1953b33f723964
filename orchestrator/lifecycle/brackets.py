"""Brackets of an operation: ``do_pre_op`` of every lifecycle plugin before it, ``do_post_op`` after it.

Plugins are called in order before anything of an operation is written; once it is over, however it ended, those that
were called are called back in reverse order. Every call is recorded before the next one. When a process dies, another
continues from the record: with the same job, if that is delivered again, else by calling back with ``REFUSED``.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from hooks.errors import LifecycleRefused
from hooks.lifecycle import (
    COMPLETE,
    FAILED,
    REFUSED,
    SUPERSEDED,
    LifecycleContext,
    LifecyclePlugin,
    PlannedOperation,
)
from hooks.loading.calling import NotCalled, TookTooLong
from hooks.loading.ordering import in_order
from hooks.stack import FrozenStack
from hooks.values.frozen import FrozenDict
from hooks.values.words import words_of
from orchestrator.config.caller import caller
from orchestrator.config.logger import get_logger
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, IsothermError
from orchestrator.lifecycle.answers import agreed_of
from orchestrator.lifecycle.copies import own_copy
from orchestrator.lifecycle.engine_plugin import concerned
from orchestrator.lifecycle.frozen_stacks import (
    operation_shown,
    present_shown,
    root_action,
    shown_after,
    shown_to_wire,
    with_names,
)
from orchestrator.lifecycle.post_op import log_failure, notify
from orchestrator.lifecycle.pre_op import answer_of
from orchestrator.lifecycle.running_operations import RunningOperations
from orchestrator.model.nested_stack import Fence
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals import operation_rows
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.operation_rows import CallRow, NewOperation, OperationRow, TakenOver
from orchestrator.store.traversals.traversals import MAY_FAIL, ClaimedEnd

log = get_logger()

#: How an operation ended, by the status of its traversal.
_OUTCOMES: Final = {"COMPLETE": COMPLETE, "FAILED": FAILED, "SUPERSEDED": SUPERSEDED}
#: The call states whose plugins get ``do_post_op``: those that agreed, and those that may have.
_ENTERED: Final = frozenset(
    {operation_rows.AGREED, operation_rows.LATE, operation_rows.ASKING, operation_rows.TELLING}
)
#: How long :meth:`Brackets.unwind` takes up further operations.
UNWINDING_SECONDS: Final = 1.0
_LOST: Final = "the process that was to begin it is gone, and no other went on with it"


class FailedByPlugin(Conflict):
    """A lifecycle plugin refused an operation, and the stack is to be FAILED with its reason."""

    def __init__(self, operation_id: str, reason: str) -> None:
        super().__init__(reason)
        self.operation_id = operation_id


class Brackets:
    """Calls the lifecycle plugins of one process around operations."""

    def __init__(
        self,
        store: Store,
        plugins: Sequence[LifecyclePlugin],
        settings: Settings,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        """Make the brackets of a process.

        The leases of processes that are dead according to ``is_dead`` are void. The process is replaced when a call of
        a plugin hangs: its operation goes on at once, with the plugin's refusal or error.

        Raises:
            HookNotLoaded: the plugins cannot be brought into an order.
        """
        self._store, self._settings, self._owner = store, settings, owner
        self._is_dead, self._replacement = is_dead, replacement
        #: Added to a plugin's time limit to make the lease: the time for the rest of a job, with planning of large
        #: stacks and an unreachable database.
        self._margin_seconds = settings.job_lease_seconds
        # Names in before and after were validated at loading; a plugin of that name may be disabled.
        named = [name for plugin in plugins for name in (*plugin.before, *plugin.after)]
        self._plugins = in_order(plugins, known=named)
        self._working = RunningOperations()

    # -- before ------------------------------------------------------------------------------------------------

    def enter(
        self,
        new: NewTraversal,
        *,
        shown: Callable[[], FrozenStack],
        now: StackRow | None,
        keeps: bool,
        types: Collection[str] = (),
    ) -> NewTraversal:
        """Call ``do_pre_op`` of every concerned plugin; return the traversal to begin, with their answers.

        ``shown`` makes the desired stack, which is recorded if the store does not have it yet (``keeps``); ``now`` is
        the present one, if there is one. If an earlier process called plugins for the traversal, it gets the id used
        then.

        Raises:
            FailedByPlugin: a plugin refused whose refusals fail stacks; those that had agreed were called back.
            Conflict: a plugin refused; those that had agreed were called back.
            TakenOver: another process calls plugins for the same job.
        """
        is_nested = new.family is not None or (now is not None and now.parent_id is not None)
        others = self._settings.lifecycle_nested_stacks or not is_nested
        plugins = concerned(self._plugins, _action(new), types, others=others)
        if not plugins:
            return new
        stack = shown()
        # Only a new definition differs from the present one; else one read serves both.
        current = (
            with_names(present_shown(self._store, now, self._settings), new.moved, new.transfers)
            if keeps
            else stack
        )
        wanted = NewOperation(
            id=new.id,
            cause=f"{_action(new)}:{new.stack_id}:{_cause(new, now)}",
            stack_id=new.stack_id,
            stack=new.stack,
            project=new.project,
            action=_action(new),
            shown=shown_to_wire(stack) if keeps else None,
        )
        row = self._store.ledger.open(
            wanted,
            owner=self._owner,
            lease_seconds=self._margin_seconds,
            lost_limit=self._settings.lost_attempt_limit,
            is_idle=self._working.is_idle,
            is_dead=self._is_dead,
        )
        if row is None:
            raise TakenOver(
                f"another process asks lifecycle plugins about stack {new.stack!r} for the same job"
            )
        if row.state != operation_rows.ENTERING:
            # The process died in the calls of post_op: the job is refused again, with the same reason.
            raise _refusal(row.id, row.outcome, row.reason)
        with self._working.on(row.id):
            context = LifecycleContext(
                operation_id=row.id,
                project=row.project,
                root_action=root_action(self._store, row.action, stack),
                timeout_seconds=60.0 * new.timeout_minutes,
                user=caller().identity.user,
                plan=_plan_shown(new),
                moved=FrozenDict(new.names_before),
            )
            # Another operation goes on, and a parent stack or a failed one has the reason anyway.
            can_fail = (
                not is_nested and row.action != "ROLLBACK" and (now is None or now.status != "IN_PROGRESS")
            )
            calls = self._ask_all(plugins, row, context, stack, current, can_fail=can_fail)
            fails_after = not is_nested and any(self._fails(plugin.name, row.project) for plugin in plugins)
            options = {**new.options, MAY_FAIL: True} if fails_after else new.options
            return replace(new, id=row.id, agreed=agreed_of(row, calls), options=options)

    def _fails(self, plugin: str, project: str) -> bool:
        return self._settings.lifecycle_effects.fails(plugin, project)

    def _ask_all(
        self,
        plugins: Sequence[LifecyclePlugin],
        row: OperationRow,
        context: LifecycleContext,
        stack: FrozenStack,
        current: FrozenStack | None,
        *,
        can_fail: bool,
    ) -> list[CallRow]:
        """Call the plugins that have not answered yet; return all calls.

        ``can_fail``: a refusal may fail the stack.
        """
        calls = {call.plugin: call for call in row.calls}
        waiting = _waiting(plugins, calls)
        for number, (plugin, position) in enumerate(waiting):
            if number == 0:
                self._refuse_lost(calls.get(plugin.name), row, current, can_fail=can_fail)
                lease_seconds = self._lease_seconds(plugin)
                self._store.ledger.begin_pre_op(row, position, plugin.name, lease_seconds=lease_seconds)
            state, reason, wire = operation_rows.AGREED, "", None
            begun = time.monotonic()
            try:
                shown, present = own_copy(plugin, stack), own_copy(plugin, current)
                ask = partial(plugin.do_pre_op, replace(context), shown, present, row.action)
                wire = answer_of(plugin, ask, stack=row.stack, action=row.action)
            except NotCalled as error:
                raise self._not_called(plugin.name, error) from error
            except TookTooLong as error:
                self._replacement.request()
                state, reason = operation_rows.LATE, str(error)
            except LifecycleRefused as error:
                state, reason = operation_rows.REFUSED, error.reason
            if state != operation_rows.AGREED:
                refused = LifecycleRefused(plugin.name, reason)
                self._refuse(row, position, state, refused, current, can_fail=can_fail)
            calls[plugin.name] = CallRow(
                position=position, plugin=plugin.name, state=operation_rows.AGREED, annotations=wire
            )
            following = waiting[number + 1] if number + 1 < len(waiting) else None
            self._store.ledger.end_pre_op(
                row,
                position,
                wire,
                seconds=time.monotonic() - begun,
                lease_seconds=self._lease_seconds(following[0] if following else None),
                then=(following[1], following[0].name) if following else None,
            )
        return list(calls.values())

    def _refuse_lost(
        self, call: CallRow | None, row: OperationRow, current: FrozenStack | None, *, can_fail: bool
    ) -> None:
        """Refuse an operation for good if too many processes ended while this call was made; None: it never was."""
        lost = call.asked_lost + 1 if call is not None and call.state == operation_rows.ASKING else 0
        if call is not None and lost >= self._settings.lost_attempt_limit:
            refused = LifecycleRefused(call.plugin, _lost_words("do_pre_op", lost))
            log.error(
                "a lifecycle plugin is not called any more for an operation",
                plugin=call.plugin,
                operation=row.id,
                stack_name=row.stack,
                action=row.action,
                reason=refused.reason,
            )
            self._refuse(row, call.position, call.state, refused, current, can_fail=can_fail)

    def _refuse(
        self,
        row: OperationRow,
        position: int,
        state: str,
        refused: LifecycleRefused,
        current: FrozenStack | None,
        *,
        can_fail: bool,
    ) -> NoReturn:
        """Record that a plugin refused, was late or lost, and call back those that had agreed or may have."""
        reason, lease_seconds = str(refused), self._margin_seconds
        outcome = FAILED if can_fail and self._fails(refused.plugin, row.project) else REFUSED
        self._store.ledger.refuse(
            row, position, state, outcome=outcome, reason=reason, lease_seconds=lease_seconds
        )
        states = (operation_rows.LEAVING,)
        self._tell_all(
            row.id, states=states, outcome=outcome, reason=reason, attempt=row.attempt, current=current
        )
        raise _refusal(row.id, outcome, reason) from refused

    def _lease_seconds(self, plugin: LifecyclePlugin | None) -> float:
        """Return the lease of an operation while a plugin is called, or between calls."""
        return self._margin_seconds + (plugin.time_limit_seconds if plugin else 0.0)

    # -- after -------------------------------------------------------------------------------------------------

    def give_up(self, new: NewTraversal, reason: str) -> None:
        """Call back the plugins of an operation that did not begin; does nothing if it has begun."""
        if new.agreed is not None:
            self._tell_all(
                new.id,
                states=(operation_rows.ENTERING,),
                outcome=REFUSED,
                reason=reason,
                attempt=new.agreed.attempt,
            )

    def leave(self, ending: ClaimedEnd) -> None:
        """Call ``do_post_op`` of the plugins of an ended operation, except where it was called already.

        Raises:
            Unavailable: another process is calling them.
        """
        if ending.was_bracketed:
            self._tell_all(
                ending.traversal_id,
                states=(operation_rows.UNDER_WAY, operation_rows.LEAVING),
                outcome=_OUTCOMES[ending.status],
                reason=ending.reason,
            )

    def why_failed(self, ending: ClaimedEnd) -> str:
        """Return why plugins fail a complete operation whose ``do_post_op`` were called; empty if none does.

        It is read from the record, so that a process that takes the end over finds the same.
        """
        is_concerned = ending.status == "COMPLETE" and ending.options.get(MAY_FAIL)
        calls = self._store.ledger.calls(ending.traversal_id) if is_concerned else ()
        return "; ".join(
            f"lifecycle plugin {call.plugin!r} failed after the operation: {call.error}"
            for call in calls
            if call.error and _was_told(call) and self._fails(call.plugin, ending.project)
        )

    def unwind(self, lost: Iterable[str]) -> None:
        """Call back the plugins of lost operations, whose processes died. Errors are logged, not raised.

        Takes up no further operation after :data:`UNWINDING_SECONDS`, so that slow plugins do not hold up the sweep;
        the next sweep continues.
        """
        until = time.monotonic() + UNWINDING_SECONDS
        for operation_id in lost:
            states = (operation_rows.ENTERING, operation_rows.LEAVING)
            try:
                self._tell_all(operation_id, states=states, outcome=REFUSED, reason=_LOST)
            except Exception as error:  # noqa: BLE001  # an error of one operation must not keep the others
                log.warning(
                    "a lost operation is left to a later sweep",
                    operation=operation_id,
                    reason=words_of(error),
                )
                self._put_off(operation_id)
            if time.monotonic() > until:
                return

    def _put_off(self, operation_id: str) -> None:
        """Extend the lease of a lost operation, so that it is not retried at once and for ever."""
        with suppress(IsothermError):
            self._store.ledger.put_off(operation_id, seconds=self._margin_seconds)

    def _tell_all(
        self,
        operation_id: str,
        *,
        states: Sequence[str],
        outcome: str,
        reason: str,
        attempt: int | None = None,
        current: FrozenStack | None = None,
    ) -> None:
        row = self._store.ledger.leave(
            operation_id,
            states=states,
            owner=self._owner,
            outcome=outcome,
            reason=reason,
            lease_seconds=self._margin_seconds,
            is_idle=self._working.is_idle,
            is_dead=self._is_dead,
            attempt=attempt,
        )
        if row is None:
            return
        with self._working.on(row.id):
            present = self._store.stacks.by_id(row.stack_id)
            stack = operation_shown(self._store, row, present, self._settings)
            now = current or shown_after(self._store, row, present, stack, self._settings)
            entered = [call for call in reversed(row.calls) if call.state in _ENTERED]
            if not entered:
                self._store.ledger.close(row)
                return
            lease_seconds = self._lease_seconds(self._plugin(entered[0]))
            self._store.ledger.begin_post_op(row, entered[0].position, lease_seconds=lease_seconds)
            for number, call in enumerate(entered):
                error, seconds = self._notify(row, call, stack=stack, current=now)
                following = entered[number + 1] if number + 1 < len(entered) else None
                self._store.ledger.end_post_op(
                    row,
                    call.position,
                    error,
                    seconds=seconds,
                    then=following.position if following else None,
                    lease_seconds=self._lease_seconds(self._plugin(following) if following else None),
                )

    def _notify(
        self, row: OperationRow, call: CallRow, *, stack: FrozenStack, current: FrozenStack | None
    ) -> tuple[str, float | None]:
        """Call ``do_post_op`` of one plugin, as of :func:`notify`; not if too many processes ended in this call."""
        lost = call.told_lost + 1 if call.state == operation_rows.TELLING else 0
        if lost < self._settings.lost_attempt_limit:
            try:
                return notify(
                    self._plugin(call),
                    row,
                    call,
                    stack=stack,
                    current=current,
                    replacement=self._replacement,
                )
            except NotCalled as hung:
                raise self._not_called(call.plugin, hung) from hung
        error = _lost_words("do_post_op", lost)
        log_failure(row, call.plugin, error)
        return error, None

    def _not_called(self, plugin: str, why: NotCalled) -> TakenOver:
        """Return the error that leaves an operation to another process, as a lost attempt; replace this one."""
        self._replacement.request()
        return TakenOver(
            f"lifecycle plugin {plugin!r} is not called in this process: {why}",
            hint="another process goes on; a command without a broker is to be run again",
        )

    @property
    def plugin_count(self) -> int:
        """How many plugins are enabled here."""
        return len(self._plugins)

    def _plugin(self, call: CallRow) -> LifecyclePlugin | None:
        return next((each for each in self._plugins if each.name == call.plugin), None)


def _refusal(operation_id: str, outcome: str, reason: str) -> Conflict:
    return FailedByPlugin(operation_id, reason) if outcome == FAILED else Conflict(reason)


def _lost_words(call: str, times: int) -> str:
    """Return why a call is not made any more."""
    return f"{times} attempts at {call} were lost; it is not called again"


def _was_told(call: CallRow) -> bool:
    """Return whether ``do_post_op`` of a plugin was called, whether or not it returned."""
    return call.told_seconds is not None or call.told_lost > 0


def _waiting(
    plugins: Sequence[LifecyclePlugin], calls: Mapping[str, CallRow]
) -> list[tuple[LifecyclePlugin, int]]:
    """Return the plugins that have not answered yet, in order, each with its recorded position."""
    places = itertools.count(len(calls))
    return [
        (plugin, calls[plugin.name].position if plugin.name in calls else next(places))
        for plugin in plugins
        if plugin.name not in calls or calls[plugin.name].state != operation_rows.AGREED
    ]


def _plan_shown(new: NewTraversal) -> PlannedOperation | None:
    """Return the saved plan that a traversal applies, as plugins see it; None for none."""
    plan = new.applies
    if plan is None:
        return None
    actions = FrozenDict(plan.actions)
    return PlannedOperation(
        id=plan.id, user=plan.user, planned_at=plan.planned_at, actions=actions, deletes=plan.deletes
    )


def _action(new: NewTraversal) -> str:
    return "ABANDON" if new.options.get("abandon") else new.plan.action


def _cause(new: NewTraversal, now: StackRow | None) -> str:
    """Return the key by which a retried operation is recognized after the death of its process.

    It is the job's id; for a nested stack, which has no job, the parent's traversal and the present one.
    """
    present = now.traversal_id if now else ""
    if isinstance(new.fence, Fence):
        return f"{new.fence.traversal_id}:{present}"
    is_nested = now is not None and now.parent_id is not None
    if is_nested and new.plan.action == "DELETE":
        return present
    return new.job_id or present
