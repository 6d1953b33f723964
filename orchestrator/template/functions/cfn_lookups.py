"""CFN's lookup functions: Fn::FindInMap, Fn::GetAZs, Fn::Select, Fn::MemberListToMap."""

import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any, ClassVar, Final

from hooks.values.nearest import Nearest
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import cut
from orchestrator.template.functions.base import (
    LATER,
    Builder,
    Departure,
    Example,
    Function,
    FunctionError,
    Macro,
    Scope,
    expect_list,
    expect_text,
    kind_of,
    plain_copy,
)
from orchestrator.template.functions.registry import functions_of
from orchestrator.template.parameter_types import ParameterType, convert
from orchestrator.template.versions import (
    CFN_AND_FIRST_HOT,
    CFN_AWS,
    CFN_AWS_ONLY,
    CFN_ONLY,
    V2015_10_15,
    Lifetime,
)

#: Longer lists of keys are cut in messages.
_SHOWN_KEYS: Final = 20
#: The left side of an item in a list of members: the member's number, and the name of its field.
_MEMBER: Final = re.compile(r"\.member\.([0-9]{1,18})\.(.*)", re.DOTALL)


class FnFindInMap(Macro):
    """``Fn::FindInMap: [map, key, key of the entry]``: the value of this entry in the section Mappings.

    The three can come from parameters. The section contains plain data: calls in it are refused.
    """

    name = "Fn::FindInMap"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "calls in the section Mappings",
            "plain data",
            "refused where they are found",
        ),
    )
    lifetime = CFN_ONLY
    in_conditions = CFN_AWS_ONLY
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Fn::FindInMap: [sizes, {Ref: stage}, memory]",
            8192,
            {"stage": "production"},
            version="2010-09-09",
            sections={"Mappings": {"sizes": {"test": {"memory": 512}, "production": {"memory": 8192}}}},
        ),
    )

    @classmethod
    def expand(cls, arguments: object, builder: Builder) -> object:
        written = expect_list(arguments, 3, "the name of a map and two keys")
        steps = [builder.settled(raw, index) for index, raw in enumerate(written)]
        if any(step is UNKNOWN for step in steps):
            return UNKNOWN
        found: Any = builder.scope.mappings
        for index, step in enumerate(steps):
            # Messages never show the value of a parameter.
            is_written_out = written[index] == step
            found = _entry(found, step, index, builder.scope.nearest if is_written_out else None)
        _refuse_calls(found, functions_of(builder.scope.version))
        return _put_in(found, builder.scope)


class FnGetAZs(Macro):
    """``Fn::GetAZs: region``: the availability zones of the setting availability_zones, whatever the region."""

    name = "Fn::GetAZs"
    departures: ClassVar[tuple[Departure, ...]] = (
        Departure(
            "source",
            "the zones of the compute service",
            "the setting `availability_zones`",
        ),
    )
    lifetime = CFN_AND_FIRST_HOT
    examples: ClassVar[tuple[Example, ...]] = (Example("Fn::GetAZs: ''", ["nova"], version="2013-05-23"),)

    @classmethod
    def expand(cls, arguments: object, builder: Builder) -> object:
        return _put_in(list(builder.scope.limits.availability_zones), builder.scope)


class FnSelect(Function):
    """``Fn::Select: [index or key, list or map]``: an item of the list, or an entry of the map.

    An index may be written as text; a negative index counts from the end. The list or map may be given as JSON text. A
    missing item or entry gives the empty text, and so do a null and an empty text in place of the list or map.
    """

    name = "Fn::Select"
    lifetime = Lifetime(CFN_AWS, V2015_10_15)
    pure = True
    expected_items = (2, "an index or a key, and a list or a map")
    examples: ClassVar[tuple[Example, ...]] = (
        Example("Fn::Select: ['1', [a, b, c]]", "b", version="2013-05-23"),
        Example("Fn::Select: [memory, {memory: 512}]", 512, version="2013-05-23"),
        Example("Fn::Select: [9, [a, b, c]]", "", version="2013-05-23"),
    )

    def check(self) -> None:
        step, items = self.arguments
        if isinstance(step, bool) or not isinstance(step, (str, int, float, *LATER)):
            raise FunctionError(f"expected an index or a key, found {kind_of(step)}", path=(0,))
        if items is not None and not isinstance(items, (str, list, dict, *LATER)):
            raise _nothing_to_select_from(items)

    def call(self, arguments: list[object], stack: StackDefinition) -> object:
        step, items = arguments
        items = _parsed(items) if isinstance(items, str) else items
        if items is None or items == "":
            return ""
        if isinstance(items, dict):
            if not isinstance(step, str):
                raise FunctionError(f"expected the key of a map as text, found {kind_of(step)}", path=(0,))
            return items.get(step, "")
        if isinstance(items, list):
            index = _index(step)
            return items[index] if -len(items) <= index < len(items) else ""
        raise _nothing_to_select_from(items)


