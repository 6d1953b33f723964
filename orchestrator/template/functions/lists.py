"""Functions that return or search lists: str_split, list_concat, list_concat_unique, contains, filter."""

import json
from typing import ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    Example,
    Function,
    FunctionError,
    expect_text,
    kind_of,
)
from orchestrator.template.functions.bounds import MOST_PARTS, check_parts
from orchestrator.template.functions.numbers import as_whole
from orchestrator.template.versions import OCATA, PIKE, V2015_10_15, Lifetime


class StrSplit(Function):
    """``str_split: [delimiter, text]`` or ``str_split: [delimiter, text, index]``: the parts of a text, or one of them.

    The index is a whole number, or text that is one; a negative index counts from the end, and one out of range is
    refused. A null in place of the text gives null. The delimiter cannot be empty; a null in its place splits the text
    at white space, however much, and gives no empty parts.
    """

    name = "str_split"
    lifetime = Lifetime(V2015_10_15)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("str_split: [',', 'a,b,,c']", ["a", "b", "", "c"]),
        Example("str_split: [null, ' a  b ']", ["a", "b"]),
        Example("str_split: ['/', {get_param: network}, -1]", "24", {"network": "10.0.0.0/24"}),
    )

    def check(self) -> None:
        if isinstance(self.arguments, LATER):
            return
        delimiter, text, *index = _expect_split(self.arguments)
        if not isinstance(delimiter, LATER):
            _expect_delimiter(delimiter)
        if text is not None and not isinstance(text, LATER):
            expect_text(text, 1)
        if index and not isinstance(index[0], LATER):
            _as_index(index[0])

    def call(self, arguments: object, stack: StackDefinition) -> list[str] | str | None:
        delimiter, text, *index = _expect_split(arguments)
        if text is None:
            return None
        delimiter, text = _expect_delimiter(delimiter), expect_text(text, 1)
        # One part more than allowed is enough to refuse it.
        count = text.count(delimiter) + 1 if delimiter else len(text.split(None, MOST_PARTS))
        check_parts(count, "items")
        parts = text.split(delimiter)
        if not index:
            return parts
        at = _as_index(index[0])
        if not -count <= at < count:
            raise FunctionError(f"the index is out of range: the text has {count} parts", path=(2,))
        return parts[at]


class ListConcat(Function):
    """``list_concat: [list, list ...]``: one list with the items of all, in their order.

    A null in place of a list counts as an empty list.
    """

    name = "list_concat"
    lifetime = Lifetime(PIKE)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("list_concat: [[a, b], null, [b, 1]]", ["a", "b", "b", 1]),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, LATER):
            _expect_lists(self.arguments)

    def call(self, arguments: object, stack: StackDefinition) -> list[object]:
        lists = _expect_lists(arguments)
        check_parts(sum(len(items) for items in lists if items), "items")
        return [item for items in lists for item in items or ()]


class ListConcatUnique(ListConcat):
    """``list_concat_unique: [list, list ...]``: one list with the items of all, each once.

    Of equal items the first is kept. 1, 1.0 and true are equal, and so are maps with equal entries in any order. A null
    in place of a list counts as an empty list.
    """

    name = "list_concat_unique"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("list_concat_unique: [[a, b], [b, c, a]]", ["a", "b", "c"]),
    )

    def call(self, arguments: object, stack: StackDefinition) -> list[object]:
        first: dict[str, object] = {}
        for item in super().call(arguments, stack):
            first.setdefault(_key_of(item), item)
        return list(first.values())


class Contains(Function):
    """``contains: [value, list]`` or ``contains: [part, text]``: whether the value is in the list or the text.

    A number is never the same as a text, but 1, 1.0 and true are the same. The empty text is in every text. Conditions
    can call it too.
    """

    name = "contains"
    lifetime = Lifetime(PIKE)
    in_conditions = Lifetime(PIKE)
    pure = True
    expected_items = (2, "a value and a list")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("contains: [b, [a, b]]", result=True),
        Example("contains: ['1', [1, 2]]", result=False),
        Example("contains: [{get_param: zone}, nova-east]", True, {"zone": "east"}),
    )

    def check(self) -> None:
        value, among = self.arguments
        if not isinstance(among, LATER):
            _expect_sequence(among)
        if isinstance(among, str) and not isinstance(value, LATER):
            expect_text(value, 0)

    def call(self, arguments: list[object], stack: StackDefinition) -> bool:
        value, among = arguments[0], _expect_sequence(arguments[1])
        return expect_text(value, 0) in among if isinstance(among, str) else value in among


class Filter(Function):
    """``filter: [values, list]``: the list without those of its items that are among the values.

    A number is never the same as a text, but 1, 1.0 and true are the same. Without values the list is unchanged; a
    null in place of the list gives null.
    """

    name = "filter"
    lifetime = Lifetime(OCATA)
    pure = True
    expected_items = (2, "the values and a list")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("filter: [[null, ''], [a, null, b, '', a]]", ["a", "b", "a"]),
    )

    def check(self) -> None:
        for index, items in enumerate(self.arguments):
            if not isinstance(items, LATER):
                _expect_list_or_nothing(items, index)

    def call(self, arguments: list[object], stack: StackDefinition) -> object:
        items = _expect_list_or_nothing(arguments[1], 1)
        if not items:
            return arguments[1]
        values = _expect_list_or_nothing(arguments[0], 0)
        unwanted = {_key_of(value) for value in values or ()}
        return [item for item in items if _key_of(item) not in unwanted]


def _expect_split(arguments: object) -> list[object]:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of a delimiter and a text, found {kind_of(arguments)}")
    if len(arguments) not in (2, 3):
        message = f"expected a delimiter, a text and perhaps an index, found {len(arguments)} items"
        raise FunctionError(message)
    return arguments


def _expect_delimiter(delimiter: object) -> str | None:
    """Return the delimiter; null stands for white space."""
    if delimiter is not None and not isinstance(delimiter, str):
        raise FunctionError(f"expected the delimiter as text, found {kind_of(delimiter)}", path=(0,))
    if delimiter == "":
        raise FunctionError("the delimiter cannot be empty", path=(0,), hint="null splits at white space")
    return delimiter


def _as_index(value: object) -> int:
    index = as_whole(value)
    if index is None:
        raise FunctionError(f"expected a whole number as index, found {kind_of(value)}", path=(2,))
    return index


def _expect_lists(arguments: object) -> list[list[object] | None]:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of lists, found {kind_of(arguments)}")
    for index, items in enumerate(arguments):
        if items is not None and not isinstance(items, (list, *LATER)):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))
    return arguments


def _expect_sequence(among: object) -> list[object] | str:
    if not isinstance(among, (list, str)):
        raise FunctionError(f"expected a list or text, found {kind_of(among)}", path=(1,))
    return among


def _expect_list_or_nothing(items: object, index: int) -> list[object] | None:
    # get_param returns an empty text for a path that does not exist.
    if items is None or items == "":
        return None
    if not isinstance(items, list):
        raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))
    return items


def _key_of(value: object) -> str:
    """Return a text that is the same for two values exactly if they are equal.

    Comparing all pairs would take minutes for long lists, and plain hashing of numbers would let a hostile template
    cause collisions.
    """
    return json.dumps(_without_number_types(value), sort_keys=True, ensure_ascii=False)


def _without_number_types(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_number_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_number_types(item) for item in value]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value
