"""How the states of a resource in an operation look on a terminal: a mark, its word, and a colour beside both."""

from dataclasses import dataclass
from typing import Final

from orchestrator.views import operations


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands for something; ``plain`` is for streams that have ASCII alone."""

    sign: str
    plain: str
    style: str

    def on(self, *, ascii_only: bool) -> str:
        """Return the sign that the stream can show."""
        return self.plain if ascii_only else self.sign


#: By the state of a vertex, in the order in which people ask for them; the sign alone tells them apart.
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
#: The same for what a span of a timeline tells; one character is one step of its time.
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
