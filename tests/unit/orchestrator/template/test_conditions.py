"""Conditions: what they are, whether they hold, and what becomes of what they govern."""

from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.definition import UNKNOWN, StackDefinition
from orchestrator.errors import Problem
from orchestrator.template.definitions import ResourceDefinition
from orchestrator.template.template import Draft, Template

HEAD = """
heat_template_version: {version}
parameters:
  env: {{type: string}}
  count: {{type: number, default: 1}}
  big: {{type: boolean, default: false}}
  zones: {{type: comma_delimited_list, default: ''}}
"""
VALUES = {"env": "prod", "count": 1, "big": False, "zones": ["a", "b"]}


def under(body: str, values: dict[str, Any] | None = None, version: str = "wallaby") -> Template:
    draft = Draft.read(HEAD.format(version=version) + body, file="t.yaml", files={}, limits=Limits())
    return draft.under({**VALUES, **(values or {})})


def problems_of(template: Template) -> list[Problem]:
    return [*template.problems, *template.check_references()]


def holds(
    condition: str, values: dict[str, Any] | None = None, *, more: str = "", version: str = "wallaby"
) -> bool:
    """Return whether a resource with this condition is there."""
    body = f"conditions: {{{more}}}\nresources: {{r: {{type: X, condition: {condition}}}}}"
    template = under(body, values, version)
    assert problems_of(template) == []
    assert ("r" in template.resources) != ("r" in template.disabled)
    return "r" in template.resources


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("true", True),
        ("false", False),
        ("null", True),
        ("{equals: [1, 1]}", True),
        ("{equals: [1, 1.0]}", True),
        ("{equals: [1, true]}", True),
        ("{equals: ['1', 1]}", False),
        ("{equals: [null, '']}", False),
        ("{equals: [{a: [1]}, {a: [1]}]}", True),
        ("{equals: [{get_param: env}, prod]}", True),
        ("{equals: [{get_param: env}, dev]}", False),
        ("{equals: [{get_param: [zones, 1]}, b]}", True),
        ("{equals: [{get_param: [zones, 7]}, '']}", True),
        ("{get_param: big}", False),
        ("{not: {get_param: big}}", True),
        ("{not: true}", False),
        ("{and: [true, {get_param: big}]}", False),
        ("{and: [true, true, {equals: [1, 1]}]}", True),
        ("{or: [false, {get_param: big}]}", False),
        ("{or: [false, true]}", True),
        ("{or: [{and: [true, false]}, {not: {or: [false, false]}}]}", True),
    ],
)
def test_a_condition_decides_whether_a_resource_is_there(condition: str, expected: bool) -> None:
    assert holds(condition) is expected


@pytest.mark.parametrize(("env", "expected"), [("prod", True), ("dev", False)])
def test_conditions_are_used_by_name(env: str, expected: bool) -> None:
    more = "is_prod: {equals: [{get_param: env}, prod]}, is_dev: {not: is_prod}"
    assert holds("is_prod", {"env": env}, more=more) is expected
    assert holds("is_dev", {"env": env}, more=more) is not expected
    assert holds("{and: [is_prod, {not: is_dev}]}", {"env": env}, more=more) is expected
    assert holds("{or: [is_dev, false]}", {"env": env}, more=more) is not expected


