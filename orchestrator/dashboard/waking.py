"""Celery's events as an alarm: what happens to a task may have written an event of ours a moment ago."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from celery import Celery
from celery.events import EventReceiver
from flower.events import Events
from tornado.ioloop import IOLoop

log = structlog.get_logger()

#: How long the receiver rests at most between two tries to reach the broker.
LONGEST_PAUSE_SECONDS: Final = 10.0
#: After these there may be something new in the history. Nothing depends on it: they are lossy, and so only wake.
_TELLING: Final = frozenset({"task-started", "task-succeeded", "task-failed"})


class WakingEvents(Events):  # type: ignore[misc]  # Flower is untyped
    """Flower's receiver of events, which calls somebody as well, in the loop's thread."""

    #: Set before the receiver starts.
    wake: Callable[[], None]
    #: How it waits; set by tests.
    rest: Callable[[float], None] = staticmethod(time.sleep)

    def run(self) -> None:
        """Hear events for ever; in the receiver's thread.

        Flower's own doubles its pauses without end while the broker is away, and would be deaf for an hour after one.
        """
        pause_seconds = 1.0
        while True:
            try:
                with self.capp.connection() as connection:
                    receiver = EventReceiver(connection, handlers={"*": self.on_event}, app=self.capp)
                    pause_seconds = 1.0
                    receiver.capture(limit=None, timeout=None, wakeup=True)
            except Exception as error:  # noqa: BLE001  # whatever it was, it is tried again
                log.warning(
                    "Celery's events cannot be heard", error=str(error), again_in_seconds=pause_seconds
                )
                self.rest(pause_seconds)
                pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Take an event; in the receiver's thread."""
        super().on_event(event)
        if event["type"] in _TELLING:
            self.io_loop.add_callback(self.wake)


def waking_events(app: Celery, options: Any, wake: Callable[[], None]) -> WakingEvents:
    """Return what Flower makes for itself, as its options say."""
    events = WakingEvents(
        app,
        db=options.db,
        persistent=options.persistent,
        state_save_interval=options.state_save_interval,
        enable_events=options.enable_events,
        io_loop=IOLoop.current(),
        max_workers_in_memory=options.max_workers,
        max_tasks_in_memory=options.max_tasks,
    )
    events.wake = wake
    return events
