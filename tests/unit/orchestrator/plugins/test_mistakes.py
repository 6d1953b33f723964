"""What is wrong with a schema is told when its class is loaded, with its path, all at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import PluginMistake
from orchestrator.plugins.constraints import AllowedValues, Length, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.mistakes import property_mistakes
from orchestrator.plugins.properties import Attribute, Property, PropertyType, check_properties
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from tests.unit.orchestrator.plugins.conftest import Install

STRING, INTEGER, MAP, LIST = PropertyType.STRING, PropertyType.INTEGER, PropertyType.MAP, PropertyType.LIST
NUMBER, BOOLEAN = PropertyType.NUMBER, PropertyType.BOOLEAN


def load(section: str, schema: Any) -> type[Resource]:
    """Load a class with one schema."""
    return type("Made", (Resource,), {section: schema})


def inside(prop: Any) -> Mapping[str, Property]:
    """Return a schema with a property inside a map inside a list."""
    return {"ports": Property(type=LIST, schema=Property(type=MAP, schema={"port": prop}))}


PROPERTIES = [
    (
        Property(type=STRING, update_allowed=True, immutable=True),
        "it cannot be both update_allowed and immutable",
    ),
    (Property(type=STRING, required=True, default="a"), "it cannot be both required and have a default"),
    (Property(type=STRING, required=True, implemented=False), "what is not implemented cannot be required"),
    (Property(type=STRING, schema={}), "the type string cannot have a schema of its own"),
    (Property(type=LIST, schema={}), "the schema of a list is the property that every item is, found dict"),
    (
        Property(type=MAP, schema=Property(type=STRING)),
        "the schema of a map is a map of properties by name, found Property",
    ),
    (Property(type=INTEGER, constraints=(Length(1),)), "the type integer cannot have the constraint Length"),
    (
        Property(type=INTEGER, constraints=(AllowedValues((1, "2", 3.0)),)),
        "the allowed value '2' never matches a value of the type integer",
    ),
    (
        Property(type=INTEGER, constraints=(AllowedValues((1.5,)),)),
        "the allowed value 1.5 never matches a value of the type integer",
    ),
    (
        Property(type=NUMBER, constraints=(AllowedValues((1, 1.5, "2")),)),
        "the allowed value '2' never matches a value of the type number",
    ),
    (
        Property(type=STRING, constraints=(AllowedValues(("a", 1)),)),
        "the allowed value 1 never matches a value of the type string",
    ),
    (
        Property(type=STRING, constraints=(AllowedValues(("a", None)),)),
        "the allowed value null never matches a value of the type string",
    ),
    (
        Property(type=BOOLEAN, constraints=(AllowedValues((True, "false")),)),
        "the allowed value 'false' never matches a value of the type boolean",
    ),
    (
        Property(type=BOOLEAN, constraints=(AllowedValues((0, False)),)),
        "the allowed value 0 never matches a value of the type boolean",
    ),
    (
        Property(type=LIST, schema=Property(type=STRING), constraints=(AllowedValues(("a", 1)),)),
        "the allowed value 1 never matches an item of the type string",
    ),
    (Property(type=INTEGER, default="many"), "the default is wrong: expected a whole number, found 'many'"),
    (
        Property(type=INTEGER, default=0, constraints=(Range(min=1),)),
        "the default is wrong: 0 is out of range; it must be at least 1",
    ),
    (
        Property(
            type=LIST, default=["a", "b"], schema=Property(type=STRING, constraints=(AllowedValues(("a",)),))
        ),
        "the default is wrong: [1]: 'b' is not allowed; it must be one of 'a'",
    ),
    (
        Property(type=MAP, default={}, schema={"a": Property(type=STRING, required=True)}),
        "the default is wrong: a: a value is required: expected a text, found nothing",
    ),
    ("text", "expected a Property, found str"),
]
IDS = [str(number) for number in range(len(PROPERTIES))]


@pytest.mark.parametrize(("prop", "sentence"), PROPERTIES, ids=IDS)
def test_a_mistake_is_told_with_its_path(prop: Any, sentence: str) -> None:
    for section in ("properties_schema", "update_policy_schema"):
        with pytest.raises(PluginMistake) as caught:
            load(section, {"it": prop})
        assert str(caught.value) == f"{__name__}:Made: {section}.it: {sentence}"
    with pytest.raises(PluginMistake) as caught:
        load("properties_schema", inside(prop))
    assert str(caught.value) == f"{__name__}:Made: properties_schema.ports.*.port: {sentence}"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(PluginMistake, match=r"properties_schema.a: .*; properties_schema.b: "):
        load(
            "properties_schema",
            {
                "a": Property(type=STRING, schema={}),
                "b": Property(type=STRING, required=True, default="b"),
            },
        )


def test_a_default_is_not_held_to_constraints_that_packages_bring() -> None:
    """What answers may not be installed yet, or ask another system."""
    found = load(
        "properties_schema", {"it": Property(type=STRING, default="x", constraints=(Custom("no.such"),))}
    )
    assert found.properties_schema["it"].absent() == "x"


@pytest.mark.parametrize("name", ["*", "show"])
def test_names_that_stand_for_all_attributes_are_nobodys_own(name: str) -> None:
    with pytest.raises(PluginMistake, match=r"attributes_schema.*the name is reserved"):
        load("attributes_schema", {name: Attribute("everything")})


def test_an_attribute_is_one() -> None:
    with pytest.raises(PluginMistake, match=r"attributes_schema.it: expected an Attribute, found str"):
        load("attributes_schema", {"it": "text"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: SupportStatus(substitute="My::Other"),
        lambda: SupportStatus(status=Support.HIDDEN, previous=SupportStatus(status=Support.HIDDEN)),
    ],
    ids=["substitute", "twice"],
)
def test_a_support_status_says_one_thing(make: Any) -> None:
    with pytest.raises(PluginMistake):
        make()


def test_a_package_with_a_mistake_stops_the_process_and_is_named(install: Install, tmp_path: Path) -> None:
    source = """
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource


