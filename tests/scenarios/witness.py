"""A witness of what is done to the world: at every effect, what must hold at that instant; at rest, what must then."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure, RetryableFailure, Wait
from tests.scenarios.definitions import TYPES, Definition, enabled, size_of, value_of
from tests.scenarios.world import World


@dataclass
class Fault:
    """What goes wrong with an action on the resource of a name."""

    #: How often; negative: always.
    times: int = 1
    #: Whether it may help to try again.
    retryable: bool = False
    #: Whether it goes wrong only after the effect.
    late: bool = False


@dataclass(frozen=True)
class Fired:
    """A fault that struck for good."""

    traversal_id: str
    action: str
    name: str


class Witness:
    """Watches a world's objects being made, changed and unmade, and lets faults strike."""

    def __init__(self, world: World) -> None:
        self.world = world
        #: By action and name.
        self.faults: dict[tuple[str, str], Fault] = {}
        self.fired: list[Fired] = []
        #: What was done that must never be done. The engine takes an exception for the resource's own.
        self.violations: list[str] = []
        #: By the id of the traversal that was to bring them about.
        self.definitions: dict[str, Definition] = {}
        #: The rows of the stack when it was found to be what it should be, and the template that it had then.
        self.originals: tuple[str | None, frozenset[str]] = (None, frozenset())
        #: The objects that no stack made, by id: the traversal that imports each.
        self.outside: dict[str, str] = {}
        #: The ids of objects that stacks before this one retained.
        self._left: set[str] = set()
        self._makers: Counter[str] = Counter()
        #: By row, the rows that its object was last made or changed with, and the newest event by then.
        self._used: dict[str, tuple[frozenset[str], int]] = {}
        make = world.cloud.make

        def watched(row: str, name: str, value: str) -> str:
            self._makers[row] += 1
            if self._makers[row] > 1:
                self.violations.append(f"{name} was made twice for one row")
            return make(row, name, value)

        world.cloud.make = watched  # type: ignore[method-assign]
        types = world.checker._types
        base = types["Cloud::Object"]
        for name in TYPES:
            types[name] = watched_type(self, base)  # type: ignore[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Witness":
        """Return a witness of a copy of the world, who has seen the same."""
        world = deepcopy(self.world, memo)
        # It is this witness who watches over that.
        del world.cloud.make
        memo[id(self)] = witness = Witness(world)
        vars(witness).update(deepcopy({name: it for name, it in vars(self).items() if name != "world"}, memo))
        return witness

    @contextmanager
    def aside(self) -> Iterator[sa.Connection]:
        """Read the store without anybody noticing."""
        cloud = self.world.cloud
        crash_at, count = cloud.crash_at, cloud._count
        cloud.crash_at = None
        with self.world.store.database.read() as connection:
            yield connection
        cloud.crash_at, cloud._count = crash_at, count

    def rows(self) -> dict[str, Any]:
        """Return all rows of resources, those that are gone too, by id."""
        with self.aside() as connection:
            return {row.id: row for row in connection.execute(sa.text("SELECT * FROM resource"))}

    def is_there(self, row: Any) -> bool:
        """Whether a row has an object that is its own."""
        return not is_gone(row) and bool(self.world.cloud.owned_by(row.id))

    # -- at every effect ---------------------------------------------------------------------------------------

    def begins(self, resource: Resource, action: str) -> None:
        """Check that this may be done now."""
        try:
            self._check_begins(resource, action)
        except AssertionError as error:
            self.violations.append(str(error))

    def _check_begins(self, resource: Resource, action: str) -> None:
        rows = self.rows()
        row = rows[resource.state.uuid]
        with self.aside() as connection:
            current = connection.execute(
                sa.text("SELECT traversal_id FROM stack WHERE id = :id"), {"id": row.stack_id}
            ).scalar_one()
        assert row.lock_traversal == current, f"a superseded traversal begins to {action} {row.name}"
        if action == "delete":
            self._check_ours(row)
            self._check_unused(rows, row)
            self._check_no_loss(row)
        else:
            self._check_served(rows, row, resource)

    def _check_ours(self, row: Any) -> None:
        """Check that an object which no stack made is not unmade before it was imported."""
        if row.physical_id in self.outside:
            sql = "SELECT 1 FROM event WHERE resource_id = :id AND action = 'ADOPT' AND status = 'COMPLETE'"
            with self.aside() as connection:
                is_imported = connection.execute(sa.text(sql), {"id": row.id}).first() is not None
            assert is_imported, f"{row.name} is unmade, and never was imported"

    def not_imported(self) -> set[str]:
        """Return the ids of objects that no stack made, and that no import has come to its end with."""
        with self.aside() as connection:
            sql = "SELECT id FROM traversal WHERE status = 'COMPLETE'"
            complete = set(connection.execute(sa.text(sql)).scalars())
        return {each for each, traversal_id in self.outside.items() if traversal_id not in complete}

    def _check_served(self, rows: Mapping[str, Any], row: Any, resource: Resource) -> None:
        needed = {proxy.name: proxy.uuid for proxy in resource.stack.resources.values()}
        with self.aside() as connection:
            newest = connection.execute(sa.text("SELECT coalesce(max(id), 0) FROM event")).scalar_one()
        self._used[row.id] = frozenset(str(uuid) for uuid in needed.values()), newest
        wanted = self.definitions.get(row.lock_traversal)
        if wanted is not None:
            assert set(needed) == enabled(wanted)[row.name].others, (
                f"{row.name} was given other data than it needs"
            )
        for name, uuid in needed.items():
            other = rows[str(uuid)]
            assert other.status == "COMPLETE" or self._is_doubted_since(other, row), f"{name} is not ready"
            assert other.action not in ("INIT", "DELETE"), f"{name} is not there"
            assert self.is_there(other), f"{name} is gone"

    def _is_doubted_since(self, other: Any, row: Any) -> bool:
        """Whether people said that a resource is unhealthy, after the end of what another is changed by.

        What was begun by then goes on, and begins anew if its worker is lost; it was planned with what was sound.
        """
        with self.aside() as connection:
            sql = "SELECT status FROM traversal WHERE id = :id"
            status = connection.execute(sa.text(sql), {"id": row.lock_traversal}).scalar_one()
        return bool(other.unhealthy) and status == "FAILED"

    def _given(self, row: Any) -> frozenset[str]:
        """Return the rows that an object was last made or changed with, unless that is complete on record since.

        What is only claimed has not begun, and is what it was on record.
        """
        given, newest = self._used.get(row.id, (frozenset(), 0))
        sql = "SELECT count(*) FROM event WHERE resource_id = :id AND id > :newest AND status = 'COMPLETE'"
        with self.aside() as connection:
            completed = connection.execute(sa.text(sql), {"id": row.id, "newest": newest}).scalar_one()
        return frozenset() if completed else given

    def _check_unused(self, rows: Mapping[str, Any], row: Any) -> None:
        for other in rows.values():
            if other.id == row.id or not self.is_there(other):
                continue
            uses = frozenset(json.loads(other.requires))
            if other.action == "CREATE" and other.status != "COMPLETE":
                # It was planned with what was there then, and is made of what it was given.
                uses = self._given(other)
            elif other.status != "COMPLETE":
                uses |= self._given(other)
            assert row.id not in uses, f"{row.name} is unmade although {other.name} depends on it"
            for physical_id in self.world.cloud.owned_by(other.id):
                mentioned = self.world.cloud.sizes[physical_id].split("+")
                assert row.physical_id not in mentioned, f"{row.name} is unmade although {other.name} uses it"

    def _check_no_loss(self, row: Any) -> None:
        """Check that no rollback unmakes what was there, and sound, when the definition was complete."""
        template_id, ids = self.originals
        if row.id not in ids or row.unhealthy or any(fired.name == row.name for fired in self.fired):
            return
        sql = "SELECT s.action, s.completed_template_id FROM stack s WHERE s.id = :id"
        last = (
            "SELECT status FROM event WHERE resource_id = :id AND action <> 'DELETE' "
            "AND status <> 'IN_PROGRESS' ORDER BY id DESC LIMIT 1"
        )
        with self.aside() as connection:
            stack = connection.execute(sa.text(sql), {"id": row.stack_id}).one()
            was = connection.execute(sa.text(last), {"id": row.id}).scalar()
        lost = stack.action == "ROLLBACK" and stack.completed_template_id == template_id and was == "COMPLETE"
        assert not lost, f"a rollback unmakes the original {row.name}"

    def put(self, physical_id: str, definition: Definition, name: str, ids: Mapping[str, str | None]) -> None:
        """Let there be an object that no stack made, as a definition wants it."""
        self.world.cloud.objects[physical_id] = ("nobody", value_of(definition, name))
        self.world.cloud.sizes[physical_id] = size_of(definition, name, ids)

    def strike(self, resource: Resource, action: str, *, late: bool) -> None:
        """Let a fault strike, if there is one."""
        fault = self.faults.get((action, resource.name))
        if fault is None or fault.late != late or fault.times == 0:
            return
        fault.times -= 1
        if fault.retryable:
            raise RetryableFailure("busy")
        traversal_id = self.rows()[resource.state.uuid].lock_traversal
        self.fired.append(Fired(traversal_id, action, resource.name))
        raise ResourceFailure("no luck")

    # -- at rest -----------------------------------------------------------------------------------------------

    def check_at_rest(self) -> None:
        """Check that everything has come to an end, and that rows and objects know of each other."""
        with self.aside() as connection:
            running = connection.execute(
                sa.text("SELECT id FROM traversal WHERE status = 'IN_PROGRESS'")
            ).all()
            untold = connection.execute(
                sa.text("SELECT traversal_id FROM node WHERE phase = 'end' AND state <> 'done'")
            ).all()
        assert not running, "a traversal never ends"
        assert not untold, "the last words on a traversal were never said"
        rows = self.rows()
        for row in rows.values():
            assert row.lock_traversal is None, f"{row.name} is locked for ever"
            if row.status == "COMPLETE" and row.action not in ("INIT", "DELETE"):
                assert self.is_there(row), f"{row.name} is COMPLETE and not there"
                assert self.world.cloud.owned_by(row.id) == [row.physical_id]
        left = self._retained() | self.not_imported()
        for physical_id, (maker, _) in self.world.cloud.objects.items():
            assert physical_id in left or not is_gone(rows[maker]), (
                f"{physical_id} is left over, and no row knows of it"
            )

    def forget_definitions(self) -> None:
        """Begin another stack: what the one before it left in the world on purpose stays there."""
        self._left = self._retained()
        self.definitions = {}

    def _retained(self) -> set[str]:
        """Return the ids of the objects that may be there although their rows are gone."""
        names = {name for each in self.definitions.values() for name, it in each.items() if it.retained}
        rows = self.rows()
        made = {each: maker for each, (maker, _) in self.world.cloud.objects.items() if maker in rows}
        there = {each: rows[maker].name for each, maker in made.items()}
        return self._left | {each for each, name in there.items() if name in names}

    def check_is(self, stack_id: str, wanted: Definition) -> dict[str, str]:
        """Check that the stack and the cloud are the definition and nothing else; return the ids."""
        rows = self.world.store.stacks.resources(stack_id)
        definition = enabled(wanted)
        assert sorted(row.name for row in rows) == sorted(definition)
        by_name = {row.name: row for row in rows}
        ids = {row.name: row.physical_id for row in rows}
        cloud = self.world.cloud
        for name, it in definition.items():
            row = by_name[name]
            assert row.physical_id is not None
            assert (row.type, row.status, row.replaced_by) == (it.type, "COMPLETE", None), name
            assert cloud.objects[row.physical_id] == (row.id, value_of(definition, name))
            assert cloud.sizes[row.physical_id] == size_of(definition, name, ids)
            assert set(row.requires) == {by_name[other].id for other in it.others}
        with self.aside() as connection:
            sql = "SELECT completed_template_id FROM stack WHERE id = :id"
            template_id = connection.execute(sa.text(sql), {"id": stack_id}).scalar_one()
        self.originals = (template_id, frozenset(row.id for row in rows))
        return {name: str(physical_id) for name, physical_id in ids.items()}

    def timed_out(self) -> int:
        """Return how many traversals ran out of time: what was under way then has failed."""
        with self.aside() as connection:
            sql = "SELECT count(*) FROM event WHERE type = 'stack' AND reason LIKE '%timed out%'"
            return int(connection.exec_driver_sql(sql).scalar_one())

    def failure_of(self, traversal_id: str) -> str:
        """Return why a traversal failed; nothing if it did not."""
        with self.aside() as connection:
            sql = "SELECT reason FROM event WHERE traversal_id = ? AND type = 'stack' AND status = 'FAILED'"
            return str(connection.exec_driver_sql(sql, (traversal_id,)).scalar() or "")

    def serves(self, traversal_id: str) -> bool:
        """Whether a traversal has made all that it was to make."""
        with self.aside() as connection:
            sql = "SELECT 1 FROM node WHERE traversal_id = ? AND phase = 'converge' AND state <> 'done'"
            return connection.exec_driver_sql(sql, (traversal_id,)).first() is None


