"""The event sink ``log``: events in the log, or as lines of JSON in a file of their own."""

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import structlog
from pydantic import Field, field_validator

from hooks.builtin.sinks.document import document
from hooks.events import Event, EventSink
from hooks.options import HookOptions

#: The logger's name, the field ``logger`` of each line.
LOGGER: Final = "isotherm.events"


class LogOptions(HookOptions):
    """The options of the sink ``log``."""

    file: Path | None = Field(
        default=None,
        description="Events go to this file instead, one JSON document per line. An absolute path in an "
        "existing directory. The file may be renamed, removed or truncated at any time: later events go to "
        "the file of this name. A new file has mode 0600; an existing one keeps its mode.",
    )

    @field_validator("file")
    @classmethod
    def _absolute(cls, file: Path | None) -> Path | None:
        if file is not None and not file.is_absolute():
            raise ValueError("expected an absolute path: processes run in different directories")
        return file


class LogSink(EventSink):
    """Writes each event to the log, or to a file."""

    description: ClassVar[str] = "Writes each event to the log, or to a file as a line of JSON."
    enabled_by_default: ClassVar[bool] = False
    Options: ClassVar[type[HookOptions]] = LogOptions
    options: LogOptions

    def consume(self, events: Sequence[Event]) -> None:
        """Write events; in a file, they are on the disk when this returns.

        Raises:
            OSError: the file cannot be written.
        """
        if self.options.file is not None:
            _append(self.options.file, events)
            return
        log = structlog.get_logger(LOGGER).bind(logger=LOGGER)
        for event in events:
            log.info("resource event" if event.resource else "stack event", **document(event))


def _append(file: Path, events: Sequence[Event]) -> None:
    lines = [json.dumps(document(event), ensure_ascii=False) + "\n" for event in events]
    # Opened anew each time: a file that was renamed meanwhile (log rotation) is not written any more. The mode is
    # that of a new file: an existing one is its operator's, who may let others read it.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "ab") as out:
        regular = stat.S_ISREG(os.fstat(out.fileno()).st_mode)
        if regular and _is_torn(file):
            out.write(b"\n")
        out.write("".join(lines).encode())
        out.flush()
        if regular:
            os.fsync(out.fileno())


def _is_torn(file: Path) -> bool:
    """Return whether the last line is incomplete, because the disk was full or the machine went down."""
    with file.open("rb") as written:
        if written.seek(0, os.SEEK_END) == 0:
            return False
        written.seek(-1, os.SEEK_END)
        return written.read(1) != b"\n"