@pytest.mark.parametrize(
    ("conditions", "path", "message"),
    [
        ("{c: 7}", "conditions.c", "found a number"),
        ("{c: other, other: true}", "conditions.c", "found text"),
        ("{c: null}", "conditions.c", "found null"),
        ("{c: [1]}", "conditions.c", "found a list"),
        ("{c: {a: 1}}", "conditions.c", "found a map"),
        ("{c: {equals: 7}}", "conditions.c.equals", "found a number"),
        ("{c: {equals: [1]}}", "conditions.c.equals", "found 1 items"),
        ("{c: {equals: [1, 2, 3]}}", "conditions.c.equals", "found 3 items"),
        ("{c: {not: null}}", "conditions.c.not", "found null"),
        ("{c: {not: [true]}}", "conditions.c.not", "found a list"),
        ("{c: {not: 0}}", "conditions.c.not", "found a number"),
        ("{c: {not: nobody}}", "conditions.c.not", "there is no condition 'nobody'"),
        ("{c: {and: true}}", "conditions.c.and", "found a boolean"),
        ("{c: {and: [true]}}", "conditions.c.and", "found 1"),
        ("{c: {or: []}}", "conditions.c.or", "found 0"),
        ("{c: {or: [true, 1]}}", "conditions.c.or[1]", "found a number"),
        ("{c: {or: [true, nobody]}}", "conditions.c.or[1]", "there is no condition 'nobody'"),
        (
            "{c: {equals: [{get_attr: [r, x]}, 1]}}",
            "conditions.c.equals[0].get_attr",
            "cannot be called in a condition",
        ),
        ("{c: {if: [true, true, false]}}", "conditions.c.if", "cannot be called in a condition"),
        ("{c: {str_split: [',', a]}}", "conditions.c.str_split", "cannot be called in a condition"),
        (
            "{c: {equals: [{get_param: envi}, 1]}}",
            "conditions.c.equals[0].get_param",
            "there is no parameter 'envi'",
        ),
        ("[c]", "conditions", "found a list"),
    ],
)
def test_what_is_no_condition_is_refused(conditions: str, path: str, message: str) -> None:
    (problem,) = problems_of(under(f"conditions: {conditions}"))
    assert problem.path == path
    assert message in problem.message
    assert problem.position is not None


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("7", "found a number"),
        ("[true]", "found a list"),
        ("{a: 1}", "found a map"),
        ("nobody", "no condition 'nobody'"),
    ],
)
@pytest.mark.parametrize(
    "holder", ["resources: {r: {type: X, condition: %s}}", "outputs: {r: {value: 1, condition: %s}}"]
)
def test_what_cannot_decide_is_refused_where_it_stands(holder: str, condition: str, message: str) -> None:
    (problem,) = problems_of(under(holder % condition))
    assert problem.path.endswith("s.r.condition")
    assert message in problem.message


def test_the_nearest_condition_is_named() -> None:
    (problem,) = under("conditions: {is_prod: true}\nresources: {r: {type: X, condition: is_prd}}").problems
    assert problem.hint == "did you mean 'is_prod'?"


def test_conditions_in_a_circle_are_told_once_and_only_if_they_are_used() -> None:
    circle = "conditions: {a: {not: b}, b: {not: c}, c: {not: a}}\n"
    assert under(circle).problems == ()
    (problem,) = under(
        circle + "resources: {r: {type: X, condition: a}, s: {type: X, condition: b}}"
    ).problems
    assert "in a circle: a -> b -> c -> a" in problem.message
    assert problem.path == "conditions.c.not"


@pytest.mark.parametrize("version", ["2013-05-23", "2016-04-08"])
def test_before_newton_there_are_no_conditions(version: str) -> None:
    body = """
conditions: {c: true}
resources: {r: {type: X, condition: c}}
outputs: {o: {value: {if: [c, 1, 2]}, condition: c}}
"""
    template = under(body, version=version)
    assert [problem.path for problem in template.problems] == [
        "conditions",
        "resources.r.condition",
        "outputs.o.condition",
    ]
    assert all("needs heat_template_version 2016-10-14 (newton)" in p.message for p in template.problems)
    assert template.outputs["o"].resolve(StackDefinition(name="s", id="")) == {"if": ["c", 1, 2]}


def test_condition_functions_are_data_outside_conditions() -> None:
    written = "outputs: {o: {value: [{equals: [1, 1]}, {not: true}, {and: [true, true]}, {or: []}]}}"
    template = under(written)
    assert template.problems == ()
    value = template.outputs["o"].resolve(StackDefinition(name="s", id=""))
    assert value == [{"equals": [1, 1]}, {"not": True}, {"and": [True, True]}, {"or": []}]


# -- what a call gives in place of a condition ------------------------------------------------------------------

