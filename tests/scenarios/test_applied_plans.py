"""A plan that is applied is done as it was shown, or refused: whatever happened to the stack before and since."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from orchestrator.config.caller import acting_for
from orchestrator.engine.stack_plans import StackPlan, StackPlans
from orchestrator.errors import Conflict, InvalidInput
from orchestrator.keys.plan_seal import PlanKeys, parts_of
from orchestrator.model.identity import Caller, Identity
from orchestrator.model.messages import DeleteJob, EnvironmentSource, StackJob
from tests.scenarios.test_dry_runs import (
    DONE,
    NAMES,
    TYPES,
    WRONGS,
    Plain,
    Site,
    Stack,
    definitions,
    template,
)
from tests.scenarios.world import World


@pytest.fixture(autouse=True, scope="module")
def _types_of_this_world() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.plugins.registry.ResourceTypes.on_demand", lambda: TYPES)
        yield


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for world in list(World.open):
        world.close()


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        yield directory


class Planned(Stack):
    """A stack whose every change is planned first."""

    def __init__(self, home: str, resources: Mapping[str, str] | None = None) -> None:
        self.site = Plain.site = Site()
        self.world = World(types=TYPES, state_directory=home, key_file=f"{home}/keys.json")
        self.plans = StackPlans(self.world.coordinator._settings, self.world.store)
        if resources is not None:
            self.world.create(template(resources))
            self.world.settle()

    def plan(self, resources: Mapping[str, str], **more: Any) -> StackPlan:
        """Return the plan of an update, as it comes out of its file."""
        job = StackJob(name="s", template=template(resources), **more)
        return self.filed(self.plans.of_update(job))

    def filed(self, plan: StackPlan) -> StackPlan:
        return self.plans.read(self.plans.packed(plan))

    def bound(self, plan: StackPlan, **other: Any) -> StackPlan:
        """Return a plan that lists something else, signed as it is."""
        return self.filed(replace(plan, binding=replace(plan.binding, **other)))

    def apply(self, plan: StackPlan) -> None:
        self.site.log.clear()
        self.world.coordinator.begin(plan.job)
        self.world.settle()

    @property
    def reason(self) -> str:
        return self.world.store.stacks.find("s", project="default").reason

    @property
    def partial(self) -> tuple[str, ...]:
        return self.world.store.stacks.find("s", project="default").partial

    def others(self, plan: StackPlan) -> Mapping[str, object]:
        """Return the marks of the rows that a plan with targets has no part for."""
        listed = {each.name for each in plan.view.resources} if plan.view.targets else {*NAMES}
        stack = self.world.store.stacks.find("s", project="default")
        marks = self.world.store.row_marks.of(stack.root_id)
        rows = {row.id: row for row in self.world.store.stacks.resources(stack.id)}
        return {
            row_id: mark
            for row_id, mark in marks.items()
            if row_id in rows and rows[row_id].name not in listed
        }

    def present(self) -> tuple[str, Mapping[str, object]]:
        """Return what a plan is bound to, as it is now."""
        stack = self.world.store.stacks.find("s", project="default")
        return stack.traversal_id, self.world.store.row_marks.of(stack.id)

    def require_done_as_listed(self, plan: StackPlan, *, or_nothing: bool = False) -> None:
        """Compare what was done to the objects with what the plan lists; ``or_nothing``: each may be left as it is."""
        done: dict[str, set[str]] = {}
        for action, name in self.site.log:
            done.setdefault(name, set()).add(action)
        listed = plan.binding.actions
        for name, actions in listed.items():
            meant = [DONE[action] for action in actions if action in DONE]
            # An action that failed was perhaps not begun; an update may be of the state alone.
            may_be_nothing = or_nothing or self.world.state() == "UPDATE_FAILED" or "UPDATE" in actions
            assert done.get(name, set()) - {"delete"} in [*meant, *([set()] if may_be_nothing else [])], (
                name,
                actions,
                done,
            )
            if "delete" in done.get(name, ()):
                gone = {each.name for each in plan.view.resources if each.action == "DELETE"}
                assert {"REPLACE", "CREATE"} & {*actions} or name in gone
        assert {name for name in done if name not in listed} <= {*plan.binding.deletes}


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_applied_is_what_was_planned_or_is_refused(home: str, data: st.DataObject) -> None:
    resources = data.draw(definitions())
    stack = Planned(home, resources)
    try:
        for _ in range(data.draw(st.integers(1, 3))):
            _disturb(stack, data, resources)
            wanted = data.draw(definitions(resources))
            try:
                plan = stack.plan(
                    wanted, refresh=data.draw(st.integers(0, 3)) == 0, **data.draw(named(wanted))
                )
            except InvalidInput:
                event("names that do not fit")
                continue
            except Conflict:
                # The stack is not at rest.
                event("no plan")
                stack.world.update(template(wanted))
                stack.world.settle()
                resources = wanted
                continue
            before = stack.present()
            if data.draw(st.booleans()):
                _disturb(stack, data, resources)
            is_same = stack.present() == before
            if any(actions == ("REFUSE",) for actions in plan.binding.actions.values()) or not is_same:
                event("refused")
                with pytest.raises(Conflict, match=r"moved on|as refused"):
                    stack.apply(plan)
                continue
            event("applied")
            others = stack.others(plan)
            stack.apply(plan)
            assert "applied plan lists" not in stack.reason
            stack.require_done_as_listed(plan)
            assert stack.others(plan) == others
            if plan.view.targets:
                event("applied to single resources")
                assert stack.world.state() != "UPDATE_COMPLETE" or stack.partial == plan.view.partial
            resources = wanted
            with pytest.raises(Conflict, match="applied already"):
                stack.apply(replace(plan, job=replace(plan.job, job_id="again")))
    finally:
        stack.world.close()


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_workers_keep_to_what_a_plan_lists_whatever_else_would_be_needed(
    home: str, data: st.DataObject
) -> None:
    resources = data.draw(definitions())
    stack = Planned(home, resources)
    try:
        _disturb(stack, data, resources)
        with suppress(Conflict):
            plan = stack.plan(data.draw(definitions(resources)), refresh=data.draw(st.integers(0, 3)) == 0)
            subsets = {
                name: st.sets(st.sampled_from(actions), min_size=1)
                for name, actions in plan.binding.actions.items()
            }
            listed = data.draw(st.fixed_dictionaries(subsets))
            narrow = stack.bound(plan, actions={name: tuple(sorted(some)) for name, some in listed.items()})
            stack.apply(narrow)
            is_held = "the applied plan lists" in stack.reason
            event("held" if is_held else stack.world.state())
            stack.require_done_as_listed(narrow, or_nothing=True)
    finally:
        stack.world.close()


@st.composite
def named(draw: st.DrawFn, wanted: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return which resources an update names; mostly none."""
    if not wanted or draw(st.booleans()):
        return {}
    some = st.lists(st.sampled_from(sorted(wanted)), max_size=2, unique=True).map(tuple)
    replaces = draw(some)[:1] if draw(st.integers(0, 2)) == 0 else ()
    return {"targets": draw(some), "replaces": replaces}


