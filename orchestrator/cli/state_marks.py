"""Marks of the states of a resource in an operation on a terminal: a sign and a colour beside the word."""

from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.views import vertex_states


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
    vertex_states.FAILED: Mark("✗", "x", "bold red"),
    vertex_states.RETRYING: Mark("↻", "~", "bold yellow"),
    vertex_states.HELD: Mark("‖", "|", "magenta"),
    vertex_states.RUNNING: Mark("▶", ">", "yellow"),
    vertex_states.WAITING: Mark("…", "w", "cyan"),
    vertex_states.READY: Mark("○", "o", ""),
    vertex_states.BLOCKED: Mark("·", ".", "dim"),
    vertex_states.UNREACHED: Mark("∅", "!", "red"),
    vertex_states.DONE: Mark("✓", "+", "green"),
    vertex_states.UNCHANGED: Mark("=", "=", "green"),
}
#: By the kind of a span of a timeline; one character is one step of its time.
SPAN_MARKS: Final = {
    vertex_states.SPAN_BLOCKED: Mark("·", ".", "dim"),
    vertex_states.SPAN_QUEUED: Mark("░", ":", ""),
    vertex_states.SPAN_RUNNING: Mark("█", "#", "yellow"),
    vertex_states.SPAN_RETRYING: Mark("▚", "~", "bold magenta"),
    vertex_states.SPAN_HELD: Mark("‖", "|", "magenta"),
}


def has_signs(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show every sign."""
    signs = "".join(mark.sign for mark in (*MARKS.values(), *SPAN_MARKS.values())) + "━▞╍─├│"
    try:
        signs.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
