"""Every installed function has examples, and they give what they promise."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from orchestrator.config.limits import Limits
from orchestrator.definition import NodeData, ResourceProxy, StackDefinition
from orchestrator.template.dialects import dialect_of
from orchestrator.template.environment import Environment
from orchestrator.template.functions.base import Example
from orchestrator.template.functions.references import ALL_ATTRIBUTES
from orchestrator.template.functions.registry import all_functions
from orchestrator.template.parameters import pseudo_parameters
from orchestrator.template.template import Draft
from orchestrator.template.versions import HOT, TemplateVersion, find_version, version_of_date

FUNCTIONS = all_functions()
EXAMPLES = [
    pytest.param(name, example, id=example.call)
    for name, function in FUNCTIONS.items()
    # What a class inherits shows the call of another function.
    for example in vars(function).get("examples", ())
]
TYPES = {bool: "boolean", int: "number", float: "number", str: "string", list: "json", dict: "json"}


def version_called(name: str) -> TemplateVersion:
    version = find_version(name) or version_of_date(name)
    assert version, f"there is no version {name}"
    return version


def declaration(value: Any, version: TemplateVersion) -> dict[str, str]:
    kind = TYPES[type(value)]
    return {"type": kind} if version.is_hot else {"Type": kind.capitalize()}


def template_around(name: str, example: Example) -> dict[str, Any]:
    """Return a template with an output that holds the example, or tells whether it holds as a condition."""
    version = version_called(example.version)
    words = dialect_of(version)
    sections = dict(example.sections)
    value = yaml.safe_load(example.call)
    if version not in FUNCTIONS[name].lifetime:
        sections[words.conditions] = {**sections.get(words.conditions, {}), "example": value}
        value = {"if" if version.is_hot else "Fn::If": ["example", True, False]}
    return {
        version.key: version.date,
        **sections,
        words.parameters: {key: declaration(given, version) for key, given in example.parameters.items()},
        words.resources: {resource: {words.type: "OS::Heat::None"} for resource in example.resources},
        words.outputs: {"o": {words.value: value}},
    }


def made(name: str, gave: Mapping[str, Any]) -> ResourceProxy:
    attributes = gave.get("attributes", {})
    data = NodeData(
        uuid="u",
        name=name,
        action="CREATE",
        status="COMPLETE",
        reference_id=gave.get("reference"),
        attributes={(ALL_ATTRIBUTES,): attributes, **{(key,): value for key, value in attributes.items()}},
    )
    return ResourceProxy(name=name, type="OS::Heat::None", data=data)


def evaluated(name: str, example: Example) -> Any:
    source = json.dumps(template_around(name, example))
    draft = Draft.read(source, file="example", files=example.files, limits=Limits())
    pseudo = dict.fromkeys(pseudo_parameters(draft.version), "example")
    settled = draft.settle(Environment.of_parameters(example.parameters), pseudo=pseudo)
    assert not settled.problems
    template = draft.under(settled.parameters.values)
    assert not template.problems
    assert not template.check_references()
    stack = StackDefinition(
        name="example",
        id="example",
        parameters=settled.parameters.values,
        files=example.files,
        resources={resource: made(resource, gave) for resource, gave in example.resources.items()},
        parent=example.parent,
    )
    return template.outputs["o"].resolve(stack)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_gives_what_it_promises(name: str, example: Example) -> None:
    assert list(yaml.safe_load(example.call)) == [name]
    # As text, because 1 equals true.
    assert json.dumps(evaluated(name, example), sort_keys=True) == json.dumps(example.result, sort_keys=True)


def test_every_function_has_an_example_of_its_own() -> None:
    assert [name for name, function in FUNCTIONS.items() if not vars(function).get("examples")] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_first_line_about_a_function_shows_its_call(name: str) -> None:
    first, *_ = (FUNCTIONS[name].__doc__ or "").splitlines()
    assert first.startswith(f"``{name}: ")
    assert "``: " in first
    assert first.endswith(".")


def test_a_wrong_example_is_found_out() -> None:
    assert evaluated("contains", Example("contains: [1, [1]]", result=True)) is True
    with pytest.raises(AssertionError, match="no version"):
        evaluated("contains", Example("contains: [1, [1]]", result=True, version="nope"))


def test_an_example_runs_in_the_version_it_names() -> None:
    example = Example("list_join: [',', [{a: 1}]]", "", version="2013-05-23")
    assert template_around("list_join", example)[HOT] == "2013-05-23"
    with pytest.raises(AssertionError):
        evaluated("list_join", example)
