"""A recipe tells definitions apart by what they come to, before the values of other resources exist."""

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import desired_of, prepare
from orchestrator.planning.recipes import Recipe
from orchestrator.plugins.registry import ResourceTypes

BEGINNING = """\
heat_template_version: 2021-04-16
parameters: {length: {type: number, default: 8}, text: {type: string, default: x}}
resources:
  password: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
"""
VALUE = """\
  value:
    type: OS::Heat::Value
    properties: {value: {list_join: ['-', [{get_param: text}, {get_attr: [password, value]}]]}}
"""


def recipes(
    template: str = BEGINNING + VALUE, parameters: Mapping[str, Any] | None = None
) -> dict[str, Recipe]:
    """Return the recipes of a template's resources."""
    job = StackJob(
        name="s",
        template=template,
        parameters=parameters or {},
        files={"f": (parameters or {}).get("text", "")},
    )
    prepared = prepare(job, ResourceTypes.load(), Settings(), stack_id="id")
    return {desired.name: desired.fragment["recipe"] for desired in desired_of(prepared)}


def test_the_same_definition_has_the_same_recipe() -> None:
    assert recipes() == recipes()


def test_values_count_and_not_how_they_are_written() -> None:
    written = BEGINNING.replace("{get_param: length}", "8") + VALUE.replace("{get_param: text}", "x")
    assert recipes(written) == recipes()


def test_a_parameter_beside_what_is_not_known_yet_counts() -> None:
    before, after = recipes(), recipes(parameters={"text": "y"})
    assert before["password"] == after["password"]
    assert before["value"] != after["value"]


def test_what_a_resource_is_made_of_counts() -> None:
    before, after = recipes(), recipes(parameters={"length": 9})
    assert before["value"] != after["value"]


def test_what_it_only_waits_for_does_not_count() -> None:
    waiting = BEGINNING + "  value: {type: OS::Heat::Value, depends_on: password, properties: {value: x}}\n"
    assert recipes(waiting)["value"] == recipes(waiting, {"length": 9})["value"]


@pytest.mark.parametrize(
    "value",
    [
        "{get_resource: password}",
        "{repeat: {for_each: {<%i%>: {get_attr: [password, value]}}, template: <%i%>}}",
        "{str_replace: {template: $a, params: {$a: {get_resource: password}}}}",
        "{list_join: ['', [{get_file: f}, {get_resource: password}]]}",
    ],
)
def test_any_call_may_hide_what_a_resource_is_made_of(value: str) -> None:
    text = f"{BEGINNING}  value: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n"
    assert recipes(text)["value"] != recipes(text, {"length": 9})["value"]
    assert recipes(text, {"length": 9}) == recipes(text, {"length": 9})


def test_each_property_has_a_fingerprint_of_its_own() -> None:
    typed = VALUE.replace("{value:", "{type: string, value:")
    before, after = recipes(BEGINNING + typed)["value"], recipes(BEGINNING + typed, {"text": "y"})["value"]
    assert [name for name in before if before[name] != after[name]] == ["value"]
