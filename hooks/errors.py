"""Errors that hooks cause, each naming the hook.

::

    HookError
    ├── HookNotLoaded       an installed hook cannot be used: the process must not start
    ├── Refusal             what a lifecycle plugin raises to refuse an operation
    ├── LifecycleRefused    a lifecycle plugin refused an operation before anything was touched
    └── ReadOnly            a hook tried to change what it was shown
"""


class HookError(Exception):
    """Base of the errors of this package."""


class HookNotLoaded(HookError):
    """An installed hook cannot be used; going on without it would skip what the operator relies on."""


class Refusal(HookError):
    """What a lifecycle plugin raises to refuse an operation: its words are what people read."""


class LifecycleRefused(HookError):
    """A lifecycle plugin refused an operation; ``plugin`` is its name, ``reason`` what it said."""

    def __init__(self, plugin: str, reason: str) -> None:
        # The result backend rebuilds an error from its args, so every field must be one.
        super().__init__(plugin, reason)
        self.plugin, self.reason = plugin, reason

    def __str__(self) -> str:
        return f"refused by lifecycle plugin {self.plugin!r}: {self.reason}"


class ReadOnly(HookError, TypeError):
    """A hook tried to change what it was shown; nothing was changed."""