#: Every place of a condition, with a call in it.
PLACES = {
    "section": ("conditions: {c: CALL}\nresources: {r: {type: X, condition: c}}", "conditions.c"),
    "resource": ("resources: {r: {type: X, condition: CALL}}", "resources.r.condition"),
    "output": ("outputs: {r: {value: 1, condition: CALL}}", "outputs.r.condition"),
    "if": ("outputs: {r: {value: {if: [CALL, 1, 2]}}}", "outputs.r.value.if[0]"),
    "not": ("resources: {r: {type: X, condition: {not: CALL}}}", "resources.r.condition.not"),
    "and": ("resources: {r: {type: X, condition: {and: [true, CALL]}}}", "resources.r.condition.and[1]"),
    "or": ("resources: {r: {type: X, condition: {or: [CALL, true]}}}", "resources.r.condition.or[0]"),
    "deep": (
        "conditions: {c: {or: [false, {not: CALL}]}}\nresources: {r: {type: X, condition: c}}",
        "conditions.c.or[1].not",
    ),
}
CALLS = {
    "get_param": "{get_param: zones}",
    "get_param with a path": "{get_param: [zones, 0]}",
    "yaql": "{yaql: {expression: $.data, data: {get_param: zones}}}",
}
NO_CONDITIONS = ["false", "true", "", "x", 0, 1, 1.5, [], [True], {}, {"a": False}, None]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", CALLS)
def test_only_a_boolean_or_a_name_is_a_condition_wherever_it_comes_from(place: str, call: str) -> None:
    body, path = PLACES[place]
    for value in NO_CONDITIONS:
        given = [value] if "path" in call else value
        template = under(body.replace("CALL", CALLS[call]), {"zones": given})
        (problem,) = template.problems
        assert problem.path == path, value
        assert problem.message.startswith("expected ")
        assert "found " in problem.message
        assert "boolean" in problem.hint
        assert problem.position is not None


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_a_condition_wherever_it_comes_from(place: str, call: str, value: bool) -> None:
    given = [value] if "path" in call else value
    template = under(PLACES[place][0].replace("CALL", CALLS[call]), {"zones": given})
    assert template.problems == ()
    expected = {"not": not value, "deep": not value, "or": True}.get(place, value)
    if place == "if":
        assert template.outputs["r"].resolve(StackDefinition(name="s", id="")) == (1 if value else 2)
    elif place == "output":
        assert template.outputs["r"].resolve(StackDefinition(name="s", id="")) == (1 if value else None)
    else:
        assert ("r" in template.resources) is expected


@pytest.mark.parametrize(("name", "expected"), [("f", False), ("t", True), ("of_f", True)])
def test_a_text_that_a_call_gives_is_the_name_of_a_condition(name: str, expected: bool) -> None:
    more = "f: false, t: true, of_f: {not: {get_param: [zones, 0]}}"
    values = {"env": name, "zones": ["f"]}
    assert holds("{get_param: env}", values, more=more) is expected
    assert holds("{not: {not: {get_param: env}}}", values, more=more) is expected
    assert holds("{and: [true, {get_param: env}]}", values, more=more) is expected
    assert holds("{or: [false, {get_param: env}]}", values, more=more) is expected
    # In the section, a name alone defines no condition.
    template = under(
        "conditions: {f: false, c: {get_param: env}}\nresources: {r: {type: X, condition: c}}", {"env": "f"}
    )
    (problem,) = template.problems
    assert (problem.path, "found text" in problem.message) == ("conditions.c", True)


def test_a_hidden_value_in_place_of_a_condition_is_not_shown() -> None:
    body = "resources: {r: {type: X, condition: {not: {get_param: env}}}}"
    draft = Draft.read(HEAD.format(version="wallaby") + body, file="t.yaml", files={}, limits=Limits())
    (problem,) = draft.under({**VALUES, "env": "geheim"}, hidden={"env"}).problems
    assert "geheim" not in f"{problem}"


@pytest.mark.parametrize(
    "condition", ["{or: [true, {get_param: env}]}", "{or: [false, t, wrong]}", "{not: {and: [f, wrong]}}"]
)
def test_an_operand_behind_a_decided_one_is_not_judged(condition: str) -> None:
    more = "t: true, f: false, wrong: {get_param: env}"
    assert holds(condition, {"env": ""}, more=more)
    assert holds(f"{{not: {{not: {condition}}}}}", {"env": ""}, more=more)
    assert holds("by_name", {"env": ""}, more=f"{more}, by_name: {condition}")


def test_a_wrong_condition_is_reported_once_with_its_own_place() -> None:
    body = """
conditions: {wrong: {get_param: env}, a: {not: wrong}, b: {and: [true, a]}}
resources: {r: {type: X, condition: a}, s: {type: X, condition: b}, t: {type: X, condition: {not: wrong}}}
"""
    (problem,) = under(body).problems
    assert problem.path == "conditions.wrong"


def test_computed_names_in_a_circle_and_in_a_long_chain_are_followed() -> None:
    circle = "conditions: {a: {not: {get_param: env}}}\nresources: {r: {type: X, condition: a}}"
    (problem,) = under(circle, {"env": "a"}).problems
    assert "in a circle: a -> a" in problem.message
    links = ", ".join(f"c{i}: {{not: {{get_param: [zones, {i}]}}}}" for i in range(2000))
    zones = [f"c{i + 1}" for i in range(2000)]
    assert holds("c0", {"zones": zones}, more=f"{links}, c2000: false") is False


# -- what a condition governs --------------------------------------------------------------------------------