def _disturb(stack: Planned, data: st.DataObject, resources: Mapping[str, str]) -> None:
    wrong, name = data.draw(st.sampled_from(WRONGS)), data.draw(st.sampled_from(NAMES))
    with suppress(Conflict):
        stack.disturb(wrong, name, data.draw(definitions(resources)))
    stack.site.failing.clear()


ONE = {"a": "{type: Plain, properties: {free: '1'}}"}
TWO = {"a": "{type: Plain, properties: {free: '2'}}"}


def test_a_refusal_says_what_was_done_since(home: str) -> None:
    stack = Planned(home, ONE)
    plan = stack.plan(TWO)
    stack.disturb("unhealthy", "a", {})
    with pytest.raises(Conflict, match=r"moved on since .*; changed resources: a; make a new plan"):
        stack.apply(plan)
    plan = stack.plan(TWO)
    stack.world.update(template({"b": ONE["a"]}))
    stack.world.settle()
    why = r"operations: UPDATE at \S+Z, COMPLETE; changed resources: a \(gone\), b \(new\)"
    with pytest.raises(Conflict, match=why):
        stack.apply(plan)
    assert not stack.site.log or ("update", "a") not in stack.site.log


def test_a_change_between_the_check_and_the_beginning_is_noticed_under_the_lock(home: str) -> None:
    stack = Planned(home, ONE)
    plan = stack.plan(TWO)
    marks = stack.world.store.row_marks
    read = marks.of
    seen: list[str] = []

    def marked_afterwards(root_id: str) -> Any:
        found = read(root_id)
        if not seen:
            seen.append(root_id)
            stack.disturb("unhealthy", "a", {})
        return found

    marks.of = marked_afterwards  # type: ignore[method-assign]  # another client is faster
    with pytest.raises(Conflict, match="changed resources: a"):
        stack.apply(plan)
    assert stack.world.state() == "CREATE_COMPLETE"


