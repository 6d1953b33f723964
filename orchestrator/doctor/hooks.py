"""Doctor checks of lifecycle plugins and event sinks: which are enabled, and which cannot be used."""

from collections.abc import Iterator
from typing import Any

from hooks.lifecycle import find_lifecycle_plugins
from hooks.loading.installed import Installed
from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check


def check_hooks(settings: Settings) -> Iterator[Check]:
    """Check that each is usable; list the enabled ones, lifecycle plugins in the order of their calls."""
    plugins = find_lifecycle_plugins(settings.lifecycle)
    yield from _checks("lifecycle plugin", "lifecycle", plugins, ", called in this order: ")
    yield from _checks("event sink", "event_sinks", find_sinks(settings), ": ")


def _checks(what: str, section: str, installed: Installed[Any], lead: str) -> Iterator[Check]:
    active = [each.name for each in installed.hooks if each.hook is not None and not each.faults]
    names = f"{lead}{', '.join(active)}" if active else ""
    yield Check(
        name=f"{what}s", ok=True, detail=f"{len(installed.hooks)} installed, {len(active)} active{names}"
    )
    for fault in installed.faults:
        name = " and ".join(fault.hooks)
        place = f"{fault.path}: " if fault.path else ""
        disabled = " and ".join(f"settings.{section}.{each}.enabled = false" for each in fault.hooks)
        remedy = (
            "remove it, or install its package"
            if fault in installed.strays
            else f"correct it, or set {disabled}"
        )
        otherwise = f"{remedy}; until then no process that changes stacks starts"
        yield Check(
            name=f"{what} {name}", ok=False, detail=f"{place}{fault.message}", hint=fault.hint or otherwise
        )
