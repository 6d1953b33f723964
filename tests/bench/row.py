"""One line of the result, and how a list of them is shown and kept."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one run came to."""

    #: celery: tasks that only count up, with Celery's defaults. celery, our settings: the same in our app. isotherm: a
    #: stack of resources that do nothing.
    case: str
    shape: str
    n: int
    store: str
    broker: str
    #: Tasks or resources a second, from submission to the end.
    rate: float
    #: The rate as a part of plain Celery's on the same broker in the same run: default settings, its own transport.
    ratio_to_celery: float = 0.0
    #: The rate as a part of Celery's under our settings: signed messages, acknowledged late, task events.
    ratio_to_celery_our_settings: float = 0.0
    #: Processor time of workers and coordinator a task or resource, in milliseconds; the servers' is not counted.
    cpu_ms: float
    #: The body of a check's message, on average.
    message_bytes: float
    #: SQL statements a check.
    statements: float
    #: The largest that any worker process has been, in MiB.
    rss_mib: float
    #: How much of the processor time signs the check's message and verifies it, in percent; none without a broker.
    signing_percent: float = 0.0


def table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text."""
    heads = [field.name for field in fields(Row)]
    lines = [[_shown(getattr(row, head)) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[index]) for line in lines)) for index, head in enumerate(heads)]
    return "\n".join(
        "  ".join(cell.rjust(width) if index > 1 else cell.ljust(width) for index, (cell, width) in pairs)
        for pairs in (list(enumerate(zip(line, widths, strict=True))) for line in [heads, *lines])
    )


def _shown(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def keep(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as a JSON list."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