def is_gone(row: Any) -> bool:
    """Whether a row is a tombstone."""
    return bool((row.action, row.status) == ("DELETE", "COMPLETE"))


def watched_type(witness: Witness, base: type[Resource]) -> type[Resource]:
    """Return a type whose objects are made under the eyes of a witness."""

    class Watched(base):  # type: ignore[valid-type, misc]
        """A cloud object that is watched."""

        def handle_create(self) -> Any:
            witness.begins(self, "create")
            witness.strike(self, "create", late=False)
            return super().handle_create()

        def check_create_complete(self, token: Any) -> bool | Wait:
            witness.strike(self, "create", late=True)
            return super().check_create_complete(token)  # type: ignore[no-any-return]

        def handle_update(self, changes: PropertyChanges) -> Any:
            witness.begins(self, "update")
            witness.strike(self, "update", late=False)
            return super().handle_update(changes)

        def check_update_complete(self, token: Any) -> bool | Wait:
            witness.strike(self, "update", late=True)
            return super().check_update_complete(token)  # type: ignore[no-any-return]

        def handle_delete(self) -> None:
            witness.begins(self, "delete")
            witness.strike(self, "delete", late=False)
            super().handle_delete()

        def check_delete_complete(self, token: Any) -> bool | Wait:
            witness.strike(self, "delete", late=True)
            return super().check_delete_complete(token)  # type: ignore[no-any-return]

    return Watched
