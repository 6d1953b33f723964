"""Functions that return text: str_replace and its strict variants, list_join."""

import json
from typing import Any, ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    Example,
    Function,
    FunctionError,
    expect_text,
    kind_of,
)
from orchestrator.template.functions.bounds import check_length
from orchestrator.template.versions import OCATA, PIKE, V2015_10_15, Lifetime

#: Characters of the text times placeholders; beyond it, replacing would take seconds.
_MOST_WORK = 10**9


#: Marks replaced characters: half of a surrogate pair, which no valid text contains.
_VEIL = "\ud800"
#: The most missing placeholders that a message names.
_MOST_NAMED = 10


class StrReplace(Function):
    """``str_replace: {template: text, params: {placeholder: value}}``: the text with placeholders replaced.

    Longer placeholders are replaced first, and replacements are never searched again. A null becomes the empty text,
    numbers and booleans are written out; maps and lists become JSON from 2015-10-15 on, and are refused before. An
    empty placeholder is refused; one that the text does not contain is ignored.
    """

    name = "str_replace"
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("str_replace: {template: 'http://HOST:PORT', params: {HOST: db, PORT: 80}}", "http://db:80"),
        Example(
            "str_replace: {template: set X, params: {X: {b: [1], a: null}}}", 'set {"a": null, "b": [1]}'
        ),
    )
    #: Whether every placeholder must be used, and every value must be non-empty.
    every_placeholder: ClassVar[bool] = False
    every_value: ClassVar[bool] = False

    def check(self) -> None:
        if not isinstance(self.arguments, dict):
            raise FunctionError(
                f"expected a map with 'template' and 'params', found {kind_of(self.arguments)}"
            )
        for key in ("template", "params"):
            if key not in self.arguments:
                raise FunctionError(f"the key {key!r} is missing", hint="expected 'template' and 'params'")
        _expect_params(self.arguments["params"], or_call=True)

    def call(self, arguments: Any, stack: StackDefinition) -> str:
        text, params = expect_text(arguments["template"], "template"), arguments["params"]
        _expect_params(params, or_call=False)
        replacements = {key: self._as_text(key, value) for key, value in params.items()}
        if len(text) * len(replacements) > _MOST_WORK:
            raise FunctionError(f"{len(replacements)} placeholders are too many for so long a text")
        if "" in replacements:
            raise FunctionError("a placeholder cannot be empty", path=("params", ""))
        pieces, unused = _substitute(text, replacements)
        if unused and self.every_placeholder:
            raise FunctionError(f"the text lacks {self._named(unused)}", path=("params",))
        check_length(sum(map(len, pieces)))
        return "".join(pieces)

    def _as_text(self, key: str, value: object) -> str:
        if self.every_value and (value is None or value in ("", [], {})):
            found = "null" if value is None else f"{kind_of(value)} that is empty"
            raise FunctionError(f"expected a value, found {found}", path=("params", key))
        if value is None:
            return ""
        if isinstance(value, (dict, list)):
            return self._as_json(key, value)
        return str(value)

    def _named(self, placeholders: list[str]) -> str:
        count = len(placeholders)
        if not isinstance(self.arguments["params"], dict):
            # Placeholders that a call returned may be secrets.
            return f"{count} of the placeholders"
        named = ", ".join(map(repr, placeholders[:_MOST_NAMED]))
        more = f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
        return f"placeholders: {named}{more}"

    def _as_json(self, key: str, value: object) -> str:
        if self.version < V2015_10_15:
            raise FunctionError(
                f"expected text or a number, found {kind_of(value)}",
                path=("params", key),
                hint=f"maps and lists become JSON from heat_template_version {V2015_10_15} on",
            )
        return json.dumps(value, sort_keys=True)


class StrReplaceStrict(StrReplace):
    """``str_replace_strict: {template: text, params: {placeholder: value}}``: as str_replace, but all must be used.

    A placeholder that the text does not contain is refused; so is one that occurs only inside longer ones, which are
    replaced first.
    """

    name = "str_replace_strict"
    lifetime = Lifetime(OCATA)
    every_placeholder = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("str_replace_strict: {template: Hello NAME, params: {NAME: world}}", "Hello world"),
    )


