"""Declarations of parameters, their types and constraints, and the values of one stack."""

import json
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.environment import Environment
from orchestrator.template.given import Given
from orchestrator.template.merging import Layer
from orchestrator.template.parameter_types import ParameterType, convert
from orchestrator.template.parameters import Parameters
from orchestrator.template.template import Template
from tests.unit.orchestrator.template.environments import parsed
from tests.unit.orchestrator.template.settling import settled as settled_under
from tests.waiting import PATIENCE_SECONDS

Parse = Callable[..., Template]
ProblemsOf = Callable[..., list[Problem]]

PSEUDO = {"OS::stack_name": "s", "OS::stack_id": "1", "OS::project_id": "p"}


def settled(template: Template, **given_values: Any) -> Parameters:
    return settled_under(template, Environment.of_parameters(given_values), pseudo=PSEUDO)


def refused(template: Template, environment: Environment | None = None, **given_values: Any) -> list[Problem]:
    environment = (environment or Environment()).merge(Environment.of_parameters(given_values))
    with pytest.raises(InvalidInput) as caught:
        settled_under(template, environment, pseudo=PSEUDO)
    return list(caught.value.problems)


def environment_of(source: str) -> Environment:
    return parsed(source)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("string", "x", "x"),
        ("string", "", ""),
        ("string", 7, "7"),
        ("string", 1.5, "1.5"),
        ("string", True, "True"),
        ("number", 7, 7),
        ("number", "7", 7),
        ("number", "-7.5", -7.5),
        ("number", 7.0, 7.0),
        ("number", "1e3", 1000.0),
        ("comma_delimited_list", "a, b,", ["a", " b", ""]),
        ("comma_delimited_list", "", []),
        ("comma_delimited_list", ["a", 7, None, True], ["a", "7", "", "True"]),
        ("json", {"a": [1, None]}, {"a": [1, None]}),
        ("json", '{"a": 1}', {"a": 1}),
        ("json", "[1]", [1]),
        ("json", "", ""),
        ("json", 7, 7),
        ("json", 0, 0),
        ("json", 1.5, 1.5),
        ("json", True, True),
        ("json", False, False),
        ("json", "7", 7),
        ("json", "false", False),
        ("json", '"text"', "text"),
        *[("boolean", raw, True) for raw in (True, 1, "1", "t", "TRUE", "On", "y", "yes")],
        *[("boolean", raw, False) for raw in (False, 0, "0", "F", "false", "off", "n", "NO")],
    ],
)
def test_what_each_type_makes_of_a_value(kind: str, raw: Any, value: Any) -> None:
    found = convert(ParameterType(kind), raw)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        ("string", ["a"], "expected text, found a list"),
        ("string", {"a": 1}, "expected text, found a map"),
        ("string", "\ud800", "surrogate"),
        ("number", "seven", "found text that is none"),
        ("number", "", "found text that is none"),
        ("number", True, "found a boolean"),
        ("number", [7], "found a list"),
        ("number", "nan", "finite"),
        ("number", float("inf"), "finite"),
        ("number", "9" * 5000, "finite"),
        ("number", 2**64, "64 bits"),
        ("comma_delimited_list", 7, "found a number"),
        ("comma_delimited_list", {"a": 1}, "found a map"),
        ("comma_delimited_list", ["a", {"b": 1}], "item 1 is a map"),
        ("json", "{", "not valid JSON"),
        ("json", 2**64, "64 bits"),
        ("json", float("nan"), "finite"),
        ("json", b"7", "expected a map, a list, a number, a boolean or JSON text"),
        ("json", "[" * 100_000, "nested deeper"),
        ("json", "[" * 300 + "]" * 300, "nested deeper"),
        ("json", '{"a": NaN}', "finite"),
        ("json", r'["\ud800"]', "surrogate"),
        ("json", '{"a": 99999999999999999999}', "64 bits"),
        ("json", {7: 1}, "keys of maps must be text"),
        ("json", [b"bytes"], "cannot be written as JSON"),
        ("boolean", "maybe", "expected true or false, found text"),
        ("boolean", 2, "found a number"),
        ("boolean", 1.0, "found a number"),
        ("boolean", [], "found a list"),
    ],
)
def test_what_each_type_refuses(kind: str, raw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(ParameterType(kind), raw)


@given(st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_json_parameter_takes_a_bare_value_as_its_text(value: Any) -> None:
    found = convert(ParameterType.JSON, value)
    assert (found, type(found)) == (value, type(value))
    assert convert(ParameterType.JSON, json.dumps(value)) == value


@pytest.mark.parametrize("value", [7, 0, True, False, 1.5])
def test_a_bare_value_has_no_length(parse: Parse, value: Any) -> None:
    template = parse(declare("type: json, constraints: [{length: {min: 0}}]"))
    (problem,) = refused(template, p=value)
    assert "has no length" in problem.message


@given(
    st.sampled_from(list(ParameterType)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    ),
)
def test_what_is_accepted_can_be_sent(kind: ParameterType, raw: Any) -> None:
    try:
        value = convert(kind, raw)
    except ValueError:
        return
    assert msgpack.unpackb(msgpack.packb(value)) == value
    json.dumps(value, allow_nan=False)


def declare(declaration: str) -> str:
    return f"parameters:\n  p: {{{declaration}}}\n"


def test_a_declaration_says_everything(parse: Parse) -> None:
    template = parse(
        declare(
            "type: string, label: L, description: D, default: d, hidden: 'yes', immutable: true, "
            "tags: [a, b], schema: {}"
        )
    )
    schema = template.parameters["p"]
    assert (schema.name, schema.type, schema.label, schema.description) == ("p", "string", "L", "D")
    assert (schema.default, schema.hidden, schema.immutable, schema.tags) == ("d", True, True, ("a", "b"))
    assert not schema.required


@pytest.mark.parametrize(
    ("declaration", "path", "message"),
    [
        ("label: x", "p", "has no type"),
        ("type: integer", "p.type", "no parameter type 'integer'"),
        ("type: [a]", "p.type", "no parameter type a list"),
        ("type: string, defalt: x", "p.defalt", "no key 'defalt'"),
        ("type: string, hidden: perhaps", "p.hidden", "expected true or false"),
        ("type: string, tags: a", "p.tags", "list of text"),
        ("type: string, label: [a]", "p.label", "expected text"),
        ("type: number, default: 5, constraints: [{range: {max: 4}}]", "p.default", "5 is out of range"),
        ("type: number, constraints: {}", "p.constraints", "found a map"),
        ("type: number, constraints: [7]", "p.constraints[0]", "found a number"),
        ("type: number, constraints: [{}]", "p.constraints[0]", "found none"),
        ("type: number, constraints: [{description: x}]", "p.constraints[0]", "found none"),
        (
            "type: number, constraints: [{range: {min: 1}, length: {min: 1}}]",
            "p.constraints[0]",
            "range and length",
        ),
        ("type: number, constraints: [{range: {}}]", "p.constraints[0].range", "min or a max"),
        ("type: number, constraints: [{range: {min: 2, max: 1}}]", "p.constraints[0].range", "above"),
        (
            "type: number, constraints: [{range: {min: a}}]",
            "p.constraints[0].range",
            "'min': expected a number",
        ),
        (
            "type: number, constraints: [{range: {min: 1, step: 2}}]",
            "p.constraints[0].range",
            "no key 'step'",
        ),
        ("type: number, constraints: [{range: 7}]", "p.constraints[0].range", "expected a map"),
        ("type: string, constraints: [{length: {min: 1.5}}]", "p.constraints[0].length", "whole number"),
        ("type: string, constraints: [{length: {min: -1}}]", "p.constraints[0].length", "negative"),
        ("type: number, constraints: [{modulo: {step: 2}}]", "p.constraints[0].modulo", "both"),
        (
            "type: number, constraints: [{modulo: {step: 0, offset: 0}}]",
            "p.constraints[0].modulo",
            "cannot be 0",
        ),
        ("type: string, constraints: [{allowed_values: a}]", "p.constraints[0].allowed_values", "found text"),
        ("type: string, constraints: [{allowed_values: []}]", "p.constraints[0].allowed_values", "empty"),
        (
            "type: number, constraints: [{allowed_values: [a]}]",
            "p.constraints[0].allowed_values",
            "expected a number",
        ),
        ("type: string, constraints: [{allowed_values: [~]}]", "p.constraints[0].allowed_values", "null"),
        (
            "type: string, constraints: [{allowed_pattern: '('}]",
            "p.constraints[0].allowed_pattern",
            "regular expression",
        ),
        (
            "type: string, constraints: [{allowed_pattern: 'a{99999999999}'}]",
            "p.constraints[0].allowed_pattern",
            "repetition",
        ),
        (
            "type: string, constraints: [{allowed_pattern: 7}]",
            "p.constraints[0].allowed_pattern",
            "found a number",
        ),
        ("type: string, constraints: [{range: {min: 1}}]", "p.constraints[0].range", "does not apply"),
        ("type: boolean, constraints: [{length: {min: 1}}]", "p.constraints[0].length", "does not apply"),
        (
            "type: json, constraints: [{allowed_values: [a]}]",
            "p.constraints[0].allowed_values",
            "does not apply",
        ),
        (
            "type: string, constraints: [{allowed_pattern: '((((((((((a{99})))))))))){99999999999}'}]",
            "p.constraints[0].allowed_pattern",
            "repetition",
        ),
        (
            "type: string, default: b, constraints: [{allowed_pattern: a}]",
            "p.default",
            "'b' does not match",
        ),
        (
            "type: string, constraints: [{custom_constraint: [ip_addr]}]",
            "p.constraints[0].custom_constraint",
            "expected a custom constraint's name, found a list",
        ),
        (
            "type: json, constraints: [{custom_constraint: ip_addr}]",
            "p.constraints[0].custom_constraint",
            "does not apply",
        ),
    ],
)
def test_a_wrong_declaration_is_named_with_its_path(
    problems_of: ProblemsOf, declaration: str, path: str, message: str
) -> None:
    (problem,) = problems_of(declare(declaration))
    assert problem.path == f"parameters.{path}"
    assert message in problem.message
    assert problem.position is not None


@pytest.mark.parametrize(
    ("declaration", "value", "message"),
    [
        ("type: string, default: [a]", "x", "expected text, found a list"),
        ("type: number, default: a", 7, "expected a number, found text that is none"),
        ("type: json, default: '{'", 7, "not valid JSON"),
        ("type: comma_delimited_list, default: 7", ["x"], "expected a list or text with commas"),
        ("type: comma_delimited_list, default: {a: b}", ["x"], "expected a list or text with commas"),
        ("type: json, default: '{'", {"a": 1}, "not valid JSON"),
        ("type: boolean, default: maybe", False, "expected true or false, found text"),
        ("type: number, default: a, constraints: [{range: {max: 8}}]", 7, "expected a number"),
        ("type: string, default: {a: 1}, constraints: [{length: {max: 3}}]", "x", "expected text"),
    ],
)
def test_a_default_of_a_wrong_type_is_an_error_only_where_it_is_used(
    parse: Parse, declaration: str, value: Any, message: str
) -> None:
    template = parse(declare(declaration))
    assert settled(template, p=value).values["p"] == value
    defaults = Environment(layers=(Layer(parameter_defaults={"p": Given(value)}),))
    assert settled_under(template, defaults, pseudo=PSEUDO).values["p"] == value
    for given_values in ({}, {"p": None}):
        (problem,) = refused(template, **given_values)
        assert message in problem.message
        assert problem.path == "parameters.p.default"
        assert problem.position is not None
        assert "'p' has the type" in problem.hint


@pytest.mark.parametrize(
    "body", ["parameters: {p: null}", "parameters: {p: string}", "parameters: {p: [type]}"]
)
def test_a_declaration_is_a_map(problems_of: ProblemsOf, body: str) -> None:
    assert "expected a declaration" in problems_of(body)[0].message


@pytest.mark.parametrize("name", ["OS::stack_name", "OS::mine", "AWS::Region"])
def test_reserved_names_cannot_be_declared(problems_of: ProblemsOf, name: str) -> None:
    assert "reserved" in problems_of(f"parameters: {{'{name}': {{type: string}}}}")[0].message


@pytest.mark.parametrize(
    ("version", "declaration", "accepted"),
    [
        ("2017-09-01", "type: string, tags: [a]", False),
        ("queens", "type: string, tags: [a]", True),
        ("2016-10-14", "type: number, constraints: [{modulo: {step: 2, offset: 0}}]", False),
        ("ocata", "type: number, constraints: [{modulo: {step: 2, offset: 0}}]", True),
    ],
)
def test_what_came_later_needs_a_later_version(
    parse: Parse, problems_of: ProblemsOf, version: str, declaration: str, accepted: bool
) -> None:
    if accepted:
        assert parse(declare(declaration), version=version).parameters
    else:
        (problem,) = problems_of(declare(declaration), version=version)
        assert "needs heat_template_version" in problem.message


@pytest.mark.parametrize(
    ("declaration", "good", "bad"),
    [
        ("type: number, constraints: [{range: {min: 1, max: 3}}]", [1, "3", 2.5], [0, "3.1"]),
        ("type: number, constraints: [{modulo: {step: 3, offset: 1}}]", [1, "4", -2], [3]),
        ("type: string, constraints: [{length: {min: 2, max: 3}}]", ["ab", 123], ["a", "abcd"]),
        ("type: comma_delimited_list, constraints: [{length: {max: 2}}]", ["a,b", []], ["a,b,c"]),
        ("type: json, constraints: [{length: {min: 1}}]", [{"a": 1}, "[1]"], ["{}", []]),
        ("type: string, constraints: [{allowed_values: [a, 1]}]", ["a", 1, "1"], ["b"]),
        ("type: number, constraints: [{allowed_values: ['1', 2]}]", [1, "2"], [3]),
        ("type: boolean, constraints: [{allowed_values: ['yes']}]", [True, "on"], ["off"]),
        ("type: comma_delimited_list, constraints: [{allowed_values: [a, b]}]", ["b,a", ""], ["a,c"]),
        ("type: string, constraints: [{allowed_pattern: '[a-z]+'}]", ["abc"], ["abc1", "", "1abc"]),
        (
            "type: string, constraints: [{custom_constraint: ip_addr}]",
            ["192.0.2.1", "::1"],
            ["192.0.2.1/24", ""],
        ),
        (
            "type: comma_delimited_list, constraints: [{custom_constraint: mac_addr}]",
            ["00:16:3e:7f:00:01", ""],
            ["a"],
        ),
        ("type: number, constraints: [{custom_constraint: ip_addr}]", [], [7]),
        (
            "type: string, constraints: [{length: {min: 2}}, {allowed_pattern: '[a-z]+'}]",
            ["ab"],
            ["a", "AB"],
        ),
    ],
)
def test_constraints_hold_for_values(parse: Parse, declaration: str, good: list[Any], bad: list[Any]) -> None:
    template = parse(declare(declaration))
    for value in good:
        assert "p" in settled(template, p=value).values
    for value in bad:
        (problem,) = refused(template, p=value)
        assert problem.path == "parameters.p"


def test_a_constraint_may_bring_its_own_sentence(parse: Parse) -> None:
    template = parse(declare("type: string, constraints: [{length: {min: 2}, description: Give me more}]"))
    assert refused(template, p="x")[0].message == "Give me more"


def test_values_are_typed_and_pseudo_parameters_are_among_them(parse: Parse) -> None:
    template = parse(
        "parameters: {n: {type: number}, h: {type: string, hidden: true}, d: {type: json, default: '[1]'}}"
    )
    parameters = settled(template, n="7", h="secret")
    assert parameters.values == {"n": 7, "h": "secret", "d": [1], **PSEUDO}
    assert parameters.hidden == {"h"}
    assert parameters.shown() == {"n": 7, "h": "******", "d": [1]}


def test_given_wins_over_the_environments_default_and_that_over_the_templates(parse: Parse) -> None:
    template = parse(
        "parameters: {a: {type: string, default: t}, b: {type: string, default: t}, c: {type: string, default: t}}"
    )
    environment = environment_of("{parameters: {a: g, b: ~}, parameter_defaults: {a: e, b: e, other: e}}")
    assert settled_under(template, environment, pseudo={}).values == {"a": "g", "b": "e", "c": "t"}


def test_empty_and_false_values_are_values(parse: Parse) -> None:
    template = parse(
        "parameters: {a: {type: string, default: ''}, b: {type: boolean, default: false}, "
        "c: {type: number, default: 0}}"
    )
    assert settled(template).values == {"a": "", "b": False, "c": 0, **PSEUDO}


def test_all_that_is_wrong_with_the_values_comes_at_once(parse: Parse) -> None:
    template = parse(
        "parameters:\n"
        "  missing: {type: string}\n"
        "  null_given: {type: string}\n"
        "  size: {type: number}\n"
        "  count: {type: number}\n"
    )
    environment = environment_of(
        "parameters:\n  sizes: 1\n  size: big\n  'OS::stack_name': x\n  null_given:\n"
    )
    settled = template.draft.settle(
        environment.merge(Environment.of_parameters({"count": "many"})), pseudo=PSEUDO
    )
    assert [(str(p.position), p.path) for p in settled.problems] == [
        ("env.yaml:2:3", "parameters.sizes"),
        ("env.yaml:4:3", "parameters.OS::stack_name"),
        ("env.yaml:3:3", "parameters.size"),
        ("None", "parameters.count"),
    ]
    assert settled.problems[0].hint == "did you mean 'size'?"
    assert [(str(p.position), p.message) for p in settled.missing] == [
        ("t.yaml:3:3", "the parameter 'missing' has no value and no default"),
        ("t.yaml:4:3", "the parameter 'null_given' has no value and no default"),
    ]


@pytest.mark.parametrize("hidden", [False, True])
def test_a_pattern_that_never_ends_refuses_the_value(parse: Parse, hidden: bool) -> None:
    declaration = f"type: string, hidden: {hidden}, constraints: [{{allowed_pattern: (a+)+$}}]"
    template = parse(declare(declaration), pattern_seconds=PATIENCE_SECONDS)
    assert settled(template, p="a" * 60).values["p"] == "a" * 60
    (pattern,) = template.parameters["p"].constraints
    object.__setattr__(pattern, "limits", Limits(pattern_seconds=0.3))
    (problem,) = refused(template, p="a" * 60 + "!")
    assert problem.message == "the pattern '(a+)+$' took longer than 0.3 seconds (setting pattern_seconds)"


def test_a_pattern_that_cannot_be_compiled_in_time_is_no_pattern(problems_of: ProblemsOf) -> None:
    sets = "(?i)" + "[!-\U0010fffd]" * 20_000
    (problem,) = problems_of(
        declare(f"type: string, constraints: [{{allowed_pattern: '{sets}'}}]"), pattern_seconds=0.3
    )
    assert problem.path == "parameters.p.constraints[0].allowed_pattern"
    assert "took longer than 0.3 seconds" in problem.message


CUSTOM = (
    "parameters:\n"
    "  a: {type: string, default: bad, constraints: [{custom_constraint: outside}]}\n"
    "  b: {type: string, default: bad, constraints: [{custom_constraint: outsid}]}\n"
    "  c: {type: string, default: bad, constraints: [{custom_constraint: ip_addr}]}\n"
)


@pytest.mark.parametrize(
    "declaration",
    [
        "type: string, hidden: true, constraints: [{allowed_pattern: '[a-z]+'}]",
        "type: string, hidden: true, constraints: [{allowed_values: [a, b]}]",
        "type: number, hidden: true",
        "type: number, hidden: true, constraints: [{range: {max: 3}}]",
        "type: json, hidden: true",
        "type: boolean, hidden: true",
    ],
)
def test_no_problem_shows_a_hidden_value(parse: Parse, declaration: str) -> None:
    secret = "73519-SECRET" if "range" not in declaration else "73519"
    (problem,) = refused(parse(declare(declaration)), p=secret)
    assert "73519" not in str(problem)


def test_a_bad_hidden_default_is_not_shown_either(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(
        declare("type: string, hidden: true, default: SECRET, constraints: [{allowed_pattern: '[a-z]+'}]")
    )
    assert "SECRET" not in str(problem)
