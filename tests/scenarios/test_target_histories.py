"""Any history with updates of single resources: nothing else is touched, and the next whole update does the rest."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from orchestrator.errors import Conflict, InvalidInput
from tests.scenarios.commands import HISTORIES, Command, crashes
from tests.scenarios.definitions import (
    Definition,
    Edit,
    edited,
    edits,
    enabled,
    names,
    nearest,
    size_of,
    value_of,
)
from tests.scenarios.test_any_history import AnyHistory
from tests.scenarios.witness import Fired


@dataclass(frozen=True)
class Part:
    """An update of single resources: which ones, and what was there before it."""

    traversal_id: str
    names: frozenset[str]
    rows: Mapping[str, Any]
    objects: Mapping[str, Any]
    #: How much was done in the cloud by then.
    done: int


def closure(definition: Definition, targets: list[str]) -> frozenset[str]:
    """Return the targets, and all that they depend on by a definition."""
    found: set[str] = set()
    waiting = [*targets]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += definition[name].others if name in definition else ()
    return frozenset(found)


class InPart(AnyHistory):
    """One stack's history, in which updates name single resources."""

    def __init__(self) -> None:
        super().__init__()
        self.part: Part | None = None
        #: How many updates of single resources were accepted.
        self.parts = 0

    @rule(
        changes=edits,
        chosen=st.lists(names, max_size=2),
        replaces=st.lists(names, max_size=1),
        rollback=st.booleans(),
        crash=crashes,
        refresh=st.booleans(),
        waits=st.booleans(),
    )
    def update_in_part(
        self,
        changes: list[Edit],
        chosen: list[str],
        replaces: list[str],
        rollback: bool,
        crash: int | None,
        refresh: bool,
        waits: bool,
    ) -> None:
        if waits:
            self.rest()
        if self._is_deleted():
            return
        wanted = edited(self._latest(), changes)
        there = enabled(wanted)
        targets = [nearest(wanted, name) for name in chosen] if wanted else []
        replaces = [nearest(there, name) for name in replaces] if there else []
        job = replace(
            self._stack_job(wanted, rollback, None),
            targets=tuple(targets),
            replaces=tuple(replaces),
            refresh=refresh,
        )
        part = Part(
            traversal_id="",
            names=closure(there, targets),
            rows=self.witness.rows(),
            objects=self._objects(),
            done=len(self.world.cloud.log),
        )
        is_resting = not self._state().endswith("IN_PROGRESS")
        # Names that do not fit, a stack that is busy, what is under way.
        with suppress(Conflict, InvalidInput):
            self._order(lambda: self.world.coordinator.update(job), 0, crash)
            assert is_resting or not job.is_partial, (
                "an update of single resources superseded another operation"
            )
            was_marked = self.marked
            self.witness.fired += [Fired("", "mark", name) for name in replaces]
            self._accepted("UPDATE", wanted, rollback)
            if targets and self.last is not None:
                self.marked = was_marked
                self.parts += 1
                self.last = replace(self.last, action="PART")
                self.part = replace(part, traversal_id=self.last.traversal_id)
            self._check_part()

    @rule(name=names)
    def mark_unhealthy(self, name: str) -> None:
        # Health marks of operators are no part of an update.
        self.rest()
        super().mark_unhealthy(name)

    @rule(crash=crashes)
    def give_up_and_adopt(self, crash: int | None) -> None:
        self.rest()
        if not self._stack().partial:
            super().give_up_and_adopt(crash)

    def _order(self, command: Callable[[], str], steps: int, crash: int | None) -> str:
        self._check_part()
        return super()._order(command, steps, crash)

    def _check(self) -> None:
        last = self.last
        assert last is not None
        if last.action != "PART":
            super()._check()
            if not self._stack().partial:
                return
            assert self.parts, "no update named targets"
            return
        self._check_part()
        self.part = None
        assert not self.witness.violations, self.witness.violations
        self.witness.check_at_rest()
        state, failed = self._state(), self._excuses(last.traversal_id)
        if state == "UPDATE_COMPLETE":
            self._check_as_far_as(last)
        elif state == "UPDATE_FAILED":
            assert failed, self._stack().reason
            assert not last.rollback or "cleanup" in failed, "a rollback is owed"
        elif state == "ROLLBACK_COMPLETE":
            assert last.rollback
            assert "converge" in failed
            assert self._stack().partial == ()
            # A mark outside of the part is still there for it to see.
            self.marked = False
            self._check_became(self._completed())
        else:
            assert state == "ROLLBACK_FAILED"
            assert last.rollback
            assert self._excuses(self._stack().traversal_id)

    def _check_operated(self, last: Command, state: str, failed: set[str]) -> None:
        if last.action == "CHECK" and self._stack().partial:
            assert state in ("CHECK_COMPLETE", "CHECK_FAILED")
            return
        super()._check_operated(last, state, failed)

    def _check_part(self) -> None:
        """Check that an update of single resources has not touched anything else, while it is the last command."""
        part = self.part
        if part is None or self.last is None or self.last.action != "PART":
            return
        if self._traversal() != part.traversal_id:
            # It is being rolled back.
            return
        rows, objects = self.witness.rows(), self._objects()
        for row_id, row in part.rows.items():
            if row.name not in part.names:
                assert rows[row_id] == row, f"{row.name} is no target, and has another row"
                for physical_id in [each for each, (maker, *_) in part.objects.items() if maker == row_id]:
                    assert objects.get(physical_id) == part.objects[physical_id], f"{row.name} was touched"
        assert {row.name for row_id, row in rows.items() if row_id not in part.rows} <= part.names
        assert {name for _, name in self.world.cloud.log[part.done :]} <= part.names

    def _check_as_far_as(self, last: Command) -> None:
        """Check what is as the definition says, and that the stack names the rest."""
        left, definition = self._stack().partial, enabled(last.definition)
        if not left:
            self._check_became(last.definition)
            return
        rows = self.world.store.stacks.resources(self.stack_id)
        by_name = {row.name: row for row in rows if row.replaced_by is None}
        ids = {name: row.physical_id for name, row in by_name.items()}
        assert {row.name for row in rows} - definition.keys() <= {*left}
        for name, it in definition.items():
            if name in left:
                continue
            row = by_name[name]
            # An operator may have marked it since.
            assert row.type == it.type
            assert row.status == "COMPLETE" or row.unhealthy
            assert self.world.cloud.objects[str(row.physical_id)] == (row.id, value_of(definition, name))
            assert self.world.cloud.sizes[str(row.physical_id)] == size_of(definition, name, ids)
            assert {*row.requires} == {by_name[other].id for other in it.others}

    def _completed(self) -> Definition:
        """Return the definition with which the whole stack was complete last."""
        with self.witness.aside() as connection:
            sql = "SELECT id FROM traversal WHERE left_out <> '[]'"
            in_part = set(connection.exec_driver_sql(sql).scalars())
        asked = self.asked
        self.asked = [(each, definition) for each, definition in asked if each not in in_part]
        try:
            return super()._completed()
        finally:
            self.asked = asked

    def _objects(self) -> dict[str, tuple[str, str, str]]:
        cloud = self.world.cloud
        return {each: (*made, cloud.sizes.get(each, "")) for each, made in cloud.objects.items()}

    def _stack(self) -> Any:
        return self.world.store.stacks.find(self.stack_id, project="default")


TestInPart = pytest.mark.timeout(0)(InPart.TestCase) if HISTORIES else InPart.TestCase
TestInPart.settings = settings(
    max_examples=HISTORIES or 16,
    stateful_step_count=50 if HISTORIES else 20,
    deadline=None,
    derandomize=not HISTORIES,
    suppress_health_check=list(HealthCheck),
)
