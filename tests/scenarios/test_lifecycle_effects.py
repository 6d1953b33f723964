"""A refusal, and an error after an operation, leave the stack as it was, or fail it: a setting."""

from typing import Any

import pytest

from hooks.errors import Refusal
from hooks.lifecycle import COMPLETE, FAILED, REFUSED, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.config.hooks import lifecycle_plugins
from orchestrator.config.lifecycle import LifecycleEffectSettings
from orchestrator.config.settings import Settings
from orchestrator.errors import Conflict, HooksNotLoaded, NotFound
from orchestrator.queries.progress import progress_of
from orchestrator.store.stacks.stacks import StackRow
from tests.scenarios.telling import reason, states
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World
from tests.unit.packages import install

ONE, OTHER = template({"a": value("1", "s")}), template({"a": value("2", "s")})
REFUSES = "refused by lifecycle plugin 'Guard': not today"
#: How each setting can say that this plugin's refusals fail the stacks of this project.
FAILING = (
    {"default": "fail"},
    {"projects": {"default": "fail"}},
    {"plugins": {"Guard": "fail"}},
    {"default": "refuse", "projects": {"default": "refuse"}, "plugins": {"Guard": "fail"}},
)
REFUSING: tuple[dict[str, Any], ...] = (
    {},
    {"default": "fail", "projects": {"default": "refuse"}},
    {"projects": {"default": "fail"}, "plugins": {"Guard": "refuse"}},
    {"projects": {"other": "fail"}, "plugins": {"Other": "fail"}},
)


class First(LifecyclePlugin):
    """Agrees, and notes how operations ended."""

    ordinal = 1

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[tuple[str, str]] = []

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        assert is_stack_failure == (context.outcome != COMPLETE)
        self.ended.append((action, context.outcome))


