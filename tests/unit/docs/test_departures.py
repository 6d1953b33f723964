"""The table of differences from Heat in docs/language.md: what it says of Isotherm is so."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.template.functions.registry import all_functions
from orchestrator.validation.job import examine_job
from orchestrator.validation.warnings import warnings_of

DOCS = Path(__file__).parents[3] / "docs"
GENERAL = runpy.run_path(str(DOCS / "make_language.py"))["DEPARTURES"]
OF_FUNCTIONS = [each for kind in all_functions().values() for each in vars(kind).get("departures", ())]
TYPES = ResourceTypes.load()
HOT, CFN = "heat_template_version: wallaby", "AWSTemplateFormatVersion: 2010-09-09"


def outcome(body: str, *, head: str = HOT, environment: str = "", **more: Any) -> Any:
    """Return the value of the output ``o``, or the messages of the problems."""
    environments = (EnvironmentSource(file="e.yaml", source=environment),) if environment else ()
    job = StackJob(
        name="s", template=f"{head}\n{body}", template_file="t.yaml", environments=environments, **more
    )
    try:
        found = examine_job(job, TYPES, Settings(), offline=True)
    except InvalidInput as error:
        return [problem.message for problem in error.problems]
    output = found.template.outputs.get("o")
    return None if output is None else output.resolve(found.blank)


def value(written: str, **more: Any) -> Any:
    return outcome(f"outputs: {{o: {{value: {written}}}}}", **more)


def warned(body: str) -> list[str]:
    job = StackJob(name="s", template=f"{HOT}\n{body}", template_file="t.yaml")
    found = examine_job(job, TYPES, Settings(), offline=True)
    return [warning.message for warning in warnings_of(found, TYPES)]


def declared(declaration: str, **parameters: Any) -> Any:
    return outcome(
        f"parameters: {{p: {{{declaration}}}}}\noutputs: {{o: {{value: {{get_param: p}}}}}}",
        parameters=parameters,
    )


NESTED = (
    "heat_template_version: wallaby\nparameters: {p: {type: json}}\noutputs: {q: {value: {get_param: p}}}"
)


def nested_value() -> object:
    job = StackJob(
        name="s",
        template=f"{HOT}\nresources: {{a: {{type: n.yaml, properties: {{p: [{{x: 1}}, null]}}}}}}",
        template_file="t.yaml",
        files={"n.yaml": NESTED},
    )
    found = examine_job(job, TYPES, Settings(), offline=True)
    return found.nested["a"].parameters.values["p"]


REGISTRY = "resources: {a: {type: 'My::RandomString'}, b: {type: 'My::Other'}}"

#: By what a row is about: what Isotherm makes of an example, and a part of a message or the value that is expected.
REFUSED: dict[str, tuple[Callable[[], Any], Any]] = {
    "problems": (
        lambda: outcome("resources: {a: {type: Nope}, b: {type: Nada}}"),
        ["there is no resource type 'Nope'", "there is no resource type 'Nada'"],
    ),
    "a key that a map has twice": (lambda: value("{a: 1, a: 2}"), "comes twice"),
    "numbers that are not finite or do not fit 64 bits, and YAML's other tags": (
        lambda: [*value(".inf"), *value(str(2**64)), *value("!!set {a}")],
        ["finite", "64 bits", "!!set"],
    ),
    "unknown keys of outputs": (lambda: outcome("outputs: {o: {value: 1, vale: 2}}"), "no key 'vale'"),
    "`external_id` and `condition` before newton": (
        lambda: outcome(
            "resources: {a: {type: OS::Heat::None, condition: true, external_id: x}}",
            head="heat_template_version: 2016-04-08",
        ),
        ["'condition' needs", "'external_id' needs"],
    ),
    "a reference to a resource that does not exist, in an output": (
        lambda: value("{get_resource: a}"),
        "there is no resource 'a'",
    ),
    "a call in place of a condition that gives null": (
        lambda: outcome(
            "parameters: {p: {type: json, default: [null]}}\n"
            "outputs: {o: {value: 1, condition: {get_param: [p, 0]}}}"
        ),
        "found null",
    ),
    "several kinds of constraints in one map": (
        lambda: declared("type: string, constraints: [{length: {min: 1}, allowed_values: [a]}]", p="a"),
        "exactly one kind",
    ),
    "`hidden` and `immutable`": (
        lambda: [
            *declared("type: string, hidden: text", p="a"),
            *declared("type: string, immutable: x", p="a"),
        ],
        ["expected true or false", "expected true or false"],
    ),
    "maps and lists in a comma_delimited_list": (
        lambda: declared("type: comma_delimited_list", p=[{"a": 1}]),
        "item 0 is a map",
    ),
    "NaN and Infinity in a json parameter": (lambda: declared("type: json", p="[NaN]"), "finite"),
    "an unknown word under `parameter_merge_strategies`": (
        lambda: value("1", environment="parameter_merge_strategies: {default: mrge}"),
        "mrge",
    ),
    "an entry of a registry for a full name whose target does not exist": (
        lambda: outcome(
            "resources: {a: {type: OS::Heat::None}}",
            environment="resource_registry: {'OS::Heat::None': My::Nope}",
        ),
        "there is no resource type 'My::Nope'",
    ),
    "a resource's name that another resource or a hidden parameter gives": (
        lambda: outcome(
            "resources: {a: {type: OS::Heat::None}}\n"
            "outputs: {o: {value: {get_resource: {get_attr: [a, x]}}}}"
        ),
        "cannot come from another resource",
    ),
    "`get_attr: a`, a text of one character": (
        lambda: outcome("resources: {a: {type: OS::Heat::None}}\noutputs: {o: {value: {get_attr: a}}}"),
        "found text",
    ),
    "null as an operand": (
        lambda: outcome("outputs: {o: {value: 1, condition: {and: [true, null]}}}"),
        "found null",
    ),
    "the name of an unknown condition behind a decided operand": (
        lambda: outcome("outputs: {o: {value: 1, condition: {or: [true, nobody]}}}"),
        "there is no condition 'nobody'",
    ),
    "algorithms": (lambda: value("{digest: [shake_128, a]}"), "shake_128"),
    "a wrong `fragment` beside a `query`": (
        lambda: value("{make_url: {query: {a: b}, fragment: 7}}"),
        "expected text, found a number",
    ),
    "a resource of a template that no resource uses": (
        lambda: outcome(
            "resources: {a: {type: OS::Heat::Value, properties: {value: {resource_facade: metadata}}}}"
        ),
        "there is no parent",
    ),
    "calls in the section Mappings": (
        lambda: outcome(
            "Mappings: {m: {a: {b: {Ref: x}}}}\nOutputs: {o: {Value: {'Fn::FindInMap': [m, a, b]}}}", head=CFN
        ),
        "which would be a call",
    ),
}
GIVEN: dict[str, tuple[Callable[[], Any], Any]] = {
    "keys that are no text": (
        lambda: warned("outputs: {o: {value: {80: x}}}")[0][:20],
        "this key is a number",
    ),
    "a map with one key that is nearly a function's name": (
        lambda: warned("outputs: {o: {value: {get_atr: x}}}"),
        ["'get_atr' is no function, so this map is data"],
    ),
    "a default of a wrong type that is not used": (
        lambda: declared("type: number, default: x, constraints: [{range: {min: 1}}]", p=7),
        7,
    ),
    "a parameter that both the request and an environment file set": (
        lambda: outcome(
            "parameters: {p: {type: string}}\noutputs: {o: {value: {get_param: p}}}",
            environment="parameters: {p: file}",
            parameters={"p": "request"},
        ),
        "request",
    ),
    "several entries of a registry that match": (
        lambda: outcome(
            REGISTRY,
            environment="resource_registry: {'*': OS::Heat::Nope, 'My::*': 'OS::Heat::*', 'My::Other': OS::Heat::None}",
        ),
        None,
    ),
    "parameters of a nested stack": (nested_value, [{"x": 1}, None]),
    "`AWS::StackId`": (
        lambda: len(outcome("Outputs: {o: {Value: {Ref: 'AWS::StackId'}}}", head=CFN)),
        36,
    ),
    "`AWS::Region`": (
        lambda: outcome("Outputs: {o: {Value: {Ref: 'AWS::Region'}}}", head=CFN),
        Settings().aws_region,
    ),
    "a key replaced by itself, `keys: {a: a}`": (
        lambda: value("{map_replace: [{a: 1}, {keys: {a: a}}]}"),
        {"a": 1},
    ),
    "sets, lazy values and keys that are no text in the result": (
        lambda: value("{yaql: {expression: '[set(3, 1), dict(1 => 2)]'}}"),
        [[1, 3], {"1": 2}],
    ),
    "source": (
        lambda: outcome("Outputs: {o: {Value: {'Fn::GetAZs': ''}}}", head=CFN),
        list(Limits.of(Settings()).availability_zones),
    ),
}
#: Rows of which other tests show more than an example could, or that speak of the engine as a whole.
SHOWN_ELSEWHERE = {
    "`get_resource` of a nested stack",
    "templates by URL",
    "limits",
    "bounds",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_table_says_is_refused_is_refused(what: str) -> None:
    make, expected = REFUSED[what]
    found = make()
    assert isinstance(found, list), found
    for part in [expected] if isinstance(expected, str) else expected:
        assert any(part in message for message in found), found


@pytest.mark.parametrize("what", GIVEN)
def test_what_the_table_says_is_taken_gives_what_it_says(what: str) -> None:
    make, expected = GIVEN[what]
    assert make() == expected


def test_every_row_of_the_table_has_an_example() -> None:
    rows = [each.what for each in (*GENERAL, *OF_FUNCTIONS)]
    assert sorted(rows) == sorted({*REFUSED, *GIVEN, *SHOWN_ELSEWHERE})


def test_the_page_has_every_row() -> None:
    page = (DOCS / "language.md").read_text()
    for each in (*GENERAL, *OF_FUNCTIONS):
        assert f"{each.what} | {each.heat} | {each.here} |" in page
