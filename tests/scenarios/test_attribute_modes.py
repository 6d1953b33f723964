"""Attributes that last as long as their resource does not change, and those that are asked for at every visit."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
import structlog

from orchestrator.plugins.properties import Attribute, CacheMode, Property, PropertyType
from orchestrator.plugins.resource import Resource
from tests.scenarios.test_language import outputs
from tests.scenarios.test_update_faults import meanwhile, step
from tests.scenarios.test_updates import ids
from tests.scenarios.world import World

STRING = PropertyType.STRING


class Server(Resource):
    """Tells what the world says, and remembers what it was asked."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "size": Property(type=STRING, update_allowed=True),
        "image": Property(type=STRING),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {
        "address": Attribute("lasts", STRING),
        "load": Attribute("does not", STRING, cache_mode=CacheMode.NONE),
    }
    says: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[str]] = []

    def handle_create(self) -> None:
        self.state.physical_id = self.state.uuid

    def handle_update(self, changes: Any) -> None:
        pass

    def attribute(self, name: str) -> Any:
        self.asked.append(name)
        return self.says[name]


def template(more: str = "{}", *, size: str = "s", image: str = "i", metadata: str = "{}") -> str:
    """Return a template; ``more`` is only there for the resource to be visited."""
    return f"""\
heat_template_version: 2021-04-16
resources:
  it:
    type: Server
    properties: {{size: {size}, image: {image}}}
    metadata: {metadata}
    update_policy: {more}
outputs:
  address: {{value: {{get_attr: [it, address]}}}}
  load: {{value: {{get_attr: [it, load]}}}}
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(Server, "says", {"address": "1", "load": "1"})
    monkeypatch.setattr(Server, "asked", [])
    policy = {"pause": Property(type=PropertyType.INTEGER)}
    monkeypatch.setattr(Server, "update_policy_schema", policy)
    return World({"Server": Server})


def visited(world: World, source: str, **job: Any) -> tuple[list[str], dict[str, Any]]:
    """Update a stack, in a world that says something else now; return what was asked, and what the stack tells."""
    Server.says = {"address": "2", "load": "2"}
    Server.asked.clear()
    stack_id = world.update(source, **job)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    return sorted(Server.asked), outputs(world, stack_id)


def made(world: World) -> str:
    stack_id = world.create(template())
    world.settle()
    assert outputs(world, stack_id) == {"address": "1", "load": "1"}
    return stack_id


def test_a_visit_that_changes_nothing_asks_only_for_what_does_not_last(world: World) -> None:
    made(world)
    assert visited(world, template("{pause: 1}")) == (["load"], {"address": "1", "load": "2"})
    # Nobody visits what is as it should be.
    assert visited(world, template("{pause: 1}")) == ([], {"address": "1", "load": "2"})


def test_a_change_ends_what_lasts(world: World) -> None:
    made(world)
    everything = ["address", "load"]
    assert visited(world, template(size="m")) == (everything, {"address": "2", "load": "2"})


def test_so_does_a_replacement(world: World) -> None:
    stack_id = made(world)
    before = ids(world, stack_id)
    told = visited(world, template(image="j"))
    assert told == (["address", "load"], {"address": "2", "load": "2"})
    assert ids(world, stack_id) != before


def test_so_do_other_metadata(world: World) -> None:
    made(world)
    assert visited(world, template(metadata="{a: 1}"))[0] == ["address", "load"]


def test_so_does_other_code_of_the_type(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made(world)
    monkeypatch.setattr(Server, "type_version", 2)
    assert visited(world, template())[0] == ["address", "load"]


def test_so_does_a_change_that_is_made_while_the_visit_is_planned(world: World) -> None:
    stack_id = made(world)
    Server.says = {"address": "2", "load": "2"}
    world.update(template(size="m"))
    meanwhile(world, lambda: step(world), lambda: world.update(template("{pause: 1}", size="m")))
    assert world.state() == "UPDATE_COMPLETE"
    assert outputs(world, stack_id) == {"address": "2", "load": "2"}


def test_so_do_metadata_that_change_with_another_resource(world: World) -> None:
    source = """\
heat_template_version: 2021-04-16
parameters: {image: {type: string}}
resources:
  other: {type: Server, properties: {image: {get_param: image}}}
  it: {type: Server, metadata: {other: {get_attr: [other, address]}}}
outputs:
  address: {value: {get_attr: [it, address]}}
"""
    world.create(source, parameters={"image": "i"})
    world.settle()
    assert visited(world, source, parameters={"image": "j"})[1] == {"address": "2"}


def test_whoever_wants_to_know_what_is_really_there_is_told(world: World) -> None:
    made(world)
    assert visited(world, template(), refresh=True)[0] == ["address", "load"]


def test_null_does_not_last(world: World) -> None:
    Server.says["address"] = None
    world.create(template())
    world.settle()
    assert visited(world, template("{pause: 1}")) == (["address", "load"], {"address": "2", "load": "2"})


def test_everything_at_once_lasts_only_if_all_of_it_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source(more: str) -> str:
        asks = template(more).replace("[it, load]", "[it, show]")
        return asks.replace("[it, address]", "[it, show, address]")

    world.create(source("{}"))
    world.settle()
    assert visited(world, source("{pause: 1}"))[0] == ["address", "load"]
    lasting = {name: Attribute("lasts", STRING) for name in Server.attributes_schema}
    monkeypatch.setattr(Server, "attributes_schema", lasting)
    assert visited(world, source("{pause: 2}"))[0] == []


def test_a_value_of_another_type_is_logged_without_it_and_told_all_the_same(world: World) -> None:
    Server.says["address"] = ["a secret"]
    with structlog.testing.capture_logs() as logs:
        stack_id = world.create(template())
        world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert outputs(world, stack_id)["address"] == ["a secret"]
    (told,) = [entry for entry in logs if "attribute" in entry]
    assert told == {
        "event": "an attribute has another type than its schema says",
        "log_level": "warning",
        "resource": "it",
        "type": "Server",
        "attribute": "address",
        "expected": "string",
        "found": "list",
    }