def test_an_action_that_the_plan_does_not_list_fails_its_resource_alone(home: str) -> None:
    stack = Planned(home, {**ONE, "b": "{type: Plain, properties: {held: {get_attr: [a, free]}}}"})
    plan = stack.plan({**TWO, "b": "{type: Plain, properties: {held: {get_attr: [a, free]}}}"})
    assert set(plan.binding.actions["b"]) == {"REPLACE", "UNCHANGED", "UPDATE"}
    narrow = stack.bound(plan, actions={**plan.binding.actions, "b": ("UNCHANGED", "UPDATE")})
    stack.apply(narrow)
    assert stack.site.log == [("update", "a")]
    assert stack.world.state() == "UPDATE_FAILED"
    assert (
        "the applied plan lists UNCHANGED or UPDATE for this resource; REPLACE would be needed"
        in stack.reason
    )
    # What was not done leaves the resource as it was: the next plan lists it, and it is done.
    assert {row.name: row.status for row in stack.rows} == {"a": "COMPLETE", "b": "COMPLETE"}
    stack.apply(stack.plan({**TWO, "b": "{type: Plain, properties: {held: {get_attr: [a, free]}}}"}))
    assert stack.world.state() == "UPDATE_COMPLETE"
    assert ("create", "b") in stack.site.log


def test_an_update_in_place_that_the_plan_does_not_list_is_not_begun(home: str) -> None:
    stack = Planned(home, ONE)
    plan = stack.plan(TWO)
    stack.apply(stack.bound(plan, actions={"a": ("UNCHANGED",)}))
    assert stack.site.log == []
    assert "the applied plan lists UNCHANGED for this resource; UPDATE would be needed" in stack.reason


@pytest.mark.parametrize("other", [{"actions": {"a": ("UPDATE",), "x": ("CREATE",)}}, {"deletes": ("a",)}])
def test_a_plan_of_something_else_is_refused_before_anything_begins(home: str, other: Any) -> None:
    stack = Planned(home, ONE)
    plan = stack.bound(stack.plan(TWO), **other)
    with pytest.raises(Conflict, match="is not what an update would do now"):
        stack.apply(plan)
    assert stack.world.state() == "CREATE_COMPLETE"


def test_a_plan_is_for_its_own_job(home: str) -> None:
    stack = Planned(home, ONE)
    job, other = stack.plan(TWO).job, stack.plan(ONE).job
    assert isinstance(job, StackJob)
    assert isinstance(other, StackJob)
    with pytest.raises(InvalidInput, match="the plan of another job"):
        stack.world.coordinator.update(replace(job, plan=other.plan))
    with pytest.raises(InvalidInput, match="in base64"):
        stack.world.coordinator.update(replace(job, plan="?"))


def test_a_job_that_is_delivered_twice_applies_its_plan_once(home: str) -> None:
    stack = Planned(home, ONE)
    plan = stack.plan(TWO)
    stack.apply(plan)
    stack.apply(plan)
    assert stack.site.log == []
    assert stack.world.state() == "UPDATE_COMPLETE"


def test_a_create_and_a_delete_are_applied_once(home: str) -> None:
    stack = Planned(home)
    create = stack.filed(stack.plans.of_create(StackJob(name="s", template=template(ONE))))
    other = stack.filed(stack.plans.of_create(StackJob(name="s", template=template(ONE))))
    stack.apply(create)
    assert stack.world.state() == "CREATE_COMPLETE"
    with pytest.raises(Conflict, match="applied already"):
        stack.apply(replace(create, job=replace(create.job, job_id="again")))
    with pytest.raises(Conflict, match="there is a stack 's' since"):
        stack.apply(other)
    stale, delete = stack.filed(stack.plans.of_delete("s")), stack.filed(stack.plans.of_delete("s"))
    stack.disturb("unhealthy", "a", {})
    with pytest.raises(Conflict, match="changed resources: a"):
        stack.apply(stale)
    delete = stack.filed(stack.plans.of_delete("s"))
    assert isinstance(delete.job, DeleteJob)
    stack.apply(delete)
    assert stack.site.log == [("delete", "a")]
    with pytest.raises(Exception, match="deleted already"):
        stack.apply(replace(delete, job=replace(delete.job, job_id="again")))
    # The stack that it made is gone, and its plan is still used up.
    with pytest.raises(Conflict, match="applied already"):
        stack.apply(replace(create, job=replace(create.job, job_id="once more")))


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_coordinator_refuses_a_seal_with_one_byte_changed(home: str, data: st.DataObject) -> None:
    stack = Planned(home, ONE)
    try:
        plan = stack.plans.of_update(StackJob(name="s", template=template(TWO)))
        content = stack.plans.packed(plan)
        seal = bytearray(parts_of(content, "")[0])
        seal[data.draw(st.integers(0, len(seal) - 1))] ^= data.draw(st.integers(1, 255))
        with pytest.raises(InvalidInput):
            PlanKeys(stack.world.coordinator._settings).open(
                bytes(seal), project="default", installation=stack.world.store.identity.read()
            )
    finally:
        stack.world.close()


