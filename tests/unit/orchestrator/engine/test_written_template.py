"""Template text of objects: a resource made of it has the properties of the object, and no secret is in it."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.cli.formats import as_yaml
from orchestrator.config.settings import Settings
from orchestrator.engine.written_template import DescriptionContext, written_sections
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.planning.preparation import blank_stack, prepare
from orchestrator.plugins.clients import Clients
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import CANNOT_TELL
from orchestrator.plugins.validating import typed_properties
from tests.scenarios.world import World

STRING, MAP, LIST = PropertyType.STRING, PropertyType.MAP, PropertyType.LIST
HEAD = "heat_template_version: 2021-04-16\n"
SECRET = "hunter-2-is-secret"
SETTINGS = Settings()


class Sized(Resource):
    """A type of which the other system shows what a test puts there."""

    #: By physical id: what the object is like, or an error.
    objects: ClassVar[dict[str, Any]] = {}
    properties_schema: ClassVar[Mapping[str, Property]] = {
        "name": Property(type=STRING, required=True),
        "size": Property(type=PropertyType.INTEGER, default=1),
        "open": Property(type=PropertyType.BOOLEAN, default=False),
        "ratio": Property(type=PropertyType.NUMBER),
        "tags": Property(type=MAP, default={}),
        "items": Property(type=LIST),
        "password": Property(type=STRING, sensitive=True),
        "login": Property(
            type=MAP, schema={"user": Property(type=STRING), "key": Property(type=STRING, sensitive=True)}
        ),
        "old": Property(type=STRING, implemented=False),
    }

    def observe(self) -> Any:
        found = self.objects.get(self.state.physical_id or "")
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    made.checker._types["Sized"] = Sized  # type: ignore[index]  # a dict that both halves share
    yield made
    made.close()


def sections(
    world: World, seen: Any, *, template: str = HEAD, named: Mapping[str, str] | None = None, **job: Any
) -> dict[str, dict[str, Any]]:
    """Return the sections for one object, ``it``."""
    types, settings = world.checker._types, SETTINGS
    Sized.objects = {"1": seen}
    prepared = prepare(StackJob(name="s", template=template, **job), types, settings)
    with closing(Clients(settings)) as clients:
        within = DescriptionContext(
            prepared=prepared,
            context={},
            types=types,
            settings=settings,
            clients=clients.of("default"),
            store=world.store,
            now=0.0,
        )
        given = {"it": "Sized"} if named is None else named
        return written_sections({"it": "1"}, given, within)


def properties_by(world: World, written: Mapping[str, Any], **parameters: Any) -> dict[str, Any]:
    """Return the properties of a resource whose template has these sections, as its type gets them."""
    job = StackJob(name="s", template=HEAD + as_yaml(written), parameters=parameters)
    prepared = prepare(job, world.checker._types, SETTINGS)
    definition = prepared.template.resources["it"]
    return typed_properties(Sized, definition.resolve_properties(blank_stack(prepared)[1]))


texts = st.text(max_size=20).filter(lambda text: SECRET not in text)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
#: What a template would take for a call.
calls = st.fixed_dictionaries({"get_file": texts}) | st.fixed_dictionaries({"get_param": texts})
properties = st.fixed_dictionaries(
    {"name": texts.filter(bool)},
    optional={
        "size": st.integers(-5, 5),
        "open": st.booleans(),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "tags": st.dictionaries(texts, values | calls, max_size=3),
        "items": st.lists(values | calls, max_size=3),
    },
)


@given(seen=properties)
def test_resource_made_of_the_text_has_the_properties_of_the_object(
    world: World, seen: dict[str, Any]
) -> None:
    written = sections(world, seen)
    instead = {
        f"it_{name}": seen[name]
        for name, value in written["resources"]["it"]["properties"].items()
        if value == {"get_param": f"it_{name}"}
    }
    assert instead.keys() == written.get("parameters", {}).keys()
    assert properties_by(world, written, **instead) == typed_properties(Sized, seen)


def test_secrets_become_parameters_without_values(world: World) -> None:
    seen = {
        "name": f"of {SECRET}",
        "password": "pass",
        "login": {"user": "u", "key": "k"},
        "items": [{"deep": SECRET}],
        "tags": {"a": "b"},
    }
    source = f"{HEAD}parameters: {{word: {{type: string, hidden: true}}}}\nresources: {{}}"
    written = sections(world, seen, template=source, parameters={"word": SECRET})
    assert written["resources"]["it"]["properties"] == {
        "name": {"get_param": "it_name"},
        "tags": {"a": "b"},
        "items": {"get_param": "it_items"},
        "password": {"get_param": "it_password"},
        "login": {"get_param": "it_login"},
    }
    types = {name: each["type"] for name, each in written["parameters"].items()}
    assert types == {"it_name": "string", "it_items": "json", "it_password": "string", "it_login": "json"}
    assert all(each["hidden"] and "default" not in each for each in written["parameters"].values())


def test_new_parameter_has_a_name_of_its_own(world: World) -> None:
    source = (
        HEAD
        + "parameters: {it_password: {type: string, default: x}}\n"
        + ("resources: {it_password_: {type: Sized, properties: {name: n}}}")
    )
    written = sections(world, {"name": "n", "password": "pass"}, template=source)
    assert list(written["parameters"]) == ["it_password__"]


def test_required_property_that_is_not_shown_is_a_parameter(world: World) -> None:
    written = sections(world, {"size": 2})
    assert written["resources"]["it"]["properties"] == {"name": {"get_param": "it_name"}, "size": 2}
    assert "hidden" not in written["parameters"]["it_name"]


def test_value_that_a_template_could_not_give_is_left_out(world: World) -> None:
    written = sections(world, {"name": "n", "size": "large", "items": "none", "tags": {"a": 1}})
    assert written["resources"]["it"]["properties"] == {"name": "n", "tags": {"a": 1}}


LISTED = (
    HEAD
    + f"""\