class Guard(LifecyclePlugin):
    """Refuses some actions, and fails after others."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses: set[str] = set()
        self.fails_after: set[str] = set()

    def do_pre_op(
        self, context: LifecycleContext, stack: FrozenStack, current_stack: FrozenStack | None, action: str
    ) -> None:
        if action in self.refuses:
            raise Refusal("not today")

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        if action in self.fails_after:
            raise RuntimeError("the ledger is full")


def plugged(effects: dict[str, Any]) -> tuple[World, First, Guard]:
    world = World(lifecycle_effects=effects)
    first, guard = First(), Guard()
    world.plug(first, guard)
    return world, first, guard


def made(world: World) -> str:
    stack_id = world.create(ONE)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    return stack_id


def row(world: World, stack_id: str) -> StackRow:
    stack = world.store.stacks.by_id(stack_id)
    assert stack is not None
    return stack


def is_over(world: World, stack_id: str) -> bool:
    return progress_of(world.store, row(world, stack_id), stays_for_steps=False).finished


@pytest.mark.parametrize("effects", REFUSING)
def test_a_refusal_leaves_nothing(effects: dict[str, Any]) -> None:
    world, first, guard = plugged(effects)
    guard.refuses = {"CREATE", "UPDATE"}
    with pytest.raises(Conflict, match="not today"):
        world.create(ONE)
    with pytest.raises(NotFound):
        world.store.stacks.find("s", project="default")
    assert first.ended == [("CREATE", REFUSED)]
    guard.refuses = {"UPDATE"}
    stack_id = made(world)
    with pytest.raises(Conflict, match="not today"):
        world.update(OTHER)
    assert world.state() == "CREATE_COMPLETE"
    assert states(world, stack_id) == {"a": ["CREATE_COMPLETE"]}


@pytest.mark.parametrize("effects", FAILING)
def test_a_refusal_fails_a_new_stack_which_has_no_resources(effects: dict[str, Any]) -> None:
    world, first, guard = plugged(effects)
    guard.refuses = {"CREATE"}
    stack_id = world.create(ONE)
    world.settle()
    assert (world.state(), reason(world)) == ("CREATE_FAILED", REFUSES)
    assert is_over(world, stack_id)
    assert states(world, stack_id) == {}
    assert world.cloud.log == []
    assert first.ended == [("CREATE", FAILED)]
    guard.refuses.clear()
    world.update(ONE)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert [action for action, _ in world.cloud.log] == ["make"]
    world.delete()
    world.settle()
    assert not world.cloud.objects


@pytest.mark.parametrize("action", ["UPDATE", "DELETE", "CHECK", "SUSPEND", "SNAPSHOT"])
def test_a_refusal_fails_an_existing_stack_whose_resources_are_not_touched(action: str) -> None:
    world, first, guard = plugged({"default": "fail"})
    stack_id = made(world)
    before, log = row(world, stack_id), list(world.cloud.log)
    guard.refuses = {action}
    if action == "UPDATE":
        world.update(OTHER)
    else:
        getattr(world, action.lower())()
    world.settle()
    assert (world.state(), reason(world)) == (f"{action}_FAILED", REFUSES)
    assert is_over(world, stack_id)
    assert world.cloud.log == log
    after = row(world, stack_id)
    assert (after.template_id, after.completed_template_id, after.traversal_id) == (
        before.template_id,
        before.completed_template_id,
        before.traversal_id,
    )
    assert first.ended[-1] == (action, FAILED)
    guard.refuses.clear()
    if action == "SUSPEND":
        world.resume()
        world.settle()
    if action != "DELETE":
        world.update(OTHER)
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
    world.delete()
    world.settle()
    assert not world.cloud.objects


def test_the_same_job_again_fails_the_stack_once() -> None:
    world, first, guard = plugged({"default": "fail"})
    made(world)
    guard.refuses = {"UPDATE"}
    world.update(OTHER, job_id="once")
    ended = list(first.ended)
    guard.refuses.clear()
    world.update(OTHER, job_id="once")
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert first.ended == ended


def test_a_refusal_leaves_an_operation_under_way_alone() -> None:
    world, _, guard = plugged({"default": "fail"})
    world.create(ONE)
    guard.refuses = {"UPDATE"}
    with pytest.raises(Conflict, match="not today"):
        world.update(OTHER)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"


@pytest.mark.parametrize("effects", REFUSING)
def test_an_error_after_an_operation_is_only_recorded(effects: dict[str, Any]) -> None:
    world, _, guard = plugged(effects)
    guard.fails_after = {"CREATE"}
    stack = row(world, made(world))
    errors = {call.plugin: call.error for call in world.store.ledger.calls(stack.traversal_id)}
    assert "the ledger is full" in errors["Guard"]


@pytest.mark.parametrize("status", ["COMPLETE", "FAILED"])
def test_an_operation_is_over_once_its_plugins_were_called_after_it(status: str) -> None:
    """What they hold for it, such as licences, is free for whoever waited for it and begins the next one."""
    world, first, _ = plugged({})
    if status == "FAILED":
        world.cloud.failing = {"a": -1}
    stack_id = world.create(ONE)
    while world.state() == "CREATE_IN_PROGRESS":
        world.deliver()
    assert world.state() == f"CREATE_{status}"
    assert not is_over(world, stack_id), "its plugins were not called yet"
    world.settle()
    assert [action for action, _ in first.ended] == ["CREATE"]
    assert is_over(world, stack_id)


def test_an_operation_without_plugins_is_over_once_it_has_its_status() -> None:
    world = World()
    stack_id = world.create(ONE)
    while world.state() == "CREATE_IN_PROGRESS":
        world.deliver()
    assert world.store.traversals.is_end_finished(row(world, stack_id).traversal_id) is False
    assert is_over(world, stack_id)


@pytest.mark.parametrize("effects", FAILING)
def test_an_error_after_an_operation_fails_the_stack_which_stays_in_service(effects: dict[str, Any]) -> None:
    world, first, guard = plugged(effects)
    guard.fails_after = {"CREATE"}
    stack_id = world.create(ONE, rollback=True)
    while world.state() == "CREATE_IN_PROGRESS":
        world.deliver()
    assert world.state() == "CREATE_COMPLETE"
    assert not is_over(world, stack_id), "its plugins were not called yet"
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert reason(world).startswith("lifecycle plugin 'Guard' failed after the operation: ")
    assert reason(world).endswith("the ledger is full")
    assert is_over(world, stack_id)
    assert row(world, stack_id).completed_template_id == row(world, stack_id).template_id
    assert states(world, stack_id) == {"a": ["CREATE_COMPLETE"]}
    assert first.ended == [("CREATE", COMPLETE)]
    world.update(OTHER)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"


def test_a_deleted_stack_stays_deleted() -> None:
    world, _, guard = plugged({"default": "fail"})
    stack_id = made(world)
    guard.fails_after = {"DELETE"}
    world.delete()
    world.settle()
    stack = row(world, stack_id)
    assert f"{stack.action}_{stack.status}" == "DELETE_COMPLETE"


def test_a_process_that_dies_before_it_fails_the_stack_is_followed_by_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, first, guard = plugged({"default": "fail"})
    guard.fails_after = {"CREATE"}
    world.create(ONE)
    while world.state() == "CREATE_IN_PROGRESS":
        world.deliver()
    with monkeypatch.context() as patch:
        patch.setattr(world.store.plugin_failures, "fail_complete", _dies)
        with pytest.raises(KeyboardInterrupt):
            world.settle()
    world.now += 1000
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert first.ended == [("CREATE", COMPLETE)]


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_nested_stacks_refusal_fails_the_resource_that_it_is() -> None:
    files = {"pair.yaml": template({"disk": value("1")})}
    nested = "heat_template_version: 2021-04-16\nresources: {pair: {type: pair.yaml}}\n"
    world, _, guard = plugged({"default": "fail"})

    class Inner(Guard):
        name = "Guard"

        def do_pre_op(
            self,
            context: LifecycleContext,
            stack: FrozenStack,
            current_stack: FrozenStack | None,
            action: str,
        ) -> None:
            if stack.parent_id:
                raise Refusal("not today")

    world.plug(Inner())
    assert guard
    stack_id = world.create(nested, files=files)
    world.settle()
    assert world.state() == "CREATE_FAILED"
    assert REFUSES in reason(world)
    assert states(world, stack_id) == {"pair": ["CREATE_FAILED"]}


def test_a_setting_for_a_plugin_that_is_not_installed_is_refused_with_the_nearest_name(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from isotherm.hooks import LifecyclePlugin\nclass Calm(LifecyclePlugin):\n    pass\n"
    install(tmp_path, "acme_effects", source, {"isotherm.lifecycle": ("calm = acme_effects:Calm",)})
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings(lifecycle_effects=LifecycleEffectSettings(plugins={"clam": "fail", "calm": "fail"}))
    with pytest.raises(HooksNotLoaded) as error:
        lifecycle_plugins(settings)
    (problem,) = error.value.problems
    assert problem.path == "settings.lifecycle_effects.plugins.clam"
    assert "'calm'" in problem.hint
