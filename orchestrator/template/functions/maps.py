"""Functions that return maps: map_merge, map_replace."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from orchestrator.definition import StackDefinition
from orchestrator.template.functions.base import (
    LATER,
    Departure,
    Example,
    Function,
    FunctionError,
    expect_list,
    kind_of,
)
from orchestrator.template.functions.bounds import Extent, check_parts
from orchestrator.template.versions import NEWTON, V2016_04_08, Lifetime

_TABLES = ("keys", "values")


class MapMerge(Function):
    """``map_merge: [map, map ...]``: one map with the entries of all; of two with the same key, the later is kept.

    Maps in the entries are not merged in turn. A null in place of a map counts as an empty map.
    """

    name = "map_merge"
    lifetime = Lifetime(V2016_04_08)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example("map_merge: [{a: 1, b: {c: 2}}, null, {b: {d: 3}}]", {"a": 1, "b": {"d": 3}}),
    )

    def check(self) -> None:
        if not isinstance(self.arguments, LATER):
            _expect_maps(self.arguments)

    def call(self, arguments: object, stack: StackDefinition) -> dict[str, object]:
        merged: dict[str, object] = {}
        for entries in _expect_maps(arguments):
            merged.update(entries or {})
        check_parts(len(merged), "entries")
        return merged


class MapReplace(Function):
    """``map_replace: [map, {keys: {old: new}, values: {old: new}}]``: the map with keys and values replaced.

    Either table may be left out. A new key of null keeps the old key; a number or a boolean becomes the text that JSON
    has for it. A new key that the map already has, or that
    another entry was given before, is refused. Among the values only text is replaced; the replacement may be anything,
    including null. A null in place of the map or of a table counts as an empty one.
    """

    name = "map_replace"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "a key replaced by itself, `keys: {a: a}`",
            "refused as a collision",
            "the key is kept",
        ),
    )
    lifetime = Lifetime(NEWTON)
    pure = True
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "map_replace: [{a: x, b: y}, {keys: {a: first}, values: {y: {get_param: size}}}]",
            {"first": "x", "b": 7},
            {"size": 7},
        ),
    )

    def warnings(self) -> Iterator[FunctionError]:
        tables = self.arguments[1] if isinstance(self.arguments, list) else None
        keys = tables.get("keys") if isinstance(tables, dict) else None
        for key, new in keys.items() if isinstance(keys, dict) else ():
            if isinstance(new, (bool, int, float)):
                message = f"this new key is {kind_of(new)}, and is taken as the text {json.dumps(new)!r}"
                yield FunctionError(message, path=(1, "keys", key), hint="put the key in quotes")

    def check(self) -> None:
        if isinstance(self.arguments, LATER):
            return
        for index, argument in enumerate(expect_list(self.arguments, 2, "a map and the tables")):
            _expect_map(argument, (index,))
        _check_tables(self.arguments[1])

    def call(self, arguments: object, stack: StackDefinition) -> dict[str, object]:
        entries, tables = expect_list(arguments, 2, "a map and the tables")
        _expect_map(entries, (0,))
        _expect_map(tables, (1,))
        _check_tables(tables)
        keys, values = ((tables or {}).get(table) or {} for table in _TABLES)
        _check_extent(entries or {}, values)
        replaced: dict[str, object] = {}
        for key, value in (entries or {}).items():
            new = _new_key(key, keys.get(key), entries, replaced)
            replaced[new] = values.get(value, value) if isinstance(value, str) else value
        return replaced


def _check_extent(entries: dict[str, object], values: dict[str, object]) -> None:
    counts = Counter(value for value in entries.values() if isinstance(value, str) and value in values)
    put_in = (Extent.of(values[value]) * count for value, count in counts.items())
    sum(put_in, start=Extent(len(entries), 0)).check()


def _new_key(key: str, given: object, entries: dict[str, object], replaced: dict[str, object]) -> str:
    if given is None:
        return key
    new = given if isinstance(given, str) else json.dumps(given)
    path = (1, "keys", key)
    if new in entries and new != key:
        raise FunctionError("the new key is a key of the map already", path=path)
    if new in replaced:
        raise FunctionError("the new key was given to another entry already", path=path)
    return new


def _expect_maps(arguments: object) -> list[dict[str, object] | None]:
    if not isinstance(arguments, list):
        raise FunctionError(f"expected a list of maps, found {kind_of(arguments)}")
    for index, entries in enumerate(arguments):
        _expect_map(entries, (index,))
    return arguments


def _expect_map(value: object, path: tuple[str | int, ...]) -> None:
    if value is not None and not isinstance(value, (dict, *LATER)):
        raise FunctionError(f"expected a map, found {kind_of(value)}", path=path)


def _check_tables(tables: Any) -> None:
    """Refuse anything but the two tables, as far as they are known."""
    if tables is None or isinstance(tables, LATER):
        return
    for name, table in tables.items():
        if name not in _TABLES:
            hint = "expected 'keys' and 'values'"
            raise FunctionError("this is none of the two tables", path=(1, name), hint=hint)
        _expect_map(table, (1, name))
    keys = tables.get("keys")
    for key, new in keys.items() if isinstance(keys, dict) else ():
        if not isinstance(new, (str, bool, int, float, type(None), *LATER)):
            raise FunctionError(f"expected a key as text, found {kind_of(new)}", path=(1, "keys", key))
