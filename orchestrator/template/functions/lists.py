"""Functions that make or ask lists: str_split, list_concat, list_concat_unique, contains, filter."""

import json
from typing import Any, ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import LATER, Example, Function, FunctionError, kind_of
from orchestrator.template.functions.bounds import check_parts
from orchestrator.template.functions.logic import expect_list
from orchestrator.template.functions.numbers import as_whole
from orchestrator.template.versions import OCATA, PIKE, V2015_10_15, Lifetime


class StrSplit(Function):
    """``str_split: [delimiter, text]`` or ``str_split: [delimiter, text, index]``: the parts of a text, or one of them.

    The index is a whole number, or text that is one; a negative one counts from the end, and one that no part has is
    refused. A null in place of the text gives null. The delimiter cannot be empty.
    """

    name = "str_split"
    lifetime = Lifetime(V2015_10_15)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("str_split: [',', 'a,b,,c']", ["a", "b", "", "c"]),
        Example("str_split: ['/', {get_param: network}, -1]", "24", {"network": "10.0.0.0/24"}),
    )

    def check(self) -> None:
        """Refuse what is not a list of a delimiter, a text and perhaps an index."""
        if isinstance(self.arguments, LATER):
            return
        delimiter, text, *index = _expect_split(self.arguments)
        if not isinstance(delimiter, LATER):
            _expect_delimiter(delimiter)
        if text is not None and not isinstance(text, LATER):
            _expect_text(text, 1)
        if index and not isinstance(index[0], LATER):
            _as_index(index[0])

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the parts, or the one that is asked for."""
        delimiter, text, *index = _expect_split(arguments)
        if text is None:
            return None
        delimiter, text = _expect_delimiter(delimiter), _expect_text(text, 1)
        count = text.count(delimiter) + 1
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

    A null in place of a list counts as an empty one.
    """

    name = "list_concat"
    lifetime = Lifetime(PIKE)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("list_concat: [[a, b], null, [b, 1]]", ["a", "b", "b", 1]),
    )

    def check(self) -> None:
        """Refuse what is not a list of lists."""
        if not isinstance(self.arguments, LATER):
            _expect_lists(self.arguments)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the one list."""
        _expect_lists(arguments)
        check_parts(sum(len(items) for items in arguments if items), "items")
        return [item for items in arguments for item in items or ()]


class ListConcatUnique(ListConcat):
    """``list_concat_unique: [list, list ...]``: one list with the items of all, each once.

    Of items that are equal the first stays. 1, 1.0 and true are equal, and so are maps with equal entries in any
    order. A null in place of a list counts as an empty one.
    """

    name = "list_concat_unique"
    examples: ClassVar[tuple[Example, ...]] = (
        Example("list_concat_unique: [[a, b], [b, c, a]]", ["a", "b", "c"]),
    )

    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        """Return the one list without repetitions."""
        first: dict[str, Any] = {}
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
    examples: ClassVar[tuple[Example, ...]] = (
        Example("contains: [b, [a, b]]", result=True),
        Example("contains: ['1', [1, 2]]", result=False),
        Example("contains: [{get_param: zone}, nova-east]", True, {"zone": "east"}),
    )

    def check(self) -> None:
        """Refuse what is not a value and a list or a text."""
        value, among = expect_list(self.arguments, 2, "a value and a list")
        if not isinstance(among, LATER):
            _expect_sequence(among)
        if isinstance(among, str) and not isinstance(value, LATER):
            _expect_text(value, 0)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return whether the value is there."""
        value, among = arguments
        _expect_sequence(among)
        if isinstance(among, str):
            _expect_text(value, 0)
        return value in among


class Filter(Function):
    """``filter: [values, list]``: the list without those of its items that are among the values.

    A number is never the same as a text, but 1, 1.0 and true are the same. Without values the list stays as it is; a
    null in place of the list stays null.
    """

    name = "filter"
    lifetime = Lifetime(OCATA)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("filter: [[null, ''], [a, null, b, '', a]]", ["a", "b", "a"]),
    )

    def check(self) -> None:
        """Refuse what is not a list of two lists."""
        for index, items in enumerate(expect_list(self.arguments, 2, "the values and a list")):
            if not isinstance(items, LATER):
                _expect_list_or_nothing(items, index)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the items that stay."""
        values, items = arguments
        _expect_list_or_nothing(items, 1)
        if not items:
            return items
        _expect_list_or_nothing(values, 0)
        unwanted = {_key_of(value) for value in values or ()}
        return [item for item in items if _key_of(item) not in unwanted]


def _expect_split(arguments: Any) -> list[Any]:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of a delimiter and a text, found {kind_of(arguments)}")
    if len(arguments) not in (2, 3):
        message = f"expected a delimiter, a text and perhaps an index, found {len(arguments)} items"
        raise FunctionError(message)
    return arguments


def _expect_delimiter(delimiter: Any) -> str:
    if not isinstance(delimiter, str):
        raise FunctionError(f"expected the delimiter as text, found {kind_of(delimiter)}", path=(0,))
    if not delimiter:
        raise FunctionError("the delimiter cannot be empty", path=(0,))
    return delimiter


def _expect_text(value: Any, index: int) -> str:
    if not isinstance(value, str):
        raise FunctionError(f"expected text, found {kind_of(value)}", path=(index,))
    return value


def _as_index(value: Any) -> int:
    index = as_whole(value)
    if index is None:
        raise FunctionError(f"expected a whole number as index, found {kind_of(value)}", path=(2,))
    return index


def _expect_lists(arguments: Any) -> None:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of lists, found {kind_of(arguments)}")
    for index, items in enumerate(arguments):
        if items is not None and not isinstance(items, (list, *LATER)):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))


def _expect_sequence(among: Any) -> None:
    if not isinstance(among, (list, str)):
        raise FunctionError(f"expected a list or text, found {kind_of(among)}", path=(1,))


def _expect_list_or_nothing(items: Any, index: int) -> None:
    # An empty text is what get_param gives for a path that leads nowhere.
    if items is not None and items != "" and not isinstance(items, list):
        raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))


def _key_of(value: Any) -> str:
    """Return a text that values share exactly when they are equal.

    Comparing each item with each would take minutes for long lists; and what templates choose cannot be hashed by
    its numbers alone, which hostile ones could let collide.
    """
    return json.dumps(_without_number_types(value), sort_keys=True, ensure_ascii=False)


def _without_number_types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_number_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_number_types(item) for item in value]
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value