class FnMemberListToMap(Function):
    """``Fn::MemberListToMap: [key's name, value's name, list]``: the map that a list of members describes.

    Each member is two items of the list: with the names ``Name`` and ``Value``, ``.member.0.Name=colour`` and
    ``.member.0.Value=red`` are an entry ``colour: red``. Members that lack one of the two are ignored.
    """

    name = "Fn::MemberListToMap"
    lifetime = CFN_AND_FIRST_HOT
    pure = True
    expected_items = (3, "a key's name, a value's name and a list")
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Fn::MemberListToMap: [Name, Value, [.member.0.Name=colour, .member.0.Value=red]]",
            {"colour": "red"},
            version="2013-05-23",
        ),
    )

    def check(self) -> None:
        *names, items = self.arguments
        for index, name in enumerate(names):
            expect_text(name, index)
        if not isinstance(items, (list, *LATER)):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(2,))

    def call(self, arguments: Any, stack: StackDefinition) -> dict[str, str]:
        key, value, items = arguments
        if not isinstance(items, list):
            raise FunctionError(f"expected a list, found {kind_of(items)}", path=(2,))
        members: dict[int, dict[str, str]] = {}
        for index, item in enumerate(items):
            left, equals, right = expect_text(item, 2, index).partition("=")
            if not equals:
                hint = "write it like '.member.0.Name=value'"
                raise FunctionError("expected an item with '='", path=(2, index), hint=hint)
            match = _MEMBER.fullmatch(left)
            if match:
                members.setdefault(int(match[1]), {})[match[2]] = right
        whole = (member for _, member in sorted(members.items()) if key in member and value in member)
        return {member[key]: member[value] for member in whole}


def _put_in(found: object, scope: Scope) -> object:
    most = scope.limits.max_bytes
    if not scope.growth.add(found, most):
        hint = f"all that is put into the template as it is read may have {most} characters and parts"
        raise FunctionError("what is found here makes the template too large", hint=hint)
    return plain_copy(found)


def _entry(place: object, key: object, index: int, nearest: Nearest | None) -> object:
    """Return the value under ``key``; ``index`` is that of the argument. Without ``nearest`` messages omit the key."""
    where = ("the section Mappings", "the map", "the entry of the map")[index]
    if not isinstance(place, Mapping):
        message = f"nothing can be found in {where}: expected a map, found {kind_of(place)}"
        raise FunctionError(message, path=(index,))
    if not isinstance(key, str):
        raise FunctionError(f"expected the name of an entry as text, found {kind_of(key)}", path=(index,))
    if key in place:
        return place[key]
    names = ", ".join(map(cut, islice(place, _SHOWN_KEYS))) or "none"
    listed = f"entries: {names}{', ...' if len(place) > _SHOWN_KEYS else ''}"
    if nearest is None:
        raise FunctionError(f"{where} has no entry of the name that this gives", path=(index,), hint=listed)
    hint = nearest.hint(key, place, listed)
    raise FunctionError(f"{where} has no entry {cut(key)!r}", path=(index,), hint=hint)


def _refuse_calls(value: object, functions: Collection[str]) -> None:
    if isinstance(value, dict):
        name = next(iter(value), None)
        if len(value) == 1 and name in functions:
            message = f"this finds a map with the one key {name!r}, which would be a call"
            raise FunctionError(message, hint="the section Mappings is for plain values")
        for item in value.values():
            _refuse_calls(item, functions)
    elif isinstance(value, list):
        for item in value:
            _refuse_calls(item, functions)


def _parsed(text: str) -> object:
    try:
        return convert(ParameterType.JSON, text)
    except ValueError as error:
        raise FunctionError(f"expected a list, a map or JSON text: {error}", path=(1,)) from None


def _index(step: Any) -> int:
    try:
        number = int(step)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(step, bool) or (isinstance(step, float) and step != number):
        raise FunctionError(f"expected the index of a list, found {kind_of(step)} that is none", path=(0,))
    return number


def _nothing_to_select_from(found: object) -> FunctionError:
    return FunctionError(f"expected a list, a map or JSON text, found {kind_of(found)}", path=(1,))
