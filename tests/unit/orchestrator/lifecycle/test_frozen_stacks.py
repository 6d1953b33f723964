"""What lifecycle plugins are shown of stacks: resolved where known, masked where hidden, and never to be changed."""

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.errors import ReadOnly
from hooks.stack import FrozenResource, FrozenStack
from hooks.values.frozen import frozen
from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.definition import UNKNOWN, ResourceProxy, StackDefinition
from orchestrator.errors import NotFound
from orchestrator.lifecycle.frozen_stacks import definition_shown, shown_from_wire, shown_to_wire
from orchestrator.model.messages import EnvironmentSource, StackJob
from orchestrator.planning.preparation import Prepared, prepare
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.template.expressions import Expression
from orchestrator.template.functions.base import Function

SETTINGS = Settings()
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 3}
  password: {type: string, hidden: true, default: hunter2}
resources:
  first:
    type: OS::Heat::Value
    properties: {type: number, value: {get_param: size}}
  second:
    type: OS::Heat::Value
    depends_on: first
    properties:
      value:
        url:
          str_replace:
            template: "db://admin:PASSWORD@host"
            params: {PASSWORD: {get_param: password}}
        from: {get_attr: [first, value]}
        literal: hunter
"""


def prepared(template: str = TEMPLATE, **parts: Any) -> Prepared:
    """Return a sound job, made ready."""
    job = StackJob(name="shop", template=template, **parts)
    return prepare(job, ResourceTypes.load(), SETTINGS, stack_id="s1")


def test_what_is_known_is_told_what_is_hidden_is_masked_and_the_rest_is_unknown() -> None:
    shown = definition_shown(prepared(), tags=("prod", "eu"))
    assert (shown.name, shown.id, shown.root_id, shown.parent_id) == ("shop", "s1", "s1", "")
    assert shown.tags == ("prod", "eu")
    assert shown.parameters["size"] == 3
    assert shown.parameters["password"] == "******"
    assert shown.parameters["OS::stack_name"] == "shop"
    assert shown.resource("first").properties == {"type": "number", "value": 3}
    second = shown.resource("second")
    assert (second.type, second.requires) == ("OS::Heat::Value", ("first",))
    assert second.properties["value"] == {"url": "******", "from": UNKNOWN, "literal": "hunter"}


def test_nothing_of_it_can_be_changed() -> None:
    shown = definition_shown(prepared())
    with pytest.raises(FrozenInstanceError):
        shown.name = "other"  # type: ignore[misc]  # that is the point
    with pytest.raises(FrozenInstanceError):
        shown.resource("first").type = "other"  # type: ignore[misc]  # as above
    with pytest.raises(ReadOnly):
        shown.resources["third"] = shown.resource("first")  # type: ignore[index]  # as above
    with pytest.raises(ReadOnly):
        shown.resource("second").properties["value"]["literal"] = 1


def test_tags_and_parameters_are_shown_as_the_stack_has_them() -> None:
    shown = definition_shown(prepared(parameters={"size": 5, "password": "other"}))
    assert shown.tags == ()
    assert {name: shown.parameters[name] for name in ("size", "password")} == {
        "size": 5,
        "password": "******",
    }


ALIASED = """
heat_template_version: 2021-04-16
parameters:
  secret: {type: json, hidden: true, default: {a: hunter2, b: [hunter2]}}
  is_there: {type: boolean, default: false}
conditions:
  there: {get_param: is_there}
resources:
  a: {type: Our::Value, properties: {value: {get_param: [secret, b, 0]}}}
  b: {type: OS::Heat::None, condition: there}
  c: {type: OS::Heat::None, properties: {get_param: secret}}
  d: {type: OS::Heat::None, properties: {get_attr: [a, value]}}
  e: {type: OS::Heat::None, properties: {key: {get_file: key.pem}}}
