"""What the doctor says of one thing that it looked at."""

from dataclasses import asdict, dataclass
from typing import Any

#: How long a broker, a cache or a worker may take to answer.
PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    #: What was found.
    detail: str
    #: What to do if it is not ok.
    hint: str = ""
    #: Whether what is wrong is a service that cannot be reached, rather than a setting or an installation.
    is_service: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self)
