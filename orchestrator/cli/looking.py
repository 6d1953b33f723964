"""Repeated look at the graph of a running operation and of its nested stacks, at a bounded cost."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from hooks.values.dataclass import dataclass
from orchestrator.errors import NotFound
from orchestrator.views.operations import GraphPicture
from orchestrator.views.vertex_states import FAILED, OVER

if TYPE_CHECKING:
    from orchestrator.queries.observer import Observer

#: The greatest number of nested stacks in a look: the first that are in progress or failed.
MOST_NESTED: Final = 12
#: The pause between two looks is at least so long, and at least so many times as long as a look takes. It is shorter
#: than the interval of ``Service.watch``, so that for small stacks the counts above the tree are of the same moment.
LEAST_PAUSE_SECONDS: Final = 0.05
PAUSE_FACTOR: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A stack's graph, and the graphs of its nested stacks that are in progress or failed, by their ids."""

    picture: GraphPicture
    nested: Mapping[str, GraphPicture] = field(default_factory=dict)


def look_at(observer: "Observer", stack_id: str) -> Look | None:
    """Return the graphs of a stack and of its nested stacks, the outer ones first; None if the stack is gone."""
    try:
        outer = observer.graph(stack_id)
    except NotFound:
        return None
    nested: dict[str, GraphPicture] = {}
    ahead = deque(_within(outer))
    while ahead and len(nested) < MOST_NESTED:
        each = ahead.popleft()
        try:
            nested[each] = observer.graph(each)
        except NotFound:
            continue
        ahead += [inner for inner in _within(nested[each]) if inner not in nested]
    return Look(picture=outer, nested=nested)


def _within(picture: GraphPicture) -> list[str]:
    return [
        vertex.nested_stack_id
        for vertex in picture.vertices
        if vertex.nested_stack_id and (vertex.state not in OVER or vertex.state == FAILED)
    ]


class Looker:
    """Cached looks at one stack; looking takes at most about a tenth of the time, however large the stack is."""

    def __init__(
        self, observer: "Observer", stack_id: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._observer = observer
        self._stack_id = stack_id
        self._clock = clock
        self._due = 0.0
        self._last: Look | None = None

    def look(self) -> Look | None:
        """Return the latest look, a new one if it is due; None if the stack is gone."""
        begun = self._clock()
        if begun >= self._due:
            self._last = look_at(self._observer, self._stack_id)
            ended = self._clock()
            self._due = ended + max(LEAST_PAUSE_SECONDS, PAUSE_FACTOR * (ended - begun))
        return self._last
