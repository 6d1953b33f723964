"""The progress of a stack's operation, and whether it is over."""

import time
from collections.abc import Callable

from orchestrator.queries.breakpoints import hook_view
from orchestrator.queries.stacks import stack_view
from orchestrator.store.stacks.stacks import StackRow
from orchestrator.store.stacks.tallies import done_of
from orchestrator.store.store import Store
from orchestrator.views.stacks import Progress

#: How long a watch pauses after its first look.
FIRST_PAUSE_SECONDS = 0.02
#: How long a process that carries out the work itself does so before its first look.
UNSEEN_SECONDS = 0.1
#: A look reads every node of an operation. A watch reads so many a second, however many there are, unless it would be
#: still for longer than this.
COUNTED_A_SECOND = 20_000
LONGEST_PAUSE_SECONDS = 5.0


class Pauses:
    """The pauses of a watch: they grow up to an interval, and with the number of resources that a look counts."""

    def __init__(
        self,
        interval_seconds: float,
        *,
        first_seconds: float = FIRST_PAUSE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval_seconds = interval_seconds
        self._next_seconds = min(first_seconds, interval_seconds)
        self._sleep = sleep

    def after(self, progress: Progress, is_under_way: Callable[[], bool]) -> None:
        """Pause after a look.

        Once the operation is no longer under way, which is found out every interval, a longer pause ends.
        """
        left_seconds = min(progress.total / COUNTED_A_SECOND, LONGEST_PAUSE_SECONDS)
        while True:
            self._sleep(self._next_seconds)
            left_seconds -= self._next_seconds
            self._next_seconds = min(2 * self._next_seconds, self._interval_seconds)
            if left_seconds <= 0 or not is_under_way():
                return


def progress_of(store: Store, stack: StackRow, *, stays_for_steps: bool) -> Progress:
    """Return the progress of a stack's operation.

    It is not over before the lifecycle plugins that were called before it were called after it. With
    ``stays_for_steps`` it is not over either while steps of the stack or of its nested stacks are under way, nor before
    its end: a process that carries out the work itself ends afterwards.
    """
    nodes = store.families.progress(stack)
    counts = dict(nodes.counts)
    return Progress(
        stack=stack_view(stack),
        counts=counts,
        running=nodes.active,
        reasons=nodes.reasons,
        total=sum(counts.values()),
        done=done_of(counts),
        finished=_is_over(store, stack, is_running=bool(counts.get("running")), stays=stays_for_steps),
        hooks=tuple(hook_view(each) for each in store.breakpoints.standing(stack.id)),
    )


def _is_over(store: Store, stack: StackRow, *, is_running: bool, stays: bool) -> bool:
    is_over = stack.status != "IN_PROGRESS"
    if stays and is_over:
        nested = [each for each in store.families.in_tree(stack.root_id) if each.depth > stack.depth]
        is_done = store.traversals.is_end_finished(stack.traversal_id)
        is_over = is_done and not is_running and not any(each.status == "IN_PROGRESS" for each in nested)
    elif is_over:
        is_failed = stack.status == "FAILED"
        is_over = not (is_failed and store.traversals.owes_rollback(stack.traversal_id))
        # What lifecycle plugins hold for the operation is free for the next one afterwards.
        is_over = is_over and not store.traversals.owes_post_op(stack.traversal_id)
    # A rollback that was owed when the stack was read may have begun since.
    return is_over and store.stacks.find(stack.id, project=stack.project).traversal_id == stack.traversal_id
