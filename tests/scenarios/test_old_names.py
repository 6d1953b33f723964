"""Old names of properties and of types in stacks that are there: to exchange them for the new ones changes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest

from orchestrator.config.limits import Limits
from orchestrator.config.settings import Settings
from orchestrator.engine.update_preview import DryRun
from orchestrator.errors import InvalidInput
from orchestrator.model.messages import StackJob
from orchestrator.planning.comparing import compare
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.support import Support, SupportStatus
from orchestrator.plugins.translation import Replace, Resolve, Rule
from tests.scenarios.telling import reason
from tests.scenarios.test_updates import ids
from tests.scenarios.world import World

STRING = PropertyType.STRING


class Port(Resource):
    """Remembers what was done to it."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "network": Property(type=STRING, required=True, update_allowed=True),
        "network_id": Property(type=STRING),
        "size": Property(type=STRING, update_allowed=True),
        "image": Property(type=STRING),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"kind": Attribute("its class", STRING)}
    log: ClassVar[list[str]] = []

    @classmethod
    def translation_rules(cls, properties: Mapping[str, Any]) -> Sequence[Rule]:
        return [
            Replace(path=("network",), source=("network_id",)),
            Resolve(path=("network",), client="test", entity="network"),
        ]

    def handle_create(self) -> None:
        self.log.append(f"{type(self).__name__} create {self.properties['network']}")
        self.state.physical_id = self.state.uuid

    def handle_update(self, changes: Any) -> None:
        self.log.append(f"{type(self).__name__} update {', '.join(sorted(changes.names))}")

    def handle_delete(self) -> None:
        self.log.append(f"{type(self).__name__} delete {self.properties['network']}")

    def attribute(self, name: str) -> Any:
        return type(self).__name__


class OldPort(Port):
    support_status = SupportStatus(status=Support.DEPRECATED, substitute="My::Port")


class OtherPort(Port):
    """Takes the place of a type whose properties it does not know."""

    support_status = SupportStatus(status=Support.DEPRECATED, substitute="My::Port")
    properties_schema: ClassVar[Mapping[str, Property]] = {
        **Port.properties_schema,
        "colour": Property(type=STRING),
    }


class Networks(ClientPlugin):
    """Knows one network by its name."""

    name = "test"
    entities = frozenset({"network"})
    gone: ClassVar[bool] = False

    def look_up(self, entity: str, name: str) -> str:
        if self.gone or name not in ("public", "5d0b"):
            raise EntityNotFound(entity, name)
        return "5d0b"


TYPES = {"My::Port": Port, "My::OldPort": OldPort, "My::OtherPort": OtherPort}


