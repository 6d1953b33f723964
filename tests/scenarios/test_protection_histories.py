"""Any orders in any order, whatever fails or dies: what is protected stays, until an order is permitted to lose it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.protection_marks import protect
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.messages import CancelJob, DeleteJob, RestoreJob, SnapshotJob
from tests.scenarios.commands import crashes
from tests.scenarios.definitions import (
    Definition,
    Edit,
    definitions,
    edited,
    edits,
    names,
    nearest,
)
from tests.scenarios.history import PLAYED, History
from tests.scenarios.witness import Fault, Witness

permitted = st.sampled_from([False, False, False, True])


class Protected(History):
    """One stack's history, and the objects that must be there."""

    refusals = (Conflict, NotFound)

    def __init__(self) -> None:
        super().__init__()
        self.witness = Witness(self.world)
        self.definition: Definition = {}
        #: The objects that no order has had the permission to take away, by the name of the resource.
        self.kept: dict[str, str] = {}
        self.snapshots = 0

    @initialize(definition=definitions(most=5))
    def create(self, definition: Definition) -> None:
        self.definition = definition
        self.stack_id = self.world.coordinator.create(self._job(definition))
        self.rest()

    @rule(changes=edits, rollback=st.booleans(), refresh=st.booleans(), permission=permitted, crash=crashes)
    def update(
        self, changes: list[Edit], rollback: bool, refresh: bool, permission: bool, crash: int | None
    ) -> None:
        wanted = edited(self.definition, changes)
        job = replace(self._job(wanted), rollback=rollback, refresh=refresh, unprotect=permission)
        if self._order(lambda: self.world.coordinator.update(job), permission, crash):
            self.definition = wanted

    @rule(rollback=st.booleans(), permission=permitted, crash=crashes)
    def cancel(self, rollback: bool, permission: bool, crash: int | None) -> None:
        job = CancelJob(name="s", rollback=rollback, unprotect=permission, job_id=self._job_id())
        self._order(lambda: self.world.coordinator.cancel(job), permission and rollback, crash)

    @rule(crash=crashes, abandon=st.booleans())
    def delete(self, crash: int | None, abandon: bool) -> None:
        job = DeleteJob(name="s", job_id=self._job_id(), abandon=abandon)
        if self.kept:
            assert not self._order(lambda: self.world.coordinator.delete(job), False, crash)

    @rule(crash=crashes)
    def snapshot(self, crash: int | None) -> None:
        job = SnapshotJob(name="s", snapshot=f"snapshot-{self.snapshots}", job_id=self._job_id())
        self.snapshots += self._order(lambda: self.world.coordinator.snapshot(job), False, crash)

    @rule(which=st.integers(0, 5), permission=permitted, crash=crashes)
    def restore(self, which: int, permission: bool, crash: int | None) -> None:
        name = f"snapshot-{which % (self.snapshots + 1)}"
        job = RestoreJob(name="s", snapshot=name, unprotect=permission, job_id=self._job_id())
        self._order(lambda: self.world.coordinator.restore(job), permission, crash)

    @rule(name=names)
    def mark_unhealthy(self, name: str) -> None:
        stack = self.world.store.stacks.find("s", project="default")
        with suppress(Conflict, NotFound):
            mark_unhealthy(self.world.store, stack, name, reason="it hums")

    @rule(name=names)
    def protect(self, name: str) -> None:
        self.rest()
        stack = self.world.store.stacks.find("s", project="default")
        with suppress(Conflict, NotFound):
            protect(self.world.store, stack, (self._near(name),))
        self._learn()

    @rule(action=st.sampled_from(["create", "update", "delete"]), name=names, late=st.booleans())
    def fault(self, action: str, name: str, late: bool) -> None:
        self.witness.faults[action, self._near(name)] = Fault(1, False, late)

    @rule(name=names)
    def slow(self, name: str) -> None:
        self.world.cloud.polls[self._near(name)] = 3

    def _order(self, command: Callable[[], str], permission: bool, crash: int | None) -> bool:
        """Give a command, as of any history; with the permission, what is kept is learnt anew."""
        if not self._given(command, crash):
            return False
        if permission:
            # A later order may supersede it, and lose no more than this one was permitted to.
            self.kept = {}
            self.world.settle()
            self._learn()
        self._check()
        return True

    def _learn(self) -> None:
        """Note the objects of protected resources."""
        rows = self.world.store.stacks.resources(self.stack_id)
        self.kept = {
            row.name: row.physical_id
            for row in rows
            if row.protected and row.physical_id in self.world.cloud.objects
        }
        assert len([row for row in rows if row.protected]) == len({row.name for row in rows if row.protected})

    def _check(self) -> None:
        rows = {row.physical_id: row for row in self.world.store.stacks.resources(self.stack_id)}
        for name, physical_id in self.kept.items():
            assert physical_id in self.world.cloud.objects, f"{name} is gone"
            row = rows[physical_id]
            assert (row.name, row.protected, row.replaced_by) == (name, True, None)
            assert row.action != "DELETE"

    def _near(self, name: str) -> str:
        return nearest(self.definition, name) if self.definition else name


TestProtected = Protected.TestCase
TestProtected.settings = PLAYED
