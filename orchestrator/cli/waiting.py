"""What a command waits for, on stderr: a spinner on a terminal, otherwise a line now and then."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import click

if TYPE_CHECKING:
    from rich.status import Status

#: Without a terminal, a line is written after so many seconds, and then again each time as many have passed.
LINE_SECONDS: Final = 10.0


class Waiting:
    """A wait that a command shows as long as the block lasts; nothing is left of it on a terminal."""

    def __init__(self, words: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Keep the arguments; ``clock`` returns seconds that never go backwards."""
        self._words, self._clock = words, clock
        self._begun = self._line_at = 0.0
        self._status: Status | None = None

    def __enter__(self) -> Self:
        # Slow to import, and needed by few commands.
        from orchestrator.cli.formats import console_for_messages

        self._begun = self._line_at = self._clock()
        console = console_for_messages()
        if console.is_terminal:
            from rich.markup import escape

            self._status = console.status(escape(f"{self._words} ..."))
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def go_on(self, more: str = "") -> None:
        """Show that the wait goes on; ``more`` says how far it is."""
        now = self._clock()
        words = f"{self._words}: {more}" if more else f"{self._words}: {now - self._begun:.0f} s"
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(words))
        elif now - self._line_at >= LINE_SECONDS:
            self._line_at = now
            click.echo(words, err=True)
