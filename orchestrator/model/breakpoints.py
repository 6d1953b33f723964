"""Breakpoints of resources (Heat's hooks): their action in events, and the reason of a resource that stands at one."""

from typing import Final

#: The action of events that record that a resource stops at a hook, or continues.
HOOK: Final = "HOOK"
#: The key of a signal's details that clears a breakpoint; its value is the kind.
UNSET_HOOK: Final = "unset_hook"


def paused_until(hook: str) -> str:
    """Return the reason of a resource that stands at a hook, in Heat's words, for which tools search events."""
    return f"paused until Hook {hook} is cleared"
