"""What many tests begin with is built once; each of them has a copy."""

import functools
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from copy import deepcopy
from itertools import count
from typing import Any, ParamSpec, TypeVar

from tests.scenarios.world import World
from tests.thoroughness import some_of

P = ParamSpec("P")
T = TypeVar("T")


def built_once(build: Callable[P, T]) -> Callable[P, T]:
    """Return copies of what ``build`` returns, a world or something with worlds in it, of all that it is called with.

    What is asked for once only is not kept. The processes of a copied world have just started, so a ``build`` must not
    change them: plugins, for one, are plugged in afterwards.
    """
    kept: dict[Hashable, T | None] = {}

    @functools.wraps(build)
    def copied(*args: P.args, **kwargs: P.kwargs) -> T:
        key = _frozen((args, kwargs))
        if key not in kept:
            kept[key] = None
            return build(*args, **kwargs)
        built = kept[key]
        if built is None:
            before = [*World.open]
            built = kept[key] = build(*args, **kwargs)
            for world in [each for each in World.open if each not in before]:
                world.pack()
        return deepcopy(built)

    return copied


def _frozen(value: Any) -> Hashable:
    """Return something equal for equal arguments, as a key."""
    if isinstance(value, Mapping):
        return tuple((name, _frozen(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return (type(value), *map(_frozen, value))
    return (type(value), value)


def at_every_message(world: World, go_on: Callable[[World], bool]) -> Iterator[tuple[int, World]]:
    """Yield how many messages later it is, and a copy of a world as it is then, until ``go_on`` says that none came.

    That is at every message in a thorough run, otherwise at one of three.
    """
    seen = some_of(range(sys.maxsize), 3)
    for messages in count():
        if messages in seen:
            copy = deepcopy(world)
            yield messages, copy
            copy.close()
        if not go_on(world):
            world.close()
            return
