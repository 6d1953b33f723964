"""The operator's lifecycle plugins and event sinks, loaded when a process starts, or the process does not start."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hooks.errors import Fault, HookNotLoaded
from hooks.events import EventSink, find_event_sinks, load_event_sinks
from hooks.hook import Hook
from hooks.lifecycle import LifecyclePlugin, load_lifecycle_plugins
from hooks.loading.installed import Installed, InstalledHook
from orchestrator.config.settings import Settings
from orchestrator.errors import HooksNotLoaded, Problem

AnyHook = TypeVar("AnyHook", bound=Hook)


def lifecycle_plugins(settings: Settings) -> tuple[LifecyclePlugin, ...]:
    """Return the lifecycle plugins at work, in the order in which they are asked.

    Raises:
        HooksNotLoaded: some cannot be used; with what is wrong with each.
    """
    return _loaded(lambda: load_lifecycle_plugins(settings.lifecycle), "lifecycle")


def event_sinks(settings: Settings) -> tuple[EventSink, ...]:
    """Return the event sinks at work, ordered by name.

    Raises:
        HooksNotLoaded: some cannot be used; with what is wrong with each.
    """
    named = settings.environment_event_sinks
    return _loaded(lambda: load_event_sinks(settings.event_sinks, in_environments=named), "event_sinks")


def find_sinks(settings: Settings) -> Installed[EventSink]:
    """Return every installed event sink as the settings have it, and what is wrong with each."""
    return find_event_sinks(settings.event_sinks, in_environments=settings.environment_event_sinks)


def all_at_once(*loads: Callable[[], Any]) -> None:
    """Call what loads hooks, each.

    Raises:
        HooksNotLoaded: with what is wrong with all that they load.
    """
    problems: list[Problem] = []
    for load in loads:
        try:
            load()
        except HooksNotLoaded as error:
            problems += error.problems
    if problems:
        raise HooksNotLoaded(problems)


def problems_of(faults: Iterable[Fault], section: str = "") -> list[Problem]:
    """Return faults as people are told them; those of a section of the settings with how to go on without the hook."""
    return [
        Problem(message=fault.message, path=fault.path, hint=fault.hint or _switched_off(fault, section))
        for fault in faults
    ]


def _switched_off(fault: Fault, section: str) -> str:
    names = " and ".join(f"settings.{section}.{name}.enabled = false" for name in fault.hooks)
    return f"to go on without it: {names}" if section and names else ""


def _loaded(load: Callable[[], tuple[InstalledHook[AnyHook], ...]], section: str) -> tuple[AnyHook, ...]:
    try:
        return tuple(each.hook for each in load() if each.hook is not None)
    except HookNotLoaded as error:
        raise HooksNotLoaded(problems_of(error.faults, section)) from error
