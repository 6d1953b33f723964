"""What lifecycle plugins are shown of stacks: resolved where known, masked where hidden, and never to be changed."""

from dataclasses import FrozenInstanceError
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.errors import ReadOnly
from hooks.frozen import frozen
from hooks.stack import FrozenResource, FrozenStack
from orchestrator.definition import UNKNOWN
from orchestrator.lifecycle_views import definition_shown, shown_from_wire, shown_to_wire
from orchestrator.messages import StackJob
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.preparation import Prepared, prepare
from orchestrator.settings import Settings

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
