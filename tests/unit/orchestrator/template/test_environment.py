"""Environment files: values with their places, aliases of types, merged in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.document import Limits
from orchestrator.template.environment import Environment


def parse(source: str) -> Environment:
    return Environment.parse(source, file="env.yaml", limits=Limits())


def refused(source: str) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        parse(source)
    return list(caught.value.problems)


def values_of(environment: Environment) -> dict[str, Any]:
    return {name: given.value for name, given in environment.parameters.items()}


def test_values_know_where_they_stand() -> None:
    environment = parse("parameters:\n  a: 1\n  b: [x]\nparameter_defaults: {c: 2}\n")
    assert values_of(environment) == {"a": 1, "b": ["x"]}
    problem = environment.parameters["b"].problem("wrong")
    assert str(problem) == "env.yaml:3:3: parameters.b: wrong"
    assert str(environment.parameter_defaults["c"].position) == "env.yaml:4:22"


def test_values_from_the_order_itself_have_no_place() -> None:
    given_value = Environment.of_parameters({"a": 1}).parameters["a"]
    assert str(given_value.problem("wrong")) == "parameters.a: wrong"


@pytest.mark.parametrize(
    "source", ["", "{}", "parameters:\n", "parameters: {}\nresource_registry:\nparameter_defaults:\n"]
)
def test_an_empty_environment_says_nothing(source: str) -> None:
    assert parse(source) == Environment()


def test_later_environments_win() -> None:
    first = parse("{parameters: {a: 1, b: 1}, parameter_defaults: {d: 1}, resource_registry: {X: Y, V: W}}")
    second = parse("{parameters: {b: 2}, parameter_defaults: {d: 2}, resource_registry: {X: Z, V: ~}}")
    merged = first.merge(second, Environment.of_parameters({"c": 3}))
    assert values_of(merged) == {"a": 1, "b": 2, "c": 3}
    assert merged.parameter_defaults["d"].value == 2
    assert merged.resource_registry == {"X": "Z"}


def test_merging_in_two_ways_comes_to_the_same() -> None:
    parts = [
        parse(f"resource_registry: {registry}")
        for registry in ("{A: B, C: D}", "{A: ~, C: E}", "{A: F, C: ~}")
    ]
    at_once, later_first = parts[0].merge(*parts[1:]), parts[0].merge(parts[1].merge(parts[2]))
    assert at_once.resource_registry == later_first.resource_registry == {"A": "F"}


def test_an_alias_taken_away_stays_away_when_files_are_merged_first() -> None:
    removing = parse("resource_registry: {A: ~}").merge(parse("parameters: {p: 1}"))
    assert parse("resource_registry: {A: B}").merge(removing).resource_registry == {}


@pytest.mark.parametrize(
    ("name", "actual"), [("A", "C"), ("B", "C"), ("C", "C"), ("X", "Y"), ("other", "other")]
)
def test_aliases_of_aliases_are_followed_and_circles_end(name: str, actual: str) -> None:
    environment = parse("resource_registry: {A: B, B: C, X: Y, Y: X}")
    assert environment.actual_type(name) == actual


@pytest.mark.parametrize(
    ("source", "path", "message"),
    [
        ("[]", "", "a map"),
        ("text", "", "a map"),
        ("paramters: {}", "paramters", "no section 'paramters'"),
        ("event_sinks: []", "event_sinks", "not supported yet"),
        ("encrypted_param_names: []", "encrypted_param_names", "not supported yet"),
        ("parameter_merge_strategies: {}", "parameter_merge_strategies", "not supported yet"),
        ("parameters: []", "parameters", "expected a map"),
        ("resource_registry: {'OS::Nova::*': X}", "resource_registry.OS::Nova::*", "wildcards"),
        ("resource_registry: {X: server.yaml}", "resource_registry.X", "template files"),
        ("resource_registry: {X: 'file:///a.template'}", "resource_registry.X", "template files"),
        ("resource_registry: {X: 7}", "resource_registry.X", "name of a resource type"),
        ("resource_registry: {X: ''}", "resource_registry.X", "name of a resource type"),
        ("resource_registry: {resources: {}}", "resource_registry.resources", "not supported yet"),
        ("resource_registry: {base_url: x}", "resource_registry.base_url", "not supported yet"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_path(source: str, path: str, message: str) -> None:
    (problem,) = refused(source)
    assert problem.path == path
    assert message in problem.message
    assert problem.position is not None
    assert problem.position.file == "env.yaml"


def test_the_nearest_section_is_suggested_and_all_problems_come_at_once() -> None:
    found = refused("paramters: {}\nparameters: 7\n1: x\n")
    assert {problem.hint for problem in found} >= {"did you mean 'parameters'?"}
    assert len(found) == 3


@given(st.text(max_size=100) | st.text("{}[]:,- \nabp", max_size=60).map("parameters: ".__add__))
def test_no_text_gives_anything_but_an_environment_or_problems(source: str) -> None:
    outcome: Environment | tuple[Problem, ...]
    try:
        outcome = parse(source)
    except InvalidInput as error:
        outcome = error.problems
    assert isinstance(outcome, Environment) or all(problem.position for problem in outcome)
