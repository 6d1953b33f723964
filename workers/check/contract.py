"""Checks of a plugin's results against the step's contract; faults name the method."""

import re
from typing import Any, Final

from hooks.loading.overrides import place_of
from orchestrator.errors import PluginMistake
from orchestrator.model.codec import Codec
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Wait
from orchestrator.store.nodes.claims import Outcome

#: Characters that no database stores in a text.
_NO_CHARACTERS: Final = re.compile("[\x00\ud800-\udfff]")


def refuse_mistakes_of(resource: Resource, action: str, answer: object) -> None:
    """Refuse a result, or a change of ``resource.state``, that violates the contract.

    A physical id that cannot be stored is replaced by an escaped one, so that the object is not lost.

    Raises:
        PluginMistake: the contract is violated; the message names the method and its file.
    """
    method = f"check_{action.lower()}_complete"
    if isinstance(answer, Wait):
        seconds: object = answer.seconds
        if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
            raise PluginMistake(f"{_named(resource, method)} returned Wait({seconds!r}): expected seconds")
    elif not isinstance(answer, bool):
        what = "None" if answer is None else type(answer).__name__
        raise PluginMistake(
            f"{_named(resource, method)} returned {what}: expected True, False or Wait(seconds)"
        )
    _refuse_id(resource, action)


def storable(text: str) -> str:
    """Return a text with unstorable characters escaped."""
    return _NO_CHARACTERS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def why_not_plain(outcome: Outcome, error: Exception) -> str:
    """Return which part of a plugin's outcome cannot be stored, and why."""
    parts = {
        "self.state.data": outcome.data,
        "the token": [outcome.token, outcome.entry],
        "its metadata": outcome.metadata,
        "its attributes": [list(outcome.attributes), outcome.node_data],
    }
    for name, value in parts.items():
        try:
            Codec().pack(value)
        except (TypeError, ValueError, OverflowError) as found:
            return f"{name}: {found}"
    return str(error)


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