class Attentive(LifecyclePlugin):
    """Keeps what it is shown of operations."""

    name = "attentive"

    def __init__(self) -> None:
        super().__init__(None)
        self.seen: list[LifecycleContext] = []

    def do_pre_op(self, context: LifecycleContext, *_: object) -> Annotations | None:
        self.seen.append(context)
        return None


def test_lifecycle_plugins_see_the_plan_and_who_applies_it(home: str) -> None:
    stack, plugin = Planned(home, ONE), Attentive()
    stack.world.plug(plugin)
    with acting_for(Caller(identity=Identity.administrator("alice"), origin="test")):
        plan = stack.plan({"b": ONE["a"]})
    with acting_for(Caller(identity=Identity.administrator("bob"), origin="test")):
        stack.apply(plan)
    stack.world.update(template(ONE))
    applied, plain = plugin.seen
    assert applied.plan is not None
    assert (applied.user, applied.plan.user, applied.plan.id) == ("bob", "alice", plan.view.id)
    assert (dict(applied.plan.actions), tuple(applied.plan.deletes)) == ({"b": ("CREATE",)}, ("a",))
    assert plain.plan is None


@pytest.mark.parametrize("instruction", range(1, 16))
def test_a_coordinator_that_dies_while_it_begins_a_plan_begins_it_once(home: str, instruction: int) -> None:
    stack = Planned(home, ONE)
    plan, other = stack.plan(TWO), stack.plan(TWO)
    stack.site.log.clear()
    stack.world.cloud.crash_after(instruction)
    is_over = stack.world.survive(lambda: stack.world.coordinator.begin(plan.job))
    stack.world.cloud.crash_at = None
    # The queue delivers the job again; before or after that, another user applies an equal plan.
    for each in [plan, other] if instruction % 2 or is_over else [other, plan]:
        with suppress(Conflict):
            stack.world.coordinator.begin(each.job)
    stack.world.settle()
    assert stack.site.log == [("update", "a")]
    assert stack.world.state() == "UPDATE_COMPLETE"
    operations = stack.world.store.past.traversals(
        stack.world.store.stacks.find("s", project="default").id, limit=9
    )
    assert [each.action for each in operations if each.action == "UPDATE"] == ["UPDATE"]


MOVED = (EnvironmentSource(file="env.yaml", source="moved:\n- {from: a, to: x}\n"),)


def test_a_plan_lists_moves_and_is_done_as_it_lists_them(home: str) -> None:
    stack = Planned(home, ONE)
    before = stack.present()
    job = StackJob(name="s", template=template({"x": ONE["a"]}), environments=MOVED)
    plan = stack.filed(stack.plans.of_update(job))
    (resource,) = plan.view.resources
    assert (resource.name, resource.action, resource.moved_from) == ("x", "UNCHANGED", "a")
    assert plan.view.has_changes
    assert (plan.binding.moves, plan.binding.actions, plan.binding.deletes) == (
        {"x": "a"},
        {"x": ("UNCHANGED",)},
        (),
    )
    with pytest.raises(Conflict, match="whether 'a' is moved"):
        stack.apply(stack.bound(plan, moves={}))
    assert stack.present() == before
    stack.apply(plan)
    assert stack.site.log == []
    assert stack.world.state() == "UPDATE_COMPLETE"
    with pytest.raises(Conflict, match="applied already"):
        stack.apply(replace(plan, job=replace(plan.job, job_id="again")))
    again = stack.plans.of_update(job)
    assert (again.view.has_changes, again.binding.moves) == (False, {})


def test_a_plan_made_before_a_move_is_refused_after_it(home: str) -> None:
    stack = Planned(home, ONE)
    plan = stack.plan(TWO)
    stack.world.update(template({"x": ONE["a"]}), environments=MOVED)
    stack.world.settle()
    with pytest.raises(Conflict, match="has moved on"):
        stack.apply(plan)


def test_a_plan_of_single_resources_says_what_has_happened_since(home: str) -> None:
    stack = Planned(home, {**ONE, "b": ONE["a"]})
    plan = stack.plan({**TWO, "b": TWO["a"]}, targets=("a",))
    stack.world.update(template(TWO))
    with pytest.raises(Conflict, match=r"moved on since .*; operations: UPDATE at \S+Z, IN_PROGRESS"):
        stack.apply(plan)
    stack.world.settle()
    assert ("update", "b") not in stack.site.log
