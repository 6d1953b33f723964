"""Options of hooks, as pydantic's models: those of every hook, and the base of a hook's own."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

#: The limit of every hook's time-out: a day.
MOST_SECONDS: Final = 86_400


class HookOptions(BaseModel):
    """Base of the options of hooks; a hook's own subclass declares its settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HookSettings(BaseModel):
    """The settings of every hook; all others are the hook's own options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool | None = Field(
        default=None, description="Whether it is enabled; by default as the hook itself defines."
    )
    time_limit_seconds: float | None = Field(
        default=None,
        gt=0,
        le=MOST_SECONDS,
        description="No call of it takes longer: it is given up then, as if it had failed. By default as the hook "
        "itself defines.",
    )