parameters:
  word: {{type: string, default: hello}}
  hidden_word: {{type: string, hidden: true, default: {SECRET}}}
resources:
  other: {{type: Sized, properties: {{name: other}}}}
  it:
    type: Sized
    properties:
      name: {{get_param: word}}
      size: 7
      ratio: {{get_attr: [other, show]}}
      items: [{{get_param: hidden_word}}]
      password: written-down
"""
)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # What the template computes stays while it gives what is there, and if it is a secret.
        ({"name": "hello", "items": ["another"]}, {"name": {"get_param": "word"}, "size": 7}),
        ({"name": "changed", "size": 1, "items": [SECRET]}, {"name": "changed"}),
    ],
)
def test_calls_of_a_template_that_lists_the_resource_stay(
    world: World, seen: dict[str, Any], expected: dict[str, Any]
) -> None:
    written = sections(world, seen, template=LISTED, named={})
    assert written["resources"]["it"]["properties"] == {
        **expected,
        "ratio": {"get_attr": ["other", "show"]},
        "items": [{"get_param": "hidden_word"}],
        # It stands in the template, and is not repeated.
        "password": {"get_param": "it_password"},
    }


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (None, "there is no object with the id '1'"),
        (CANNOT_TELL, "the type Sized does not support to read an object"),
        ({"name": object()}, "no plain value"),
        (ValueError("no route to the host"), "cannot be read: ValueError: no route to the host"),
        (ValueError(f"login with {SECRET} failed"), "login with ****** failed"),
    ],
)
def test_object_that_cannot_be_read_is_refused(world: World, seen: Any, told: str) -> None:
    source = f"{HEAD}parameters: {{word: {{type: string, hidden: true}}}}\nresources: {{}}"
    with pytest.raises(InvalidInput) as refused:
        sections(world, seen, template=source, parameters={"word": SECRET})
    (problem,) = refused.value.problems
    assert problem.path == "resources.it"
    assert told in problem.message
    assert SECRET not in str(refused.value)
