"""Who asks another system whether what a property names exists, when, and what comes of each answer."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from orchestrator.errors import InvalidInput, NotVerified
from orchestrator.plugins import custom
from orchestrator.plugins.asking import EntityNotFound
from orchestrator.plugins.client_plugin import ClientPlugin
from orchestrator.plugins.clients import ClientPlugins
from orchestrator.plugins.custom import ClientConstraint, Custom, CustomConstraints
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.registry import ResourceTypes
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, Wait
from orchestrator.plugins.translation import Resolve
from tests.scenarios.telling import reason, states
from tests.scenarios.world import World

#: Nobody remembers anything: each question is heard.
FORGETFUL: dict[str, Any] = {"constraint_cache": {"enabled": False}}


class Images(ClientPlugin):
    """Knows what it is told, says which names it was asked for, and may be away."""

    name = "images"
    entities = frozenset({"image"})
    known: ClassVar[set[str]] = set()
    asked: ClassVar[list[str]] = []
    is_away: ClassVar[bool] = False

    def look_up(self, entity: str, name: str) -> str:
        self.asked.append(name)
        if self.is_away:
            raise ConnectionError("nobody is there")
        if name not in self.known:
            raise EntityNotFound(entity, name)
        return name


class Image(ClientConstraint):
    name = "test.image"
    client = "images"
    entity = "image"


class Server(Resource):
    """Takes polls; remembers what was done to it."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "image": Property(type=PropertyType.STRING, update_allowed=True, constraints=(Custom("test.image"),)),
        "polls": Property(type=PropertyType.INTEGER, default=0, update_allowed=True),
    }
    log: ClassVar[list[str]] = []

    def handle_create(self) -> Any:
        self.log.append(f"create {self.name} {self.properties['image']}")
        self.state.physical_id = self.state.uuid
        return self.properties["polls"]

    def check_create_complete(self, token: Any) -> bool | Wait:
        return True if not token else Wait(1, token=token - 1)

    def handle_update(self, changes: PropertyChanges) -> None:
        self.log.append(f"update {self.name} {self.properties['image']}")

    def handle_delete(self) -> None:
        self.log.append(f"delete {self.name}")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    constraints = CustomConstraints({**CustomConstraints.load(), "test.image": Image()})
    monkeypatch.setattr(custom, "_on_demand", lambda _: constraints)
    clients = ClientPlugins({"images": Images})
    monkeypatch.setattr(ClientPlugins, "load", lambda *_: clients)
    monkeypatch.setattr(ClientPlugins, "on_demand", lambda *_: clients)
    monkeypatch.setattr(Images, "known", {"a", "b"})
    monkeypatch.setattr(Images, "asked", [])
    monkeypatch.setattr(Images, "is_away", False)
    monkeypatch.setattr(Server, "log", [])


def world_of(**settings: Any) -> World:
    return World({**ResourceTypes.load(), "Server": Server}, **{**FORGETFUL, **settings})


def servers(*images: str, polls: int = 0) -> str:
    lines = [
        f"  s{number}: {{type: Server, properties: {{image: {image}, polls: {polls}}}}}\n"
        for number, image in enumerate(images)
    ]
    return f"heat_template_version: 2021-04-16\nresources:\n{''.join(lines)}"


def take_asked() -> list[str]:
    asked = sorted(Images.asked)
    Images.asked.clear()
    return asked


def test_each_name_is_queried_once_in_an_examination_and_each_use_before_its_action_and_not_again() -> None:
    world = world_of()
    stack_id = world.create(servers("a", "b", "a", polls=3))
    assert take_asked() == ["a", "b"]
    world.settle()
    assert take_asked() == ["a", "a", "b"]
    world.update(servers("a", "b", "b"))
    assert take_asked() == ["a", "b"]
    world.settle()
    # Of what the update leaves alone nobody asks.
    assert take_asked() == ["a", "b", "b"]
    assert states(world, stack_id) == {f"s{number}": ["UPDATE_COMPLETE"] for number in range(3)}
    Images.known.clear()
    world.check()
    world.settle()
    world.delete()
    world.settle()
    assert take_asked() == []
    assert Server.log[-3:].count("delete s1") == 1


def test_with_the_cache_any_number_of_uses_cost_one_request() -> None:
    world = world_of(constraint_cache={})
    world.create(servers(*["a", "b"] * 10, polls=2))
    world.settle()
    world.update(servers(*["b", "a"] * 10))
    world.settle()
    assert take_asked() == ["a", "b"]
    assert reason(world) == "Stack UPDATE completed successfully"


