"""A template is read whole, or refused with everything that is wrong with it."""

import json
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.limits import Limits
from orchestrator.errors import InvalidInput, Problem
from orchestrator.template.template import Template
from tests.counting import calls

Parse = Callable[..., Template]
ProblemsOf = Callable[..., list[Problem]]


def parse_source(source: str) -> Template:
    return Template.parse(source, file="t.yaml", files={}, limits=Limits())


def only_problem_of(source: str) -> Problem:
    with pytest.raises(InvalidInput) as caught:
        parse_source(source)
    (problem,) = caught.value.problems
    return problem


WHOLE = """\
description: All that is known
parameters:
  size: {type: number, default: 2, label: Size, description: How many}
parameter_groups:
- {label: All, parameters: [size]}
resources:
  second:
    type: OS::Heat::Value
    description: Comes second
    depends_on: [first, first]
    deletion_policy: Retain
    properties: {value: {get_param: size}}
    metadata: {note: {get_resource: first}}
  first: {type: OS::Heat::None}
outputs:
  out: {value: {get_attr: [second, value]}, description: What it holds}
"""


def test_a_whole_template_is_kept_in_its_order(parse: Parse) -> None:
    template = parse(WHOLE)
    assert (template.version, template.description, template.file) == (
        "2021-04-16",
        "All that is known",
        "t.yaml",
    )
    assert list(template.resources) == ["second", "first"]
    second = template.resources["second"]
    assert second.type == "OS::Heat::Value"
    assert second.description == "Comes second"
    assert second.depends_on == ("first",)
    assert second.deletion_policy == "Retain"
    assert second.metadata == {"note": {"get_resource": "first"}}
    assert (second.position.line, second.position.column) == (8, 3)
    assert template.outputs["out"].description == "What it holds"
    assert template.outputs["out"].required_attributes == {("second", ("value",))}
    assert template.outputs["out"].requirements == {"second"}
    assert template.parameters["size"].label == "Size"
    assert template.check_references() == []


@pytest.mark.parametrize("section", ["parameters", "resources", "outputs", "parameter_groups", "description"])
def test_a_null_section_is_an_empty_one(parse: Parse, section: str) -> None:
    assert parse(f"{section}:\n").resources == {}


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2013-05-23", "2013-05-23"),
        ("newton", "2016-10-14"),
        ("rocky", "2018-08-31"),
        ("wallaby", "2021-04-16"),
    ],
)
def test_versions_have_dates_and_some_have_names(parse: Parse, name: str, date: str) -> None:
    assert parse(version=name).version == date


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "found nothing"),
        ("[]", "found a list"),
        ("text", "found text"),
        ("{}", "there is no 'heat_template_version'"),
        ("heat_template_version: 2013", "expected a version as text, found a number"),
        ("heat_template_version: stein", "there is no version 'stein'"),
        ("heat_template_version:", "expected a version as text, found null"),
        ("AWSTemplateFormatVersion: 2010-09-10", "there is no version '2010-09-10'"),
        ("HeatTemplateFormatVersion: 2010-09-09", "there is no version '2010-09-09'"),
        ("heat_template_version: rocky\nAWSTemplateFormatVersion: 2010-09-09", "only one version"),
    ],
)
def test_what_is_no_template_is_refused(source: str, message: str) -> None:
    assert message in only_problem_of(source).message


def test_a_version_nearby_is_suggested() -> None:
    assert only_problem_of("heat_template_version: 2016-10-15").hint == "did you mean '2016-10-14'?"


