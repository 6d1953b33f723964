"""What a plan lists inside of nested stacks is what is done there."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from orchestrator.engine.stack_plans import StackPlan
from orchestrator.errors import Conflict
from orchestrator.model.messages import StackJob
from orchestrator.views.plans import PlannedResource
from tests.scenarios.test_applied_plans import Planned
from tests.scenarios.test_dry_runs import DONE, NAMES, TYPES, definitions, template
from tests.thoroughness import examples

#: What the nested stack is given: a value, or one that is known only once the outer resource is as it will be.
GIVEN = st.sampled_from(["'1'", "'2'", "{get_attr: [out, free]}", "{get_attr: [out, now]}"])
OUT = st.sampled_from(["free: '1'", "free: '2'", "held: '1', free: '1'"])
Files = Mapping[str, str]


@pytest.fixture(autouse=True, scope="module")
def _types_of_this_world() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orchestrator.plugins.registry.ResourceTypes.on_demand", lambda: TYPES)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("home"))


def outer(out: str, given_to: str, *, has_inner: bool = True) -> str:
    """Return a template with a resource, and a nested stack that is given a value of it, or another one."""
    inner = f"  in: {{type: inner.yaml, properties: {{word: {given_to}}}}}\n" if has_inner else ""
    return (
        f"heat_template_version: wallaby\nresources:\n  out: {{type: Plain, properties: {{{out}}}}}\n{inner}"
    )


def inner(resources: Mapping[str, str]) -> str:
    """Return the nested template: where a resource has the value ``no``, it has the parameter's."""
    source = template(resources).replace("'no'", "{get_param: word}")
    return source.replace("resources:", "parameters: {word: {type: string, default: ''}}\nresources:", 1)


class Nested(Planned):
    """A stack with another one in it."""

    def __init__(self, home: str, source: str, files: Files) -> None:
        super().__init__(home)
        self.world.create(source, files=files)
        self.world.settle()

    def plan_of(self, source: str, files: Files, *, refresh: bool = False) -> StackPlan:
        """Return the plan of an update, as it comes out of its file."""
        job = StackJob(name="s", template=source, files=files, refresh=refresh)
        return self.filed(self.plans.of_update(job))

    def require_done_inside(self, plan: StackPlan) -> None:
        """Compare what was done to the objects in the nested stack with what the plan lists there."""
        done: dict[str, set[str]] = {}
        for action, name in self.site.log:
            if name != "out":
                done.setdefault(name, set()).add(action)
        listed: dict[str, list[PlannedResource]] = {}
        for each in plan.view.resources:
            if each.name.startswith("in/"):
                listed.setdefault(each.name.removeprefix("in/"), []).append(each)
        assert done.keys() <= listed.keys(), (done, listed)
        for name, plans in listed.items():
            was = done.get(name, set())
            may_be = {action for each in plans for action in (each.action, *each.may)}
            event(" ".join(sorted(may_be)))
            assert "delete" not in was or {"REPLACE", "CREATE", "DELETE"} & may_be, (plans, was)
            kept = may_be - {"DELETE"}
            may_be_nothing = not kept or self.world.state() == "UPDATE_FAILED" or "UPDATE" in kept
            meant = [DONE[action] for action in kept if action in DONE]
            assert was - {"delete"} in [*meant, *([set()] if may_be_nothing else [])], (plans, was)


@given(data=st.data())
@settings(max_examples=examples(15), deadline=None)
def test_what_is_done_inside_is_what_was_listed(home: str, data: st.DataObject) -> None:
    resources = data.draw(definitions())
    stack = Nested(home, outer(data.draw(OUT), data.draw(GIVEN)), {"inner.yaml": inner(resources)})
    try:
        for _ in range(data.draw(st.integers(1, 3))):
            if data.draw(st.booleans()):
                # An update whose plan is not looked at, some of which fails.
                stack.site.failing.add(
                    (data.draw(st.sampled_from(["update", "create"])), data.draw(st.sampled_from(NAMES)))
                )
                files = {"inner.yaml": inner(data.draw(definitions(resources)))}
                stack.world.update(outer(data.draw(OUT), data.draw(GIVEN)), files=files)
                stack.world.settle()
                stack.site.failing.clear()
            resources = data.draw(definitions(resources))
            source = outer(data.draw(OUT), data.draw(GIVEN), has_inner=data.draw(st.integers(0, 5)) > 0)
            with suppress(Conflict):
                plan = stack.plan_of(
                    source, {"inner.yaml": inner(resources)}, refresh=data.draw(st.integers(0, 4)) == 0
                )
                stack.apply(plan)
                assert "applied plan lists" not in stack.reason
                stack.require_done_inside(plan)
    finally:
        stack.world.close()


A = {"a": "{type: Plain, properties: {free: 'no', held: '1'}}", "b": "{type: Plain}"}


@pytest.fixture
def pair(home: str) -> Iterator[Nested]:
    stack = Nested(home, outer("free: '1'", "'1'"), {"inner.yaml": inner(A)})
    yield stack
    stack.world.close()


def listed(plan: StackPlan) -> dict[str, str]:
    return {each.name: each.action for each in plan.view.resources}


def test_what_changes_inside_is_listed_with_its_path_and_its_values(pair: Nested) -> None:
    plan = pair.plan_of(outer("free: '1'", "'2'"), {"inner.yaml": inner(A)})
    assert listed(plan) == {"in": "UPDATE", "in/a": "UPDATE", "in/b": "UNCHANGED", "out": "UNCHANGED"}
    (a,) = (each for each in plan.view.resources if each.name == "in/a")
    assert [(each.name, each.before, each.after) for each in a.changes] == [("free", "1", "2")]
    assert plan.view.counts == {"UNCHANGED": 2, "UPDATE": 2}
    assert plan.binding.actions.keys() == {"in", "out"}
    pair.apply(plan)
    assert pair.site.log == [("update", "a")]


def test_what_is_known_later_inside_depends(pair: Nested) -> None:
    plan = pair.plan_of(outer("free: '2'", "{get_attr: [out, free]}"), {"inner.yaml": inner(A)})
    (a,) = (each for each in plan.view.resources if each.name == "in/a")
    assert (a.action, a.unknown) == ("DEPENDS", ("free",))
    assert listed(plan)["in/b"] == "UNCHANGED"


def test_a_template_that_changes_and_a_stack_that_goes_are_listed_with_all_that_is_in_them(
    pair: Nested,
) -> None:
    other = {"b": "{type: Plain, properties: {held: '1'}}", "c": "{type: Plain, deletion_policy: Retain}"}
    plan = pair.plan_of(outer("free: '1'", "'1'"), {"inner.yaml": inner(other)})
    assert listed(plan) == {
        "in": "UPDATE",
        "in/a": "DELETE",
        "in/b": "REPLACE",
        "in/c": "CREATE",
        "out": "UNCHANGED",
    }
    pair.apply(plan)
    plan = pair.plan_of(outer("free: '1'", "'1'", has_inner=False), {})
    assert listed(plan) == {"in": "DELETE", "in/b": "DELETE", "in/c": "DELETE", "out": "UNCHANGED"}
    assert [each.reason for each in plan.view.resources if each.name == "in/c"] == [
        "what it stands for stays: its deletion policy is Retain"
    ]
