"""Any commands in any order, at any moment, whatever fails or dies: the stack ends as the last command says.

``ISOTHERM_HISTORIES`` is how many histories are played; unless it is set, always the same few.
"""

import random
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from orchestrator.engine.health import mark_unhealthy
from orchestrator.errors import Conflict, NotFound
from orchestrator.model.messages import (
    END,
    OPERATE_JOBS,
    AdoptJob,
    CancelJob,
    DeleteJob,
    RestoreJob,
    SnapshotJob,
    StackJob,
)
from tests.scenarios.commands import (
    AS_IT_IS,
    HISTORIES,
    OPERATIONS,
    Between,
    Command,
    Known,
    crashes,
    meanwhile,
    timeouts,
)
from tests.scenarios.definitions import (
    Definition,
    Edit,
    definitions,
    edited,
    edits,
    enabled,
    identity_of,
    names,
    nearest,
    parameters_of,
    template_of,
    value_of,
)
from tests.scenarios.test_interleavings import moves, play
from tests.scenarios.witness import Fault, Fired, Witness
from tests.scenarios.world import World


class AnyHistory(RuleBasedStateMachine):
    """One stack's history, and what must come of it."""

    def __init__(self) -> None:
        super().__init__()
        #: A history may be played again while the exception of its first play is being handled.
        self.handled = sys.exc_info()[1]
        ids = random.Random(0)
        # Ids decide which of two comes first: with the same ids, the same history goes the same way.
        self.same_ids = patch("uuid.uuid4", lambda: UUID(int=ids.getrandbits(128), version=4))
        self.same_ids.start()
        self.world = World(action_retry_limit=1000)
        self.witness = Witness(self.world)
        self.stack_id = ""
        self.last: Command | None = None
        #: The accepted definitions of this stack, oldest first, each with its traversal.
        self.asked: list[tuple[str, Definition]] = []
        self.known: Known | None = None
        #: Whether somebody said of a resource that it is unhealthy, and no update came since.
        self.marked = False
        #: What the stack was when each of its snapshots was begun, by name.
        self.snapshots: dict[str, Definition] = {}
        self.jobs = 0

    # -- commands ----------------------------------------------------------------------------------------------

    @initialize(definition=definitions(), rollback=st.booleans(), timeout=timeouts)
    def first(self, definition: Definition, rollback: bool, timeout: int | None) -> None:
        self._create(definition, rollback, timeout, None)

    @precondition(lambda self: self._is_deleted())
    @rule(definition=definitions(most=4), rollback=st.booleans(), timeout=timeouts, crash=crashes)
    def create(self, definition: Definition, rollback: bool, timeout: int | None, crash: int | None) -> None:
        self._create(definition, rollback, timeout, crash)

    def _create(self, definition: Definition, rollback: bool, timeout: int | None, crash: int | None) -> None:
        job = self._stack_job(definition, rollback, timeout)
        self.witness.forget_definitions()
        self.known = None
        self.asked, self.snapshots = [], {}
        self.stack_id = self._order(lambda: self.world.coordinator.create(job), 0, crash)
        self._accepted("CREATE", definition, rollback)

    @rule(changes=edits, rollback=st.booleans(), timeout=timeouts, crash=crashes, steps=meanwhile)
    def update(
        self, changes: list[Edit], rollback: bool, timeout: int | None, crash: int | None, steps: int
    ) -> None:
        self._update(edited(self._latest(), changes), rollback, timeout, crash, steps)

    @rule(
        other=definitions() | st.integers(1, 4),
        rollback=st.booleans(),
        crash=crashes,
        steps=meanwhile,
        refresh=st.booleans(),
    )
    def update_altogether(
        self, other: Definition | int, rollback: bool, crash: int | None, steps: int, refresh: bool = False
    ) -> None:
        """Give the stack another definition, or one that it was given before."""
        definition = self.asked[-min(other, len(self.asked))][1] if isinstance(other, int) else other
        self._update(definition, rollback, None, crash, steps, refresh)

    def _update(
        self,
        definition: Definition,
        rollback: bool,
        timeout: int | None,
        crash: int | None,
        steps: int,
        refresh: bool = False,
    ) -> None:
        if self._is_deleted():
            return
        job = replace(self._stack_job(definition, rollback, timeout), refresh=refresh)
        refused = self._state().startswith(("DELETE", "SUSPEND"))
        with suppress(Conflict):
            self._order(lambda: self.world.coordinator.update(job), steps, crash)
            assert not refused
            self._accepted("UPDATE", definition, rollback)
            return
        assert refused, "an update was refused"

    @rule(rollback=st.booleans(), crash=crashes, steps=meanwhile)
    def cancel(self, rollback: bool, crash: int | None, steps: int) -> None:
        if self._is_deleted():
            return
        as_it_is = self._state().partition("_")[0] in AS_IT_IS
        job = CancelJob(name="s", rollback=rollback, job_id=self._job_id())
        with suppress(Conflict):
            self._order(lambda: self.world.coordinator.cancel(job), steps if rollback else 0, crash)
            self._accepted("ROLLBACK" if rollback and not as_it_is else "CANCEL", self._completed())

    @precondition(lambda self: not self._is_deleted())
    @rule(really=st.integers(0, 2), crash=crashes, steps=meanwhile)
    def perhaps_delete(self, really: int, crash: int | None, steps: int) -> None:
        if really == 0:
            self.delete(crash, steps)

    def delete(self, crash: int | None, steps: int) -> None:
        if self._is_deleted():
            return
        job = DeleteJob(name="s", job_id=self._job_id())
        self._order(lambda: self.world.coordinator.delete(job), steps, crash)
        self._accepted("DELETE", {})

    @rule(action=st.sampled_from(OPERATIONS), crash=crashes, steps=meanwhile)
    def operate(self, action: str, crash: int | None, steps: int) -> None:
        if self._is_deleted():
            return
        before, state = self._traversal(), self._state()
        job = OPERATE_JOBS[action](name="s", job_id=self._job_id())
        with suppress(Conflict):
            self._order(lambda: self.world.coordinator.operate(job), steps, crash)
            assert not state.endswith("IN_PROGRESS") or steps, f"{action} was accepted while {state}"
            assert not state.startswith("DELETE")
            if self._traversal() != before:
                self._accepted(action, self._completed())

    @rule(name=names)
    def mark_unhealthy(self, name: str) -> None:
        if self._is_deleted():
            return
        stack = self.world.store.stacks.find("s", project="default")
        with suppress(Conflict, NotFound):
            mark_unhealthy(self.world.store, stack, name, reason="it hums")
            self.witness.fired.append(Fired("", "mark", name))
            self.marked = True

    @rule(crash=crashes, steps=meanwhile)
    def snapshot(self, crash: int | None, steps: int) -> None:
        if self._is_deleted():
            return
        before, name = self._traversal(), f"snapshot-{len(self.snapshots)}"
        job = SnapshotJob(name="s", snapshot=name, job_id=self._job_id())
        with suppress(Conflict):
            self._order(lambda: self.world.coordinator.snapshot(job), steps, crash)
            if self._traversal() != before:
                self.snapshots[name] = self._completed()
                self._accepted("SNAPSHOT", self._completed())

    @precondition(lambda self: self.snapshots)
    @rule(which=st.integers(0, 5), rollback=st.booleans(), crash=crashes, steps=meanwhile)
    def restore(self, which: int, rollback: bool, crash: int | None, steps: int) -> None:
        if self._is_deleted():
            return
        before, name = self._traversal(), f"snapshot-{which % len(self.snapshots)}"
        job = RestoreJob(name="s", snapshot=name, rollback=rollback, job_id=self._job_id())
        # One that was not complete cannot be restored, nor can a busy stack be.
        with suppress(Conflict):
            self._order(lambda: self.world.coordinator.restore(job), steps, crash)
            if self._traversal() != before:
                self._accepted("RESTORE", self.snapshots[name], rollback)

    @rule(crash=crashes)
    def give_up_and_adopt(self, crash: int | None) -> None:
        """Give up a stack that is complete, and make another of all that it leaves."""
        self.rest()
        if (
            self._is_deleted()
            or not self._state().endswith("_COMPLETE")
            or self._state().startswith("SUSPEND")
        ):
            return
        definition = self._completed()
        rows = self.world.store.stacks.resources(self.stack_id)
        # What is still to be cleaned up would be left over.
        if any(row.status != "COMPLETE" or row.unhealthy or row.replaced_by for row in rows):
            return
        entries = {row.name: {"resource_id": row.physical_id, "resource_data": row.data} for row in rows}
        given_up = DeleteJob(name="s", job_id=self._job_id(), abandon=True)
        self._order(lambda: self.world.coordinator.delete(given_up), 0, crash)
        self.world.settle()
        assert self._state() == "DELETE_COMPLETE"
        said = self._stack_job(definition, False, None)
        job = AdoptJob(
            name="s",
            template=said.template,
            parameters=said.parameters,
            resources=entries,
            job_id=said.job_id,
        )
        self.asked, self.snapshots = [], {}
        self.stack_id = self._order(lambda: self.world.coordinator.adopt(job), 0, crash)
        self._accepted("ADOPT", definition)
        self.rest()
        assert self._state() == "ADOPT_COMPLETE"

    def _order(self, command: Callable[[], str], steps: int, crash: int | None) -> str:
        """Give a command; a coordinator that dies over it is given the same job again."""
        # A plugin in which the process dies has refused, and that is no history of this test.
        self.world.plug(Between(lambda: self._steps(0 if crash is not None else steps)))
        ids: list[str] = []
        try:
            if crash is not None:
                self.world.cloud.crash_after(crash)
            survived = self.world.survive(lambda: ids.append(command()))
            self.world.cloud.crash_at = None
            if not survived:
                ids.append(command())
        finally:
            self.world.cloud.crash_at = None
            self.world.plug()
        return ids[-1]

    def _accepted(self, action: str, definition: Definition, rollback: bool = False) -> None:
        stack = self.world.store.stacks.find(self.stack_id, project="default")
        self.last = Command(action, stack.traversal_id, definition, rollback)
        if action in AS_IT_IS:
            return
        self.marked = False
        if action in ("CREATE", "UPDATE", "RESTORE", "ADOPT"):
            self.asked.append((stack.traversal_id, definition))
        if action != "CANCEL":
            self.witness.definitions[stack.traversal_id] = definition
        if self.known:
            self.known.definitions.append(definition)

    def _stack_job(self, definition: Definition, rollback: bool, timeout: int | None) -> StackJob:
        return StackJob(
            name="s",
            template=template_of(definition),
            parameters=parameters_of(definition),
            rollback=rollback,
            timeout_minutes=timeout,
            job_id=self._job_id(),
        )

    def _job_id(self) -> str:
        self.jobs += 1
        return f"job-{self.jobs}"

    # -- fate --------------------------------------------------------------------------------------------------

    def _steps(self, count: int) -> None:
        """Deliver messages to workers that take one step each and do not carry on."""
        for _ in range(count):
            if not self.world.messages:
                return
            order = self.world.messages.pop(0)
            if order.phase == END:
                self.world.coordinator.finish(order)
            else:
                self.world.publish(self.world.checker.step(order))

    @rule(count=st.integers(1, 12))
    def step(self, count: int) -> None:
        self._steps(count)

    @rule(moves=st.lists(moves, min_size=1, max_size=10))
    def fate(self, moves: list[tuple[str, int]]) -> None:
        play(self.world, moves)

    @rule(
        action=st.sampled_from(["create", "update", "delete"]),
        name=names,
        times=st.sampled_from([1, 1, 2, -1]),
        retryable=st.booleans(),
        late=st.booleans(),
    )
    def fault(self, action: str, name: str, times: int, retryable: bool, late: bool) -> None:
        if self._latest():
            name = nearest(self._latest(), name)
        self.witness.faults[action, name] = Fault(1 if retryable else times, retryable, late)

    @rule(name=names, seconds=st.sampled_from([1, 3, 30, 1000]))
    def slow(self, name: str, seconds: int) -> None:
        if self._latest():
            name = nearest(self._latest(), name)
        self.world.cloud.polls[name] = seconds

    # -- what must hold ----------------------------------------------------------------------------------------

    @rule()
    def rest(self) -> None:
        self.world.settle()
        self._check()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[1] is self.handled and self.last is not None:
                self._play_out()
        finally:
            self.world.close()
            self.same_ids.stop()

    def _play_out(self) -> None:
        """Let everything end; heal what failed; delete it all."""
        self.world.cloud.polls = {}
        self.rest()
        self.witness.faults = {}
        if self._state().startswith("SUSPEND"):
            self.operate("RESUME", None, 0)
            self.rest()
            assert self._state() == "RESUME_COMPLETE"
        if not self._state().startswith("DELETE"):
            self._update(self._latest(), False, None, None, 0)
            self.rest()
            assert self._state() == "UPDATE_COMPLETE"
        if not self._is_deleted():
            self.delete(None, 0)
            self.rest()
        assert self._state() == "DELETE_COMPLETE"

    def _check(self) -> None:  # noqa: C901  # one case for each way in which a command may end
        last = self.last
        assert last is not None
        assert not self.witness.violations, self.witness.violations
        self.witness.check_at_rest()
        state, stack = self._state(), self.world.store.stacks.find(self.stack_id, project="default")
        failed = self._excuses(last.traversal_id)
        match last.action, state:
            case ("CREATE" | "UPDATE" | "RESTORE" | "ADOPT" as action, _) if state == f"{action}_COMPLETE":
                self._check_became(last.definition)
            case ("CREATE" | "UPDATE" | "RESTORE" as action, _) if state == f"{action}_FAILED":
                assert failed, stack.reason
                assert not last.rollback or "cleanup" in failed, "a rollback is owed"
            case ("CREATE" | "UPDATE" | "RESTORE", "ROLLBACK_COMPLETE"):
                assert last.rollback
                assert "converge" in failed
                self._check_became(self._completed())
            case ("CREATE" | "UPDATE" | "RESTORE", "ROLLBACK_FAILED"):
                assert last.rollback
                assert "converge" in failed
                assert self._excuses(stack.traversal_id)
            case ("ROLLBACK", "ROLLBACK_COMPLETE"):
                self._check_became(last.definition)
            case ("ROLLBACK", "ROLLBACK_FAILED"):
                assert failed, stack.reason
            case ("CANCEL", _):
                assert state.endswith("_FAILED")
            case ("SNAPSHOT", "SNAPSHOT_COMPLETE"):
                self._check_kept(last.definition)
            case ("SNAPSHOT", "SNAPSHOT_FAILED"):
                # What was left half-way, or found to be broken, is fit for no snapshot.
                assert ": it is " in stack.reason or failed, stack.reason
            case (action, _) if action in OPERATIONS:
                self._check_operated(last, state, failed)
            case ("DELETE", "DELETE_COMPLETE"):
                assert self.world.store.stacks.resources(self.stack_id) == []
            case ("DELETE", "DELETE_FAILED"):
                assert failed, stack.reason
            case _:
                raise AssertionError(f"{state} after {last.action}: {stack.reason}")

    def _check_operated(self, last: Command, state: str, failed: set[str]) -> None:
        if last.action == "CHECK":
            assert state in ("CHECK_COMPLETE", "CHECK_FAILED")
            rows = self.world.store.stacks.resources(self.stack_id)
            # A cancelled cleanup leaves what is to be cleaned up until the next update.
            if state == "CHECK_COMPLETE" and len(rows) == len(enabled(last.definition)):
                self._check_became(last.definition)
        elif state == f"{last.action}_COMPLETE":
            # What is about to be cleaned up is left alone.
            rows = [row for row in self.world.store.stacks.resources(self.stack_id) if not row.replaced_by]
            actions = {row.action for row in rows} - {"INIT", "DELETE"}
            assert last.action == "RESUME" or actions <= {"SUSPEND"}, rows
        else:
            assert state == f"{last.action}_FAILED"
            assert failed

    def _check_kept(self, definition: Definition) -> None:
        """Check that the snapshot taken last holds what a definition wants, and nothing that is left over."""
        row = self.world.store.snapshots.find(self.stack_id, list(self.snapshots)[-1])
        entries = {entry.name: entry for entry in self.world.store.snapshots.entries(row)}
        wanted = enabled(definition)
        assert {name: entry.type for name, entry in entries.items()} == {
            name: it.type for name, it in wanted.items()
        }
        rows = self.witness.rows()
        for name, entry in entries.items():
            kept = rows[entry.entry["image"].partition("@")[0]]
            value = self.world.cloud.objects[kept.physical_id][1]
            assert (kept.name, value) == (name, value_of(wanted, name)), f"another {name} was kept"
        if len(self.world.store.stacks.resources(self.stack_id)) == len(wanted):
            self._check_became(definition)

    def _check_became(self, definition: Definition) -> None:
        """Check that the stack is a definition, and that what never was to become anything else was left alone."""
        if self.marked:
            return
        ids = self.witness.check_is(self.stack_id, definition)
        if self.known and self.witness.timed_out() == self.known.timed_out:
            struck = {fired.name for fired in self.witness.fired[self.known.faults :]}
            for name, physical_id in self.known.ids.items():
                identities = {identity_of(each, name) for each in [*self.known.definitions, definition]}
                if len(identities) == 1 and None not in identities and name not in struck:
                    assert ids[name] == physical_id, f"{name} was replaced for nothing"
        self.known = Known([definition], ids, len(self.witness.fired), self.witness.timed_out())

    def _excuses(self, traversal_id: str) -> set[str]:
        """Return why a traversal may have failed."""
        struck = {
            "cleanup" if fired.action == "delete" else "converge"
            for fired in self.witness.fired
            if fired.traversal_id == traversal_id
        }
        if "timed out" in self.witness.failure_of(traversal_id):
            # What was in service by then stays so.
            struck.add("cleanup" if self.witness.serves(traversal_id) else "converge")
        return struck

    # -- what is known -----------------------------------------------------------------------------------------

    def _state(self) -> str:
        return self.world.state(self.stack_id)

    def _traversal(self) -> str:
        return self.world.store.stacks.find(self.stack_id, project="default").traversal_id

    def _is_deleted(self) -> bool:
        return self._state() == "DELETE_COMPLETE"

    def _latest(self) -> Definition:
        return self.asked[-1][1]

    def _completed(self) -> Definition:
        """Return the definition that was complete last, though perhaps not all was cleaned up after it."""
        with self.witness.aside() as connection:
            sql = "SELECT id FROM traversal WHERE status = 'COMPLETE'"
            complete = set(connection.exec_driver_sql(sql).scalars())
        for traversal_id, definition in reversed(self.asked):
            failed_late = self.witness.failure_of(traversal_id) and self.witness.serves(traversal_id)
            if traversal_id in complete or failed_late:
                return definition
        return {}


TestAnyHistory = pytest.mark.timeout(0)(AnyHistory.TestCase) if HISTORIES else AnyHistory.TestCase
TestAnyHistory.settings = settings(
    max_examples=HISTORIES or 12,
    stateful_step_count=50 if HISTORIES else 20,
    deadline=None,
    derandomize=not HISTORIES,
    suppress_health_check=list(HealthCheck),
)
