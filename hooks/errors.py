"""Errors of hooks, each naming the hook.

::

    HookError
    ├── HookNotLoaded       an installed hook cannot be used: the process must not start
    ├── Refusal             what a lifecycle plugin raises to refuse an operation
    ├── LifecycleRefused    a lifecycle plugin refused an operation before anything was touched
    └── ReadOnly            a hook tried to change a frozen value
"""

from dataclasses import dataclass


class HookError(Exception):
    """Base of the errors of this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why hooks cannot be used; it never shows a value of a setting."""

    message: str
    #: The path in the settings, such as ``settings.lifecycle.limits.total``; empty if the settings are not the cause.
    path: str = ""
    #: The remedy; may be empty.
    hint: str = ""
    #: The names of the hooks at fault.
    hooks: tuple[str, ...] = ()

    def __str__(self) -> str:
        path = f"{self.path}: " if self.path else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{path}{self.message}{hint}"


class HookNotLoaded(HookError):
    """Installed hooks cannot be used; going on without them would skip what the operator relies on."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = faults

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))


class Refusal(HookError):
    """Raised by a lifecycle plugin to refuse an operation; its message is shown to the user."""


class LifecycleRefused(HookError):
    """A lifecycle plugin refused an operation; ``plugin`` is its name, ``reason`` its message."""

    def __init__(self, plugin: str, reason: str) -> None:
        # The result backend rebuilds an error from its args, so every field must be one.
        super().__init__(plugin, reason)
        self.plugin, self.reason = plugin, reason

    def __str__(self) -> str:
        return f"refused by lifecycle plugin {self.plugin!r}: {self.reason}"


class ReadOnly(HookError, TypeError):
    """A hook tried to change a frozen value; nothing was changed."""
