"""A worker lacks the settings of a client: what could not be made need not be deleted."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from tests.scenarios.telling import reason
from tests.scenarios.world import World

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  it: {type: Cabinet, properties: {how: HOW}}
"""


class Cabinet(Resource):
    """An object of a system whose client this worker cannot build; ``how`` says when it first needs it."""

    properties_schema: ClassVar[Mapping[str, Property]] = {"how": Property(type=PropertyType.STRING)}
    log: ClassVar[list[str]] = []

    def handle_create(self) -> None:
        how = self.properties["how"]
        if how == "known":
            self.state.physical_id = "cabinet"
        try:
            self.client("http")
        except Exception:
            if how != "swallowed":
                raise
        raise ValueError("half made")

    def find(self) -> str | None:
        self.log.append("find")
        self.client("http")
        return None

    def handle_delete(self) -> None:
        self.log.append("delete")
        self.client("http")


@pytest.fixture
def world() -> World:
    Cabinet.log.clear()
    return World({"Cabinet": Cabinet}, clients={})


def after_create_and_delete(world: World, how: str) -> str:
    stack_id = world.create(TEMPLATE.replace("HOW", how))
    world.settle()
    assert world.state() == "CREATE_FAILED"
    world.delete()
    world.settle()
    stack = world.store.stacks.by_id(stack_id)
    assert stack is not None
    return f"{stack.action}_{stack.status}"


def test_what_failed_for_want_of_its_first_client_is_deleted_without_it(world: World) -> None:
    assert after_create_and_delete(world, "first") == "DELETE_COMPLETE"
    assert Cabinet.log == []


@pytest.mark.parametrize("how", ["known", "swallowed"])
def test_what_may_have_been_made_is_searched_for_and_deleted(world: World, how: str) -> None:
    assert after_create_and_delete(world, how) == "DELETE_FAILED"
    assert Cabinet.log
    assert "settings.clients.http.base_url" in reason(world)


def test_a_worker_that_dies_while_it_creates_leaves_what_is_searched_for(world: World) -> None:
    world.create(TEMPLATE.replace("HOW", "first"))
    assert world.store.nodes.claim(world.messages[0], worker="died") is not None
    world.sweep(after=100)
    world.settle()
    world.delete()
    world.settle()
    assert world.state() == "DELETE_FAILED"
    assert "find" in Cabinet.log


def test_a_create_refused_before_it_began_needs_no_client_to_be_deleted(world: World) -> None:
    class Refused(Cabinet):
        @classmethod
        def validate(cls, properties: Mapping[str, Any]) -> None:
            del properties
            if cls.log != ["valid"]:
                cls.log.append("valid")
                return
            cls.log.clear()
            raise ValueError("not any more")

    world = World({"Cabinet": Refused}, clients={})
    assert after_create_and_delete(world, "first") == "DELETE_COMPLETE"
    assert Cabinet.log == []
