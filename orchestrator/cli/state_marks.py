"""Marks of the states of a resource in an operation on a terminal: a sign and a colour beside the word."""

from dataclasses import dataclass
from typing import Final

from orchestrator.views import operations


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign of one character and its style; ``plain`` is the sign for ASCII-only streams."""

    sign: str
    plain: str
    style: str

    def on(self, *, ascii_only: bool) -> str:
        """Return the sign that the stream can show."""
        return self.plain if ascii_only else self.sign


#: By the state of a vertex, most urgent first; every sign is unique.
MARKS: Final = {
    operations.FAILED: Mark("✗", "x", "bold red"),
    operations.RETRYING: Mark("↻", "~", "bold yellow"),
    operations.HELD: Mark("‖", "|", "magenta"),
    operations.RUNNING: Mark("▶", ">", "yellow"),
    operations.WAITING: Mark("…", "w", "cyan"),
    operations.READY: Mark("○", "o", ""),
    operations.BLOCKED: Mark("·", ".", "dim"),
    operations.UNREACHED: Mark("∅", "!", "red"),
    operations.DONE: Mark("✓", "+", "green"),
    operations.UNCHANGED: Mark("=", "=", "green"),
}
#: By the kind of a span of a timeline; one character is one step of its time.
SPAN_MARKS: Final = {
    operations.SPAN_WAITING: Mark("·", ".", "dim"),
    operations.SPAN_QUEUED: Mark("░", ":", ""),
    operations.SPAN_RUNNING: Mark("█", "#", "yellow"),
    operations.SPAN_RETRYING: Mark("▚", "~", "bold magenta"),
    operations.SPAN_HELD: Mark("‖", "|", "magenta"),
}


def has_signs(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show every sign."""
    signs = "".join(mark.sign for mark in (*MARKS.values(), *SPAN_MARKS.values())) + "━▞╍─├│"
    try:
        signs.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
