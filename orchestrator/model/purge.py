"""Purges: the request for one, and its results."""

from typing import Final

from hooks.values.dataclass import dataclass

#: The kinds of rows that a purge counts, in the order of its output.
KINDS: Final = (
    "stacks",
    "traversals",
    "nodes",
    "resources",
    "events",
    "logs",
    "snapshots",
    "operations",
    "jobs",
    "templates",
    "files",
)
#: Rows younger than this are kept if an operation that is about to begin may have read or saved them.
GRACE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """The request for a purge."""

    #: How long rows must have been finished or deleted.
    older_than_seconds: float
    #: How many of the newest events of a living stack are kept.
    max_events_per_stack: int
    #: The project whose rows are removed; None for all. Templates, files and refused jobs belong to none.
    project: str | None = None
    #: Whether rows are only counted.
    dry_run: bool = False
    grace_seconds: float = GRACE_SECONDS
    #: How old the log lines of steps must be; None for ``older_than_seconds``.
    logs_older_than_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The rows that one step removed, or would remove in a dry run."""

    #: One of ``KINDS``.
    kind: str
    count: int
