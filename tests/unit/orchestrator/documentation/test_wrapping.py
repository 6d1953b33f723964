"""A template around a type is valid, asks for all of it, and leaves out what is not given."""

from typing import Any, ClassVar

import pytest
import yaml

from orchestrator.cli.formats import as_json, as_yaml
from orchestrator.config.settings import Settings
from orchestrator.documentation.wrapping import resource_name, wrapping_template
from orchestrator.model.messages import StackJob
from orchestrator.plugins.constraints import AllowedPattern, AllowedValues, Constraint, Length, Range
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.validation.job import examine_job
from orchestrator.validation.report import validate_job

TYPES = ResourceTypes.load()
#: Values for types of which one property or another must be given.
NEEDED = {
    "OS::Cinder::Quota": {"volumes": "1"},
    "OS::Cinder::Volume": {"size": "1"},
    "OS::Neutron::Quota": {"port": "1"},
    "OS::Neutron::RouterGateway": {"network": "n"},
    "OS::Neutron::RouterInterface": {"subnet": "s"},
    "OS::Neutron::Subnet": {"cidr": "10.0.0.0/24"},
    "OS::Nova::Quota": {"cores": "1"},
    "OS::Nova::Server": {"image": "i"},
}


def job(template: str, **parameters: str) -> StackJob:
    return StackJob(name="wrapped", template=template, template_file="wrapper.yaml", parameters=parameters)


@pytest.mark.parametrize("write", [as_yaml, as_json])
@pytest.mark.parametrize("name", sorted(TYPES))
def test_the_template_around_every_installed_type_is_valid(name: str, write: Any) -> None:
    kind = TYPES[name]
    view = validate_job(job(write(wrapping_template(name, kind)), **NEEDED.get(name, {})), Settings())
    shown = [key for key, prop in kind.properties_schema.items() if not prop.support_status.is_hidden]
    assert [each["name"] for each in view.parameters] == shown
    assert [type_name for _, type_name in view.resources] == [name]
    told = {key for key, each in kind.attributes_schema.items() if not each.support_status.is_hidden}
    assert set(view.outputs) == {*told, "OS::stack_id"}


def of_type(kind: PropertyType, **more: Any) -> Property:
    return Property(type=kind, description="What it is.", **more)


class Shapes(Resource):
    properties_schema: ClassVar = {
        "text": of_type(PropertyType.STRING, constraints=(Length(min=3, max=9), AllowedPattern("(?:a|b)+"))),
        "word": of_type(PropertyType.STRING, constraints=(AllowedValues(("aa", "bb")),)),
        "count": of_type(PropertyType.INTEGER, constraints=(Range(1, 5),)),
        "share": of_type(PropertyType.NUMBER),
        "flag": of_type(PropertyType.BOOLEAN),
        "names": of_type(PropertyType.LIST, schema=Property(type=PropertyType.STRING)),
        "things": of_type(PropertyType.LIST),
        "table": of_type(PropertyType.MAP),
        "whatever": of_type(PropertyType.ANY),
        "fixed": of_type(PropertyType.STRING, default="x", immutable=True),
    }
    attributes_schema: ClassVar = {"state": Attribute("How it is.")}


WRAPPER = as_yaml(wrapping_template("My::Shapes", Shapes))


def given(**parameters: str) -> dict[str, Any]:
    """Return the properties that the wrapped resource is given."""
    examined = examine_job(job(WRAPPER, **parameters), {"My::Shapes": Shapes}, Settings(), offline=True)
    return dict(examined.template.resources["shapes"].resolve_properties(examined.blank))


def test_what_may_be_left_out_is_left_out() -> None:
    assert given() == {"fixed": "x"}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "abab", "abab"),
        ("word", "bb", "bb"),
        ("count", "4", "4"),
        ("share", "2.5e1", "2.5e1"),
        ("flag", "false", "false"),
        ("names", "a,b", ["a", "b"]),
        ("things", '[{"a": 1}]', [{"a": 1}]),
        ("table", '{"a": 1}', {"a": 1}),
        ("whatever", "3", 3),
        ("fixed", "y", "y"),
    ],
)
def test_what_is_given_arrives(name: str, text: str, value: Any) -> None:
    assert given(**{name: text}) == {"fixed": "x", name: value}


@pytest.mark.parametrize(
    ("name", "text"),
    [("text", "a" * 10), ("text", "cc"), ("word", "cc"), ("count", "1.5"), ("share", "x"), ("flag", "yes")],
)
def test_what_is_wrong_is_refused_as_the_parameter_s_value(name: str, text: str) -> None:
    with pytest.raises(Exception, match=f"parameters.{name}|parameter '{name}'|{name}"):
        given(**{name: text})


def test_a_parameter_says_what_the_property_is() -> None:
    parameters = yaml.safe_load(WRAPPER)["parameters"]
    assert parameters["fixed"] == {
        "type": "string",
        "description": "What it is.",
        "default": "x",
        "immutable": True,
    }
    assert parameters["count"]["description"] == "What it is. A whole number, or nothing."


class Unsayable(Constraint):
    def rule(self) -> str:
        return "must be liked"

    def fault(self, value: Any) -> str | None:
        return None


def test_a_rule_that_hot_cannot_say_is_left_to_the_property() -> None:
    schema = of_type(PropertyType.STRING, required=True, constraints=(Unsayable(), Length(max=3)))
    kind = type("Odd", (Resource,), {"properties_schema": {"odd": schema}})
    declared = wrapping_template("My::Odd", kind)["parameters"]["odd"]
    assert declared["constraints"] == [{"length": {"max": 3}}]
    assert "default" not in declared


@pytest.mark.parametrize(
    ("type_name", "name"),
    [
        ("OS::Heat::RandomString", "random_string"),
        ("Acme", "acme"),
        ("My::HTTPThing2", "httpthing2"),
        ("::", "resource"),
        ("My::日本", "resource"),
    ],
)
def test_a_resource_is_called_after_its_type(type_name: str, name: str) -> None:
    assert resource_name(type_name) == name


def test_a_resource_has_not_the_name_of_a_property() -> None:
    assert "value_resource" in wrapping_template("OS::Heat::Value", TYPES["OS::Heat::Value"])["resources"]
