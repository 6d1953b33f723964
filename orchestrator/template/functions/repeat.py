"""Functions that repeat: repeat."""

from collections.abc import Iterable
from itertools import product
from typing import Any, ClassVar, Final

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    LONGEST_TEXT,
    Example,
    Function,
    FunctionError,
    kind_of,
)
from orchestrator.template.functions.bounds import Extent
from orchestrator.template.versions import NEWTON, PIKE, V2015_04_30, Lifetime

_KEYS: Final = ("template", "for_each")
#: Characters searched for a placeholder; beyond it, repeating would take seconds.
_MOST_WORK: Final = 10**9
#: The fixed cost of searching one text, in characters.
_WORK_PER_TEXT: Final = 100


class Repeat(Function):
    """``repeat: {template: any, for_each: {placeholder: list}}``: a list of the template's copies, one for each item.

    In each copy the placeholders are replaced by items, in all texts and keys, one placeholder after the other: an
    item may contain a later placeholder. With several lists there is a copy for each combination; the first list
    varies slowest. From pike on, ``permutations: false`` pairs the lists item by item instead: they must have the same
    length.

    Items must be text, unless the template contains no text. A null in place of a list counts as an empty list; from
    newton on, a map stands for the list of its keys, except with ``permutations: false``. A repeat inside the template
    is evaluated first. Other keys are ignored. The setting ``max_repeat_items`` bounds the number of copies.
    """

    name = "repeat"
    lifetime = Lifetime(V2015_04_30)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "repeat: {template: {port: '%port%'}, for_each: {'%port%': {get_param: ports}}}",
            [{"port": "80"}, {"port": "443"}],
            {"ports": ["80", "443"]},
        ),
        Example(
            "repeat: {template: <a><b>, for_each: {<a>: [x, y], <b>: ['1', '2']}}", ["x1", "x2", "y1", "y2"]
        ),
        Example(
            "repeat: {template: <a><b>, for_each: {<a>: [x, y], <b>: ['1', '2']}, permutations: false}",
            ["x1", "y2"],
        ),
    )

    def check(self) -> None:
        arguments = self.arguments
        if not isinstance(arguments, dict):
            raise FunctionError(f"expected a map with 'template' and 'for_each', found {kind_of(arguments)}")
        for key in _KEYS:
            if key not in arguments:
                raise FunctionError(f"the key {key!r} is missing", hint="expected 'template' and 'for_each'")
        if self.version >= PIKE and "permutations" in arguments:
            self._check_permutations(arguments["permutations"])
        if not isinstance(arguments["for_each"], LATER):
            self._check_lists(arguments)

    def call(self, arguments: Any, stack: StackDefinition) -> list[object]:
        self._check_lists(arguments)
        template, combines = arguments["template"], self._combines(arguments)
        lists = {key: list(items or ()) for key, items in arguments["for_each"].items()}
        count = self._count([len(items) for items in lists.values()], combines=combines)
        (Extent.of(template) * count).check()
        if count and _holds_text(template):
            _check_items(lists)
        rows = product(*lists.values()) if combines else zip(*lists.values(), strict=False)
        copier = _Copier(tuple(lists))
        return [copier.copy(template, row) for row in rows]

    def _combines(self, arguments: dict[str, object]) -> bool:
        """Whether each item of a list is combined with each item of the others."""
        return self.version < PIKE or arguments.get("permutations") is not False

    def _count(self, lengths: list[int], *, combines: bool) -> int:
        most = self.scope.limits.max_repeat_items
        count = min(lengths)
        if combines and count:
            # Not the plain product: it could have more digits than there is time for.
            count = 1
            for length in lengths:
                count = min(count * length, most + 1)
        if count > most:
            hint = "repeat over less, or raise the setting max_repeat_items"
            raise FunctionError(f"there would be more than {most} copies", path=("for_each",), hint=hint)
        return count

    def _check_permutations(self, permutations: object) -> None:
        is_call = isinstance(permutations, Function)
        if is_call or not isinstance(permutations, (bool, *LATER)):
            expected = f"expected true or false{' written out' if is_call else ''}"
            raise FunctionError(f"{expected}, found {kind_of(permutations)}", path=("permutations",))

    def _check_lists(self, arguments: dict[str, object]) -> None:
        for_each, combines = arguments["for_each"], self._combines(arguments)
        if not isinstance(for_each, dict):
            raise FunctionError(
                f"expected a map of placeholders and lists, found {kind_of(for_each)}", path=("for_each",)
            )
        if not for_each:
            raise FunctionError("there is nothing to repeat for: the map is empty", path=("for_each",))
        for placeholder, items in for_each.items():
            if not placeholder:
                raise FunctionError("a placeholder cannot be empty", path=("for_each", ""))
            if items is not None and not isinstance(items, (list, *LATER)):
                self._check_map(placeholder, items, combines=combines)
        if not combines:
            _check_lengths(for_each)

    def _check_map(self, placeholder: str, items: object, *, combines: bool) -> None:
        """Refuse a value in place of a list, except for a map where it stands for its keys."""
        path = ("for_each", placeholder)
        if not isinstance(items, dict):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=path)
        if self.version < NEWTON:
            hint = f"a map stands for its keys from heat_template_version {NEWTON} on"
            raise FunctionError("expected a list, found a map", path=path, hint=hint)
        if not combines:
            hint = "maps have no order in which they could stand side by side"
            raise FunctionError("expected a list, found a map", path=path, hint=hint)


