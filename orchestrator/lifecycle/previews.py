"""What lifecycle plugins say of an operation that somebody only wants to see."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from hooks.errors import LifecycleRefused
from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.loading.calling import TookTooLong
from hooks.stack import FrozenStack
from orchestrator.errors import Conflict, Problem
from orchestrator.lifecycle.answers import STACK
from orchestrator.lifecycle.asking import answer_of
from orchestrator.lifecycle.copies import own_copy
from orchestrator.lifecycle.engine_plugin import concerned
from orchestrator.sandbox.budget import outside

#: The operation's id, of one that is only looked at.
NO_OPERATION: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What plugins say of an operation, which none of them would refuse."""

    warnings: tuple[Problem, ...] = ()
    #: What each plugin says of the stack, under "", and of its resources, by their names.
    annotations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def advice_of(
    plugins: Sequence[LifecyclePlugin],
    shown: Callable[[], FrozenStack],
    current: FrozenStack | None,
    action: str,
    types: Collection[str],
) -> Advice:
    """Return what plugins, asked in their order, say.

    Args:
        plugins: Those that are enabled.
        shown: Makes the stack as it would be, if anybody is asked.
        current: The stack as it is.
        action: What would be done.
        types: Those of the resources that the stack has, and would have.

    Raises:
        Conflict: one would refuse.
    """
    plugins = concerned(plugins, action, types)
    if not plugins:
        return Advice()
    stack = shown()
    context = LifecycleContext(operation_id=NO_OPERATION, project=stack.project)
    warnings: list[Problem] = []
    said: dict[str, Mapping[str, Any]] = {}
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
            said[plugin.name] = annotations
    return Advice(warnings=tuple(warnings), annotations=said)