class Wrong(Resource):
    properties_schema = {"size": Property(type=PropertyType.INTEGER, default="big")}
"""
    namespace = install("wrong", {"My::Wrong": "Wrong"}, source)
    with pytest.raises(PluginMistake) as caught:
        ResourceTypes.load(namespace)
    sentence = str(caught.value)
    assert sentence.startswith("resource type 'My::Wrong' (")
    assert (
        "Wrong: properties_schema.size: the default is wrong: expected a whole number, found 'big'"
        in sentence
    )


VALUES = st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["a", "1"])


@given(st.sampled_from([STRING, INTEGER, NUMBER, BOOLEAN]), VALUES)
def test_an_allowed_value_is_wrong_if_and_only_if_it_can_never_be_given(
    kind: PropertyType, value: Any
) -> None:
    prop = Property(type=kind, constraints=(AllowedValues((value,)),))
    is_wrong = bool(list(property_mistakes({"p": prop}, "properties_schema")))
    assert is_wrong == bool(list(check_properties({"p": prop}, {"p": value})))


@pytest.mark.parametrize("schema", ["properties_schema", "update_policy_schema"])
def test_a_wrong_allowed_value_is_found_when_a_type_is_loaded(schema: str) -> None:
    inner = Property(type=INTEGER, constraints=(AllowedValues(("1",)),))
    body = {schema: {"a": Property(type=LIST, schema=Property(type=MAP, schema={"b": inner}))}}
    with pytest.raises(PluginMistake, match=rf"{schema}\.a\.\*\.b: the allowed value '1' never matches"):
        type("Wrong", (Resource,), body)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AllowedValues("abc"),  # type: ignore[arg-type]
        lambda: Range(min="1"),  # type: ignore[arg-type]
        lambda: Range(min=0, max="1"),  # type: ignore[arg-type]
        lambda: Length(max="1"),  # type: ignore[arg-type]
        lambda: Length(min=True),
    ],
)
def test_a_constraint_of_a_wrong_type_is_refused_where_it_is_written(make: Any) -> None:
    with pytest.raises(ValueError, match=r"is no number|expected a tuple"):
        make()
