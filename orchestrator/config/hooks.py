"""Loading of the enabled lifecycle plugins and event sinks; a process whose hooks cannot be loaded does not start."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from hooks.errors import Fault, HookNotLoaded
from hooks.events import EventSink, find_event_sinks
from hooks.hook import Hook
from hooks.lifecycle import LifecyclePlugin, find_lifecycle_plugins
from hooks.loading.installed import Installed
from hooks.values.nearest import did_you_mean
from orchestrator.config.settings import Settings
from orchestrator.errors import HooksNotLoaded, Problem

AnyHook = TypeVar("AnyHook", bound=Hook)


def lifecycle_plugins(settings: Settings) -> tuple[LifecyclePlugin, ...]:
    """Return the enabled lifecycle plugins, in the order of their calls.

    Raises:
        HooksNotLoaded: some cannot be loaded; the faults of each are listed.
    """
    installed = find_lifecycle_plugins(settings.lifecycle, passes_by=())
    names = [each.name for each in installed.hooks]
    strays = [
        Problem(
            path=f"settings.lifecycle_effects.plugins.{name}",
            message="no such lifecycle plugin is installed",
            hint=did_you_mean(name, names).removeprefix("; "),
        )
        for name in settings.lifecycle_effects.plugins
        if name not in names
    ]
    if strays:
        raise HooksNotLoaded(strays)
    return _enabled(installed, "lifecycle")


def event_sinks(settings: Settings) -> tuple[EventSink, ...]:
    """Return the enabled event sinks, ordered by name.

    Raises:
        HooksNotLoaded: some cannot be loaded; the faults of each are listed.
    """
    return _enabled(find_sinks(settings, passes_by=settings.environment_event_sinks), "event_sinks")


def find_sinks(settings: Settings, *, passes_by: Collection[str] | None = None) -> Installed[EventSink]:
    """Return every installed event sink under the settings, with its faults."""
    named = settings.environment_event_sinks
    return find_event_sinks(settings.event_sinks, in_environments=named, passes_by=passes_by)


def all_at_once(*loads: Callable[[], object]) -> None:
    """Call several functions that load hooks, and report their faults together.

    Raises:
        HooksNotLoaded: some hooks cannot be loaded; the faults of all are listed.
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
    """Return faults as problems; the hint is how to disable the hook in a section of the settings."""
    return [
        Problem(message=fault.message, path=fault.path, hint=fault.hint or _switched_off(fault, section))
        for fault in faults
    ]


def _switched_off(fault: Fault, section: str) -> str:
    names = " and ".join(f"settings.{section}.{name}.enabled = false" for name in fault.hooks)
    return f"to go on without it: {names}" if section and names else ""


def _enabled(installed: Installed[AnyHook], section: str) -> tuple[AnyHook, ...]:
    try:
        return tuple(each.hook for each in installed.enabled() if each.hook is not None)
    except HookNotLoaded as error:
        raise HooksNotLoaded(problems_of(error.faults, section)) from error
