"""Every installed type has an example that is valid, and what is not is never shown."""

from typing import Any, ClassVar

import pytest

from orchestrator.config.settings import Settings
from orchestrator.documentation.example import Examples, made_up
from orchestrator.model.messages import StackJob
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Length, Modulo, Range
from orchestrator.plugins.custom import Custom
from orchestrator.plugins.properties import Property, PropertyError, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.validation.report import validate_job

TYPES = ResourceTypes.load()


def job(template: str) -> StackJob:
    return StackJob(name="example", template=template, template_file="example.yaml")


@pytest.mark.parametrize("name", sorted(TYPES))
def test_the_example_of_every_installed_type_is_valid(name: str) -> None:
    example = Examples(TYPES, Settings()).of(name)
    assert example is not None
    view = validate_job(job(example), Settings())
    assert name in {kind for _, kind in view.resources}


@pytest.mark.parametrize("name", sorted(TYPES))
def test_types_that_ship_bring_an_example(name: str) -> None:
    if TYPES[name].__module__.partition(".")[0] == "workers":
        example = TYPES[name].example
        assert example.startswith("heat_template_version: ")
        assert Examples(TYPES, Settings()).of(name) == example


class Picky(Resource):
    properties_schema: ClassVar = {
        "size": Property(type=PropertyType.INTEGER, required=True, constraints=(Range(min=7), Modulo(5, 3))),
        "word": Property(type=PropertyType.STRING, required=True, constraints=(AllowedPattern("a"),)),
        "address": Property(type=PropertyType.STRING, required=True, constraints=(Custom("mac_addr"),)),
        "kind": Property(type=PropertyType.STRING, required=True, constraints=(AllowedValues(("b", "c")),)),
        "names": Property(
            type=PropertyType.LIST,
            required=True,
            constraints=(Length(min=2),),
            schema=Property(
                type=PropertyType.MAP,
                schema={
                    "name": Property(type=PropertyType.STRING, required=True, constraints=(Length(min=9),)),
                    "also": Property(type=PropertyType.STRING),
                },
            ),
        ),
        "free": Property(type=PropertyType.STRING),
    }


def test_what_must_be_given_is_made_up_so_that_it_is_valid() -> None:
    example = Examples({"My::Picky": Picky}, Settings()).of("My::Picky")
    assert example is not None
    assert "size: 8" in example or "size: 13" in example
    assert "kind: b" in example
    assert "free" not in example


def own(text: str, **more: Any) -> Examples:
    kind = type("Own", (Resource,), {"example": text, **more})
    return Examples({"My::Own": kind, "My::Other": kind}, Settings())


OWN = "heat_template_version: 2021-04-16\nresources:\n  mine:  # a comment\n    type: My::Own\n"


def test_the_example_of_a_class_is_shown_as_it_is_written() -> None:
    assert own(OWN).of("My::Own") == OWN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no: template",
        "{",
        OWN.replace("My::Own", "My::Other"),
        f"{OWN}    properties: {{no_such: 1}}\n",
        f"{OWN}# {'x' * 20_000}",
    ],
    ids=["none", "no template", "no YAML", "another type", "not valid", "too long"],
)
def test_an_example_that_is_not_one_of_the_type_gives_way_to_one_that_is_made_up(text: str) -> None:
    example = own(text).of("My::Own")
    assert example is not None
    assert "  own:\n    type: My::Own" in example


class Never(Resource):
    @classmethod
    def validate(cls, properties: Any) -> None:
        raise PropertyError((), "never")


class Broken(Resource):
    @classmethod
    def validate(cls, properties: Any) -> None:
        raise KeyError("a plugin's mistake")


@pytest.mark.parametrize("kind", [Never, Broken])
def test_a_type_that_refuses_everything_has_no_example(kind: type[Resource]) -> None:
    assert Examples({"My::Type": kind}, Settings()).of("My::Type") is None


def test_a_schema_that_holds_itself_has_no_example() -> None:
    inside: dict[str, Property] = {}
    endless = Property(type=PropertyType.MAP, required=True, schema=inside)
    inside["again"] = endless
    kind = type("Endless", (Resource,), {})
    # A class with such a schema cannot be loaded; this one comes by it later.
    kind.properties_schema = inside  # type: ignore[attr-defined]
    assert Examples({"My::Endless": kind}, Settings()).of("My::Endless") is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Property(type=PropertyType.BOOLEAN), True),
        (Property(type=PropertyType.NUMBER, constraints=(Range(max=-3),)), -3),
        (Property(type=PropertyType.MAP, constraints=(Length(min=1),)), {"example1": "example"}),
        (Property(type=PropertyType.LIST, constraints=(AllowedValues(("a",)),)), ["a"]),
        (Property(type=PropertyType.STRING, constraints=(Length(min=30, max=30),)), "x" * 30),
    ],
    ids=lambda each: str(each.type) if isinstance(each, Property) else "",
)
def test_values_are_made_up_by_the_rules(schema: Property, value: Any) -> None:
    assert made_up(schema) == value