def test_what_is_not_there_is_refused_before_anything_is_touched() -> None:
    world = world_of()
    with pytest.raises(InvalidInput, match=r"resources\.s1\.properties\.image: there is no image 'c'"):
        world.create(servers("a", "c"))
    Images.is_away = True
    with pytest.raises(NotVerified, match=r"resources\.s0\.properties\.image: cannot check"):
        world.create(servers("a"))
    assert world.store.stacks.all(project="default") == []
    assert world.messages == []


def test_what_goes_between_the_two_looks_fails_what_needs_it_before_it_begins() -> None:
    world = world_of()
    stack_id = world.create(servers("a", "b"))
    Images.known.remove("b")
    world.settle()
    assert Server.log == ["create s0 a"]
    assert states(world, stack_id) == {"s0": ["CREATE_COMPLETE"], "s1": ["CREATE_FAILED"]}
    assert "resources.s1: properties.image: there is no image 'b'" in reason(world)


def test_who_does_not_answer_is_asked_again_later_and_nothing_is_begun_until_then() -> None:
    world = world_of(action_retry_limit=5)
    world.create(servers("a"))
    Images.is_away = True
    while world.messages:
        world.deliver()
    assert (take_asked(), Server.log) == (["a", "a"], [])
    world.sweep(after=120)
    while world.messages:
        world.deliver()
    assert (take_asked(), Server.log) == (["a"], [])
    Images.is_away = False
    world.settle()
    assert (take_asked(), Server.log) == (["a"], ["create s0 a"])
    assert reason(world) == "Stack CREATE completed successfully"


class Findable(Server):
    """Can be found once it is made."""

    made: ClassVar[list[str]] = []

    def handle_create(self) -> Any:
        self.made.append(self.state.uuid)
        return super().handle_create()

    def find(self) -> str | None:
        return self.state.uuid if self.state.uuid in self.made else None


def test_what_an_update_made_before_its_worker_died_is_found_although_nothing_was_made_before_the_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Findable, "made", [])
    world = World({**ResourceTypes.load(), "Server": Findable}, **FORGETFUL)
    world.create(servers("a"))
    Images.is_away = True
    world.deliver()
    Images.is_away = False
    world.update(servers("a", "b"))
    (order,) = (each for each in world.messages if each.key == "s0")
    claim = world.store.nodes.claim(order, worker="dead")
    assert claim is not None
    world.checker.act(claim)
    world.settle()
    assert reason(world) == "Stack UPDATE completed successfully"
    # It may follow another definition, so another one took its place.
    assert len(set(Findable.made)) == len(Findable.made) == 3
    assert "delete s0" in Server.log


def test_who_never_answers_fails_an_update_which_changes_nothing() -> None:
    world = world_of(action_retry_limit=2)
    stack_id = world.create(servers("a"))
    world.settle()
    world.update(servers("b"))
    Images.is_away = True
    take_asked()
    world.settle()
    assert take_asked() == ["b"] * 3
    assert "cannot check whether the image 'b' exists: ConnectionError: nobody is there" in reason(world)
    assert "(after 2 retries)" in reason(world)
    assert Server.log == ["create s0 a"]
    assert states(world, stack_id) == {"s0": ["CREATE_COMPLETE"]}


def test_what_an_update_makes_of_what_is_adopted_first_is_asked_about_too() -> None:
    world = world_of()
    world.adopt(servers("a"), {"s0": {"resource_id": "there"}})
    world.update(servers("b"))
    Images.known.remove("b")
    world.settle()
    assert Server.log == []
    assert "resources.s0: properties.image: there is no image 'b'" in reason(world)
    world.update(servers("a"))
    world.settle()
    assert reason(world) == "Stack UPDATE completed successfully"


def test_an_action_under_way_outlasts_a_client_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = classmethod(lambda *_: [Resolve(path=("image",), client="images", entity="image")])
    monkeypatch.setattr(Server, "translation_rules", rules)
    world = world_of(action_retry_limit=5)
    world.create(servers("a", polls=3))
    world.deliver()
    Images.is_away = True
    world.sweep(after=2)
    world.deliver()
    Images.is_away = False
    world.settle()
    assert reason(world) == "Stack CREATE completed successfully"
    assert Server.log == ["create s0 a"]


def test_who_does_not_tell_what_a_name_was_fails_an_update_which_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = classmethod(lambda *_: [Resolve(path=("image",), client="images", entity="image")])
    monkeypatch.setattr(Server, "translation_rules", rules)
    world = world_of(action_retry_limit=2)
    stack_id = world.create(servers("a"))
    world.settle()

    def look_up(_client: object, _entity: str, name: str) -> str:
        if name == "a":
            raise ConnectionError("nobody is there")
        return name

    with monkeypatch.context() as away:
        away.setattr(Images, "look_up", look_up)
        world.update(servers("b"))
        world.settle()
    assert reason(world).endswith("ConnectionError: nobody is there (after 2 retries)")
    assert states(world, stack_id) == {"s0": ["CREATE_COMPLETE"]}
    world.update(servers("b"))
    world.settle()
    assert Server.log == ["create s0 a", "update s0 b"]


