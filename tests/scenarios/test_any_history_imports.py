"""Any commands in any order, whatever fails or dies, with imports of objects that are there by hand among them."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import ImportJob
from tests.scenarios.commands import HISTORIES, crashes, meanwhile
from tests.scenarios.definitions import (
    Definition,
    Wanted,
    enabled,
    names,
    nearest,
    parameters_of,
    template_of,
)
from tests.scenarios.test_any_history import AnyHistory


class ImportingHistory(AnyHistory):
    """One stack's history, with objects that it takes in."""

    def __init__(self) -> None:
        super().__init__()
        self.put = 0

    @rule(
        name=names,
        other=names,
        edge=st.sampled_from(["after", "of", "like", "beside"]),
        retained=st.booleans(),
        rests=st.booleans(),
        seconds=st.sampled_from([0, 0, 3, 1000]),
        crash=crashes,
        steps=meanwhile,
    )
    def take_in(
        self,
        name: str,
        other: str,
        edge: str,
        retained: bool,
        rests: bool,
        seconds: int,
        crash: int | None,
        steps: int,
    ) -> None:
        """Import the object of one resource more."""
        if rests:
            self.rest()
        if self._is_deleted():
            return
        before = self._completed()
        if name in before:
            return
        others = frozenset({nearest(enabled(before), other)} if enabled(before) else ())
        definition = {**before, name: Wanted(retained=retained, **{edge: others})}  # type: ignore[arg-type]
        physical_id = f"{name}-by-hand-{self.put}"
        self.put += 1
        rows = self.world.store.stacks.resources(self.stack_id)
        self.witness.put(physical_id, definition, name, {row.name: row.physical_id for row in rows})
        self.witness.outside[physical_id] = ""
        self.world.cloud.polls[name] = seconds
        state, traversal = self._state(), self._traversal()
        job = ImportJob(
            name="s",
            template=template_of(definition),
            parameters=parameters_of(definition),
            resources={name: {"resource_id": physical_id}},
            job_id=self._job_id(),
        )
        is_whole, is_sound = self._is_whole(), self._is_sound(before)
        try:
            self._order(lambda: self.world.coordinator.import_objects(job), steps, crash)
        except Conflict:
            assert not is_whole, "an import was refused"
            return
        except InvalidInput:
            if is_sound or not is_whole:
                raise
            return
        assert is_whole, f"an import was accepted while {state}"
        assert self._traversal() != traversal
        self.witness.outside[physical_id] = self._traversal()
        self._accepted("ADOPT", definition, rollback=True)

    def _is_whole(self) -> bool:
        """Whether the stack is at rest and complete."""
        stack = self.world.store.stacks.find(self.stack_id, project="default")
        if stack.status != "COMPLETE" or stack.action == "SUSPEND":
            return False
        return stack.template_id == stack.completed_template_id

    def _is_sound(self, definition: Definition) -> bool:
        """Whether an update to the definition that the stack has would do nothing."""
        rows = self.world.store.stacks.resources(self.stack_id)
        if len(rows) != len(enabled(definition)):
            return False
        return not any(
            row.status != "COMPLETE" or row.action == "SUSPEND" or row.unhealthy or row.replaced_by
            for row in rows
        )

    def _check(self) -> None:
        if self.last and self.last.action == "ADOPT" and self._state() != "ADOPT_COMPLETE":
            # A failed import ends as an update does that is rolled back.
            self.last = replace(self.last, action="UPDATE")
        super()._check()


TestImportingHistory = (
    pytest.mark.timeout(0)(ImportingHistory.TestCase) if HISTORIES else ImportingHistory.TestCase
)
TestImportingHistory.settings = settings(
    max_examples=HISTORIES or 12,
    stateful_step_count=50 if HISTORIES else 20,
    deadline=None,
    derandomize=not HISTORIES,
    suppress_health_check=list(HealthCheck),
)
