"""The log lines of a step, which are kept with its resource: bounded, and without secrets.

Kept are the lines that structlog writes in the step's own thread, at the level of the process's log, and warnings and
errors of the standard library's logging. A plugin's threads are included if they run in a copy of the step's context.
Tracebacks stay in the log of the process.
"""

import logging
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextvars import ContextVar, Token
from typing import Any, Final

from hooks.values.dataclass import dataclass
from hooks.values.texts import storable
from orchestrator.config.log_masking import masked_line, masks
from orchestrator.errors import typed_message

#: The most lines and characters that are kept of one step, and the most characters of one line.
MOST_LINES: Final = 100
MOST_CHARACTERS: Final = 16_000
LONGEST: Final = 2_000
#: Between the lines that are masked together; no line has one in it.
_BETWEEN: Final = "\x1e"
#: The fields of a log line that are the same for all lines of a step, or no part of its text.
_ASIDE: Final = frozenset(
    {
        *("event", "level", "timestamp", "exc_info", "stack_info", "stack", "stack_id", "traversal_id"),
        *("resource", "node_no", "attempt", "job", "job_id"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line; its time is that of the worker's clock."""

    at: float
    level: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLines:
    """The lines of a step in their order, and how many more it wrote."""

    lines: tuple[LogLine, ...]
    left_out: int = 0


class StepLog:
    """Takes the secrets out of every log line inside the block, and keeps the lines if ``keeps``.

    Inside another block that masks, both hold.
    """

    __slots__ = ("_keeps", "_left_out", "_masked", "_size", "_tokens", "lines")

    def __init__(self, masked: Callable[[str], str], *, keeps: bool = True) -> None:
        self._masked, self._keeps = masked, keeps
        #: None until the first line; the secrets that were known when they were written are masked.
        self.lines: list[LogLine] | None = None
        self._left_out = self._size = 0

    def __enter__(self) -> "StepLog":
        outer, masked = masks.get(), self._masked
        both = masked if outer is None else lambda text: masked(outer(text))
        self._tokens: tuple[Token[Any], Token[Any]] = (
            masks.set(both),
            _step.set(self if self._keeps else None),
        )
        return self

    def __exit__(self, *_: object) -> None:
        masks.reset(self._tokens[0])
        _step.reset(self._tokens[1])

    def add(self, level: str, message: str) -> None:
        """Keep a line, if there is room for it."""
        at = time.time()
        # As its secrets are known now: a credential may be another one when the step is over.
        text = storable(masked_line(message), most=LONGEST)
        if self.lines is None:
            self.lines = []
        if len(self.lines) >= MOST_LINES or self._size + len(text) > MOST_CHARACTERS:
            self._left_out += 1
            return
        self._size += len(text)
        self.lines.append(LogLine(at=at, level=level, message=text))

    def kept(self) -> StepLines:
        """Return the lines without what the step has found to be secret since."""
        lines = self.lines or []
        messages = [line.message for line in lines]
        texts = self._masked(_BETWEEN.join(messages)).split(_BETWEEN)
        if len(texts) != len(messages):
            texts = [self._masked(message) for message in messages]
        found = (
            LogLine(at=line.at, level=line.level, message=text)
            for line, text in zip(lines, texts, strict=True)
        )
        return StepLines(lines=tuple(found), left_out=self._left_out)


_step: Final[ContextVar[StepLog | None]] = ContextVar("isotherm_step_log", default=None)


def keep_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep a log line with the step that writes it; a structlog processor."""
    step = _step.get()
    if step is not None:
        step.add(str(event.get("level", "info")), text_of_event(event))
    return event


def text_of_event(event: Mapping[str, Any]) -> str:
    """Return a log line as a text: the event, its fields, and the message of an exception. Raises nothing."""
    try:
        fields = [f"{name}={_value(value)}" for name, value in event.items() if name not in _ASIDE]
        error = _error_in(event.get("exc_info"))
        if error is not None:
            fields.append(f"error={typed_message(error)}")
        return _without_marks(" ".join([str(event.get("event", "")), *fields]))
    except Exception as error:  # noqa: BLE001  # an author's own object
        return f"a log line that cannot be shown: {type(error).__name__}"


def _error_in(given: object) -> BaseException | None:
    """Return the exception of a log line: given by itself, in a tuple, or as True for the one that is handled."""
    if isinstance(given, tuple):
        given = given[1]
    return given if isinstance(given, BaseException) else (sys.exc_info()[1] if given else None)


def _value(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _without_marks(text: str) -> str:
    return text.replace(_BETWEEN, " ")


def keep_record(record: logging.LogRecord) -> None:
    """Keep a line of the standard library's logging with the step that writes it."""
    step = _step.get()
    if step is None:
        return
    try:
        text = f"{record.name}: {record.getMessage()}"
        error = _error_in(record.exc_info)
        text = text if error is None else f"{text} error={typed_message(error)}"
    except Exception as error:  # noqa: BLE001  # an author's own object
        text = f"a log line that cannot be shown: {type(error).__name__}"
    step.add(record.levelname.lower(), _without_marks(text))
