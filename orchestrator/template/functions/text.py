"""Functions that make text: str_replace, list_join."""

import json
from collections.abc import Iterable
from typing import Any

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import LONGEST_TEXT, Function, FunctionError, kind_of
from orchestrator.template.versions import V2015_10_15

#: Characters of the text times placeholders; beyond it, replacing would take seconds.
_MOST_WORK = 10**9


class StrReplace(Function):
    """``str_replace: {template: text, params: {placeholder: value}}``: the text with placeholders replaced.

    Longer placeholders go first, and what was put in is never searched again. A null becomes nothing; maps and
    lists become JSON from 2015-10-15 on.
    """

    name = "str_replace"
    pure = True

    def check(self) -> None:
        """Refuse what lacks one of the two keys, or has parameters that are no map."""
        if not isinstance(self.arguments, dict):
            raise FunctionError(
                f"expected a map with 'template' and 'params', found {kind_of(self.arguments)}"
            )
        for key in ("template", "params"):
            if key not in self.arguments:
                raise FunctionError(f"the key {key!r} is missing", hint="expected 'template' and 'params'")
        _expect_params(self.arguments["params"], or_call=True)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the text with placeholders replaced."""
        text, params = arguments["template"], arguments["params"]
        if not isinstance(text, str):
            raise FunctionError(f"expected text, found {kind_of(text)}", path=("template",))
        _expect_params(params, or_call=False)
        replacements = {key: self._as_text(key, value) for key, value in params.items()}
        if len(text) * len(replacements) > _MOST_WORK:
            raise FunctionError(f"{len(replacements)} placeholders are too many for so long a text")
        if "" in replacements:
            raise FunctionError("a placeholder cannot be empty", path=("params", ""))
        return _bounded(_substitute(text, replacements))

    def _as_text(self, key: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, (dict, list)):
            return self._as_json(key, value)
        return str(value)

    def _as_json(self, key: str, value: Any) -> str:
        if self.version < V2015_10_15:
            raise FunctionError(
                f"expected text or a number, found {kind_of(value)}",
                path=("params", key),
                hint=f"maps and lists become JSON from heat_template_version {V2015_10_15} on",
            )
        return json.dumps(value, sort_keys=True)


class ListJoin(Function):
    """``list_join: [delimiter, list, list ...]``: the items of the lists, joined to one text.

    Nulls become nothing; numbers and booleans are refused. Before 2015-10-15 there is one list only; from then on
    maps and lists among the items become JSON.
    """

    name = "list_join"
    pure = True

    def check(self) -> None:
        """Refuse what is not a list of a delimiter and lists."""
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
        if not isinstance(arguments[0], (str, Function)):
            raise FunctionError(f"expected the delimiter as text, found {kind_of(arguments[0])}", path=(0,))
        for index, items in enumerate(arguments[1:], 1):
            if not isinstance(items, Function):
                self._expect_list(items, index)

    def call(self, arguments: Any, stack: StackDefinition) -> Any:  # noqa: ARG002 - nothing but the arguments counts
        """Return the joined text."""
        delimiter, *lists = arguments
        if not isinstance(delimiter, str):
            raise FunctionError(f"expected the delimiter as text, found {kind_of(delimiter)}", path=(0,))
        texts: list[str] = []
        for index, items in enumerate(lists, 1):
            self._expect_list(items, index)
            texts += (self._as_text(item, (index, at)) for at, item in enumerate(items or ()))
        length = sum(map(len, texts)) + len(delimiter) * max(len(texts) - 1, 0)
        _check_length(length)
        return delimiter.join(texts)

    def _expect_list(self, items: Any, index: int) -> None:
        # An empty text is what get_param gives for a path that leads nowhere.
        empty = items is None if self.version < V2015_10_15 else not items
        if not empty and not isinstance(items, list):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(index,))

    def _as_text(self, item: Any, path: tuple[int, int]) -> str:
        if item is None:
            return ""
        if isinstance(item, str):
            return item
        if isinstance(item, (dict, list)) and self.version >= V2015_10_15:
            return json.dumps(item, sort_keys=True)
        raise FunctionError(f"expected text, found {kind_of(item)}", path=path)


def _expect_params(params: Any, *, or_call: bool) -> None:
    if not isinstance(params, (dict, Function) if or_call else dict):
        raise FunctionError(f"expected a map of placeholders, found {kind_of(params)}", path=("params",))


def _substitute(text: str, replacements: dict[str, str]) -> list[str]:
    """Return the pieces of the text after replacing, the longest placeholders first, ties in alphabetical order."""
    # Pieces at odd places were put in and are not searched again.
    pieces = [text]
    for placeholder in sorted(replacements, key=lambda key: (-len(key), key)):
        if placeholder in text:
            pieces = list(_replace_in(pieces, placeholder, replacements[placeholder]))
    return pieces


def _replace_in(pieces: list[str], placeholder: str, replacement: str) -> Iterable[str]:
    for index, piece in enumerate(pieces):
        if index % 2:
            yield piece
            continue
        first, *rest = piece.split(placeholder)
        yield first
        for part in rest:
            yield replacement
            yield part


def _bounded(pieces: list[str]) -> str:
    _check_length(sum(map(len, pieces)))
    return "".join(pieces)


def _check_length(length: int) -> None:
    if length > LONGEST_TEXT:
        raise FunctionError(f"the text would have {length} characters; at most {LONGEST_TEXT} are allowed")