def test_all_problems_come_at_once_in_the_order_of_the_text(problems_of: ProblemsOf) -> None:
    found = problems_of(
        textwrap.dedent("""\
        outputs:
          o: {vale: 1}
        resources:
          a: {type: X, propertys: {}}
          b: {}
          c: {type: X, properties: {x: {str_replace: {template: t}}}}
        parameters:
          p: {type: strin}
        80: x
        resorces: {}
        """)
    )
    assert [(str(p.position), p.path) for p in found] == [
        ("t.yaml:3:3", "outputs.o"),
        ("t.yaml:3:7", "outputs.o.vale"),
        ("t.yaml:5:16", "resources.a.propertys"),
        ("t.yaml:6:3", "resources.b"),
        ("t.yaml:7:33", "resources.c.properties.x.str_replace"),
        ("t.yaml:9:7", "parameters.p.type"),
        ("t.yaml:10:1", "80"),
        ("t.yaml:11:1", "resorces"),
    ]
    assert found[2].hint == "did you mean 'properties'?"
    assert found[5].hint == "did you mean 'string'?"


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ("resources: []", "resources", "found a list"),
        ("outputs: 7", "outputs", "found a number"),
        ("parameters: text", "parameters", "found text"),
        ("description: {}", "description", "found a map"),
        ("resources: {a: null}", "resources.a", "found null"),
        ("resources: {a: {type: 7}}", "resources.a.type", "found a number"),
        ("resources: {a: {type: ''}}", "resources.a.type", "empty text"),
        ("resources: {a: {type: X, properties: []}}", "resources.a.properties", "found a list"),
        ("resources: {a: {type: X, metadata: x}}", "resources.a.metadata", "found text"),
        ("resources: {a: {type: X, depends_on: 7}}", "resources.a.depends_on", "found a number"),
        ("resources: {a: {type: X, depends_on: [b, [c]]}}", "resources.a.depends_on", "found a list"),
        ("resources: {a: {type: X, depends_on: {get_param: x}}}", "resources.a.depends_on", "found a map"),
        ("resources: {a: {type: X, deletion_policy: Keep}}", "resources.a.deletion_policy", "'Keep'"),
        (
            "resources: {a: {type: X, deletion_policy: {get_attr: [b, x]}}, b: {type: X}}",
            "resources.a.deletion_policy",
            "get_attr of a resource cannot stand here",
        ),
        ("resources: {a/b: {type: X}}", "resources.a/b", "'/'"),
        ('resources: {"a\\0": {type: X}}', "resources.a\0", "control characters"),
        ("resources: {'': {type: X}}", "resources.", "1 to 255"),
        ("outputs: {o: 7}", "outputs.o", "found a number"),
        ("outputs: {o: {description: x}}", "outputs.o", "no value"),
        ("parameters: {p: {type: string}}\nresources: {p: {type: X}}", "resources.p", "name of a parameter"),
        ("parameter_groups: {}", "parameter_groups", "found a map"),
        ("parameter_groups: [{}]", "parameter_groups[0]", "list of parameters"),
        ("parameter_groups: [7]", "parameter_groups[0]", "list of parameters"),
        ("parameter_groups: [{parameters: [7]}]", "parameter_groups[0].parameters[0]", "found a number"),
        ("parameter_groups: [{parameters: [p]}]", "parameter_groups[0].parameters[0]", "no parameter 'p'"),
        (
            "parameters: {p: {type: string}}\nparameter_groups: [{parameters: [p]}, {parameters: [p]}]",
            "parameter_groups[1].parameters[0]",
            "in a group already",
        ),
    ],
)
def test_wrong_shapes_are_named_with_their_path(
    problems_of: ProblemsOf, body: str, path: str, message: str
) -> None:
    (problem,) = problems_of(body)
    assert problem.path == path
    assert message in problem.message
    assert problem.position is not None


@pytest.mark.parametrize(
    ("version", "body", "message"),
    [
        (
            "2016-04-08",
            "conditions: {}",
            "'conditions' needs heat_template_version 2016-10-14 (newton) or later",
        ),
        ("2015-10-15", "resources: {a: {type: X, condition: c}}", "'condition' needs"),
        ("2013-05-23", "resources: {a: {type: X, external_id: c}}", "'external_id' needs"),
        ("2013-05-23", "outputs: {o: {value: 1, condition: c}}", "'condition' needs"),
    ],
)
def test_what_is_not_there_yet_says_so(
    problems_of: ProblemsOf, version: str, body: str, message: str
) -> None:
    (problem,) = problems_of(body, version=version)
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("version", "written", "policy"),
    [
        ("newton", "retain", "Retain"),
        ("newton", "Snapshot", "Snapshot"),
        ("2013-05-23", "Delete", "Delete"),
        ("2013-05-23", "~", "Delete"),
    ],
)
def test_deletion_policies(parse: Parse, version: str, written: str, policy: str) -> None:
    template = parse(f"resources: {{a: {{type: X, deletion_policy: {written}}}}}", version=version)
    assert template.resources["a"].deletion_policy == policy


