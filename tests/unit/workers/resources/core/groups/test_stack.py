"""Stacks of templates that are given as text."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, convert_properties
from tests.unit.workers.resources.core.groups.fake_child import FakeChild, make_stack
from tests.unit.workers.resources.core.made import validate
from workers.resources.core.groups.stack import Stack

TEXT = "heat_template_version: 2021-04-16\n"


def test_the_stack_is_what_the_text_says() -> None:
    child = FakeChild()
    wanted: list[tuple[str | int, ...]] = [("outputs", "x"), ("resource.disk.size",), ("stack_name",)]
    given = {"template": TEXT, "parameters": {"a": [1]}, "timeout": 7}
    make_stack(Stack, child, given, wanted=wanted).handle_create()
    (asked,) = child.asked
    assert (asked.template, asked.parameters, asked.timeout_minutes) == (TEXT, {"a": [1]}, 7)
    assert asked.parameters_from == ("parameters",)
    assert asked.asks == (("disk", "size"),)


def test_it_tells_its_name_and_its_outputs() -> None:
    child = FakeChild(outputs={"map": {"x": [1, 2]}})
    stack = make_stack(Stack, child, {"template": TEXT})
    assert stack.attribute("stack_name") is None
    stack.handle_create()
    assert stack.attribute("stack_name") == "stack-it-2f1c6d0e"
    assert stack.attribute_at(("outputs", "map", "x", 1)) == 2
    assert stack.attribute_at(("outputs", "none")) is None


def test_another_installation_is_refused() -> None:
    with pytest.raises(PropertyError, match="cannot be made in another installation or region"):
        validate(Stack, {"template": TEXT, "context": {"region_name": "north"}})
    validate(Stack, {"template": TEXT, "context": {}})


def test_a_blueprint_is_there_once_the_text_is_known() -> None:
    def blueprint(**given: Any) -> Any:
        return Stack.blueprint("s", convert_properties(Stack.properties_schema, given, constraints=False))

    shown = blueprint(template=TEXT, parameters={"a": UNKNOWN})
    assert (shown.child.template, shown.child.parameters) == (TEXT, {"a": UNKNOWN})
    assert blueprint(template=UNKNOWN) is None
    assert blueprint(template=TEXT, parameters=UNKNOWN) is None
