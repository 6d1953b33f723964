"""What lifecycle plugins are shown of what is there: every row, also those that no definition speaks of any more."""

from hooks.lifecycle import LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import ResourceFailure
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World

Shown = dict[str, list[tuple[str, str | None]]]


class Watcher(LifecyclePlugin):
    """Keeps what it is shown after each operation: by name, the type and physical id of everything there."""

    name = "watcher"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Shown | None] = []

    def do_post_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
        is_stack_failure: bool,
    ) -> None:
        self.seen.append(None if current_stack is None else shown(current_stack))


def shown(stack: FrozenStack) -> Shown:
    return {
        each.name: [(one.type, one.physical_id) for one in (each, *each.others) if one.uuid]
        for each in stack.resources.values()
    }


def test_what_was_replaced_and_cannot_be_taken_away_is_shown_beside_what_took_its_place() -> None:
    world, watcher = World(), Watcher()
    world.plug(watcher)
    world.create(template({"a": value("1")}))
    world.settle()
    world.cloud.failing_deletes = {"a": True}
    world.update(template({"a": value("2")}))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    old, new = world.cloud.objects
    world.update(template({"a": value("2")}))
    world.settle()
    world.delete()
    world.settle()
    kind = "Cloud::Object"
    assert watcher.seen == [
        {"a": [(kind, old)]},
        {"a": [(kind, new), (kind, old)]},
        {"a": [(kind, new)]},
        None,
    ]


class Unlucky(Resource):
    """Cannot be made."""

    def handle_create(self) -> None:
        raise ResourceFailure("no luck")


def test_what_is_there_under_another_type_than_the_definitions_is_not_the_resource_itself() -> None:
    world, watcher = World(types={"Cloud::Other": Unlucky}), Watcher()
    world.plug(watcher)
    world.create(template({"a": value("1")}))
    world.settle()
    (old,) = world.cloud.objects
    world.update(template({"a": ""}).replace("Cloud::Object", "Cloud::Other"))
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    assert watcher.seen[-1] == {"a": [("Cloud::Other", None), ("Cloud::Object", old)]}
