"""Checks of a plugin's results against the step's contract; faults name the method."""

import math
from typing import Any

from hooks.loading.overrides import place_of
from hooks.values.texts import storable
from orchestrator.errors import PluginMistake
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Wait


def refuse_mistakes_of(resource: Resource, action: str, answer: object) -> None:
    """Refuse a result, or a change of ``resource.state``, that violates the contract.

    A physical id that cannot be stored is replaced by an escaped one, so that the object is not lost.

    Raises:
        PluginMistake: the contract is violated; the message names the method and its file.
    """
    method = f"check_{action.lower()}_complete"
    if isinstance(answer, Wait):
        seconds: object = answer.seconds
        if not _is_time(seconds):
            raise PluginMistake(f"{_named(resource, method)} returned Wait({seconds!r}): expected seconds")
    elif not isinstance(answer, bool):
        what = "None" if answer is None else type(answer).__name__
        raise PluginMistake(
            f"{_named(resource, method)} returned {what}: expected True, False or Wait(seconds)"
        )
    _refuse_id(resource, action)


def _is_time(seconds: object) -> bool:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return False
    try:
        return math.isfinite(seconds)
    except OverflowError:
        # A whole number beyond every float.
        return False


def _refuse_id(resource: Resource, action: str) -> None:
    found: Any = resource.state.physical_id
    if found is None or (isinstance(found, str) and found == storable(found)):
        return
    resource.state.physical_id = storable(str(found))
    kind = "text with characters that are none" if isinstance(found, str) else type(found).__name__
    method = _named(resource, f"handle_{action.lower()}")
    raise PluginMistake(f"{method} left self.state.physical_id as {kind}: expected text that can be stored")


def _named(resource: Resource, method: str) -> str:
    kind = type(resource)
    return f"{kind.__module__}:{kind.__qualname__}.{method}{place_of(getattr(kind, method, None))}"
