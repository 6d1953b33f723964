"""Any updates that move, in any order, interrupted or dying anywhere: an object that is wanted all along stays."""

from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from orchestrator.errors import Conflict, InvalidInput
from orchestrator.model.messages import CancelJob, EnvironmentSource
from tests.scenarios.commands import crashes
from tests.scenarios.definitions import (
    Definition,
    Edit,
    definitions,
    edited,
    edits,
    names,
    nearest,
    value_of,
)
from tests.scenarios.history import PLAYED, History

#: Which resource gets which name.
renames = st.lists(st.tuples(names, names), max_size=3)


@dataclass(frozen=True)
class Kept:
    """An object that every definition since the stack was complete wants as it is."""

    physical_id: str
    #: The resource's name when the stack was complete, and by the definition that was asked for last.
    complete: str
    asked: str


class Moving(History):
    """One stack's history, and the objects that must be there."""

    refusals = (Conflict, InvalidInput)

    def __init__(self) -> None:
        super().__init__()
        self.complete: Definition = {}
        self.asked: Definition = {}
        self.kept: list[Kept] = []

    @initialize(definition=definitions(most=5))
    def create(self, definition: Definition) -> None:
        self.complete = self.asked = definition
        self.stack_id = self.world.coordinator.create(self._job(definition))
        self.rest()

    @rule(changes=edits, moved=renames, rollback=st.booleans(), refresh=st.booleans(), crash=crashes)
    def update(
        self,
        changes: list[Edit],
        moved: list[tuple[str, str]],
        rollback: bool,
        refresh: bool,
        crash: int | None,
    ) -> None:
        base, kept = self._base()
        # Of one type, as a move needs it, and without conditions.
        wanted = edited(base, [each for each in changes if each[0] not in ("type", "condition", "rename")])
        entries: dict[str, str] = {}
        for name, other in moved:
            source = nearest(wanted, name) if wanted else name
            if source in base and other not in {*base, *wanted, *entries.values()} and source in wanted:
                wanted = edited(wanted, [("rename", source, other, "v")])
                entries[source] = other
        environment = "".join(f"- {{from: {source}, to: {target}}}\n" for source, target in entries.items())
        job = replace(
            self._job(wanted),
            rollback=rollback,
            refresh=refresh,
            environments=(EnvironmentSource(file="env.yaml", source=f"moved:\n{environment}"),),
        )
        if not self._given(lambda: self.world.coordinator.update(job), crash):
            return
        following = [(each, entries.get(each.asked, each.asked)) for each in kept]
        self.kept = [
            replace(each, asked=name)
            for each, name in following
            if name in wanted and value_of(wanted, name) == value_of(base, each.asked)
        ]
        self.asked = wanted
        self._check()

    @rule(rollback=st.booleans(), crash=crashes)
    def cancel(self, rollback: bool, crash: int | None) -> None:
        job = CancelJob(name="s", rollback=rollback, job_id=self._job_id())
        self._given(lambda: self.world.coordinator.cancel(job), crash)

    @rule(name=names, times=st.sampled_from([-1, 1, 3]))
    def fault(self, name: str, times: int) -> None:
        """Let making a resource fail; what is there is not made."""
        self.world.cloud.failing[name] = times

    @rule()
    def luck(self) -> None:
        self.world.cloud.failing.clear()

    @rule(name=names)
    def slow(self, name: str) -> None:
        self.world.cloud.polls[name] = 3

    @rule()
    def rest(self) -> None:
        super().rest()
        base, kept = self._base()
        stack = self.world.store.stacks.find("s", project="default")
        if stack.status != "COMPLETE":
            return
        rows = {
            row.name: row
            for row in self.world.store.stacks.resources(self.stack_id)
            if row.replaced_by is None and row.action != "DELETE"
        }
        assert rows.keys() == base.keys()
        for each in kept:
            assert rows[each.asked].physical_id == each.physical_id
        assert len(self.world.cloud.objects) >= len(rows)
        self.complete = self.asked = base
        self.kept = [Kept(row.physical_id or "", name, name) for name, row in rows.items()]

    def _base(self) -> tuple[Definition, list[Kept]]:
        """Return the definition that the stack has now, and what is kept by its names."""
        stack = self.world.store.stacks.find("s", project="default")
        if stack.action != "ROLLBACK":
            return self.asked, self.kept
        return self.complete, [replace(each, asked=each.complete) for each in self.kept]

    def _check(self) -> None:
        for each in self.kept:
            assert each.physical_id in self.world.cloud.objects, f"{each.asked} is gone"


TestMoving = Moving.TestCase
TestMoving.settings = PLAYED
