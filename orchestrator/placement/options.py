"""Options of the lifecycle plugin ``placement``."""

from pydantic import Field

from hooks.options import HookOptions


class PlacementOptions(HookOptions):
    """The options of ``placement``."""

    max_age_seconds: float = Field(
        default=60.0,
        ge=0,
        description="How old the cached states of nodes may be. Reservations are always current.",
    )