@pytest.mark.parametrize("suspended", [False, True])
def test_what_cannot_be_looked_at_while_a_client_is_away_is_as_it_was(
    monkeypatch: pytest.MonkeyPatch, suspended: bool
) -> None:
    rules = classmethod(lambda *_: [Resolve(path=("image",), client="images", entity="image")])
    monkeypatch.setattr(Server, "translation_rules", rules)
    world = world_of(action_retry_limit=2)
    stack_id = world.create(servers("a"))
    world.settle()
    if suspended:
        world.suspend()
        world.settle()
    before = states(world, stack_id)
    Images.is_away = True
    act = world.resume if suspended else world.check
    act()
    world.settle()
    assert reason(world).endswith("cannot look up the image that it names (after 2 retries)")
    assert states(world, stack_id) == before
    Images.is_away = False
    if suspended:
        world.resume()
        world.settle()
    world.update(servers("b"))
    world.settle()
    assert Server.log == ["create s0 a", "update s0 b"]


@pytest.mark.parametrize("is_running", [False, True])
def test_what_was_to_be_asked_again_never_begins_once_its_stack_has_failed(is_running: bool) -> None:
    world = world_of(action_retry_limit=5)
    stack_id = world.create(servers("a"))
    world.settle()
    world.update(servers("b") + "  bad: {type: OS::Heat::TestResource, properties: {fail: true}}\n")
    Images.is_away = True
    world.messages.sort(key=lambda order: order.key, reverse=True)
    if is_running:
        world.stall(0)
    else:
        world.deliver()
    world.deliver()
    assert (
        reason(world) == "Resource CREATE failed: resources.bad: create failed, as the property 'fail' asks"
    )
    world.wake_stalled()
    Images.is_away = False
    world.settle()
    assert Server.log == ["create s0 a"]
    assert states(world, stack_id)["s0"] == ["CREATE_COMPLETE"]
    world.update(servers("b"))
    world.settle()
    assert Server.log == ["create s0 a", "update s0 b"]
    assert reason(world) == "Stack UPDATE completed successfully"


def test_a_rollback_asks_only_for_what_it_makes_again() -> None:
    world = world_of()
    stack_id = world.create(servers("a", "b"))
    world.settle()
    world.update(
        servers("a") + "  bad: {type: OS::Heat::TestResource, depends_on: s0, properties: {fail: true}}\n",
        rollback=True,
    )
    # What the stack was made of is not there any more: to go back must be possible all the same.
    Images.known.clear()
    take_asked()
    world.settle()
    assert reason(world) == "Stack ROLLBACK completed successfully"
    assert take_asked() == []
    assert set(states(world, stack_id)) == {"s0", "s1"}
    assert Server.log == ["create s0 a", "create s1 b"] or Server.log == ["create s1 b", "create s0 a"]


def test_a_stack_in_a_stack_is_looked_at_once_with_its_outermost_one() -> None:
    world = world_of()
    world.create(
        "heat_template_version: 2021-04-16\n"
        "resources:\n"
        "  group:\n"
        "    type: OS::Heat::ResourceGroup\n"
        "    properties: {count: 3, resource_def: {type: Server, properties: {image: a}}}\n"
    )
    # Members that are the same are looked at as one.
    assert take_asked() == ["a"]
    world.settle()
    assert take_asked() == ["a"] * 3
    with pytest.raises(InvalidInput, match="there is no image 'c'"):
        world.create(
            "heat_template_version: 2021-04-16\n"
            "resources:\n"
            "  group:\n"
            "    type: OS::Heat::ResourceGroup\n"
            "    properties: {count: 3, resource_def: {type: Server, properties: {image: c}}}\n",
            name="other",
        )


def test_a_hidden_value_is_in_no_sentence_about_it() -> None:
    world = world_of(action_retry_limit=0)
    world.create(
        "heat_template_version: 2021-04-16\n"
        "parameters: {p: {type: string, hidden: true}}\n"
        "resources: {s0: {type: Server, properties: {image: {get_param: p}}}}\n",
        parameters={"p": "a"},
    )
    Images.is_away = True
    world.settle()
    assert "cannot check the value: it must satisfy the custom constraint 'test.image'" in reason(world)
    assert "'a'" not in reason(world)
