"""Celery's events as an alarm: what happens to a task may have written an event of ours a moment ago."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from celery import Celery
from flower.events import Events
from tornado.ioloop import IOLoop

#: After these there may be something new in the history. Nothing depends on it: they are lossy, and so only wake.
_TELLING: Final = frozenset({"task-started", "task-succeeded", "task-failed"})


class WakingEvents(Events):  # type: ignore[misc]  # Flower is untyped
    """Flower's receiver of events, which calls somebody as well, in the loop's thread."""

    #: Set before the receiver starts.
    wake: Callable[[], None]

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