def test_lower_case_policies_are_refused_before_newton(problems_of: ProblemsOf) -> None:
    assert problems_of("resources: {a: {type: X, deletion_policy: retain}}", version="2016-04-08")


def test_the_number_of_resources_is_limited(parse: Parse, problems_of: ProblemsOf) -> None:
    body = "resources: {a: {type: X}, b: {type: X}, c: {type: X}}"
    assert len(parse(body, max_resources=3).resources) == 3
    (problem,) = problems_of(body, max_resources=2)
    assert problem.message == "there are 3 resources; at most 2 are allowed"


def test_every_reference_to_nothing_is_found_with_the_nearest_name(parse: Parse) -> None:
    template = parse(
        textwrap.dedent("""\
        parameters: {flavor: {type: string}}
        resources:
          server:
            type: X
            depends_on: [netwrk, server2]
            properties: {a: {get_param: flavour}, b: [{get_resource: netwok}], c: {get_file: user.sh}}
            metadata: {d: {get_attr: [networl, id]}}
          network: {type: X, depends_on: missing}
        outputs: {o: {value: {get_param: [flvor, x]}}}
        """),
        files={"users.sh": ""},
    )
    assert [(str(p.position), p.path, p.hint) for p in template.check_references()] == [
        ("t.yaml:6:18", "resources.server.depends_on[0]", "did you mean 'network'?"),
        ("t.yaml:6:26", "resources.server.depends_on[1]", "did you mean 'server'?"),
        ("t.yaml:7:22", "resources.server.properties.a.get_param", "did you mean 'flavor'?"),
        ("t.yaml:7:48", "resources.server.properties.b[0].get_resource", "did you mean 'network'?"),
        ("t.yaml:7:76", "resources.server.properties.c.get_file", "did you mean 'users.sh'?"),
        ("t.yaml:8:31", "resources.server.metadata.d.get_attr[0]", "did you mean 'network'?"),
        ("t.yaml:9:22", "resources.network.depends_on", ""),
        ("t.yaml:10:23", "outputs.o.value.get_param", "did you mean 'flavor'?"),
    ]


@pytest.mark.parametrize("name", ["OS::stack_name", "OS::stack_id", "OS::project_id"])
def test_pseudo_parameters_need_no_declaration(parse: Parse, name: str) -> None:
    assert parse(f"outputs: {{o: {{value: {{get_param: '{name}'}}}}}}").check_references() == []


def test_problems_can_be_made_for_any_path(parse: Parse) -> None:
    template = parse("resources:\n  a: {type: X, properties: {p: [1]}}")
    problem = template.problem(("resources", "a", "properties", "p", 0, "q"), "wrong", "do this")
    assert str(problem) == "t.yaml:3:33: resources.a.properties.p[0].q: wrong (do this)"


def _many(count: int) -> str:
    resources = [
        f"  r{i}:\n    type: X\n    properties: {{value: v{i}}}\n    depends_on: [r{i - 1}, r{i - 2}, r{i - 3}]"
        for i in range(3, count)
    ]
    return "\n".join(["resources:", *(f"  r{i}: {{type: X}}" for i in range(3)), *resources])


def test_twice_as_many_resources_cost_twice_as_much(parse: Parse) -> None:
    def read(count: int) -> None:
        template = parse(_many(count))
        assert template.check_references() == []
        last = template.resources[f"r{count - 1}"]
        assert last.requirements == {f"r{count - before}" for before in (2, 3, 4)}

    read(10)
    assert calls(lambda: read(1000)) < 2.2 * calls(lambda: read(500))


