"""The masking of secrets in log lines, whichever library or plugin writes them.

It holds for the lines that are written in a block, and in its own thread.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

#: Takes the secrets of what is going on out of a text; None if nothing is known to be secret.
masks: Final[ContextVar[Callable[[str], str] | None]] = ContextVar("isotherm_log_masks", default=None)


@contextmanager
def masking_logs(masked: Callable[[str], str]) -> Iterator[None]:
    """Take the secrets out of every log line inside the block, by a function that returns a text without them.

    Inside another such block, both hold.
    """
    outer = masks.get()
    token = masks.set(masked if outer is None else lambda text: masked(outer(text)))
    try:
        yield
    finally:
        masks.reset(token)


def masked_line(line: str) -> str:
    """Return a log line without the secrets of what is going on."""
    masked = masks.get()
    if masked is None:
        return line
    # What masking itself has to log is no secret, and must not be masked by the same function.
    token = masks.set(None)
    try:
        return masked(line)
    finally:
        masks.reset(token)


class MaskingFormatter(logging.Formatter):
    """The formatter of lines of the standard library's logging, without secrets."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, its traceback included."""
        return masked_line(self._inner.format(record))
