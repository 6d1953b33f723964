"""Advice of lifecycle plugins on a previewed operation: their warnings and annotations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from hooks.errors import LifecycleRefused
from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.loading.calling import TookTooLong
from hooks.stack import FrozenStack
from hooks.values.frozen import FrozenDict
from orchestrator.errors import Conflict, Problem
from orchestrator.lifecycle.answers import STACK
from orchestrator.lifecycle.copies import own_copy
from orchestrator.lifecycle.engine_plugin import concerned
from orchestrator.lifecycle.pre_op import answer_of
from orchestrator.sandbox.budget import outside

#: The operation id of a preview.
NO_OPERATION: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Warnings and annotations of all plugins on an operation that none of them would refuse."""

    warnings: tuple[Problem, ...] = ()
    #: By plugin: annotations of the stack, under "", and of its resources, by name.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def advice_of(
    plugins: Sequence[LifecyclePlugin],
    shown: Callable[[], FrozenStack],
    current: FrozenStack | None,
    action: str,
    types: Collection[str],
    *,
    moved: Mapping[str, str] | None = None,
) -> Advice:
    """Call ``do_preview`` of the concerned plugins in order; return their advice.

    ``shown`` makes the desired stack, if a plugin is concerned; ``current`` is the present one, and ``moved`` the names
    of its resources that change, by the new ones, which it has already.

    Raises:
        Conflict: a plugin would refuse.
    """
    plugins = concerned(plugins, action, types)
    if not plugins:
        return Advice()
    stack = shown()
    context = LifecycleContext(
        operation_id=NO_OPERATION, project=stack.project, moved=FrozenDict(moved or {})
    )
    warnings: list[Problem] = []
    by_plugin: dict[str, Mapping[str, Any]] = {}
    for plugin in plugins:
        shown_now, present = own_copy(plugin, stack), own_copy(plugin, current)
        ask = partial(plugin.do_preview, replace(context), shown_now, present, action)
        try:
            with outside():
                answer = answer_of(plugin, ask, stack=stack.name, action=action)
        except TookTooLong as error:
            raise Conflict(str(LifecycleRefused(plugin.name, str(error)))) from error
        except LifecycleRefused as error:
            raise Conflict(str(error)) from error
        if answer is None:
            continue
        warnings += [
            Problem(message=f"lifecycle plugin {plugin.name!r}: {each}") for each in answer["warnings"]
        ]
        annotations = {**({STACK: answer["stack"]} if answer["stack"] else {}), **answer["resources"]}
        if annotations:
            by_plugin[plugin.name] = annotations
    return Advice(warnings=tuple(warnings), annotations=by_plugin)
