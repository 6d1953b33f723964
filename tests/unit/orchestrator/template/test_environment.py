"""Environment files: values with their places, aliases of types, merged in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.loading.entry import Entry
from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.environment import Environment
from orchestrator.template.given import Given
from orchestrator.template.parameter_types import ParameterType
from orchestrator.template.template import Template
from tests.unit.orchestrator.template.environments import parsed
from tests.unit.orchestrator.template.settling import settled


def parse(source: str) -> Environment:
    return parsed(source)


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
    "source",
    [
        "",
        "{}",
        "parameters:\n",
        "parameters: {}\nresource_registry:\nparameter_defaults:\n",
        "event_sinks:\nencrypted_param_names:\nparameter_merge_strategies:\n",
        "event_sinks: []\nencrypted_param_names: []\nparameter_merge_strategies: {default: merge}\n",
        "resource_registry: {base_url: x, resources: }",
    ],
)
def test_an_empty_environment_says_nothing(source: str) -> None:
    assert parse(source) == Environment()


def test_later_environments_win() -> None:
    first = parse("{parameters: {a: 1, b: 1}, parameter_defaults: {d: 1}, resource_registry: {X: Y, V: W}}")
    second = parse("{parameters: {b: 2}, parameter_defaults: {d: 2}, resource_registry: {X: Z, V: ~}}")
    merged = first.merge(second, Environment.of_parameters({"c": 3}))
    assert values_of(merged) == {"a": 1, "b": 2, "c": 3}
    assert merged.parameter_defaults["d"].value == 2
    assert (merged.registry.actual("X"), merged.registry.actual("V")) == ("Z", "V")


def test_what_is_merged_is_left_as_it_was() -> None:
    parts = [parse("parameters: {a: 1}\nresource_registry: {A: B}"), parse("parameters: {a: 2}")]
    merged = parts[0].merge(parts[1])
    assert values_of(parts[0]) == {"a": 1}
    assert values_of(merged) == {"a": 2}
    assert merged == Environment().merge(*parts)


@pytest.mark.parametrize(
    ("name", "actual"), [("A", "C"), ("B", "C"), ("C", "C"), ("X", "Y"), ("other", "other")]
)
def test_aliases_of_aliases_are_followed_and_circles_end(name: str, actual: str) -> None:
    environment = parse("resource_registry: {A: B, B: C, X: Y, Y: X}")
    assert environment.registry.actual(name) == actual


def test_names_of_files_start_where_the_environment_is() -> None:
    source = "resource_registry: {X: server.yaml}"
    assert parse(source).registry.actual("X") == "server.yaml"
    environment = parsed(source, "e/env.yaml", "e")
    assert environment.registry.actual("X") == "e/server.yaml"


# -- the other sections ----------------------------------------------------------------------------------------


@pytest.fixture
def _sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Entry(name, "x:Y", "isotherm.event_sinks") for name in ("mail", "queue")]
    monkeypatch.setattr("orchestrator.template.environment_reader.entry_points", lambda **_: found)


@pytest.mark.usefixtures("_sinks")
def test_event_sinks_are_kept_in_order() -> None:
    first = parse("event_sinks: [{type: queue, target: q, ttl: 7}, {type: mail}]")
    assert [each.value for each in first.event_sinks] == [
        {"type": "queue", "target": "q", "ttl": 7},
        {"type": "mail"},
    ]
    assert [each.path for each in first.event_sinks] == ["event_sinks[0]", "event_sinks[1]"]
    merged = first.merge(Environment(), parse("event_sinks: [{type: queue}]"))
    assert [each.value for each in merged.event_sinks[2:]] == [{"type": "queue"}]
    assert merged.event_sinks[:2] == first.event_sinks


@pytest.mark.usefixtures("_sinks")
@pytest.mark.parametrize(
    ("source", "path", "message", "hint"),
    [
        ("[{type: mial}]", "event_sinks[0].type", "there is no event sink 'mial'", "did you mean 'mail'?"),
        ("[{type: x}]", "event_sinks[0].type", "there is no event sink 'x'", "installed: mail, queue"),
        ("[{type: mail}, {target: x}]", "event_sinks[1]", "with a type, found a map without one", ""),
        ("[mail]", "event_sinks[0]", "a map with a type, found text", ""),
        ("[{type: 7}]", "event_sinks[0]", "found a number", ""),
        ("{type: mail}", "event_sinks", "a list of event sinks, maps with a type, found a map", ""),
    ],
)
def test_an_event_sink_is_a_map_with_the_type_of_one_that_is_installed(
    source: str, path: str, message: str, hint: str
) -> None:
    (problem,) = refused(f"event_sinks: {source}")
    assert problem.path == path
    assert message in problem.message
    assert hint in problem.hint


def test_without_any_installed_sink_none_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = "orchestrator.template.environment_reader.entry_points"
    monkeypatch.setattr(reader, lambda **_: ())
    (problem,) = refused("event_sinks: [{type: zaqar-queue}]")
    assert problem.hint == "installed: none"


def test_encrypted_names_are_those_of_all_files() -> None:
    merged = parse("encrypted_param_names: [a, b]").merge(parse("encrypted_param_names: [b, c]"))
    assert merged.encrypted_names == {"a", "b", "c"}


def test_strategies_are_merged_with_the_types_of_parameters() -> None:
    first = parse("parameters: {a: x, n: 1}\nparameter_merge_strategies: {default: merge, n: overwrite}")
    merged, problems = first.merge(parse("parameters: {a: y, n: 2}")).merged(
        {"a": ParameterType.STRING, "n": ParameterType.NUMBER}
    )
    assert (values_of(merged), problems) == ({"a": "xy", "n": 2}, [])
    assert merged.merged({"a": ParameterType.STRING})[0] == merged


@pytest.mark.parametrize("section", ["parameters", "parameter_defaults"])
def test_a_template_merges_by_the_types_that_it_declares(section: str) -> None:
    source = (
        "heat_template_version: wallaby\nparameters: {l: {type: comma_delimited_list}, n: {type: number}}"
    )
    template = Template.parse(source, file="t.yaml", files={}, limits=Limits())
    first = parse(f"{section}: {{l: [a], n: 4711}}\nparameter_merge_strategies: {{l: merge, n: overwrite}}")
    second = parse(f"{section}: {{l: 'b,c', n: 4712}}")
    values = settled(template, first.merge(second), pseudo={}).values
    assert values == {"l": ["a", "b", "c"], "n": 4712}
    merging = parse(f"{section}: {{n: 4711}}\nparameter_merge_strategies: {{default: merge}}")
    with pytest.raises(InvalidInput, match=rf"env\.yaml:.*{section}\.n: a number cannot be merged") as caught:
        settled(template, merging.merge(second), pseudo={})
    assert "47" not in str(caught.value)


# -- nested stacks ---------------------------------------------------------------------------------------------


def test_a_nested_stack_gets_defaults_and_registry_but_no_values() -> None:
    outer = parse(
        "{parameters: {a: 1}, parameter_defaults: {a: 2, d: x}, encrypted_param_names: [a],"
        " parameter_merge_strategies: {d: merge},"
        " resource_registry: {T: t/t.yaml, U: V, resources: {web: {db: {hooks: pre-create}}}}}"
    ).merge(parse("parameters: {b: 1}"), parse("parameter_defaults: {d: y}"))
    nested = outer.for_nested("web", "T", {"p": Given(7, "resources.web.properties.p")})
    assert values_of(nested) == {"p": 7}
    settled, _ = nested.merged({"d": ParameterType.STRING, "a": ParameterType.NUMBER})
    assert settled.parameter_defaults["d"].value == "xy"
    assert settled.parameter_defaults["a"].value == 2
    assert (nested.registry.actual("T"), nested.registry.actual("U")) == ("T", "V")
    assert nested.registry.actual("u.yaml") == "t/u.yaml"
    assert nested.registry.hooks(("db",)) == {"pre-create"}
    assert nested.encrypted_names == {"a"}
    assert values_of(outer.for_nested("web", "T", {})) == {}


# -- mistakes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "path", "message"),
    [
        ("[]", "", "a map, found a list"),
        ("text", "", "a map, found text"),
        ("paramters: {}", "paramters", "no section 'paramters'"),
        ("web_port: 80", "web_port", "no section 'web_port'"),
        ("parameters: []", "parameters", "expected a map, found a list"),
        ("parameter_defaults: x", "parameter_defaults", "expected a map, found text"),
        ("resource_registry: 7", "resource_registry", "expected a map, found a number"),
        ("encrypted_param_names: {}", "encrypted_param_names", "a list of parameters' names, found a map"),
        ("encrypted_param_names: [a, 7]", "encrypted_param_names[1]", "a parameter's name, found a number"),
        ("parameter_merge_strategies: merge", "parameter_merge_strategies", "expected a map, found text"),
        ("parameter_merge_strategies: {a: [merge]}", "parameter_merge_strategies.a", "found a list"),
        ("parameter_merge_strategies: {a: mrege}", "parameter_merge_strategies.a", "found 'mrege'"),
        ("parameter_merge_strategies: {default: ~}", "parameter_merge_strategies.default", "found null"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_path(source: str, path: str, message: str) -> None:
    (problem,) = refused(source)
    assert problem.path == path
    assert message in problem.message
    assert problem.position is not None
    assert problem.position.file == "env.yaml"


def test_the_nearest_strategy_is_suggested() -> None:
    (problem,) = refused("parameter_merge_strategies: {a: deep-merge}")
    assert problem.hint == "did you mean 'deep_merge'?"


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


def test_moves_of_all_files_are_kept_in_order() -> None:
    first, second = (parsed(f"moved: [{{from: {name}, to: {name}2}}]", f"{name}.yaml") for name in "ab")
    merged = first.merge(second)
    assert [(each.source.value, each.target.value) for each in merged.moves] == [("a", "a2"), ("b", "b2")]
    position = merged.moves[1].target.position
    assert position is not None
    assert (position.file, position.line, merged.moves[1].target.path) == ("b.yaml", 1, "moved[0].to")
    assert merged.for_nested("x", "X", {}).moves == ()


@pytest.mark.parametrize(
    ("source", "path", "message"),
    [
        ("moved: {a: b}", "moved", "expected a list of moves, maps with from and to, found a map"),
        ("moved: [a]", "moved[0]", "expected a move, a map with from and to, found text"),
        ("moved: [{from: a}]", "moved[0]", "expected 'to' to be a resource's name, found nothing"),
        ("moved: [{from: a, to: [b]}]", "moved[0].to", "expected 'to' to be a resource's name, found a list"),
        (
            "moved: [{from: '', to: b}]",
            "moved[0].from",
            "expected 'from' to be a resource's name, found nothing",
        ),
        ("moved: [{from: a, to: b, too: c}]", "moved[0].too", "a move has no 'too'"),
    ],
)
def test_what_is_no_move_is_named_with_its_path(source: str, path: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(source)
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == (path, message)
