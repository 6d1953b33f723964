"""Look at a stack that is worked on again and again, as often as that costs little."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.cli.face import Pictures
from orchestrator.errors import NotFound
from orchestrator.views.operations import FAILED, OVER, GraphPicture

#: How many of the stacks in a stack are looked into, the first of those that are being worked on.
MOST_NESTED: Final = 12
#: At least so long, in seconds, and so many times as long as a look takes, passes before the next. A progress is read
#: less often than that: of a stack that is looked at quickly, what stands above the tree is as of the same moment.
LEAST_PAUSE_SECONDS: Final = 0.05
PAUSE_FACTOR: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A stack's graph, and those of the stacks in it that are worked on, by their ids."""

    picture: GraphPicture
    nested: Mapping[str, GraphPicture] = field(default_factory=dict)


def look_at(pictures: Pictures, stack_id: str) -> Look | None:
    """Return how far a stack is, and those in it, the outer ones first; None if it is gone."""
    try:
        outer = pictures.graph(stack_id)
    except NotFound:
        return None
    nested: dict[str, GraphPicture] = {}
    ahead = deque(_within(outer))
    while ahead and len(nested) < MOST_NESTED:
        each = ahead.popleft()
        try:
            nested[each] = pictures.graph(each)
        except NotFound:
            continue
        ahead += [inner for inner in _within(nested[each]) if inner not in nested]
    return Look(picture=outer, nested=nested)


def _within(picture: GraphPicture) -> list[str]:
    """Return the stacks that a picture's resources are, of those that are neither done nor yet to be begun."""
    return [
        vertex.nested_stack_id
        for vertex in picture.vertices
        if vertex.nested_stack_id and (vertex.state not in OVER or vertex.state == FAILED)
    ]


class Looker:
    """Looks anew when that is due; to look takes a tenth of the time at most, however large the stack is."""

    def __init__(
        self, pictures: Pictures, stack_id: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pictures = pictures
        self._stack_id = stack_id
        self._clock = clock
        self._due = 0.0
        self._last: Look | None = None

    def look(self) -> Look | None:
        """Return the latest look; None if there is nothing to be seen."""
        begun = self._clock()
        if begun >= self._due:
            self._last = look_at(self._pictures, self._stack_id)
            ended = self._clock()
            self._due = ended + max(LEAST_PAUSE_SECONDS, PAUSE_FACTOR * (ended - begun))
        return self._last
