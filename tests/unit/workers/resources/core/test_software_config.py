"""``OS::Heat::SoftwareConfig`` and ``OS::Heat::StructuredConfig``."""

from typing import Any

import pytest

from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError
from tests.unit.workers.resources.core.made import UUID, errors, make, validate
from workers.resources.core.software_config import SoftwareConfig, StructuredConfig


def test_the_text_is_the_attribute_and_the_row_is_the_id() -> None:
    resource = make(SoftwareConfig, {"config": "#!/bin/sh\nexit 0\n"})
    resource.handle_create()
    assert resource.attribute("config") == "#!/bin/sh\nexit 0\n"
    assert resource.attribute("other") is None
    assert resource.reference_id() == UUID


def test_a_structured_config_keeps_calls_of_inputs_as_they_are() -> None:
    config = {"hosts": [{"get_input": "host"}], "port": 80}
    resource = make(StructuredConfig, {"config": config})
    resource.handle_create()
    assert resource.attribute("config") == config
    assert make(StructuredConfig).attribute("config") == {}


@pytest.mark.parametrize("kind", [SoftwareConfig, StructuredConfig])
def test_every_change_makes_another_config(kind: type[SoftwareConfig | StructuredConfig]) -> None:
    assert not any(prop.update_allowed for prop in kind.properties_schema.values())


def test_defaults_of_what_is_not_said() -> None:
    resource = make(SoftwareConfig, {"inputs": [{"name": "a"}], "outputs": [{"name": "b"}]})
    assert resource.properties["group"] == "Heat::Ungrouped"
    assert resource.properties["inputs"] == [
        {"name": "a", "description": None, "type": "String", "default": None, "replace_on_change": False}
    ]
    assert resource.properties["outputs"] == [
        {"name": "b", "description": None, "type": "String", "error_output": False}
    ]


def test_schema_knows_names_and_types() -> None:
    given = {"inputs": [{"type": "string"}, {"name": ""}], "outputs": [{"name": "o", "eror_output": True}]}
    assert errors(SoftwareConfig, given) == [
        "inputs[0].name: a value is required: expected a text, found nothing",
        (
            "inputs[0].type: 'string' is not allowed, did you mean 'String'?; it must be one of 'String', 'Number', "
            "'CommaDelimitedList', 'Json', 'Boolean'"
        ),
        "inputs[1].name: the length is 0; it must be at least 1",
        "outputs[0].eror_output: there is no property 'eror_output' (did you mean 'error_output'?)",
    ]


@pytest.mark.parametrize("section", ["inputs", "outputs"])
def test_a_name_is_given_once(section: str) -> None:
    given: dict[str, Any] = {section: [{"name": "a"}, {"name": "b"}, {"name": "a"}]}
    with pytest.raises(
        PropertyError, match=rf"^{section}\[2\].name: {section}\[0\] has the name 'a' already"
    ):
        validate(SoftwareConfig, given)
    validate(SoftwareConfig, {section: [{"name": "a"}, {"name": UNKNOWN}, UNKNOWN, {"name": "b"}]})
    validate(SoftwareConfig, {section: UNKNOWN})


def test_a_name_may_be_that_of_an_input_and_of_an_output() -> None:
    validate(StructuredConfig, {"inputs": [{"name": "a"}], "outputs": [{"name": "a"}]})


@pytest.mark.parametrize(
    ("type_name", "default"),
    [
        ("String", "x"),
        ("Number", "1.5"),
        ("Boolean", "true"),
        ("CommaDelimitedList", "a,b"),
        ("CommaDelimitedList", ["a"]),
        ("Json", '{"a": 1}'),
        ("Json", [1]),
        ("Number", None),
        ("Number", UNKNOWN),
        (UNKNOWN, []),
    ],
)
def test_defaults_that_fit_their_type(type_name: Any, default: Any) -> None:
    validate(SoftwareConfig, {"inputs": [{"name": "a", "type": type_name, "default": default}]})


@pytest.mark.parametrize(
    ("type_name", "default", "message"),
    [
        ("String", [], "expected a text, found a list"),
        ("Number", "many", "expected a number, found 'many'"),
        ("Boolean", "yes", "expected true or false, found 'yes'"),
        ("CommaDelimitedList", 1, "expected a list, found 1"),
        ("Json", "{", "expected JSON text, found '{'"),
    ],
)
def test_defaults_that_do_not(type_name: str, default: Any, message: str) -> None:
    given = {"inputs": [{"name": "b"}, {"name": "a", "type": type_name, "default": default}]}
    with pytest.raises(PropertyError, match=rf"^inputs\[1\].default: {message}") as raised:
        validate(SoftwareConfig, given)
    assert str(default) not in str(raised.value.veil(()))
