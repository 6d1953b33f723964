"""Celery's task events as wake-ups of the hub: a task may have written an event of ours."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from celery import Celery
from celery.events import EventReceiver
from flower.events import Events
from tornado.ioloop import IOLoop

from orchestrator.config.logger import get_logger
from orchestrator.dashboard.internal_tasks import InternalTasks

log = get_logger()

#: The longest pause between two attempts to reach the broker.
LONGEST_PAUSE_SECONDS: Final = 10.0
#: Task events that wake the hub. They may be lost: the hub reads without them too, only later.
_WAKING: Final = frozenset({"task-started", "task-succeeded", "task-failed"})


class WakingEvents(Events):  # type: ignore[misc]  # Flower is untyped
    """Flower's receiver of events, which also calls ``wake`` in the loop's thread."""

    #: Set before the receiver starts.
    wake: Callable[[], None]
    #: Takes out of an event what may not be shown; set before the receiver starts.
    shown: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    #: Recognizes the tasks of which nothing is kept.
    internal: InternalTasks
    #: Waits so many seconds; set by tests.
    rest: Callable[[float], None] = staticmethod(time.sleep)
    #: Since when the broker has not been reached, by this machine's clock; None while it is.
    away_since: float | None = None

    def _count(self, name: str, event: Mapping[str, Any]) -> None:
        """Count an event of an internal task as Flower counts all others; in the loop's thread."""
        worker, kind, metrics = event["hostname"], event["type"], self.state.metrics
        self.state.counter[worker][kind] += 1
        metrics.events.labels(worker, kind, name).inc()
        if event.get("runtime"):
            metrics.runtime.labels(worker, name).observe(event["runtime"])

    def run(self) -> None:
        """Receive events for ever; in the receiver's thread.

        Flower's own method doubles its pauses without a bound while the broker is unreachable: after an outage of an
        hour it would receive nothing for another hour.
        """
        pause_seconds = 1.0
        while True:
            try:
                with self.capp.connection() as connection:
                    connection.connect()
                    self.away_since = None
                    receiver = EventReceiver(connection, handlers={"*": self.on_event}, app=self.capp)
                    pause_seconds = 1.0
                    receiver.capture(limit=None, timeout=None, wakeup=True)
            except Exception as error:  # noqa: BLE001  # any error is retried
                self.away_since = self.away_since or time.time()
                log.warning(
                    "Celery's events cannot be received", error=str(error), again_in_seconds=pause_seconds
                )
                self.rest(pause_seconds)
                pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)

    def on_event(self, event: Mapping[str, object]) -> None:
        """Process an event, and wake the hub if it is a task's; in the receiver's thread.

        Of internal tasks Flower keeps nothing but its metrics.
        """
        if name := self.internal.name_in(event):
            self.io_loop.add_callback(self._count, name, event)
        else:
            super().on_event(self.shown(event))
        if event["type"] in _WAKING:
            self.io_loop.add_callback(self.wake)


def waking_events(
    app: Celery,
    options: Any,
    wake: Callable[[], None],
    shown: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda event: event,
) -> WakingEvents:
    """Return the receiver with Flower's options; Flower gets each event as ``shown`` returns it."""
    events = WakingEvents(
        app,
        db=options.db,
        persistent=options.persistent,
        state_save_interval=options.state_save_interval,
        # Processes send events from their start on, and take no command that changes anything: they would log each.
        enable_events=False,
        io_loop=IOLoop.current(),
        max_workers_in_memory=options.max_workers,
        max_tasks_in_memory=options.max_tasks,
    )
    events.wake, events.shown, events.internal = wake, shown, InternalTasks()
    return events