GOVERNED = """
conditions: {wanted: {get_param: big}}
resources:
  maybe: {type: X, condition: wanted}
  after: {type: X, depends_on: [maybe]}
  user:
    type: X
    properties: {of: {if: [wanted, {get_attr: [maybe, show, id]}, nothing]}}
outputs:
  always: {value: {if: [wanted, {get_resource: maybe}, none]}}
  sometimes: {value: {get_attr: [maybe, id]}, condition: wanted}
"""


def test_what_a_condition_takes_away_leaves_no_trace() -> None:
    template = under(GOVERNED)
    assert problems_of(template) == []
    assert list(template.resources) == ["after", "user"]
    assert template.disabled == {"maybe"}
    assert template.resources["after"].requirements == set()
    assert template.resources["user"].requirements == set()
    assert template.resources["user"].properties == {"of": "nothing"}
    assert list(template.outputs) == ["always", "sometimes"]
    stack = StackDefinition(name="s", id="")
    assert template.outputs["sometimes"].resolve(stack) is None
    assert template.outputs["sometimes"].requirements == set()
    assert template.outputs["always"].resolve(stack) == "none"


def test_what_a_condition_lets_be_is_there_with_its_edges() -> None:
    template = under(GOVERNED, {"big": True})
    assert problems_of(template) == []
    assert list(template.resources) == ["maybe", "after", "user"]
    assert template.resources["after"].requirements == {"maybe"}
    assert template.resources["user"].required_attributes == {("maybe", ("show", "id"))}
    assert template.resources["user"].properties == {"of": {"get_attr": ["maybe", "show", "id"]}}
    assert template.outputs["sometimes"].requirements == {"maybe"}


@pytest.mark.parametrize("call", ["{get_resource: maybe}", "{get_attr: [maybe, id]}"])
def test_a_reference_to_a_resource_that_a_condition_took_away_is_refused(call: str) -> None:
    body = f"resources: {{maybe: {{type: X, condition: false}}, r: {{type: X, properties: {{p: {call}}}}}}}"
    (problem,) = problems_of(under(body))
    assert problem.message == "the resource 'maybe' does not exist under its condition"
    assert "put an 'if'" in problem.hint


def test_a_condition_on_a_value_not_known_yet_takes_nothing_away() -> None:
    template = under(GOVERNED, {"big": UNKNOWN})
    assert problems_of(template) == []
    assert list(template.resources) == ["maybe", "after", "user"]
    stack = StackDefinition(name="s", id="")
    assert template.resources["user"].resolve_properties(stack) == {"of": UNKNOWN}


# -- if --------------------------------------------------------------------------------------------------------


def decided(value: str, values: dict[str, Any] | None = None, version: str = "wallaby") -> Any:
    body = f"conditions: {{c: {{get_param: big}}}}\nresources: {{r: {{type: X, properties: {{p: {value}}}}}}}"
    template = under(body, values, version)
    assert problems_of(template) == []
    given = template.resources["r"].resolve_properties(StackDefinition(name="s", id="", parameters=VALUES))
    assert given == on_a_worker(template.resources["r"]).resolve_properties(
        StackDefinition(name="s", id="", parameters=VALUES)
    )
    return given.get("p", "absent")


def on_a_worker(definition: ResourceDefinition) -> ResourceDefinition:
    """Return the definition as a worker has it."""
    return ResourceDefinition.from_fragment(definition.name, definition.fragment())