def _check_lengths(for_each: dict[str, object]) -> None:
    """Refuse paired lists of different lengths; a null has any length."""
    lengths = [len(items) for items in for_each.values() if isinstance(items, list)]
    other = next((length for length in lengths if length != lengths[0]), None)
    if other is not None:
        message = f"lists side by side must have one length, found {lengths[0]} and {other}"
        raise FunctionError(message, path=("for_each",))


def _holds_text(template: object) -> bool:
    if isinstance(template, dict):
        return bool(template)
    if isinstance(template, list):
        return any(map(_holds_text, template))
    return isinstance(template, str)


def _check_items(lists: dict[str, list[object]]) -> None:
    for placeholder, items in lists.items():
        for index, item in enumerate(items):
            if not isinstance(item, str):
                path = ("for_each", placeholder, index)
                raise FunctionError(f"expected text, found {kind_of(item)}", path=path)


class _Copier:
    """Copies a template with placeholders replaced, within bounds for all copies together."""

    def __init__(self, placeholders: tuple[str, ...]) -> None:
        self._placeholders = placeholders
        self._characters, self._work = LONGEST_TEXT, _MOST_WORK

    def copy(self, template: Any, items: Iterable[Any]) -> object:
        """Return a copy with each placeholder replaced by the item in its place.

        Raises:
            FunctionError: the copies become too long, or take too long to make.
        """
        if isinstance(template, str):
            return self._replaced(template, items)
        if isinstance(template, list):
            return [self.copy(part, items) for part in template]
        if isinstance(template, dict):
            return {self._replaced(key, items): self.copy(part, items) for key, part in template.items()}
        return template

    def _replaced(self, text: str, items: Iterable[str]) -> str:
        for placeholder, item in zip(self._placeholders, items, strict=True):
            self._work -= len(text) + _WORK_PER_TEXT
            if self._work < 0:
                raise FunctionError("these are too many placeholders for so many copies of so much text")
            found = text.count(placeholder)
            if found:
                self._check(len(text) + found * (len(item) - len(placeholder)))
                text = text.replace(placeholder, item)
        self._check(len(text))
        self._characters -= len(text)
        return text

    def _check(self, length: int) -> None:
        if length > self._characters:
            message = f"the copies would have more than {LONGEST_TEXT} characters together"
            raise FunctionError(message, hint="repeat over less, or make the template shorter")
