"""How the states of a resource in an operation look on a terminal: a mark, its word, and a colour beside both."""

from dataclasses import dataclass
from typing import Final

from orchestrator.observation import views


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
    views.FAILED: Mark("✗", "x", "bold red"),
    views.RETRYING: Mark("↻", "~", "bold yellow"),
    views.HELD: Mark("‖", "|", "magenta"),
    views.RUNNING: Mark("▶", ">", "yellow"),
    views.WAITING: Mark("…", "w", "cyan"),
    views.READY: Mark("○", "o", ""),
    views.BLOCKED: Mark("·", ".", "dim"),
    views.UNREACHED: Mark("∅", "!", "red"),
    views.DONE: Mark("✓", "+", "green"),
    views.UNCHANGED: Mark("=", "=", "green"),
}
#: The same for what a span of a timeline tells; one character is one step of its time.
SPAN_MARKS: Final = {
    views.SPAN_WAITING: Mark("·", ".", "dim"),
    views.SPAN_QUEUED: Mark("░", ":", ""),
    views.SPAN_RUNNING: Mark("█", "#", "yellow"),
    views.SPAN_RETRYING: Mark("▚", "~", "bold magenta"),
    views.SPAN_HELD: Mark("‖", "|", "magenta"),
}


def has_signs(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show every sign."""
    signs = "".join(mark.sign for mark in (*MARKS.values(), *SPAN_MARKS.values())) + "━▞╍─├│"
    try:
        signs.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
