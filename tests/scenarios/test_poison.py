"""Values that no store takes, or that cannot be read again: they fail their resource, on every database, and no worker.

One table: each kind of value in each place where a resource type can leave it. Whatever it is, the check comes to an
end, the resource is FAILED with a sentence, and the stack can be deleted.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.live_attributes import live_attributes
from orchestrator.errors import InvalidInput, PluginMistake
from orchestrator.model.codec import plain
from orchestrator.model.messages import SignalJob
from orchestrator.queries.stacks import StackQueries
from orchestrator.store import migrations
from orchestrator.store.database import Database
from tests.emptying import empty
from tests.scenarios.cloud import Crash
from tests.scenarios.poison import IDS, KINDS, PLACES, TEMPLATE, VALUES, Poisonous
from tests.scenarios.telling import reason
from tests.scenarios.world import Place, World
from tests.services.servers import PostgresServer


class PostgresPlace(Place):
    """A database on a real server, with a clock."""

    def __init__(self, url: str) -> None:
        self.now = 0.0
        self.before_transaction = lambda: None
        migrations.upgrade(url)
        self.database = Database(url, clock=lambda: self.now)

    def leave(self) -> None:
        with self.database.write() as connection:
            empty(connection)


@pytest.fixture(scope="module")
def postgres_place(request: pytest.FixtureRequest) -> Iterator[Callable[[], PostgresPlace]]:
    """A function that returns the one place on PostgreSQL, made when it is first needed."""
    made: list[PostgresPlace] = []

    def place() -> PostgresPlace:
        if not made:
            server: PostgresServer = request.getfixturevalue("postgres_server")
            made.append(PostgresPlace(server.create_database()))
        return made[0]

    yield place
    for each in made:
        each.database.dispose()


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest, postgres_place: Callable[[], PostgresPlace]) -> World:
    """A world on each database in turn, where values may not be as large as elsewhere."""
    Poisonous.place, Poisonous.deleted[:] = "", []
    place = postgres_place() if request.param == "postgres" else None
    return World({"Poisonous": Poisonous}, place=place, max_value_bytes=10_000)


def poison(place: str, value: Callable[[], Any]) -> None:
    Poisonous.place, Poisonous.value = place, staticmethod(value)


def delete(world: World) -> None:
    """Delete the stack, and see that it is gone."""
    world.delete()
    stack_id = world.store.stacks.all(project="default")[0].id
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_poison_fails_its_resource_with_a_sentence_and_can_be_deleted(
    world: World, place: str, kind: str
) -> None:
    value, sentence = KINDS.get(place, VALUES)[kind]
    if place == "all data" and not isinstance(value(), dict):
        sentence = "self.state.data: expected a map"
    elif (place, kind) == ("all data", "what cannot be read"):
        sentence = "RuntimeError: not now"
    poison(place, value)
    stack_id = world.create(TEMPLATE)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    row = world.store.stacks.resource(stack_id, "it")
    assert (row.action, row.status) == ("CREATE", "FAILED")
    assert sentence in row.reason
    assert len(row.reason) < 20_000
    assert row.reason in reason(world)
    if place.startswith("physical id"):
        assert isinstance(row.physical_id, str)
    else:
        assert row.physical_id == "made"
    queries = StackQueries(world.checker._settings, world.store)
    assert queries.outputs("s")[0].value is None
    assert queries.resource("s", "it").status == "FAILED"
    delete(world)
    assert Poisonous.deleted == [row.physical_id]


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan, 10**400, "1", None, True])
def test_a_wait_without_end_fails_its_resource(world: World, seconds: Any) -> None:
    poison("seconds", lambda: seconds)
    world.create(TEMPLATE)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert f"returned Wait({seconds!r}): expected seconds" in reason(world)
    delete(world)


@pytest.mark.parametrize("state", [None, 17, "a", object()])
def test_a_resource_without_a_state_fails_and_can_be_deleted(world: World, state: Any) -> None:
    poison("state", lambda: state)
    world.create(TEMPLATE)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    delete(world)


def test_a_type_that_fails_where_its_failure_is_looked_at_fails_its_resource(world: World) -> None:
    class Worse(Poisonous):
        @classmethod
        def is_retryable(cls, error: Exception) -> bool:
            raise RuntimeError("not this either")

    world.checker._types["Poisonous"] = Worse  # type: ignore[index]
    poison("reason", lambda: RuntimeError("no room"))
    world.create(TEMPLATE)
    world.settle()
    assert reason(world).endswith("RuntimeError: no room")
    delete(world)


def test_poison_in_a_check_is_a_fault_of_its_resource(world: World) -> None:
    world.create(TEMPLATE)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    poison("check", lambda: RuntimeError("a\0b"))
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert "a\\u0000b" in reason(world)
    delete(world)


@pytest.mark.parametrize("kind", VALUES)
def test_poison_in_a_snapshot_fails_that_and_the_stack_can_be_deleted(world: World, kind: str) -> None:
    value, sentence = VALUES[kind]
    world.create(TEMPLATE)
    world.settle()
    poison("entry", value)
    world.snapshot("first")
    world.settle()
    assert world.state() == "SNAPSHOT_FAILED"
    assert sentence in reason(world)
    delete(world)


@pytest.mark.parametrize("kind", VALUES)
def test_poison_that_a_deletion_leaves_behind_is_forgotten(world: World, kind: str) -> None:
    world.create(TEMPLATE)
    world.settle()
    poison("data of a deletion", VALUES[kind][0])
    delete(world)


@pytest.mark.parametrize("kind", VALUES)
def test_poison_of_a_signal_is_refused_and_changes_nothing(world: World, kind: str) -> None:
    value, sentence = VALUES[kind]
    stack_id = world.create(TEMPLATE)
    world.settle()
    poison("signal", value)
    with pytest.raises(PluginMistake, match=re.escape(sentence)):
        world.coordinator.signal(SignalJob(name="s", resource="it", details={}))
    assert world.store.stacks.resource(stack_id, "it").metadata == {"deep": {}}
    Poisonous.place = ""
    world.coordinator.signal(SignalJob(name="s", resource="it", details={}))
    delete(world)


@pytest.mark.parametrize(
    ("words", "told"), [("a\0b", "a\\u0000b"), ("a\ud800b", "a\\ud800b"), (17, "17"), (None, "None")]
)
def test_whatever_a_signal_says_is_told(world: World, words: Any, told: str) -> None:
    stack_id = world.create(TEMPLATE)
    world.settle()
    poison("words of a signal", lambda: words)
    world.coordinator.signal(SignalJob(name="s", resource="it", details={}))
    assert world.store.events.read(stack_id)[-1].reason == told


def test_what_a_nul_does_not_hurt_is_stored_as_it_is(world: World) -> None:
    poison("data", lambda: "a\0b")
    stack_id = world.create(TEMPLATE)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.store.stacks.resource(stack_id, "it").data == {"it": "a\0b"}
    delete(world)


# -- what is on record already -------------------------------------------------------------------------------------

UNREADABLE = plain({(1, 2): 3})


def put_on_record(world: World, column: str, table: str = "resource") -> None:
    """Store what an older version would have stored."""
    where = "name = 'it'" if table == "resource" else "key = 'it' AND phase = 'converge'"
    with world.store.database.write() as connection:
        connection.execute(sa.text(f"UPDATE {table} SET {column} = :it WHERE {where}"), {"it": UNREADABLE})


@pytest.mark.parametrize("column", ["data", "metadata", "properties", "attributes", "token", "reference_id"])
def test_what_cannot_be_read_is_shown_and_deleted(world: World, column: str) -> None:
    world.create(TEMPLATE)
    world.settle()
    put_on_record(world, column)
    put_on_record(world, "node_data", "node")
    queries = StackQueries(world.checker._settings, world.store)
    assert queries.resource("s", "it").status == "COMPLETE"
    assert len(queries.outputs("s")) == 1
    delete(world)
    assert Poisonous.deleted == ["made"]


@pytest.mark.parametrize("column", ["data", "metadata", "properties"])
def test_what_cannot_be_read_fails_an_operation_with_a_sentence_and_is_replaced_by_an_update(
    world: World, column: str
) -> None:
    stack_id = world.create(TEMPLATE)
    world.settle()
    before = world.store.stacks.resource(stack_id, "it").id
    put_on_record(world, column)
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    assert "what is on record of it cannot be read: its " in reason(world)
    world.update(TEMPLATE)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.store.stacks.resource(stack_id, "it").id != before
    put_on_record(world, column)
    world.update(TEMPLATE.replace("deep: {}", "deep: {}, new: 1"))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert "another update replaces the resource" in reason(world)
    delete(world)


def test_a_token_that_cannot_be_read_fails_its_resource(world: World) -> None:
    poison("next token", lambda: "another")
    world.create(TEMPLATE)
    world.deliver()
    put_on_record(world, "token")
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert "what is on record of it cannot be read: its token" in reason(world)
    delete(world)


@pytest.mark.parametrize("by", ["message", "sweep"])
def test_data_of_a_requirement_that_cannot_be_read_fail_those_who_need_them_and_stop_no_other(
    world: World, by: str
) -> None:
    stack_id = world.create(TEMPLATE)
    world.create("heat_template_version: 2021-04-16\nresources: {other: {type: Cloud::Object}}\n", "t")
    world.checker.step(world.messages.pop(0))
    put_on_record(world, "node_data", "node")
    if by == "sweep":
        world.messages.clear()
    world.settle()
    assert (world.state(), world.state("t")) == ("CREATE_FAILED", "CREATE_COMPLETE")
    assert "cannot be read" in world.store.stacks.resource(stack_id, "after").reason
    world.delete("t")
    world.settle()
    delete(world)


@pytest.mark.parametrize(
    "kind",
    [
        "a key that is a list",
        "a key that is a number",
        "no number",
        "infinity",
        "what is too deep",
        "what is too large",
    ],
)
def test_what_an_older_version_left_in_an_attribute_is_no_value_of_an_output(world: World, kind: str) -> None:
    value, _ = VALUES[kind]
    world.create(TEMPLATE)
    world.settle()
    packed = plain([[["it"], value()]])
    with world.store.database.write() as connection:
        sql = "UPDATE resource SET attributes = :it WHERE name = 'it'"
        connection.execute(sa.text(sql), {"it": packed})
    (output,) = StackQueries(world.checker._settings, world.store).outputs("s")
    json.dumps(output.value, allow_nan=False)
    assert output.value is None or kind == "what is too large"
    delete(world)


@pytest.mark.parametrize("kind", IDS)
def test_whatever_find_returns_the_object_is_not_lost(world: World, kind: str) -> None:
    value, _ = IDS[kind]

    class Found(Poisonous):
        def handle_create(self) -> Any:
            raise Crash

        def find(self) -> Any:
            return value()

    world.checker._types["Poisonous"] = Found  # type: ignore[index]
    stack_id = world.create(TEMPLATE)
    assert not world.survive(world.settle)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    row = world.store.stacks.resource(stack_id, "it")
    assert row.physical_id
    delete(world)
    assert Poisonous.deleted == [row.physical_id]


@pytest.mark.parametrize("kind", VALUES)
def test_poison_in_an_update_leaves_the_definition_as_it_was(world: World, kind: str) -> None:
    value, sentence = VALUES[kind]

    class Updated(Poisonous):
        always_updates: ClassVar[bool] = True

        def handle_update(self, changes: Any) -> Any:
            self.state.data["it"] = value()

    world.checker._types["Poisonous"] = Updated  # type: ignore[index]
    stack_id = world.create(TEMPLATE)
    world.settle()
    world.update(TEMPLATE.replace("deep: {}", "deep: {}, more: 1"))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert sentence in reason(world)
    row = world.store.stacks.resource(stack_id, "it")
    assert (row.action, row.status, row.data, row.metadata) == ("UPDATE", "FAILED", {}, {"deep": {}})
    delete(world)


@pytest.mark.parametrize("kind", [kind for kind in VALUES if "10000" not in VALUES[kind][1]])
def test_poison_in_an_adopt_file_is_a_problem_of_the_file(world: World, kind: str) -> None:
    value, sentence = VALUES[kind]
    entry = {"type": "Poisonous", "resource_id": "there", "metadata": {"it": value()}}
    template = "heat_template_version: 2021-04-16\nresources: {it: {type: Poisonous}}\n"
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        world.adopt(template, {"it": entry})
    with pytest.raises(InvalidInput, match="characters that are none"):
        world.adopt(template, {"it": {"type": "Poisonous", "resource_id": "a\0b"}})


@pytest.mark.parametrize("said", ["a\0b", "a\ud800b"])
def test_whatever_is_said_of_a_resources_health_is_told(world: World, said: str) -> None:
    stack_id = world.create(TEMPLATE)
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    mark_unhealthy(world.store, stack, "it", reason=said)
    assert "a\\u" in world.store.stacks.resource(stack_id, "it").reason
    delete(world)


def test_live_attributes_that_are_not_plain_are_told_as_unread(world: World) -> None:
    poison("attribute", lambda: {"a": math.nan})
    world.create("heat_template_version: 2021-04-16\nresources: {it: {type: Poisonous}}\n")
    world.settle()
    stack = world.store.stacks.find("s", project="default")
    row = world.store.stacks.resource(stack.id, "it")
    checker = world.checker
    read, unread = live_attributes(row, stack, world.store, checker._types, checker._settings)
    assert (read, unread) == ({}, {"it": "a number that is not finite (at a)"})
    delete(world)
