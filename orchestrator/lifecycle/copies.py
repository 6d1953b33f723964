"""What each lifecycle plugin is shown for itself.

Nothing in Python keeps anybody from going round what is frozen. What is shown is remembered, for operations to come and
for other plugins, so whoever goes round it changes a copy of his own, which goes with his call.
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

#: Those that come with Isotherm only read: what is remembered is shown to them itself.
_OURS: Final = "hooks.builtin."


AnyStack = TypeVar("AnyStack", FrozenStack, FrozenStack | None)


def own_copy(plugin: LifecyclePlugin, stack: AnyStack) -> AnyStack:
    """Return a stack for one call of a plugin; its resources are copied when the plugin first looks."""
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
