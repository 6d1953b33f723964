"""A value that somebody gave, and where."""

from dataclasses import dataclass
from typing import Any

from orchestrator.errors import Position, Problem


@dataclass(frozen=True, slots=True)
class Given:
    """A value somebody gave, and where; without a position it came with the order itself."""

    value: Any
    path: str = ""
    position: Position | None = None
    #: Whether no sentence may show the value, whatever the parameter's declaration says.
    is_secret: bool = False

    def problem(self, message: str, hint: str = "") -> Problem:
        """Return a problem with this value."""
        return Problem(message=message, path=self.path, position=self.position, hint=hint)
