"""What holds for every function whose result follows from its arguments alone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.template.document import PackedPositions
from orchestrator.template.functions.base import Function, FunctionError, Scope
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.versions import FORMATS, TemplateVersion

# yaql evaluates in a process of its own, which its own tests are about.
PURE = {
    name: function
    for name, function in all_functions().items()
    if issubclass(function, Function) and function.pure and name != "yaql"
}
NO_STACK = StackDefinition(name="", id="")
VERSIONS = [version for versions in FORMATS.values() for version in versions]

NAMES = st.sampled_from(
    [
        "template",
        "params",
        "for_each",
        "permutations",
        "keys",
        "values",
        "host",
        "port",
        "query",
        "scheme",
        "a",
        "",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "ab", ",", "1", "md5", "shake_128", "\u0100", "é"])
    | st.text(max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=2), inner, max_size=4)
    ),
)
TEXTS = st.text("ab,", max_size=3)
#: Near enough to what functions take that they come further than their first check.
ARGUMENTS = st.one_of(
    VALUES,
    st.lists(VALUES, min_size=2, max_size=3),
    st.lists(
        st.lists(LEAVES, max_size=3) | st.dictionaries(TEXTS, LEAVES, max_size=3), min_size=2, max_size=2
    ),
    st.fixed_dictionaries({"template": VALUES, "params": st.dictionaries(TEXTS, VALUES, max_size=3)}),
    st.fixed_dictionaries(
        {
            "template": VALUES,
            "for_each": st.dictionaries(TEXTS, st.lists(TEXTS | LEAVES, max_size=3), max_size=3),
        },
        optional={"permutations": st.booleans()},
    ),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("scheme", "username", "host", "port", "path"), LEAVES)),
    st.tuples(
        st.dictionaries(TEXTS, LEAVES, max_size=3),
        st.fixed_dictionaries(
            {}, optional={name: st.dictionaries(TEXTS, TEXTS) for name in ("keys", "values")}
        ),
    ).map(list),
)


def versions_of(function: type[Function]) -> Sequence[TemplateVersion]:
    return [
        version for version in VERSIONS if version in function.lifetime or version in function.in_conditions
    ]


def made(function: type[Function], arguments: Any, version: TemplateVersion) -> Function:
    return function(arguments, scope=Scope(version=version, positions=PackedPositions("", {})), path=())


def outcome(function: type[Function], arguments: Any, version: TemplateVersion) -> Any:
    """Return what the function gives, or the type of the error that says why it gives nothing."""
    try:
        return made(function, arguments, version).call(arguments, NO_STACK)
    except FunctionError:
        return FunctionError


def each_later(arguments: Any) -> Any:
    """Return arguments of the same outer shape, each known only later."""
    if isinstance(arguments, dict):
        return dict.fromkeys(arguments, UNKNOWN)
    return [UNKNOWN] * len(arguments)


@pytest.mark.parametrize("name", PURE)
@given(data=st.data(), arguments=ARGUMENTS)
def test_whatever_it_is_given_it_gives_data_or_says_what_is_wrong(
    name: str, data: Any, arguments: Any
) -> None:
    version = data.draw(st.sampled_from(versions_of(PURE[name])), label="version")
    before = json.dumps(arguments)
    found = outcome(PURE[name], arguments, version)
    assert found is FunctionError or json.dumps(found)
    assert json.dumps(arguments) == before


@pytest.mark.parametrize("name", PURE)
@given(data=st.data(), arguments=ARGUMENTS.filter(lambda arguments: isinstance(arguments, (dict, list))))
def test_what_is_known_only_when_it_is_called_is_checked_then(name: str, data: Any, arguments: Any) -> None:
    version = data.draw(st.sampled_from(versions_of(PURE[name])), label="version")
    try:
        call = made(PURE[name], each_later(arguments), version)
    except FunctionError:
        return
    expected = outcome(PURE[name], arguments, version)
    try:
        found = call.call(arguments, NO_STACK)
    except FunctionError:
        assert expected is FunctionError
    else:
        # Where nothing is given that anything could be done with, the rest is not looked at.
        assert json.dumps(found) == json.dumps(expected) if expected is not FunctionError else not found


@pytest.mark.parametrize("name", PURE)
def test_what_is_known_only_later_is_no_mistake(name: str) -> None:
    for version in versions_of(PURE[name]):
        assert made(PURE[name], UNKNOWN, version).resolve(NO_STACK) is UNKNOWN