"""


def test_aliases_conditions_whole_maps_and_files_are_told_as_in_a_preview() -> None:
    environment = EnvironmentSource(
        file="env.yaml", source="resource_registry: {'Our::Value': 'OS::Heat::Value'}"
    )
    shown = definition_shown(prepared(ALIASED, environments=(environment,), files={"key.pem": "-----BEGIN"}))
    assert list(shown.resources) == ["a", "c", "d", "e"]
    assert shown.resource("a").type == "OS::Heat::Value"
    assert {name: each.properties for name, each in shown.resources.items()} == {
        "a": {"value": "******"},
        "c": {"*": "******"},
        "d": {"*": UNKNOWN},
        "e": {"key": "******"},
    }
    assert "hunter2" not in repr(shown)


class Odd(Function):
    """Gives whatever it is made to give."""

    name = "odd"
    pure = True
    gives: Callable[[], Any]

    def call(self, arguments: Any, stack: StackDefinition) -> Any:
        return type(self).gives()


def failing() -> Any:
    """Fail as nobody expects a function to."""
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("gives", "shown"),
    [
        (failing, UNKNOWN),
        (lambda: {1, 2}, UNKNOWN),
        (lambda: b"bytes", UNKNOWN),
        (lambda: {1: "a"}, UNKNOWN),
        (lambda: {"\ud800": "a"}, UNKNOWN),
        (lambda: [Settings(), "a"], [UNKNOWN, "a"]),
        (lambda: ["a", ("b", {"c": Settings})], ["a", ["b", {"c": UNKNOWN}]]),
        (lambda: 2**70, 2**70),
        (lambda: "\ud800", "\ud800"),
    ],
    ids=["failing", "set", "bytes", "number", "odd key", "object", "deep", "large", "odd text"],
)
def test_an_odd_function_spoils_nothing_but_its_own_value(gives: Callable[[], Any], shown: Any) -> None:
    made = prepared()
    first = made.template.resources["first"]
    (call,) = first.properties_expression.calls
    odd = type("Itself", (Odd,), {"gives": staticmethod(gives)})(call, scope=call.scope, path=call.path)
    template = copy.copy(made.template)
    expression = Expression({"odd": odd, "size": call, "plain": ["a"]}, (odd, call))
    template.resources = {**template.resources, "first": replace(first, properties_expression=expression)}
    stack = definition_shown(replace(made, template=template))
    assert stack.resource("first").properties == {"odd": shown, "size": 3, "plain": ["a"]}
    again = shown_from_wire(msgpack.unpackb(msgpack.packb(shown_to_wire(stack))))
    assert again == stack


def test_an_evaluation_that_takes_too_long_leaves_values_unknown() -> None:
    hasty = prepare(StackJob(name="shop", template=TEMPLATE), ResourceTypes.load(), SETTINGS)
    hasty.template.draft.limits = Limits(evaluation_seconds=0)
    assert definition_shown(hasty).resource("first").properties == {"type": "number", "value": UNKNOWN}


SECRET = "s3cr3t"
DIGEST = hashlib.md5(SECRET.encode(), usedforsecurity=False).hexdigest()
TEXTS = (
    st.sampled_from(["a", "b c"])
    | st.just({"get_param": "open"})
    | st.sampled_from(
        [{"get_param": "secret"}, {"get_param": ["secrets", "a"]}, {"get_param": ["secrets", "b", 0]}]
    )
)
CALLS = st.recursive(
    TEXTS,
    lambda inner: (
        st.builds(lambda parts: {"list_join": ["-", parts]}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda text: {"digest": ["md5", text]}, inner)
        | st.builds(
            lambda template, value: {"str_replace": {"template": template, "params": {"a": value}}},
            inner,
            inner,
        )
        | st.builds(lambda value: {"if": ["no", "a", value]}, inner)
        | st.builds(lambda value: {"if": ["yes", value, "a"]}, inner)
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    CALLS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
        | st.builds(
            lambda maps: {"map_merge": maps},
            st.lists(st.dictionaries(st.sampled_from("xyz"), inner), max_size=2),
        )
        | st.builds(
            lambda items: {"repeat": {"for_each": {"%i%": items}, "template": "<%i%>"}},
            st.lists(CALLS, max_size=2),
        )
    ),
    max_leaves=5,
)


def with_value(value: Any, *, is_hidden: bool) -> Prepared:
    """Return a job with a property of this value, whose secrets are hidden or not."""
    template = {
        "heat_template_version": "2021-04-16",
        "parameters": {
            "open": {"type": "string", "default": "o"},
            "secret": {"type": "string", "hidden": is_hidden, "default": SECRET},
            "secrets": {"type": "json", "hidden": is_hidden, "default": {"a": SECRET, "b": [SECRET]}},
        },
        "conditions": {"yes": {"equals": ["a", "a"]}, "no": {"equals": ["a", "b"]}},
        "resources": {
            "it": {"type": "OS::Heat::None", "properties": {"value": value, "open": {"get_param": "open"}}}
        },
    }
    return prepared(json.dumps(template))


@given(VALUES)
def test_no_secret_is_ever_shown_whatever_functions_make_of_it(value: Any) -> None:
    shown = definition_shown(with_value(value, is_hidden=True))
    told = repr(shown) + repr(shown_to_wire(shown))
    assert SECRET not in told
    assert DIGEST not in told
    assert shown.resource("it").properties["open"] == "o"


@given(VALUES)
def test_where_nothing_is_hidden_everything_is_shown_as_resources_get_it(value: Any) -> None:
    made = with_value(value, is_hidden=False)
    stack = StackDefinition(name="shop", id="s1", parameters=made.parameters.values)
    expected = made.template.resources["it"].resolve_properties(stack)
    assert definition_shown(made).resource("it").properties == expected


def test_what_a_stack_definition_has_too_means_the_same() -> None:
    made = prepared()
    template = made.template
    definition = StackDefinition(
        name=made.name,
        id=made.stack_id,
        project=made.project,
        parameters=made.parameters.values,
        resources={
            name: ResourceProxy(name=name, type=each.type) for name, each in template.resources.items()
        },
        files=template.files,
    )
    shown = definition_shown(made)

    def members(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")} | {"__contains__"}

    common = members(StackDefinition) & members(FrozenStack)
    assert common == {"name", "id", "project", "parameters", "resources", "resource", "__contains__"}
    assert (shown.name, shown.id, shown.project) == (definition.name, definition.id, definition.project)
    assert shown.parameters == {**definition.parameters, "password": "******"}
    assert list(shown.resources) == list(definition.resources)
    for name in (*definition.resources, "third"):
        assert (name in shown) is (name in definition)
    for name in definition.resources:
        assert shown.resource(name).name == definition.resource(name).name
        assert shown.resource(name).type == definition.resource(name).type
    for stack, error in ((shown, KeyError), (definition, NotFound)):
        with pytest.raises(error, match="did you mean 'first'"):
            stack.resource("frist")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just(UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MAPS = st.dictionaries(st.text(max_size=5), PLAIN, max_size=4).map(frozen)
NAMES = st.text("ab", min_size=1, max_size=3)
WHAT_IS_THERE: dict[str, Any] = {
    "name": NAMES,
    "type": st.text(max_size=5),
    "uuid": st.text(max_size=3),
    "action": st.sampled_from(["", "CREATE"]),
    "status": st.sampled_from(["", "COMPLETE"]),
    "physical_id": st.none() | st.text(max_size=3),
}
RESOURCES = st.builds(
    FrozenResource,
    **WHAT_IS_THERE,
    properties=MAPS,
    requires=st.lists(NAMES, max_size=2).map(tuple),
    others=st.lists(st.builds(FrozenResource, **WHAT_IS_THERE), max_size=2).map(tuple),
)
STACKS = st.builds(
    FrozenStack,
    name=NAMES,
    id=NAMES,
    project=NAMES,
    parameters=MAPS,
    tags=st.lists(st.text(max_size=3), max_size=3).map(tuple),
    resources=st.lists(RESOURCES, max_size=3).map(lambda each: frozen({one.name: one for one in each})),
    parent_id=NAMES,
    root_id=NAMES,
)


@given(STACKS)
def test_a_stack_survives_being_packed(stack: FrozenStack) -> None:
    packed = msgpack.packb(shown_to_wire(stack))
    again = shown_from_wire(msgpack.unpackb(packed, strict_map_key=False))
    assert again == stack
    assert repr(again) == repr(stack)
