"""Copies of frozen stacks, one for each call of a lifecycle plugin.

Python code can change frozen objects by force, and definitions are cached across operations and plugins. A plugin that
does so changes its own copy only.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from hooks.lifecycle import LifecyclePlugin
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import FrozenDict, FrozenList
from hooks.values.lazy import LazyMapping
from orchestrator.lifecycle.engine_plugin import EnginePlugin

#: Built-in plugins only read, so they get the cached objects themselves.
_OURS: Final = "hooks.builtin."


AnyStack = TypeVar("AnyStack", FrozenStack, FrozenStack | None)


def own_copy(plugin: LifecyclePlugin, stack: AnyStack) -> AnyStack:
    """Return a stack for one call of a plugin; its resources are copied at the first access."""
    if stack is None or isinstance(plugin, EnginePlugin) or type(plugin).__module__.startswith(_OURS):
        return stack
    resources = LazyMapping(partial(_resources, stack.resources))
    return replace(stack, parameters=_copy(stack.parameters), resources=resources)


def _resources(shown: Mapping[str, FrozenResource]) -> dict[str, FrozenResource]:
    return {name: _resource(each) for name, each in shown.items()}


def _resource(shown: FrozenResource) -> FrozenResource:
    # Much faster than ``replace``, which counts with thousands of them.
    return FrozenResource(
        name=shown.name,
        type=shown.type,
        properties=_copy(shown.properties),
        requires=shown.requires,
        uuid=shown.uuid,
        action=shown.action,
        status=shown.status,
        physical_id=shown.physical_id,
        on_node=shown.on_node,
        others=tuple(map(_resource, shown.others)),
    )


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenDict({name: _copy(each) for name, each in value.items()})
    if isinstance(value, list):
        return FrozenList(map(_copy, value))
    return value
