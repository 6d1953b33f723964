"""What is on record of a moved resource goes with it: its machine, drift, protection, annotations and addresses."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from hooks.lifecycle import Annotations, LifecycleContext, LifecyclePlugin
from hooks.stack import FrozenStack
from orchestrator.definition import StackDefinition
from orchestrator.engine.idle_nested_stacks import resource_of
from orchestrator.engine.protection_marks import protect
from orchestrator.engine.resource_keys import ResourceKeys
from orchestrator.errors import Conflict
from orchestrator.model.messages import SignalJob
from orchestrator.model.signed_signals import signed_address
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges
from orchestrator.queries.stacks import StackQueries
from orchestrator.template.hiding import HIDDEN
from tests.scenarios.groups import TYPES as GROUP_TYPES
from tests.scenarios.placing import group as machine_group
from tests.scenarios.placing import instance
from tests.scenarios.test_moves import AFTER, BEFORE, moved, present, renamed, stack, stack_id_of
from tests.scenarios.test_moves_between_stacks import CASES, WEB, A, B, made, paths, root_of, row_at, text_of
from tests.scenarios.test_moves_between_stacks import complete as complete_with
from tests.scenarios.test_moves_between_stacks import update as move_between
from tests.scenarios.test_placement import Placed
from tests.scenarios.test_placement import template as placed_template
from tests.scenarios.test_purging import AT_ONCE
from tests.scenarios.test_updates import done, template
from tests.scenarios.test_wait_conditions import TYPES as WAITING_TYPES
from tests.scenarios.test_wait_conditions import template as waiting_template
from tests.scenarios.world import World
from workers.resources.core.wait_condition import WaitConditionHandle


class Watching(LifecyclePlugin):
    """It notes the names that it is shown before an update, with their objects."""

    name = "watching"

    def __init__(self) -> None:
        self.seen: list[dict[str, str | None]] = []

    def do_pre_op(
        self,
        context: LifecycleContext,
        stack: FrozenStack,
        current_stack: FrozenStack | None,
        action: str,
    ) -> Annotations:
        if current_stack is not None:
            self.seen.append({name: each.physical_id for name, each in current_stack.resources.items()})
        return Annotations(resources={name: {"seen": action} for name in stack.resources})


def test_lifecycle_plugins_see_the_present_objects_by_their_new_names() -> None:
    world = World()
    plugin = Watching()
    world.plug(plugin)
    world.create(template(BEFORE))
    world.settle()
    before = present(world)
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    assert plugin.seen == [renamed(before, x="a")]
    assert world.store.annotations.of(stack_id_of(world), "x") == {"watching": {"seen": "UPDATE"}}
    assert world.store.annotations.of(stack_id_of(world), "a") == {}


def test_moved_resource_stays_on_its_machine_with_its_room() -> None:
    placed = Placed(n1=100)
    placed.create(a=instance(memory=60))
    assert placed.promised("n1") == 60
    rows = placed.rows()
    for size in (60, 70):
        text = placed_template(x=instance(memory=size))
        placed.world.update(text, environments=moved(("a", "x")))
        placed.world.settle()
        assert placed.world.state() == "UPDATE_COMPLETE"
        assert placed.where() == {"x": "n1"}
        assert (placed.promised("n1"), placed.rows()) == (size, rows)
    placed.world.delete()
    placed.world.settle()
    assert (placed.promised("n1"), placed.rows()) == (0, 0)


def test_members_stay_apart_by_a_group_that_is_moved() -> None:
    placed = Placed(n1=100, n2=100)
    placed.create(
        apart=machine_group("different_host"), a=instance(memory=10, groups=[{"get_resource": "apart"}])
    )
    group_id = placed.world.store.stacks.resource(stack_id_of(placed.world), "apart").id
    placed.create("other", c=instance(memory=10, groups=[group_id]))
    assert {*placed.where().values(), *placed.where("other").values()} == {"n1", "n2"}
    both: dict[str, Any] = {
        "far": machine_group("different_host"),
        "a": instance(memory=10, groups=[{"get_resource": "far"}]),
    }
    placed.world.update(placed_template(**both), environments=moved(("apart", "far")))
    placed.world.settle()
    assert placed.world.state() == "UPDATE_COMPLETE"
    rows = placed.rows()
    both["b"] = instance(memory=10, groups=[{"get_resource": "far"}])
    with pytest.raises(Conflict, match="placement"):
        placed.update(**both)
    assert placed.rows() == rows


def test_protected_resource_is_moved_and_stays_protected() -> None:
    world = stack()
    protect(world.store, world.store.stacks.find("s", project="default"), ("a",))
    world.update(template(AFTER), environments=moved(("a", "x")))
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert world.store.stacks.resource(stack_id_of(world), "x").protected
    with pytest.raises(Conflict, match="'x' would be lost"):
        world.update(template({"c": ""}))


def test_drift_of_a_moved_resource_has_its_new_path() -> None:
    world = stack()
    world.detect()
    world.settle()
    world.cloud.sizes["a-1"] = "changed"
    world.detect()
    world.settle()
    assert [each.path for each in world.store.drifts.of_tree(stack_id_of(world))] == ["a"]
    world.update(template(AFTER), environments=moved(("a", "x")))
    assert [each.path for each in world.store.drifts.of_tree(stack_id_of(world))] == ["x"]


def test_addresses_for_signals_that_were_handed_out_before_stay_valid() -> None:
    world = World(WAITING_TYPES, api_url="https://api.example:8780/v1")
    stack_id = world.create(waiting_template("WaitConditionHandle"))
    world.settle()
    row = world.store.stacks.resource(stack_id, "handle")
    keys = ResourceKeys(
        world.coordinator._settings, world.store, lambda _: world.store.stacks.find("s", project="default")
    )

    def address(name: str) -> str:
        made = signed_address(
            "https://h", row.data, project="default", stack="s", stack_id=stack_id, resource=name
        )
        assert made is not None
        return made

    def is_valid(resource: str, signed: str) -> bool:
        query = parse_qs(urlsplit(signed).query)
        return keys.has_signed_address(
            stack_id, resource, expires=query["expires"][0], signature=query["signature"][0]
        )

    text = waiting_template("WaitConditionHandle").replace("handle: {type", "bell: {type")
    world.update(
        text.replace("get_resource: handle", "get_resource: bell"), environments=moved(("handle", "bell"))
    )
    while world.messages:
        world.deliver()
    assert world.store.stacks.resource(stack_id, "bell").id == row.id
    assert is_valid("handle", address("handle"))
    assert not is_valid("handle", address("bell"))
    assert not is_valid("bell", address("other"))
    kind = WAITING_TYPES["OS::Heat::WaitConditionHandle"]
    after = resource_of(
        world.store.stacks.resource(stack_id, "bell"),
        kind,
        StackDefinition(name="s", id=stack_id, project="default"),
        world.coordinator._settings,
        0.0,
    )
    assert isinstance(after, WaitConditionHandle)
    assert after.signal_address() == address("handle").replace("https://h", "https://api.example:8780/v1")


# -- in another stack --------------------------------------------------------------------------------------------------


class Told(Resource):
    """It notes by which stack and name it is known, whatever is done to it."""

    properties_schema: ClassVar = {
        "word": Property(type=PropertyType.STRING, update_allowed=True, default="")
    }
    seen: ClassVar[list[tuple[str, str, str, str]]] = []

    def note(self, what: str) -> None:
        self.seen.append((what, self.stack.id, self.stack.name, self.name))

    def handle_create(self) -> None:
        self.note("create")
        self.state.physical_id = self.state.uuid

    def handle_update(self, changes: PropertyChanges) -> None:
        self.note("update")

    def handle_check(self) -> None:
        self.note("check")

    def handle_delete(self) -> None:
        self.note("delete")

    def handle_signal(self, details: Mapping[str, Any]) -> str:
        self.note("signal")
        return "told"

    def observe(self) -> Mapping[str, Any]:
        self.note("observe")
        return {"word": self.properties["word"]}


TOLD = "{type: Told, properties: {word: '%s'}}"


@pytest.mark.parametrize("path", ["web/x", "x"])
def test_type_knows_a_moved_resource_by_where_it_was_made(path: str) -> None:
    Told.seen = []
    world = World(types={**GROUP_TYPES, "Told": Told})
    stack_id = world.create(text_of({"a": TOLD % 1}))
    world.settle()

    def become(word: int) -> None:
        inner = {"x": TOLD % word}
        if path == "x":
            move_between(world, inner, ("a", path))
        else:
            move_between(world, {"web": WEB}, ("a", path), files={"web": text_of(inner)})
        world.settle()

    become(1)
    become(2)
    world.check()
    world.settle()
    world.detect()
    world.settle()
    # An address that was handed out before.
    world.coordinator.signal(SignalJob(name=stack_id, resource="a", details={}, job_id="signal"))
    world.delete()
    world.settle()
    assert [each[0] for each in Told.seen if each[0] != "observe"] == [
        "create",
        "update",
        "check",
        "signal",
        "delete",
    ]
    assert ("observe", stack_id, "s", "a") in Told.seen
    assert {each[1:] for each in Told.seen} == {(stack_id, "s", "a")}


def test_values_that_the_former_stack_hides_are_not_shown_by_the_new_one() -> None:
    secret = "parameters: {word: {type: string, hidden: true, default: '7'}}\n"
    hidden = "{type: Cloud::Object, properties: {value: {get_param: word}, size: s}}"
    text = text_of({"a": hidden}).replace("resources:", f"{secret}resources:")
    world = complete_with(text)
    open_text = text_of({"x": hidden, "bad": A}).replace(
        "resources:", "parameters: {word: {type: string, default: '7'}}\nresources:"
    )
    world.cloud.failing = {"bad": -1}
    move_between(
        world, {"b": A, "web": "{type: web.yaml, depends_on: b}"}, ("a", "web/x"), files={"web": open_text}
    )
    settings = world.coordinator._settings
    queries = StackQueries(settings, world.store)
    inner = row_at(world, "web", "x")
    shown = queries.resource(inner.stack_id, "x").properties
    assert shown == {"value": HIDDEN, "size": HIDDEN}


def test_drift_and_protection_of_a_moved_resource_move_with_it() -> None:
    world = made({"a": A, "b": B})
    for _ in range(2):
        world.detect()
        world.settle()
        world.cloud.sizes["a-1"] = "changed"
    protect(world.store, root_of(world), ("a",))
    files = {"web": text_of({"x": A})}
    move_between(world, {"b": B, "web": WEB}, ("a", "web/x"), files=files)
    (drift,) = world.store.drifts.of_tree(root_of(world).id)
    assert (drift.path, drift.stack_id) == ("web/x", row_at(world, "web", "x").stack_id)
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    assert row_at(world, "web", "x").protected
    with pytest.raises(Conflict, match="web/x"):
        move_between(world, {"b": B})
    with pytest.raises(Conflict, match="web/x"):
        world.delete()


def test_purge_leaves_the_definition_by_which_a_moved_resource_is_deleted() -> None:
    kept = f"{{type: Cloud::Object, deletion_policy: Retain, properties: {A.partition('properties: ')[2]}"
    world = made({"web": WEB}, web=text_of({"x": kept, "y": B}))
    world.cloud.failing = {"bad": -1}
    bad = "{type: Cloud::Object, depends_on: web}"
    site = {"site": "{type: site.yaml, depends_on: bad}", "bad": bad, "web": WEB}
    move_between(
        world, site, ("web/x", "site/x"), files={"site": text_of({"x": kept}), "web": text_of({"y": B})}
    )
    world.settle()
    assert world.state() == "UPDATE_FAILED"
    row = row_at(world, "site", "x")
    # The stack that made it has another definition, and the stack that it is in has none yet.
    for _ in world.store.purger.purge(AT_ONCE):
        pass
    world.delete()
    world.settle()
    assert [*world.cloud.objects] == [row.physical_id]


def test_drift_in_a_stack_that_is_moved_and_of_what_comes_into_it_has_the_new_paths() -> None:
    case = "into a nested stack that is moved itself"
    first, files, second, more, entries = CASES[case]
    world = made(first, **files)
    world.cloud.sizes |= dict.fromkeys(world.cloud.sizes, "changed")
    world.detect()
    world.settle()
    world.detect()
    world.settle()
    root_id = root_of(world).id
    assert {each.path for each in world.store.drifts.of_tree(root_id)} == {"a", "web/y"}
    move_between(world, second, *entries.items(), files=more)
    assert {each.path for each in world.store.drifts.of_tree(root_id)} == {"all/web/x", "all/web/y"}


def test_snapshot_from_before_a_move_between_stacks_is_not_restored() -> None:
    world = made({"a": A})
    world.snapshot("early")
    world.settle()
    world.now += 1
    move_between(world, {"web": WEB}, ("a", "web/x"), files={"web": text_of({"x": A})})
    world.settle()
    before = paths(world)
    with pytest.raises(Conflict, match="'x' was moved into or out of a nested stack since"):
        world.restore("early")
    world.now += 1
    world.snapshot("late")
    world.settle()
    done(world)
    world.restore("late")
    world.settle()
    assert (world.state(), paths(world)) == ("RESTORE_COMPLETE", before)


def test_resource_stays_on_its_machine_with_its_room_in_another_stack() -> None:
    placed = Placed(n1=100, n2=100)
    world, one = placed.world, instance(memory=60)
    placed.create(a=one)
    (node,) = placed.where().values()
    rows = placed.rows()
    assert node is not None
    web = {"web.yaml": placed_template(x=one)}
    for text, files, entry in (
        (placed_template(web={"type": "web.yaml"}), web, ("a", "web/x")),
        (placed_template(b=one), {}, ("web/x", "b")),
    ):
        world.update(text, files=files, environments=moved(entry))
        world.settle()
        assert world.state() == "UPDATE_COMPLETE"
        assert row_at(world, *entry[1].split("/")).on_node == node
        assert (placed.promised(node), placed.rows()) == (60, rows)
    world.delete()
    world.settle()
    assert (placed.promised(node), placed.rows()) == (0, 0)


def test_members_stay_apart_by_a_group_in_another_stack() -> None:
    placed = Placed(n1=100, n2=100)
    world = placed.world
    apart: dict[str, Any] = {"apart": machine_group("different_host")}
    placed.create(**apart)
    group_id = row_at(world, "apart").id
    for name in ("c", "d"):
        placed.create(name, c=instance(memory=10, groups=[group_id]))
    world.update(
        placed_template(web={"type": "web.yaml"}),
        files={"web.yaml": placed_template(**apart)},
        environments=moved(("apart", "web/apart")),
    )
    world.settle()
    assert world.state() == "UPDATE_COMPLETE"
    with pytest.raises(Conflict, match="placement"):
        placed.create("e", c=instance(memory=10, groups=[group_id]))


def test_lifecycle_plugins_see_present_objects_where_they_will_be() -> None:
    world = World(lifecycle_nested_stacks=True)
    world.create(text_of({"web": WEB, "b": B}), files={"web.yaml": text_of({"x": A, "y": B})})
    world.settle()
    before, plugin = paths(world), Watching()
    outer, inner = row_at(world, "web"), row_at(world, "web", "x")
    world.plug(plugin)
    move_between(world, {"web": WEB, "b": B, "a": A}, ("web/x", "a"), files={"web": text_of({"y": B})})
    world.settle()
    assert plugin.seen == [
        {"a": inner.physical_id, "b": before["b"], "web": outer.physical_id},
        # Its present definition has another, which is there no more.
        {"x": None, "y": before["web/y"]},
    ]
    assert world.store.annotations.of(root_of(world).id, "a") == {"watching": {"seen": "UPDATE"}}
