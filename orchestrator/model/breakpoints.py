"""Breakpoints of resources, which Heat calls hooks: their word in events, and the sentence for those who wait."""

from typing import Final

#: The action of events that record where a resource stops, and that it goes on: nothing was done to it.
HOOK: Final = "HOOK"


def paused_until(hook: str) -> str:
    """Return why a resource gets no further, in Heat's words: tools look for them in events."""
    return f"paused until Hook {hook} is cleared"
