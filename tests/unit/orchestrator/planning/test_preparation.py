"""A job is checked whole before anything is touched, and every problem has its place."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.settings import Settings
from orchestrator.errors import InvalidInput, Problem
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import prepare
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Length, Range
from orchestrator.plugins.properties import Property, PropertyError, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource

SETTINGS = Settings()


class Strict(Resource):
    """Refuses nearly everything, by every means there is."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "number": Property(type=PropertyType.INTEGER, constraints=(Range(1, 3),)),
        "switch": Property(type=PropertyType.BOOLEAN),
        "word": Property(type=PropertyType.STRING, constraints=(AllowedValues(("yes", "no")),)),
        "letters": Property(type=PropertyType.STRING, constraints=(AllowedPattern("[a-z]"), Length(max=1))),
        "items": Property(
            type=PropertyType.LIST,
            schema=Property(
                type=PropertyType.MAP, schema={"port": Property(type=PropertyType.INTEGER, required=True)}
            ),
        ),
        "free": Property(type=PropertyType.STRING),
    }

    @classmethod
    def validate(cls, properties: Mapping[str, Any]) -> None:
        """Refuse whatever is given."""
        if properties["free"]:
            raise PropertyError(
                ("free",), f"found {properties['free']!r}", f"not {properties['free']}", veiled="no"
            )


TYPES = ResourceTypes({**ResourceTypes.load(), "Strict": Strict})


def problems_of(template: str, parameters: Mapping[str, Any] | None = None) -> tuple[Problem, ...]:
    """Return what is wrong with a template; nothing if all is well."""
    job = StackJob(
        name="s",
        template=f"heat_template_version: 2021-04-16\n{template}",
        template_file="t.yaml",
        parameters=parameters or {},
    )
    try:
        prepare(job, TYPES, SETTINGS)
    except InvalidInput as error:
        return error.problems
    return ()


@pytest.mark.parametrize("policy", ["Snapshot", "snapshot"])
def test_a_snapshot_that_nobody_would_take_is_refused_and_not_silently_a_deletion(policy: str) -> None:
    (problem,) = problems_of(
        f"""\
resources:
  disk:
    type: OS::Heat::None
    deletion_policy: {policy}
"""
    )
    assert str(problem) == (
        "t.yaml:5:5: resources.disk.deletion_policy: a resource of type 'OS::Heat::None' leaves no "
        "snapshot behind when it is deleted (use Delete or Retain; types that do: "
        "OS::Cinder::Volume, OS::Nova::Server)"
    )


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_the_other_policies_are_accepted(policy: str) -> None:
    assert problems_of(f"resources: {{a: {{type: OS::Heat::None, deletion_policy: {policy}}}}}") == ()


def strict(properties: str, *, hidden: bool = True, kind: str = "string") -> str:
    """Return a template with a parameter ``it`` and a resource with these properties."""
    return f"""\
parameters: {{it: {{type: {kind}, hidden: {hidden}}}, open: {{type: string, default: x}}}}
resources: {{one: {{type: Strict, properties: {properties}}}}}
"""


@pytest.mark.parametrize(
    ("properties", "path", "message"),
    [
        ("{number: abc}", "number", "expected a whole number, found 'abc'"),
        ("{number: {get_param: open}}", "number", "expected a whole number, found 'x'"),
        (
            "{word: {list_join: ['-', [a, {get_param: open}]]}}",
            "word",
            "'a-x' is not allowed; it must be one of 'yes', 'no'",
        ),
        ("{number: {get_param: it}}", "number", "expected a whole number, found something else"),
        ("{switch: {get_param: it}}", "switch", "expected true or false, found something else"),
        ("{word: {get_param: it}}", "word", "must be one of 'yes', 'no'"),
        ("{free: {get_param: it}}", "free", "no"),
        (
            "{items: [{port: {get_param: it}}]}",
            "items[0].port",
            "expected a whole number, found something else",
        ),
        ("{free: plain}", "free", "found 'plain'"),
        (
            "{free: plain, number: {get_param: it}, switch: {get_param: it}}",
            "number",
            "expected a whole number",
        ),
    ],
)
def test_a_value_is_told_where_the_template_says_it_itself(properties: str, path: str, message: str) -> None:
    problem, *_ = problems_of(strict(properties), {"it": "secret"})
    assert problem.path == f"resources.one.properties.{path}"
    assert problem.message.startswith(message)
    assert "secret" not in str(problem)


def test_a_parameter_that_is_not_hidden_may_be_told() -> None:
    (problem,) = problems_of(strict("{number: {get_param: it}}", hidden=False), {"it": "open"})
    assert problem.message == "expected a whole number, found 'open'"


def test_keys_inside_a_hidden_value_are_not_told_and_what_is_missing_is() -> None:
    (unknown, required) = sorted(
        problems_of(strict("{items: [{get_param: it}]}", kind="json"), {"it": {"secret": 1}}),
        key=lambda problem: problem.message,
        reverse=True,
    )[:2]
    for problem in (unknown, required):
        assert problem.path == "resources.one.properties.items[0]"
        assert "secret" not in str(problem)
    assert unknown.message == "it has a name that is no property; there are: port"
    assert required.message == "a value of 'port' is required: expected a whole number, found nothing"


WRAPPINGS = [
    "{get_param: it}",
    "{get_param: [it, 0]}",
    "{get_param: {get_param: name}}",
    "{list_join: ['', [{get_param: it}]]}",
    "{str_replace: {template: 'a-b', params: {a: {get_param: it}}}}",
    "{str_replace: {template: {get_param: it}, params: {}}}",
    "[{get_param: it}]",
    "{port: {get_param: it}}",
    "[{port: {get_param: it}}]",
]


@given(
    name=st.sampled_from(sorted(Strict.properties_schema)),
    wrapping=st.sampled_from(WRAPPINGS),
    secret=st.text("QXZJ", min_size=8),
    as_map=st.booleans(),
)
def test_no_problem_ever_tells_a_hidden_parameter(
    name: str, wrapping: str, secret: str, as_map: bool
) -> None:
    template = f"""\
parameters: {{it: {{type: {"json" if as_map else "string"}, hidden: true}}, name: {{type: string, default: it}}}}
resources: {{one: {{type: Strict, properties: {{{name}: {wrapping}}}}}}}
"""
    value = json.dumps({secret: secret, "0": secret}) if as_map else secret
    for problem in problems_of(template, {"it": value}):
        assert secret[:4] not in str(problem)


@pytest.mark.parametrize("project", ["", "two\nlines", "nul\0"])
def test_a_project_that_is_no_name_is_refused(project: str) -> None:
    job = StackJob(name="s", template="heat_template_version: 2021-04-16\nresources: {}", project=project)
    with pytest.raises(InvalidInput) as refused:
        prepare(job, TYPES, SETTINGS)
    assert [problem.path for problem in refused.value.problems] == ["project"]
