"""What the doctor says of lifecycle plugins and event sinks: which are at work, and why one keeps others from it."""

from collections.abc import Iterator
from typing import Any

from hooks.lifecycle import find_lifecycle_plugins
from hooks.loading.installed import Installed
from orchestrator.config.hooks import find_sinks
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check


def check_hooks(settings: Settings) -> Iterator[Check]:
    """Tell which are at work, lifecycle plugins in their order, and what is wrong with each that is not usable."""
    plugins = find_lifecycle_plugins(settings.lifecycle)
    yield from _checks("lifecycle plugin", "lifecycle", plugins, ", asked in this order: ")
    yield from _checks("event sink", "event_sinks", find_sinks(settings), ": ")


def _checks(what: str, section: str, installed: Installed[Any], lead: str) -> Iterator[Check]:
    at_work = [each.name for each in installed.hooks if each.hook is not None and not each.faults]
    names = f"{lead}{', '.join(at_work)}" if at_work else ""
    yield Check(
        name=f"{what}s", ok=True, detail=f"{len(installed.hooks)} installed, {len(at_work)} at work{names}"
    )
    for fault in installed.faults:
        name = " and ".join(fault.hooks)
        place = f"{fault.path}: " if fault.path else ""
        disabled = " and ".join(f"settings.{section}.{each}.enabled = false" for each in fault.hooks)
        remedy = (
            "remove it, or install what brings it"
            if fault in installed.strays
            else f"correct it, or say {disabled}"
        )
        otherwise = f"{remedy}; until then nothing that changes stacks starts"
        yield Check(
            name=f"{what} {name}", ok=False, detail=f"{place}{fault.message}", hint=fault.hint or otherwise
        )
