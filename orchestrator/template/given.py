"""Given values: values with their source."""

from typing import Any

from hooks.values.dataclass import dataclass
from orchestrator.errors import Position, Problem


@dataclass(frozen=True, slots=True)
class Given:
    """A given value, and its path and position; without a position it came with the job itself."""

    value: Any
    path: str = ""
    position: Position | None = None
    #: Whether no message may show the value, even if the parameter's declaration is not hidden.
    is_secret: bool = False

    def problem(self, message: str, hint: str = "") -> Problem:
        """Return a problem with this value."""
        return Problem(message=message, path=self.path, position=self.position, hint=hint)
