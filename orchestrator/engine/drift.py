"""Drift keeper of a coordinator: begins observations and repairs that are due, a few at a time."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hooks.values.parts import parts_of
from orchestrator.config.caller import acting_for
from orchestrator.config.logger import get_logger
from orchestrator.config.settings import Settings
from orchestrator.engine.publisher import Publisher, publish_or_leave
from orchestrator.engine.stack_actions import refuse_busy, refuse_nested, refuse_suspended
from orchestrator.engine.traversal_starter import TraversalStarter
from orchestrator.errors import Conflict, IsothermError, Unavailable
from orchestrator.model.identity import ENGINE_ITSELF
from orchestrator.model.messages import OBSERVE, CheckOrder, DetectDriftJob
from orchestrator.planning.stored_templates import job_of_template
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.store import Store

log = get_logger()

#: A process looks for due observations no more often than this, in seconds.
LOOK_SECONDS: Final = 1.0
#: How many observations, and how many repairs, one look begins at most.
PORTION: Final = 64
REPAIRS: Final = 8
#: How many stacks a message has: a worker observes them one after the other.
TOGETHER: Final = 8
#: No observation is begun while more checks than this, in full messages, wait for a worker: those come first.
MOST_WAITING: Final = 4
#: After how long a stack is observed again whose repair has begun.
AFTER_REPAIR_SECONDS: Final = 5.0
#: The comment of a repair in the history of its stack.
COMMENT: Final = "repair of drift"


class DriftKeeper:
    """Begins observations and repairs of one process; thread-safe."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        publisher: Publisher,
        begin: TraversalStarter,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep the arguments; ``clock`` is monotonic, in seconds."""
        self._store, self._settings, self._publisher, self._begin = store, settings, publisher, begin
        self._clock = clock
        self._look_at = 0.0
        self._busy = threading.Lock()

    def detect(self, job: DetectDriftJob) -> str:
        """Begin to observe a stack at once, whatever its policy; return the stack's id.

        The same job delivered again begins another observation, which takes the first one's place.

        Raises:
            NotFound: there is no such stack.
            Conflict: the stack is busy, suspended, deleted or nested.
        """
        stack = self._store.stacks.find(job.name, project=job.project)
        refuse_nested(stack)
        refuse_busy(self._store, stack, "observe")
        refuse_suspended(stack)
        attempt = self._store.observation_turns.begin(stack.id)
        publish_or_leave(self._publisher, (observe_order(stack.id, attempt),))
        self._store.stacks.accept_job(job.job_id, stack.id)
        return stack.id

    def go_on(self) -> None:
        """Begin what is due, if this process has not looked just now. Errors are logged, not raised."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if now >= self._look_at:
                self._look_at = now + LOOK_SECONDS
                self.begin_due()
        except Exception as error:  # noqa: BLE001  # it must not end the sweep that it is part of
            log.warning("observations are begun later", reason=str(error))
        finally:
            self._busy.release()

    def begin_due(self) -> None:
        """Begin the repairs and observations that are due.

        Raises:
            Unavailable: the database does not answer.
        """
        for stack_id, traversal_id in self._store.observation_turns.due_repairs(REPAIRS):
            self._repair(stack_id, traversal_id)
        if not self._store.observation_turns.is_due():
            return
        # Unknown, too, where a queue that is empty does not exist, as with Redis.
        waiting = self._publisher.backlog() or 0
        if waiting > MOST_WAITING * self._settings.batch_size:
            return
        begun = self._store.observation_turns.begin_due(PORTION)
        orders = [observe_order(stack_id, attempt) for stack_id, attempt in begun]
        for some in parts_of(orders, TOGETHER):
            publish_or_leave(self._publisher, some)

    def _repair(self, stack_id: str, traversal_id: str) -> None:
        """Begin a repair, unless an operation has begun since it was decided: that sees the same marks."""
        turns = self._store.observation_turns
        stack = self._store.stacks.by_id(stack_id)
        if stack is None or stack.traversal_id != traversal_id:
            turns.end_repair(stack_id, traversal_id, due_at=None)
            return
        try:
            self._update(stack)
        except Unavailable:
            raise
        except IsothermError as error:
            log.warning("a repair could not begin", stack=stack.name, stack_id=stack.id, reason=str(error))
            turns.end_repair(
                stack_id, traversal_id, due_at=None, trouble=f"the repair could not begin: {error}"
            )
            return
        due_at = self._store.database.time() + AFTER_REPAIR_SECONDS
        turns.end_repair(stack_id, traversal_id, due_at=due_at)

    def _update(self, stack: StackRow) -> None:
        if stack.deleted_at is not None or stack.action == "DELETE" or stack.status == "IN_PROGRESS":
            raise Conflict(f"stack {stack.name!r} is {stack.action}_{stack.status}")
        job = replace(job_of_template(self._store, stack, stack.template_id), rollback=False)
        with acting_for(replace(ENGINE_ITSELF, comment=COMMENT)):
            # None: another operation was faster, which sees the same marks.
            self._begin.update(stack, job, is_repair=True)


def observe_order(stack_id: str, attempt: int) -> CheckOrder:
    """Return the order for a worker to observe a stack under an attempt."""
    return CheckOrder(stack_id="", traversal_id="", no=attempt, key=stack_id, phase=OBSERVE, action="OBSERVE")
