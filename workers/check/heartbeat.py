"""The heartbeat: extends the leases of this process's running steps, so that no other worker takes a slow step over.

A step that runs for longer than its time limit is given up: its lease is not extended any more, so that it counts as
lost, and its process is replaced.
"""

import contextvars
import threading
import time
from collections.abc import Callable, Iterable

from hooks.values.dataclass import dataclass
from orchestrator.config.logger import get_logger
from orchestrator.config.periodic import Periodic
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement

log = get_logger()

#: What identifies a running attempt: traversal id, node number, attempt.
Beat = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A running step, its thread, and when it began; ``context`` has what its log lines are about."""

    type: str
    thread: threading.Thread
    begun: float
    context: contextvars.Context


class _Beating:
    """Keeps a step among those that run while a block does. Every check has one, so it is no generator."""

    __slots__ = ("_beat", "_running", "_step")

    def __init__(self, running: dict[Beat, _Step], beat: Beat, step: _Step) -> None:
        self._running, self._beat, self._step = running, beat, step

    def __enter__(self) -> None:
        self._running[self._beat] = self._step

    def __exit__(self, *_: object) -> None:
        self._running.pop(self._beat, None)


class Heartbeat:
    """One thread for all running steps, started with the first of them."""

    def __init__(
        self,
        extend: Callable[[Iterable[Beat]], None],
        *,
        lease_seconds: float,
        step_timeout_seconds: float,
        replacement: Replacement = NO_REPLACEMENT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._extend = extend
        self._step_timeout_seconds = step_timeout_seconds
        self._replacement, self._clock = replacement, clock
        self._running: dict[Beat, _Step] = {}
        pause = lease_seconds / 3
        self._thread = Periodic(
            "heartbeat",
            self.beat,
            every_seconds=pause,
            first_seconds=pause,
            complaint="could not extend leases",
        )

    def beating(self, beat: Beat, kind: str) -> "_Beating":
        """Extend the attempt's lease while the block runs, up to the time limit; ``kind`` is the resource's type."""
        step = _Step(
            type=kind,
            thread=threading.current_thread(),
            begun=self._clock(),
            context=contextvars.copy_context(),
        )
        self._thread.start()
        return _Beating(self._running, beat, step)

    def close(self) -> None:
        """Stop the thread."""
        self._thread.stop()

    def beat(self) -> None:
        """Extend the leases of the running steps, and give up those that run for too long."""
        for beat, step in dict(self._running).items():
            seconds = self._clock() - step.begun
            if seconds > self._step_timeout_seconds and self._running.pop(beat, None) is not None:
                step.context.run(
                    log.error,
                    "a step hangs and is given up",
                    type=step.type,
                    seconds=round(seconds, 1),
                    limit="step_timeout_seconds",
                )
                self._replacement.give_up(step.thread)
        if running := list(self._running):
            self._extend(running)
