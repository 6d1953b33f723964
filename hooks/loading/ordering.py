"""The order of plugins: by ordinal and name, unless one declares itself before or after another."""

import heapq
from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Protocol, TypeVar

from hooks.errors import Fault, HookNotLoaded
from hooks.values.nearest import nearest


class Ordered(Protocol):
    """An object with a place in the order."""

    @property
    def name(self) -> str:
        """Its unique name."""

    @property
    def ordinal(self) -> int:
        """Lower ones come earlier."""

    @property
    def before(self) -> Collection[str]:
        """The names of those that it precedes."""

    @property
    def after(self) -> Collection[str]:
        """The names of those that it follows."""


AnyOrdered = TypeVar("AnyOrdered", bound=Ordered)


def in_order(plugins: Iterable[AnyOrdered], *, known: Collection[str] = ()) -> tuple[AnyOrdered, ...]:
    """Return plugins in the one order that satisfies their declarations, and is by ordinal and name otherwise.

    Of the candidates for the next place, the one with the lowest ordinal is taken, and of these the first by name.

    ``known`` are further names that may be declared, of plugins that are installed, but disabled.

    Raises:
        HookNotLoaded: one names an unknown plugin, or some form a circle.
    """
    by_name = {plugin.name: plugin for plugin in plugins}
    earlier = _earlier(by_name, {*by_name, *known})
    sorter = TopologicalSorter(earlier)
    try:
        sorter.prepare()
    except CycleError as error:
        # Each name comes after the one that follows it.
        circle = error.args[1][:0:-1]
        first = circle.index(min(circle))
        names = " -> ".join((*circle[first:], *circle[: first + 1]))
        message, hint = (
            f"plugins come after each other in a circle: {names}",
            "correct their before and after",
        )
        raise HookNotLoaded(Fault(message=message, hint=hint, hooks=tuple(sorted(circle)))) from None
    free: list[tuple[int, str]] = []
    ordered: list[AnyOrdered] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(free, (by_name[name].ordinal, name))
        _, name = heapq.heappop(free)
        ordered.append(by_name[name])
        sorter.done(name)
    return tuple(ordered)


def _earlier(by_name: Mapping[str, Ordered], known: Collection[str]) -> dict[str, set[str]]:
    earlier: dict[str, set[str]] = {name: set() for name in by_name}
    faults: list[Fault] = []
    for name, plugin in sorted(by_name.items()):
        for relation, others in (("before", plugin.before), ("after", plugin.after)):
            for other in others:
                if other not in known:
                    message = f"plugin {name!r} comes {relation} {other!r}, which is not installed"
                    faults.append(Fault(message=message, hint=nearest(other, known), hooks=(name,)))
                elif other in by_name:
                    first, second = (name, other) if relation == "before" else (other, name)
                    earlier[second].add(first)
    if faults:
        raise HookNotLoaded(*faults)
    return earlier
