"""Any orders in any order, whatever fails or dies: what is protected stays, until an order is permitted to lose it."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from orchestrator.engine.health import mark_unhealthy
from orchestrator.engine.protection_marks import protect
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.messages import CancelJob, DeleteJob, RestoreJob, SnapshotJob, StackJob
from tests.scenarios.definitions import (
    Definition,
    Edit,
    definitions,
    edited,
    edits,
    names,
    nearest,
    parameters_of,
    template_of,
)
from tests.scenarios.test_any_history import HISTORIES, crashes
from tests.scenarios.test_interleavings import moves, play
from tests.scenarios.witness import Fault, Witness
from tests.scenarios.world import World

permitted = st.sampled_from([False, False, False, True])


class Protected(RuleBasedStateMachine):
    """One stack's history, and the objects that must be there."""

    def __init__(self) -> None:
        super().__init__()
        self.handled = sys.exc_info()[1]
        self.world = World(action_retry_limit=1000)
        self.witness = Witness(self.world)
        self.stack_id = ""
        self.definition: Definition = {}
        #: The objects that no order has had the permission to take away, by the name of the resource.
        self.kept: dict[str, str] = {}
        self.jobs = 0
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

    @rule(moves=st.lists(moves, min_size=1, max_size=10))
    def fate(self, moves: list[tuple[str, int]]) -> None:
        play(self.world, moves)
        self._check()

    @rule()
    def rest(self) -> None:
        self.world.settle()
        self._check()

    def _order(self, command: Callable[[], str], permission: bool, crash: int | None) -> bool:
        """Give a command, again if a coordinator dies over it; return whether it was accepted."""
        try:
            if crash is not None:
                self.world.cloud.crash_after(crash)
            if not self.world.survive(command):
                command()
        except (Conflict, NotFound):
            return False
        finally:
            self.world.cloud.crash_at = None
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

    def _job(self, definition: Definition) -> StackJob:
        return StackJob(
            name="s",
            template=template_of(definition),
            parameters=parameters_of(definition),
            job_id=self._job_id(),
        )

    def _job_id(self) -> str:
        self.jobs += 1
        return f"job-{self.jobs}"

    def teardown(self) -> None:
        try:
            if sys.exc_info()[1] is self.handled:
                self.rest()
        finally:
            self.world.close()


TestProtected = Protected.TestCase
TestProtected.settings = settings(
    max_examples=HISTORIES or 12,
    stateful_step_count=20,
    deadline=None,
    derandomize=not HISTORIES,
    suppress_health_check=list(HealthCheck),
)
