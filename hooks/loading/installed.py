"""Installed hooks, their settings, and their faults.

A broken hook hides no other: all faults are found at once. A fault of an enabled hook keeps a process from starting;
one of a disabled hook does not.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic

from hooks.errors import Fault, HookNotLoaded
from hooks.hook import AnyHook
from hooks.loading.entry import Entry
from hooks.values.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledHook(Generic[AnyHook]):
    """An installed hook, as its settings make it."""

    name: str
    entry_point: Entry
    #: Its class; None if it cannot be loaded.
    kind: type[AnyHook] | None = None
    #: None where it is unknown, because it cannot be loaded and the settings do not decide.
    enabled: bool | None = None
    #: None if it is not enabled, or cannot be made.
    hook: AnyHook | None = None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed(Generic[AnyHook]):
    """All installed hooks of one kind."""

    #: By name, unless their kind has an order.
    hooks: tuple[InstalledHook[AnyHook], ...]
    #: Faults of settings whose hooks are not installed, or not allowed there.
    strays: tuple[Fault, ...] = ()
    #: The names of the enabled ones, in order; empty if their kind has no order, or it is invalid.
    order: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that keep a process from starting."""
        of_hooks = (fault for each in self.hooks if each.enabled is not False for fault in each.faults)
        # The hooks of a circle share one fault.
        return tuple(dict.fromkeys((*of_hooks, *self.strays)))

    def enabled(self) -> tuple[InstalledHook[AnyHook], ...]:
        """Return the enabled ones.

        Raises:
            HookNotLoaded: some cannot be used; the message names the faults of each.
        """
        if self.faults:
            raise HookNotLoaded(*self.faults)
        return tuple(each for each in self.hooks if each.hook is not None)

    def with_faults(self, faults: Sequence[Fault]) -> "Installed[AnyHook]":
        """Return the same with further faults, each added to the hooks that it names."""
        hooks = tuple(
            replace(each, faults=(*each.faults, *(fault for fault in faults if each.name in fault.hooks)))
            for each in self.hooks
        )
        return replace(self, hooks=hooks)
