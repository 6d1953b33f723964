"""Pumps of a process: one for the sinks of the settings, one for the sinks that environments name."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final

from hooks.events import EventSink
from orchestrator.config.replacement import NO_REPLACEMENT, Replacement

if TYPE_CHECKING:
    from orchestrator.sinks.environments import EnvironmentSinks
    from orchestrator.sinks.pump import Pump
    from orchestrator.sinks.stack_pump import StackPump
    from orchestrator.store.installation.sink_cursors import SinkCursors

#: How long the end of a command waits for the delivery of remaining events.
PATIENCE_SECONDS: Final = 3.0


class Pumps:
    """Delivers events to all event sinks. Make it after a fork, as the store."""

    def __init__(
        self,
        cursors: "SinkCursors",
        sinks: Sequence[EventSink],
        environment_sinks: "EnvironmentSinks | None" = None,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
        replacement: Replacement = NO_REPLACEMENT,
    ) -> None:
        # Not of environments: their authors must not be able to have processes replaced.
        self._of_settings = [_pump(cursors, sinks, owner, is_dead, replacement)] if sinks else []
        self._all: list[Pump | StackPump] = [*self._of_settings]
        if environment_sinks is not None:
            self._all.append(_stack_pump(cursors, environment_sinks, owner, is_dead))
        self._is_closed = False

    def register(self) -> None:
        """Make a cursor at the present position for every sink of the settings that has none.

        Raises:
            Unavailable: the database does not answer.
        """
        for pump in self._of_settings:
            pump.register()

    def start(self) -> None:
        """Start delivery, unless it is started."""
        for pump in self._all:
            pump.start()

    def wake(self) -> None:
        """Signal that events may have been committed; cheap."""
        for pump in self._all:
            pump.wake()

    def close(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Deliver remaining events, for so long at most, and stop; the rest stays in the history."""
        if self._is_closed:
            return
        self._is_closed = True
        until = monotonic() + patience_seconds
        for pump in self._all:
            pump.stop(until)
        for pump in self._all:
            pump.join()


def _pump(
    cursors: "SinkCursors",
    sinks: Sequence[EventSink],
    owner: str,
    is_dead: Callable[[str], bool],
    replacement: Replacement,
) -> "Pump":
    # Many installations have no sinks.
    from orchestrator.sinks.pump import Pump

    return Pump(cursors, sinks, owner=owner, is_dead=is_dead, replacement=replacement)


def _stack_pump(
    cursors: "SinkCursors", sinks: "EnvironmentSinks", owner: str, is_dead: Callable[[str], bool]
) -> "StackPump":
    # Few installations let environments name sinks.
    from orchestrator.sinks.stack_pump import StackPump

    return StackPump(cursors, sinks, owner=owner, is_dead=is_dead)
