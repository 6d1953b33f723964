"""Event filters: which events a sink delivers."""

from pydantic import Field, ValidationInfo, field_validator

from hooks.builtin.wildcards import matches_any
from hooks.events import Event
from hooks.options import HookOptions
from hooks.values.nearest import nearest
from hooks.values.states import ACTIONS, STATUSES


class EventChoice(HookOptions):
    """A filter on events; of each list that is not empty, one entry must match."""

    types: tuple[str, ...] = Field(
        default=(),
        description="Only events of resources of these types; `*` matches any characters. `stack` is the "
        "stack itself.",
    )
    actions: tuple[str, ...] = Field(
        default=(), description="Only events of these actions, such as `CREATE` and `DELETE`."
    )
    statuses: tuple[str, ...] = Field(
        default=(), description="Only events with these statuses: `IN_PROGRESS`, `COMPLETE`, `FAILED`."
    )

    @field_validator("actions", "statuses")
    @classmethod
    def _in_capitals(cls, given: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = ACTIONS if info.field_name == "actions" else STATUSES
        return tuple(_known(word, known) for word in given)

    def wants(self, event: Event) -> bool:
        """Return whether an event passes."""
        return (
            (not self.types or matches_any(event.type, self.types))
            and (not self.actions or event.action in self.actions)
            and (not self.statuses or event.status in self.statuses)
        )


class StackChoice(EventChoice):
    """A filter on events and on the names and projects of their stacks."""

    projects: tuple[str, ...] = Field(
        default=(), description="Only events of stacks of these projects; `*` matches any characters."
    )
    stacks: tuple[str, ...] = Field(
        default=(), description="Only events of stacks with these names; `*` matches any characters."
    )

    def wants(self, event: Event) -> bool:
        """Return whether an event passes."""
        return (
            super().wants(event)
            and (not self.projects or matches_any(event.project, self.projects))
            and (not self.stacks or matches_any(event.stack_name, self.stacks))
        )


def _known(word: str, words: tuple[str, ...]) -> str:
    """Return a word in capitals; an unknown one is an error, since it would never match."""
    if word.upper() in words:
        return word.upper()
    raise ValueError(f"there is no {word!r}; {nearest(word.upper(), words)}")
