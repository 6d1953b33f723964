"""Pump of a process: the threads that deliver events to the sinks of the settings."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from hooks.events import EventSink
from orchestrator.config.periodic import Periodic
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement
from orchestrator.errors import IsothermError
from orchestrator.sinks.delivery import GATHER_SECONDS, LOOK_SECONDS, Delivery, MakeSink, complain
from orchestrator.store.installation.sink_cursors import CursorClaim, SinkCursors


class Threads:
    """Starts, wakes and stops the threads of a pump.

    ``until`` is the deadline of a stop, by the monotonic clock.
    """

    def __init__(self, threads: Sequence[Periodic]) -> None:
        self._threads = threads
        self._until = 0.0

    def start(self) -> None:
        """Start the threads, unless they are started."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Signal that events may have been committed; cheap."""
        for thread in self._threads:
            thread.wake()

    def stop(self, until: float) -> None:
        """Deliver remaining events until then, and stop; the rest stays in the history."""
        self._until = until
        for thread in self._threads:
            thread.stop(0)

    def join(self) -> None:
        """Wait until the threads have ended or the deadline has passed; threads of hanging sinks are left."""
        for thread in self._threads:
            thread.stop(max(0.0, self._until - monotonic()))


class Pump(Threads):
    """Delivers events to the sinks of the settings, each in its own thread, so that none waits for another.

    Any number of processes may run one: one of them holds the cursor of each sink. Make it after a fork, as the store.

    The ``sinks`` serve as templates of those that are made.
    """

    def __init__(
        self,
        cursors: SinkCursors,
        sinks: Sequence[EventSink],
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        self._cursors = cursors
        self._deliveries = [
            Delivery(
                each.name,
                _maker(each),
                cursors=cursors,
                owner=owner,
                limit_seconds=each.time_limit_seconds,
                registers=True,
                is_dead=is_dead,
                replacement=replacement,
            )
            for each in sinks
        ]
        super().__init__(
            [
                Periodic(
                    f"pump {delivery.name}",
                    partial(self._step, delivery),
                    every_seconds=LOOK_SECONDS,
                    least_seconds=GATHER_SECONDS,
                    last=partial(self._drain, delivery),
                )
                for delivery in self._deliveries
            ]
        )
        self._is_registered = False

    def register(self) -> None:
        """Make a cursor at the present position for every sink that has none; repeated calls do nothing.

        Raises:
            Unavailable: the database does not answer.
        """
        if not self._is_registered:
            self._cursors.register([delivery.name for delivery in self._deliveries])
            self._is_registered = True

    def _drain(self, delivery: Delivery, thread: Periodic) -> None:
        """Deliver remaining events until the deadline, also of a cursor that another process has just released."""
        delivery.look_again()
        while monotonic() < self._until:
            pause = self._step(delivery)
            if not self._has_more(delivery):
                break
            thread.rest(min(pause, GATHER_SECONDS))
        self._leave(delivery)

    def _step(self, delivery: Delivery) -> float:
        try:
            return delivery.step()
        except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
            complain(delivery.name, error)
            self._leave(delivery)
            return LOOK_SECONDS

    def _has_more(self, delivery: Delivery) -> bool:
        try:
            return not delivery.is_done()
        except IsothermError:
            return False

    def _leave(self, delivery: Delivery) -> None:
        try:
            delivery.leave()
        except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
            complain(delivery.name, error)


def _maker(installed: EventSink) -> MakeSink:
    """Return a function that makes sinks with the class, name, options and time limit of ``installed``."""

    def make(_claim: CursorClaim) -> EventSink:
        sink = type(installed)(installed.options)
        sink.name, sink.time_limit_seconds = installed.name, installed.time_limit_seconds
        return sink

    return make