class StrReplaceVstrict(StrReplaceStrict):
    """``str_replace_vstrict: {template: text, params: {placeholder: value}}``: as str_replace_strict, no value empty.

    A null is refused as a value, and so is an empty text, list or map. 0 and false are values.
    """

    name = "str_replace_vstrict"
    lifetime = Lifetime(PIKE)
    every_value = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("str_replace_vstrict: {template: COUNT left, params: {COUNT: 0}}", "0 left"),
    )


class ListJoin(Function):
    """``list_join: [delimiter, list, list ...]``: the items of the lists, joined to one text.

    Nulls become empty texts; numbers and booleans are refused. Before 2015-10-15 only one list is allowed; from then on
    maps and lists among the items become JSON.
    """

    name = "list_join"
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("list_join: [', ', [one, two], [three, null]]", "one, two, three, "),
    )

    def check(self) -> None:
        arguments = self.arguments
        if not isinstance(arguments, list):
            raise FunctionError(f"expected a list of a delimiter and lists, found {kind_of(arguments)}")
        if len(arguments) < 2:
            raise FunctionError(f"expected a delimiter and a list, found {len(arguments)} items")
        if self.version < V2015_10_15 and len(arguments) > 2:
            raise FunctionError(
                f"expected a delimiter and one list, found {len(arguments)} items",
                hint=f"several lists can be joined from heat_template_version {V2015_10_15} on",
            )
        if not isinstance(arguments[0], (str, *LATER)):
            raise FunctionError(f"expected the delimiter as text, found {kind_of(arguments[0])}", path=(0,))
        for index, items in enumerate(arguments[1:], 1):
            if not isinstance(items, LATER):
                self._expect_list(items, index)

    def call(self, arguments: list[object], stack: StackDefinition) -> str:
        delimiter, *lists = arguments
        if not isinstance(delimiter, str):
            raise FunctionError(f"expected the delimiter as text, found {kind_of(delimiter)}", path=(0,))
        texts: list[str] = []
        length = -len(delimiter)
        for index, items in enumerate(lists, 1):
            for at, item in enumerate(self._expect_list(items, index)):
                text = self._as_text(item, (index, at))
                length += len(text) + len(delimiter)
                check_length(length)
                texts.append(text)
        return delimiter.join(texts)

    def _expect_list(self, items: object, index: int) -> list[object]:
        # get_param returns an empty text for a path that does not exist.
        empty = items is None if self.version < V2015_10_15 else not items
        if empty:
            return []
        if not isinstance(items, list):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))
        return items

    def _as_text(self, item: object, path: tuple[int, int]) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if isinstance(item, (dict, list)) and self.version >= V2015_10_15:
            return json.dumps(item, sort_keys=True)
        raise FunctionError(f"expected text, found {kind_of(item)}", path=path)


def _expect_params(params: object, *, or_call: bool) -> None:
    if not isinstance(params, (dict, *LATER) if or_call else dict):
        raise FunctionError(f"expected a map of placeholders, found {kind_of(params)}", path=("params",))


def _substitute(text: str, replacements: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the pieces of the text after replacing, and the placeholders that were not found.

    The longest placeholders are replaced first, ties in alphabetical order.
    """
    places: list[tuple[int, str]] = []
    unused = []
    left = text
    for placeholder in sorted(replacements, key=lambda key: (-len(key), key)):
        found = left.find(placeholder)
        if found < 0:
            unused.append(placeholder)
            continue
        while found >= 0:
            places.append((found, placeholder))
            found = left.find(placeholder, found + len(placeholder))
        left = left.replace(placeholder, _VEIL * len(placeholder))
    pieces: list[str] = []
    end = 0
    for start, placeholder in sorted(places):
        pieces += (text[end:start], replacements[placeholder])
        end = start + len(placeholder)
    return [*pieces, text[end:]], unused
