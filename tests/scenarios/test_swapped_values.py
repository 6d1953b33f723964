"""Two projects' stored values swapped by someone who writes to the database: neither sees the other's, nothing is lost.

Whatever is done with such a stack ends: as a refused job, or as a failure whose reason names the table, the row and the
column. No object is deleted or replaced for it, and once the row is restored, everything goes on.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from orchestrator.errors import IsothermError, NotFound
from orchestrator.model.codec import Codec
from orchestrator.plugins.properties import Attribute, Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import Wait
from orchestrator.queries.stacks import StackQueries
from orchestrator.store import tables
from tests.scenarios.world import World

KEY = "Y1bBqCh5B1mYV0gxbQ7rVbW6Tq7l4V3m1t5i0y3r2nA="
TEMPLATE = """\
heat_template_version: 2021-04-16
parameters:
  secret: {{type: string, hidden: true, default: {secret}}}
resources:
  it:
    type: Keeper
    metadata: {{deep: {secret}}}
    properties: {{secret: {{get_param: secret}}, round: "{round}", file: {{get_file: f}}}}
  after:
    type: Keeper
    properties: {{secret: {{get_attr: [it, secret]}}, round: "{round}", file: ""}}
outputs:
  secret: {{value: {{get_attr: [it, secret]}}}}
"""
SECRETS = {"s": "opensesame", "t": "correcthorse"}


class Keeper(Resource):
    """A resource type that keeps its secret everywhere."""

    properties_schema: ClassVar[Mapping[str, Property]] = {
        "secret": Property(type=PropertyType.STRING, description="secret"),
        "round": Property(type=PropertyType.STRING, description="which", update_allowed=True),
        "file": Property(type=PropertyType.STRING, description="a file's text", update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, Attribute]] = {"secret": Attribute(description="secret")}
    made: ClassVar[list[str]] = []
    deleted: ClassVar[list[str | None]] = []
    used: ClassVar[set[str]] = set()
    waits: ClassVar[bool] = False

    def handle_create(self) -> Any:
        self._use()
        self.state.physical_id = f"object-{len(self.made)}"
        self.made.append(self.state.physical_id)
        self.state.data["secret"] = self.properties["secret"]
        return self.properties["secret"]

    def check_create_complete(self, token: Any) -> bool | Wait:
        self._use(token)
        return Wait(1) if self.waits else True

    def handle_update(self, changes: Any) -> Any:
        self._use()

    def handle_check(self) -> Any:
        self._use()

    def handle_snapshot(self) -> Any:
        return {"secret": self.state.data["secret"]}

    def handle_delete(self) -> Any:
        self.deleted.append(self.state.physical_id)

    def reference_id(self) -> str:
        return str(self.state.data["secret"])

    def attribute(self, name: str) -> Any:
        return self.state.data["secret"]

    def _use(self, *more: str) -> None:
        if self.stack.name == "s":
            self.used.update([self.properties["secret"], *self.state.data.values(), *more])


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {"made": [], "deleted": [], "used": set(), "waits": False}.items():
        monkeypatch.setattr(Keeper, name, value)
    with capture_logs():
        yield


@pytest.fixture
def world() -> Iterator[World]:
    world = World({"Keeper": Keeper})
    vars(world.store.codec).update(vars(Codec([KEY])))
    world.store.database.seal_sentences([KEY])
    yield world
    world.store.database.seal_sentences(())
    world.close()


def template(name: str, turn: int = 0) -> str:
    return TEMPLATE.format(secret=SECRETS[name], round=turn)


def begin(world: World) -> None:
    """Begin a stack of each project."""
    for name, secret in SECRETS.items():
        files = {"f": f"file of {secret}"}
        world.create(template(name), name, files=files, project="default" if name == "s" else "other")


def stored(world: World, column: sa.Column[Any]) -> dict[tuple[Any, ...], bytes]:
    """Return the bytes in a column, by primary key."""
    table = column.table
    with world.store.database.read() as connection:
        rows = connection.execute(sa.select(*table.primary_key, column).where(column.is_not(None))).all()
    return {tuple(row[:-1]): row[-1] for row in rows}


def write(world: World, column: sa.Column[Any], values: Mapping[tuple[Any, ...], bytes]) -> None:
    table = column.table
    with world.store.database.write() as connection:
        for key, value in values.items():
            where = [each == part for each, part in zip(table.primary_key, key, strict=True)]
            connection.execute(sa.update(table).where(*where).values({column.name: value}))


def rotate(world: World, column: sa.Column[Any]) -> dict[tuple[Any, ...], bytes]:
    """Let every row have the next row's bytes, so that none has its own; return what they were."""
    before = stored(world, column)
    keys = list(before)
    write(world, column, {key: before[keys[number - 1]] for number, key in enumerate(keys)})
    return before