@pytest.mark.parametrize("version", ["newton", "ocata", "rocky", "wallaby"])
@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("{if: [c, 1, 2]}", 2),
        ("{if: [{not: c}, 1, 2]}", 1),
        ("{if: [null, 1, 2]}", 1),
        ("{if: [true, null, 2]}", None),
        ("{if: [false, {get_param: nope}, 2]}", 2),
        ("{if: [true, [1, {get_param: env}], {get_resource: nobody}]}", [1, "prod"]),
        ("{if: [false, {list_join: 7}, {if: [true, a, b]}]}", "a"),
        ("{list_join: [',', {if: [c, [x], [y, z]]}]}", "y,z"),
        ("{if: [c, 1, {if: 2, other: 3}]}", {"if": 2, "other": 3}),
    ],
)
def test_if_chooses(version: str, value: str, result: Any) -> None:
    assert decided(value, version=version) == result


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("{if: [c, 1]}", "absent"),
        ("{if: [true, 1]}", 1),
        ("{a: {if: [c, 1]}, b: 2}", {"b": 2}),
        ("[1, {if: [c, 2]}, 3]", [1, 3]),
        ("{a: {b: [{if: [c, 2]}]}}", {"a": {"b": []}}),
        ("{if: [true, {if: [c, 1]}]}", "absent"),
    ],
)
def test_if_without_a_second_value_takes_away_where_it_stands(value: str, result: Any) -> None:
    assert decided(value) == result


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ("{if: 7}", "", "found a number"),
        ("{if: {a: 1, b: 2}}", "", "found a map"),
        ("{if: []}", "", "found 0 items"),
        ("{if: [true]}", "", "found 1 items"),
        ("{if: [true, 1, 2, 3]}", "", "found 4 items"),
        ("{if: [7, 1, 2]}", "[0]", "found a number"),
        ("{if: [nobody, 1, 2]}", "[0]", "no condition 'nobody'"),
        ("{if: [{a: 1, b: 2}, 1, 2]}", "[0]", "found a map"),
        ("{if: [{str_split: [',', a]}, 1, 2]}", "[0].str_split", "cannot be called in a condition"),
        ("{if: [true, {list_join: 7}, 2]}", "[1].list_join", "found a number"),
    ],
)
@pytest.mark.parametrize("version", ["newton", "wallaby"])
def test_if_refuses_other_shapes(version: str, value: str, path: str, message: str) -> None:
    template = under(f"resources: {{r: {{type: X, properties: {{p: {value}}}}}}}", version=version)
    (problem,) = problems_of(template)
    assert problem.path == f"resources.r.properties.p.if{path}"
    assert message in problem.message


def test_before_wallaby_if_needs_both_values() -> None:
    (problem,) = under("outputs: {o: {value: {if: [true, 1]}}}", version="rocky").problems
    assert "found 2 items" in problem.message
    assert "wallaby" in problem.hint


def test_whole_sections_may_be_chosen() -> None:
    body = """
resources:
  a: {type: X, properties: {if: [false, {x: 1}, {y: 2}]}, metadata: {if: [true, {m: 1}, {}]}}
  b: {type: X, properties: {if: [false, {x: 1}]}}
"""
    template = under(body)
    assert problems_of(template) == []
    assert template.resources["a"].properties == {"y": 2}
    assert template.resources["a"].metadata == {"m": 1}
    assert template.resources["b"].resolve_properties(StackDefinition(name="s", id="")) == {}
    (problem,) = under("resources: {a: {type: X, properties: {if: [true, [1], 2]}}}").problems
    assert problem.path == "resources.a.properties"
    assert "found a list" in problem.message


def test_what_is_decided_early_may_be_chosen_too() -> None:
    body = """
resources:
  a:
    type: X
    deletion_policy: {if: [{get_param: big}, Delete, retain]}
    external_id: {get_param: env}
    update_policy: {if: [true, {batch: {get_param: count}}]}
"""
    definition = under(body).resources["a"]
    assert (definition.deletion_policy, definition.external_id) == ("Retain", "prod")
    assert definition.update_policy == {"batch": 1}
    again = type(definition).from_fragment("a", definition.fragment())
    assert (again.deletion_policy, again.external_id) == ("Retain", "prod")
    assert again.update_policy == {"batch": 1}


@pytest.mark.parametrize(
    ("more", "path", "message"),
    [
        ("external_id: ''", "external_id", "found an empty text"),
        ("external_id: [a]", "external_id", "found a list"),
        ("external_id: x, depends_on: b", "external_id", "cannot have depends_on"),
        ("external_id: {get_resource: b}", "external_id", "get_resource of a resource cannot stand here"),
        ("external_id: {get_param: nope}", "external_id.get_param", "there is no parameter 'nope'"),
        ("update_policy: [1]", "update_policy", "found a list"),
        ("update_policy: {a: {get_attr: [b, c]}}", "update_policy", "get_attr of a resource"),
        ("deletion_policy: {get_param: env}", "deletion_policy", "found text"),
    ],
)
def test_what_cannot_be_decided_early_is_refused(more: str, path: str, message: str) -> None:
    template = under(f"resources: {{b: {{type: X}}, a: {{type: X, {more}}}}}")
    (problem,) = problems_of(template)
    assert problem.path == f"resources.a.{path}"
    assert message in problem.message
    assert template.broken == {"a"}


def test_a_hidden_parameter_may_decide_what_no_resource_is_given() -> None:
    body = """
resources:
  a: {type: X, external_id: {get_param: env}, condition: {equals: [{get_param: env}, prod]}}
"""
    draft = Draft.read(HEAD.format(version="wallaby") + body, file="t.yaml", files={}, limits=Limits())
    template = draft.under(VALUES, hidden={"env"})
    assert template.problems == ()
    assert template.resources["a"].external_id == "prod"
