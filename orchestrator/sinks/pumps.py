"""All that tells event sinks in one process: those of the settings, and those that environments of stacks name."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final

from hooks.events import EventSink
from orchestrator.sinks.environments import EnvironmentSinks
from orchestrator.sinks.pump import Pump
from orchestrator.sinks.stack_pump import StackPump
from orchestrator.store.installation.sink_cursors import SinkCursors

#: How long the end of a command may be held up by sinks that take what is left.
PATIENCE_SECONDS: Final = 3.0


class Pumps:
    """Tells event sinks what happened. Make it after a fork, not before, as the store.

    Args:
        cursors: Where the cursors are.
        sinks: The sinks of the settings that are enabled.
        environment_sinks: Those that environments may name; None if they may name none.
        owner: What this process is called.
        is_dead: Tells of the name of a process whether it surely is there no more.
    """

    def __init__(
        self,
        cursors: SinkCursors,
        sinks: Sequence[EventSink],
        environment_sinks: EnvironmentSinks | None = None,
        *,
        owner: str,
        is_dead: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._of_settings = Pump(cursors, sinks, owner=owner, is_dead=is_dead)
        self._all: list[Pump | StackPump] = [self._of_settings]
        if environment_sinks is not None:
            self._all.append(StackPump(cursors, environment_sinks, owner=owner, is_dead=is_dead))
        self._is_closed = False

    def register(self) -> None:
        """Have every sink of the settings told what happens from now on, unless it is being told already.

        Raises:
            Unavailable: the database does not answer.
        """
        self._of_settings.register()

    def start(self) -> None:
        """Start to tell, unless that was done."""
        for pump in self._all:
            pump.start()

    def wake(self) -> None:
        """Say that something may have been committed; costs next to nothing."""
        for pump in self._all:
            pump.wake()

    def close(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Let the sinks take what is left, for so long at most, and stop; what they did not take is kept for them."""
        if self._is_closed:
            return
        self._is_closed = True
        until = monotonic() + patience_seconds
        for pump in self._all:
            pump.stop(until)
        for pump in self._all:
            pump.join()
