"""Every operation on a stack, in the brackets that lifecycle plugins put around it.

Before anything of an operation is written, each plugin is asked in order; once it is over, however it ended, those
that were asked are told in the reverse order. Each question and each answer is on record before the next one, so a
process that dies anywhere is followed by another that goes on there: with the same job, if it comes again, else by
telling those that were asked that the operation never began.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

import structlog

from hooks.errors import LifecycleRefused
from hooks.lifecycle import (
    COMPLETE,
    FAILED,
    REFUSED,
    SUPERSEDED,
    LifecycleContext,
    LifecyclePlugin,
)
from hooks.loading.calling import TookTooLong
from hooks.loading.ordering import in_order
from hooks.stack import FrozenStack
from hooks.values.words import words_of
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, IsothermError
from orchestrator.lifecycle.answers import agreed_of
from orchestrator.lifecycle.asking import answer_of
from orchestrator.lifecycle.copies import own_copy
from orchestrator.lifecycle.engine_plugin import concerned
from orchestrator.lifecycle.frozen_stacks import shown_from_wire, shown_to_wire, stack_shown, with_rows
from orchestrator.lifecycle.telling import told
from orchestrator.lifecycle.working import Working
from orchestrator.model.nested_stack import Fence
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store
from orchestrator.store.traversals import operation_rows
from orchestrator.store.traversals.new_traversal import NewTraversal
from orchestrator.store.traversals.operation_rows import CallRow, NewOperation, OperationRow, TakenOver
from orchestrator.store.traversals.traversals import ClaimedEnd

log = structlog.get_logger()

#: How an operation ended, by the status of its traversal.
_OUTCOMES: Final = {"COMPLETE": COMPLETE, "FAILED": FAILED, "SUPERSEDED": SUPERSEDED}
#: Who is told that an operation is over: whoever agreed to it, and whoever may have.
_ENTERED: Final = frozenset(
    {operation_rows.AGREED, operation_rows.LATE, operation_rows.ASKING, operation_rows.TELLING}
)
#: Of lost operations no further one is begun with after so long.
UNWINDING_SECONDS: Final = 1.0
_NOBODY_CAME: Final = "the process that was to begin it is gone, and no other went on with it"


class Brackets:
    """Asks and tells the lifecycle plugins of one process."""

    def __init__(
        self,
        store: Store,
        plugins: Sequence[LifecyclePlugin],
        settings: Settings,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Keep what is needed.

        Args:
            store: The state of record.
            plugins: Those that are enabled.
            settings: Whether stacks in stacks count.
            owner: The name of this process.
            is_dead: Tells of the name of a process whether it surely is there no more: nobody waits for it then.

        Raises:
            HookNotLoaded: the plugins cannot be brought into an order.
        """
        self._store, self._settings, self._owner = store, settings, owner
        self._is_dead = is_dead
        #: A lease is longer by this than a plugin may take: as long as a job may take besides, plans of large stacks
        #: and a database that is away included.
        self._margin_seconds = settings.job_lease_seconds
        # Whether there is what they come before or after, was looked at when they were loaded; it may be disabled.
        named = [name for plugin in plugins for name in (*plugin.before, *plugin.after)]
        self._plugins = in_order(plugins, known=named)
        self._working = Working()

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
        """Ask every plugin whether an operation may begin; return its traversal, to be begun as it is.

        Args:
            new: What is to begin. It gets another id, if plugins were asked about it before under that.
            shown: Makes what plugins are shown of the stack as it is to be.
            now: The stack as it is; None if there is none yet.
            keeps: Whether what is shown must be on record, because the store does not know it yet.
            types: Those of the resources that the stack has, and is to have.

        Raises:
            Conflict: a plugin refused; those that had agreed were told.
            TakenOver: another process asks plugins about the same job.
        """
        is_nested = new.family is not None or (now is not None and now.parent_id is not None)
        others = self._settings.lifecycle_nested_stacks or not is_nested
        plugins = concerned(self._plugins, _action(new), types, others=others)
        if not plugins:
            return new
        stack = shown()
        # What is to be on record differs from what is there; else both are read once.
        current = self._now(now) if keeps else stack
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
            is_idle=self._working.is_idle,
            is_dead=self._is_dead,
        )
        if row is None:
            raise TakenOver(
                f"another process asks lifecycle plugins about stack {new.stack!r} for the same job"
            )
        with self._working.on(row.id):
            context = LifecycleContext(
                operation_id=row.id,
                project=row.project,
                root_action=self._root_action(row.action, stack),
                timeout_seconds=60.0 * new.timeout_minutes,
            )
            calls = self._ask_all(plugins, row, context, stack, current)
            return replace(new, id=row.id, agreed=agreed_of(row, calls))

    def _ask_all(
        self,
        plugins: Sequence[LifecyclePlugin],
        row: OperationRow,
        context: LifecycleContext,
        stack: FrozenStack,
        current: FrozenStack | None,
    ) -> list[CallRow]:
        """Ask those that have not answered yet; return all answers."""
        calls = {call.plugin: call for call in row.calls}
        waiting = _waiting(plugins, calls)
        for number, (plugin, position) in enumerate(waiting):
            if number == 0:
                lease_seconds = self._lease_seconds(plugin)
                self._store.ledger.begin_pre_op(row, position, plugin.name, lease_seconds=lease_seconds)
            state, reason, wire = operation_rows.AGREED, "", None
            begun = time.monotonic()
            try:
                shown, present = own_copy(plugin, stack), own_copy(plugin, current)
                ask = partial(plugin.do_pre_op, replace(context), shown, present, row.action)
                wire = answer_of(plugin, ask, stack=row.stack, action=row.action)
            except TookTooLong as error:
                state, reason = operation_rows.LATE, str(error)
            except LifecycleRefused as error:
                state, reason = operation_rows.REFUSED, error.reason
            if state != operation_rows.AGREED:
                self._refuse(row, position, state, LifecycleRefused(plugin.name, reason), current)
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

    def _refuse(
        self,
        row: OperationRow,
        position: int,
        state: str,
        refused: LifecycleRefused,
        current: FrozenStack | None,
    ) -> NoReturn:
        """Write down that a plugin refused, or was late, and tell those that had agreed.

        Raises:
            Conflict: always, in the plugin's words.
        """
        reason, lease_seconds = str(refused), self._margin_seconds
        self._store.ledger.refuse(
            row, position, state, outcome=REFUSED, reason=reason, lease_seconds=lease_seconds
        )
        states = (operation_rows.LEAVING,)
        self._tell_all(
            row.id, states=states, outcome=REFUSED, reason=reason, attempt=row.attempt, current=current
        )
        raise Conflict(reason) from refused

    def _lease_seconds(self, plugin: LifecyclePlugin | None) -> float:
        """Return how long an operation is held while a plugin is called, or while none is."""
        return self._margin_seconds + (plugin.time_limit_seconds if plugin else 0.0)

    # -- after -------------------------------------------------------------------------------------------------

    def give_up(self, new: NewTraversal, reason: str) -> None:
        """Tell those that were asked that an operation did not begin after all; nothing, if it has all the same."""
        if new.agreed is not None:
            self._tell_all(
                new.id,
                states=(operation_rows.ENTERING,),
                outcome=REFUSED,
                reason=reason,
                attempt=new.agreed.attempt,
            )

    def leave(self, ending: ClaimedEnd) -> None:
        """Tell those that were asked about an operation how it ended; those that know it already are not told again.

        Raises:
            Unavailable: another process is telling them.
        """
        self._tell_all(
            ending.traversal_id,
            states=(operation_rows.UNDER_WAY, operation_rows.LEAVING),
            outcome=_OUTCOMES[ending.status],
            reason=ending.reason,
        )

    def unwind(self, lost: Iterable[str]) -> None:
        """Tell those that were asked about operations which nobody sees to any more; no fault ever comes of it.

        What is left after a while the next sweep finds: plugins that hang must not hold up what else it does.
        """
        until = time.monotonic() + UNWINDING_SECONDS
        for operation_id in lost:
            states = (operation_rows.ENTERING, operation_rows.LEAVING)
            try:
                self._tell_all(operation_id, states=states, outcome=REFUSED, reason=_NOBODY_CAME)
            except Exception as error:  # noqa: BLE001  # whatever is wrong with one operation, the others are seen to
                log.warning(
                    "a lost operation is left to a later sweep",
                    operation=operation_id,
                    reason=words_of(error),
                )
                self._put_off(operation_id)
            if time.monotonic() > until:
                return

    def _put_off(self, operation_id: str) -> None:
        """Leave a lost operation alone for a while: else it would be looked at again at once, and for ever."""
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
            there = self._store.stacks.by_id(row.stack_id)
            stack = self._shown(row, there)
            now = current or self._now_after(row, there, stack)
            entered = [call for call in reversed(row.calls) if call.state in _ENTERED]
            if not entered:
                self._store.ledger.close(row)
                return
            lease_seconds = self._lease_seconds(self._plugin(entered[0]))
            self._store.ledger.begin_post_op(row, entered[0].position, lease_seconds=lease_seconds)
            for number, call in enumerate(entered):
                error, seconds = told(self._plugin(call), row, call, stack=stack, current=now)
                following = entered[number + 1] if number + 1 < len(entered) else None
                self._store.ledger.end_post_op(
                    row,
                    call.position,
                    error,
                    seconds=seconds,
                    then=following.position if following else None,
                    lease_seconds=self._lease_seconds(self._plugin(following) if following else None),
                )

    def _plugin(self, call: CallRow) -> LifecyclePlugin | None:
        """Return the plugin that was called; None if it is not here any more."""
        return next((each for each in self._plugins if each.name == call.plugin), None)

    # -- what is shown -----------------------------------------------------------------------------------------

    def _shown(self, row: OperationRow, there: StackRow | None) -> FrozenStack:
        """Return the stack as it was to be."""
        if row.shown is not None:
            return shown_from_wire(row.shown)
        now = self._now(there, even_deleted=True)
        # It was there when plugins were asked, and may have been removed since.
        return now or FrozenStack(name=row.stack, id=row.stack_id, project=row.project)

    def _now_after(self, row: OperationRow, there: StackRow | None, shown: FrozenStack) -> FrozenStack | None:
        """Return the stack as it is once an operation is over; None if it is gone."""
        if there is None or there.deleted_at is not None or there.traversal_id != row.id:
            return self._now(there)
        if row.shown is None:
            return shown
        # Its definition is the one that was shown: nobody need read the stored one.
        return with_rows(shown, lambda: self._store.presences.of(there.id))

    def _root_action(self, action: str, stack: FrozenStack) -> str:
        """Return what is under way on the outermost stack; what is to begin, if that is this one."""
        if not stack.parent_id:
            return action
        root = self._store.stacks.by_id(stack.root_id)
        return root.action if root is not None and root.status == "IN_PROGRESS" else ""

    def _now(self, stack: StackRow | None, *, even_deleted: bool = False) -> FrozenStack | None:
        """Return the stack as it is; None if there is none."""
        if stack is None or (stack.deleted_at is not None and not even_deleted):
            return None
        return stack_shown(self._store, stack, self._settings)


def _waiting(
    plugins: Sequence[LifecyclePlugin], calls: Mapping[str, CallRow]
) -> list[tuple[LifecyclePlugin, int]]:
    """Return those that have not answered yet, in order, each with its position on record."""
    places = itertools.count(len(calls))
    return [
        (plugin, calls[plugin.name].position if plugin.name in calls else next(places))
        for plugin in plugins
        if plugin.name not in calls or calls[plugin.name].state != operation_rows.AGREED
    ]


def _action(new: NewTraversal) -> str:
    """Return what plugins are told that is to be done."""
    return "ABANDON" if new.options.get("abandon") else new.plan.action


def _cause(new: NewTraversal, now: StackRow | None) -> str:
    """Return what makes an operation the one that plugins were asked about before, if its process died over it.

    Of a stack in a stack, that is what is being done with that; there is no job that would come again.
    """
    present = now.traversal_id if now else ""
    if isinstance(new.fence, Fence):
        return f"{new.fence.traversal_id}:{present}"
    is_nested = now is not None and now.parent_id is not None
    if is_nested and new.plan.action == "DELETE":
        return present
    return new.job_id or present
