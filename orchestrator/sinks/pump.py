"""The threads of one process that tell event sinks what happened."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from hooks.events import EventSink
from orchestrator.config.periodic import Periodic
from orchestrator.errors import IsothermError
from orchestrator.sinks.teller import GATHER_SECONDS, LOOK_SECONDS, MakeSink, Teller, complain
from orchestrator.store.installation.sink_cursors import CursorClaim, SinkCursors


class Pump:
    """Tells the sinks of the settings, each in a thread of its own, so that none waits for another.

    Any number of processes may do so: of each sink one has the cursor. Make it after a fork, not before, as the store.

    Args:
        cursors: Where the cursors are.
        sinks: The sinks that are enabled; others like them are made of these.
        owner: What this process is called.
        is_dead: Tells of the name of a process whether it surely is there no more.
    """

    def __init__(
        self,
        cursors: SinkCursors,
        sinks: Sequence[EventSink],
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._cursors = cursors
        self._tellers = [
            Teller(
                each.name,
                _maker(each),
                cursors=cursors,
                owner=owner,
                limit_seconds=each.time_limit_seconds,
                registers=True,
                is_dead=is_dead,
            )
            for each in sinks
        ]
        self._threads = [
            Periodic(
                f"pump {teller.name}",
                partial(self._step, teller),
                every_seconds=LOOK_SECONDS,
                least_seconds=GATHER_SECONDS,
                last=partial(self._drain, teller),
            )
            for teller in self._tellers
        ]
        self._is_registered = False
        #: When everything is to be over, once it is stopping.
        self._until = 0.0

    def register(self) -> None:
        """Have every sink told what happens from now on, unless it is being told already; once it was done, do nothing.

        Raises:
            Unavailable: the database does not answer.
        """
        if not self._is_registered:
            self._cursors.register([teller.name for teller in self._tellers])
            self._is_registered = True

    def start(self) -> None:
        """Start the threads, unless that was done."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Say that something may have been committed; costs next to nothing."""
        for thread in self._threads:
            thread.wake()

    def stop(self, until: float) -> None:
        """Let the sinks take what is left until then, by the monotonic clock; what they did not take is kept."""
        self._until = until
        for thread in self._threads:
            thread.stop(0)

    def join(self) -> None:
        """Return when it has stopped, or its time is over: one whose sink does not return is left behind."""
        for thread in self._threads:
            thread.stop(max(0.0, self._until - monotonic()))

    def _drain(self, teller: Teller, thread: Periodic) -> None:
        """Tell a sink what is left, also what another process has just let go of, as long as there is time."""
        teller.look_again()
        while monotonic() < self._until:
            pause = self._step(teller)
            if not self._has_more(teller):
                break
            thread.rest(min(pause, GATHER_SECONDS))
        self._leave(teller)

    def _step(self, teller: Teller) -> float:
        try:
            return teller.step()
        except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
            complain(teller.name, error)
            self._leave(teller)
            return LOOK_SECONDS

    def _has_more(self, teller: Teller) -> bool:
        try:
            return not teller.is_done()
        except IsothermError:
            return False

    def _leave(self, teller: Teller) -> None:
        try:
            teller.leave()
        except Exception as error:  # noqa: BLE001  # the thread must outlive any fault of the database
            complain(teller.name, error)


def _maker(installed: EventSink) -> MakeSink:
    """Return what makes a sink like one that is installed: the same class, name, options and time limit."""

    def make(_claim: CursorClaim) -> EventSink:
        sink = type(installed)(installed.options)
        sink.name, sink.time_limit_seconds = installed.name, installed.time_limit_seconds
        return sink

    return make