def test_thousands_of_wrong_names_cost_no_thousands_of_searches(parse: Parse) -> None:
    def check(count: int) -> int:
        resources = "\n".join(f"  r{i}: {{type: X, depends_on: [q{i}, qq{i}]}}" for i in range(count))
        template = parse(f"resources:\n{resources}")
        problems = []
        cost = calls(lambda: problems.extend(template.check_references()))
        assert len(problems) == 2 * count
        return cost

    check(10)
    assert check(2000) < 2.2 * check(1000)


WORDS = st.sampled_from(
    [
        *(
            "resources:",
            "parameters:",
            "outputs:",
            "a:",
            "b:",
            "type:",
            "properties:",
            "value:",
            "depends_on:",
        ),
        *("get_param", "get_attr:", "get_resource:", "str_replace:", "template:", "params:", "list_join:"),
        *(
            "get_file:",
            "if:",
            "constraints:",
            "range:",
            "min:",
            "default:",
            "hidden:",
            "string",
            "number",
            "json",
        ),
        *(
            "-",
            "?",
            "|",
            ">",
            "&",
            "*",
            "&a",
            "*a",
            "!!int",
            "!x",
            "<<:",
            "{",
            "}",
            "[",
            "]",
            ",",
            "'",
            '"',
            "#",
            ":",
        ),
        *(
            "1",
            "1.5",
            "~",
            "yes",
            "2013-05-23",
            "---",
            "...",
            "%YAML 9.9",
            "\t",
            "\n",
            "\n ",
            "\n  ",
            "\n    ",
        ),
    ]
)


def outcome_of(source: str) -> Template | tuple[Problem, ...]:
    try:
        return parse_source(source)
    except InvalidInput as error:
        return error.problems


def check_outcome(outcome: Template | tuple[Problem, ...]) -> None:
    if isinstance(outcome, Template):
        assert all(problem.position for problem in outcome.check_references())
        assert all(each.fragment()["t"] == each.type for each in outcome.resources.values())
    else:
        assert outcome
        assert all(problem.position and str(problem) for problem in outcome)


@given(st.lists(WORDS, max_size=60))
def test_no_words_of_yaml_give_anything_but_a_template_or_problems(words: list[str]) -> None:
    check_outcome(outcome_of("heat_template_version: rocky\n" + " ".join(words)))


@given(st.text(max_size=200))
def test_no_text_gives_anything_but_a_template_or_problems(source: str) -> None:
    check_outcome(outcome_of(source))


KEYS = st.sampled_from(
    [
        *("heat_template_version", "description", "resources", "parameters", "outputs", "parameter_groups"),
        *("conditions", "a", "b", "type", "properties", "metadata", "depends_on", "deletion_policy", "value"),
        *(
            "default",
            "constraints",
            "range",
            "length",
            "allowed_values",
            "allowed_pattern",
            "modulo",
            "min",
            "max",
        ),
        *("step", "offset", "hidden", "tags", "template", "params", "get_param", "get_resource", "get_attr"),
        *("get_file", "str_replace", "list_join", "if", "repeat", "Ref"),
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["string", "number", "json", "comma_delimited_list", "a", "", "(", "OS::x", "a/b"])
    | st.text(max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)
ENTRIES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.dictionaries(KEYS, TREES, max_size=5) | TREES, max_size=3
)
SECTIONS = st.fixed_dictionaries(
    {"heat_template_version": st.sampled_from(["2013-05-23", "2015-10-15", "newton", "wallaby"])},
    optional={
        "parameters": ENTRIES | TREES,
        "resources": ENTRIES | TREES,
        "outputs": ENTRIES | TREES,
        "parameter_groups": TREES,
        "description": TREES,
    },
)


@given(SECTIONS)
def test_no_tree_gives_anything_but_a_template_or_problems(tree: dict[str, Any]) -> None:
    check_outcome(outcome_of(json.dumps(tree)))
