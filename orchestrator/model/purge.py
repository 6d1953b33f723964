"""What is to be removed for good, and what was."""

from dataclasses import dataclass
from typing import Final

#: What a purge counts, in the order in which people are told.
KINDS: Final = (
    "stacks",
    "traversals",
    "nodes",
    "resources",
    "events",
    "snapshots",
    "operations",
    "jobs",
    "templates",
    "files",
)
#: Younger than this nothing goes that an operation under way may have read, or saved to refer to in a moment. No
#: operation takes that long to begin.
GRACE_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What is to be removed for good."""

    #: Of what is over, that which has been over for longer than this.
    older_than_seconds: float
    #: The newest events of a living stack stay, so many of them.
    max_events_per_stack: int
    #: Only what belongs to this project; templates, files and refused jobs belong to none.
    project: str | None = None
    #: Whether to count only what would be removed.
    dry_run: bool = False
    grace_seconds: float = GRACE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was removed in one step; or would be, in a dry run."""

    #: One of ``KINDS``.
    kind: str
    count: int
