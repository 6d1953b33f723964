"""Paths to values in the properties of a resource: ``flavor``, ``networks[0].port``, ``networks[*].port``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hooks.builtin.policy.values import NOTHING, PERHAPS, is_hidden

#: The key of properties that are known only as a whole, or not at all.
_WHOLE: Final = "*"
#: The step to every item.
_ALL: Final = None
_STEP: Final = re.compile(
    r"""(?P<dot>\.)?(?P<name>[^.\[\]"]+) | \[(?P<index>\d+)\] | \[(?P<all>\*)\] | \["(?P<quoted>[^"]*)"\]""",
    re.VERBOSE,
)

Step = str | int | None


@dataclass(frozen=True, slots=True)
class Path:
    """A path into the properties of a resource; ``[*]`` leads to all items of a list, or all values of a map."""

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> "Path":
        """Return the path of a text: names separated by dots, ``[0]``, ``[*]`` and ``["a.b"]``.

        Raises:
            ValueError: the text is no path; the message names the position.
        """
        steps: list[Step] = []
        position = 0
        while position < len(text) or not steps:
            found = _STEP.match(text, position)
            # Every name but the first follows a dot.
            if not found or (found["name"] is not None and bool(found["dot"]) != bool(steps)):
                raise ValueError(
                    f'expected a path such as networks[*].port or metadata["a.b"], found {text!r} '
                    f"(wrong from character {position + 1} on)"
                )
            steps.append(_step(found))
            position = found.end()
        if not isinstance(steps[0], str):
            raise ValueError(f"expected a path that begins with the name of a property, found {text!r}")
        return cls(text, tuple(steps))

    @property
    def is_many(self) -> bool:
        """Whether it may lead to several values."""
        return _ALL in self.steps

    def values(self, properties: Mapping[str, Any]) -> list[Any]:
        """Return the values at the path, NOTHING and PERHAPS among them."""
        values = [_first(properties, self.steps[0])]
        for step in self.steps[1:]:
            if step is _ALL:
                values = [item for value in values for item in _items(value)]
            else:
                values = [_next(value, step) for value in values]
        return values


def _step(found: re.Match[str]) -> Step:
    if found["all"]:
        return _ALL
    if found["index"]:
        return int(found["index"])
    return found["quoted"] if found["quoted"] is not None else found["name"]


def _first(properties: Mapping[str, object], step: Step) -> object:
    value = properties.get(step)  # type: ignore[arg-type]  # the first step is a name
    if value is None:
        return PERHAPS if _WHOLE in properties else NOTHING
    return value


def _next(value: object, step: Step) -> object:
    if isinstance(value, dict) and isinstance(step, str):
        found = value.get(step)
    elif isinstance(value, list) and isinstance(step, int):
        found = value[step] if step < len(value) else None
    else:
        return PERHAPS if is_hidden(value) else NOTHING
    return NOTHING if found is None else found


def _items(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return [NOTHING if each is None else each for each in value.values()]
    if isinstance(value, list):
        return [NOTHING if each is None else each for each in value]
    if is_hidden(value):
        return [PERHAPS]
    # A value that should be a list and is none counts as one wrong item, so that it does not evade a rule on
    # every item.
    return [] if value is NOTHING else [NOTHING]