def attempts(world: World) -> tuple[Callable[[], object], ...]:
    """Return what users do with a stack, besides deleting it."""
    queries = StackQueries(world.checker._settings, world.store)
    stack_id = world.store.stacks.find("s", project="default").id
    return (
        lambda: queries.resource("s", "it"),
        lambda: queries.resources("s"),
        lambda: queries.outputs("s"),
        world.check,
        lambda: world.update(template("s", 1), files={"f": "another"}),
        world.snapshot,
        lambda: world.store.stacks.metadata_of(stack_id, "object-0"),
    )


def told(world: World) -> str:
    """Return everything that the first project may see."""
    stack = world.store.stacks.find("s", project="default")
    events = world.store.events.read(stack.id, limit=1000)
    rows = world.store.stacks.resources(stack.id)
    return repr([stack, events, rows])


COLUMNS = [
    column
    for table in (tables.resource, tables.node, tables.traversal, tables.template, tables.file)
    for column in table.c
    if isinstance(column.type, sa.LargeBinary)
]


#: Where there is nothing to swap.
EMPTY: Final = {
    *(("under way", name) for name in ("reference_id", "attributes", "metadata", "needs", "node_data")),
    *(("at rest", name) for name in ("token", "needs")),
}


@pytest.mark.parametrize("column", COLUMNS, ids=str)
@pytest.mark.parametrize("moment", ["at rest", "under way"])
def test_whatever_is_swapped_nobody_sees_anothers_and_nothing_is_lost(
    world: World, column: sa.Column[Any], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keeper, "waits", moment == "under way")
    begin(world)
    if moment == "under way":
        # Both resources without requirements have begun, and wait.
        for _ in range(len(world.messages)):
            world.deliver()
        monkeypatch.setattr(Keeper, "waits", False)
    else:
        world.settle()
        assert (world.state(), len(Keeper.made)) == ("CREATE_COMPLETE", 4)
    made = list(Keeper.made)
    before = rotate(world, column)
    assert len(before) > 1 or (moment, column.name) in EMPTY
    # Processes have just started: what does not change is read once.
    world.checker._remembered.clear()
    world.settle()
    assert Keeper.deleted == []
    results: list[Any] = []
    for act in attempts(world):
        with contextlib.suppress(IsothermError):
            results.append(act())
        world.settle()
    # A creation that failed half-way is replaced by an update that a user asks for, as any other.
    assert moment == "under way" or (Keeper.deleted, Keeper.made) == ([], made)
    assert SECRETS["t"] not in repr(results) + told(world) + repr(Keeper.used)
    # Someone puts back what was there, unless it was written anew since.
    now = stored(world, column)
    write(world, column, {key: value for key, value in before.items() if now.get(key) in before.values()})
    world.checker._remembered.clear()
    world.update(template("s", 9), files={"f": "the last"})
    world.settle()
    assert world.state() == "UPDATE_COMPLETE", told(world)
    world.delete()
    world.settle()
    gone = world.store.stacks.owners(made)
    assert {owner.stack for owner in gone} == {"t"}


@pytest.mark.parametrize("column", ["properties", "metadata", "data"])
def test_the_reason_names_the_table_the_row_and_the_column(world: World, column: str) -> None:
    begin(world)
    world.settle()
    rotate(world, tables.resource.c[column])
    world.check()
    world.settle()
    assert world.state() == "CHECK_FAILED"
    stack_id = world.store.stacks.find("s", project="default").id
    row = next(row for row in world.store.stacks.resources(stack_id) if row.name == "it")
    assert (
        f"table 'resource', row {row.id!r}, column {column!r}: the value was not stored there" in row.reason
    )
    # A failed one is not replaced for it either, as one of an older version is.
    world.update(template("s", 1), files={"f": "another"})
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert Keeper.deleted == []


def test_without_its_definition_a_resource_is_not_deleted(world: World) -> None:
    """The definition may say Retain, as here."""
    kept = template("s").replace("type: Keeper", "type: Keeper\n    deletion_policy: Retain")
    world.create(kept, files={"f": "text"})
    world.settle()
    world.delete()
    fragments = rotate(world, tables.node.c.fragment)
    world.settle()
    assert world.state() == "DELETE_FAILED"
    write(world, tables.node.c.fragment, fragments)
    world.delete()
    world.settle()
    with pytest.raises(NotFound):
        world.state()
    assert Keeper.deleted == []