def template(properties: str, kind: str = "My::Port") -> str:
    return f"""\
heat_template_version: 2021-04-16
resources:
  it: {{type: '{kind}', properties: {{{properties}}}}}
outputs:
  kind: {{value: {{get_attr: [it, kind]}}}}
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(Port, "log", [])
    installed = ClientPlugins({"test": Networks})
    monkeypatch.setattr(ClientPlugins, "load", lambda *_: installed)
    monkeypatch.setattr(ClientPlugins, "on_demand", lambda *_: installed)
    return World(TYPES, constraint_cache={"enabled": False})


def planned(world: World, source: str) -> str:
    """Return what a dry run says that becomes of the resource."""
    stack = world.store.stacks.find("s", project="default")
    compared = compare(world.store, stack, StackJob(name="s", template=source), TYPES, Settings())
    (plan,) = DryRun(compared, TYPES, Limits(), lambda _: "").plan("").resources
    return plan.action


def made(world: World, properties: str, kind: str = "My::Port") -> dict[str, str | None]:
    stack_id = world.create(template(properties, kind))
    world.settle()
    assert world.state() == "CREATE_COMPLETE", reason(world)
    Port.log.clear()
    return ids(world, stack_id)


def updated(world: World, properties: str, kind: str = "My::Port") -> dict[str, str | None]:
    stack_id = world.update(template(properties, kind))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE", reason(world)
    return ids(world, stack_id)


def test_a_property_under_its_new_name_is_no_change(world: World) -> None:
    before = made(world, "network_id: public")
    assert planned(world, template("network: public")) == "UNCHANGED"
    assert updated(world, "network: public") == before
    assert Port.log == []
    assert updated(world, "network_id: public, size: l") == before
    assert Port.log == ["Port update size"]


def test_neither_is_an_id_in_the_place_of_its_name(world: World) -> None:
    before = made(world, "network: public")
    assert updated(world, "network: 5d0b") == before
    assert Port.log == []


def test_names_are_ids_for_the_type_and_stay_names_where_they_lead_nowhere_any_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(template("network_id: public"))
    world.settle()
    assert Port.log == ["Port create 5d0b"]
    monkeypatch.setattr(Networks, "gone", True)
    world.delete()
    world.settle()
    assert Port.log[1:] == ["Port delete public"]


def test_a_name_that_leads_nowhere_is_refused_with_the_stack_and_fails_the_action_before_it_begins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match=r"properties.network_id: there is no network 'nowhere'"):
        world.create(template("network_id: nowhere"))
    world.create(template("network_id: public"))
    monkeypatch.setattr(Networks, "gone", True)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "properties.network_id: there is no network 'public'" in reason(world)
    assert Port.log == []


def test_a_type_that_another_takes_the_place_of_is_changed_in_place_and_back(world: World) -> None:
    before = made(world, "network_id: public", "My::OldPort")
    assert planned(world, template("network: public")) == "UPDATE"
    assert updated(world, "network: public") == before
    assert Port.log == []
    (row,) = world.store.stacks.resources(world.store.stacks.find("s", project="default").id)
    assert row.type == "My::Port"
    assert [value for _, value in row.attributes] == ["Port"]
    assert updated(world, "network: public") == before
    assert updated(world, "network: public, size: l", "My::OldPort") == before
    assert Port.log == ["OldPort update size"]


def test_it_is_replaced_where_its_successor_cannot_read_its_properties(world: World) -> None:
    before = made(world, "network: public, colour: red", "My::OtherPort")
    assert updated(world, "network: public") != before
    assert Port.log == ["Port create 5d0b", "OtherPort delete 5d0b"]


def test_so_it_is_where_it_is_being_made_of_them(world: World) -> None:
    world.create(template("network: public, colour: red", "My::OtherPort"))
    world.stall(0)
    world.update(template("network: public"))
    world.wake_stalled()
    world.settle()
    assert world.state() == "UPDATE_COMPLETE", reason(world)
    assert Port.log == ["OtherPort create 5d0b", "Port create 5d0b", "OtherPort delete 5d0b"]


def test_a_rollback_gives_a_resource_its_old_type_back(world: World) -> None:
    source = template("network: public", "My::OldPort")
    stack_id = world.create(source)
    world.settle()
    before = ids(world, stack_id)
    failing = source.replace("My::OldPort", "My::Port").replace(
        "outputs:", "  bad: {type: Cloud::Object, depends_on: it}\noutputs:"
    )
    world.cloud.failing["bad"] = -1
    world.update(failing, rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert ids(world, stack_id) == before
    rows = {row.name: row.type for row in world.store.stacks.resources(stack_id) if row.action != "DELETE"}
    assert rows == {"it": "My::OldPort"}


def test_a_rollback_takes_back_what_another_was_put_in_the_place_of_under_the_new_type(world: World) -> None:
    # What depends on it keeps it from going too early.
    bad = "  bad: {type: Cloud::Object, depends_on: it, properties: {value: v}}\noutputs:"
    source = template("network: public, image: i", "My::OldPort").replace("outputs:", bad)
    stack_id = world.create(source)
    world.settle()
    before = ids(world, stack_id)
    changed = source.replace("My::OldPort", "My::Port").replace("image: i", "image: j")
    world.cloud.failing["bad"] = -1
    world.update(changed.replace("value: v", "value: w"), rollback=True)
    world.settle()
    assert world.state() == "ROLLBACK_COMPLETE"
    assert ids(world, stack_id) == before
    assert Port.log == ["OldPort create 5d0b", "Port create 5d0b", "Port delete 5d0b"]
    rows = {row.name: row.type for row in world.store.stacks.resources(stack_id)}
    assert rows == {"it": "My::OldPort", "bad": "Cloud::Object"}
