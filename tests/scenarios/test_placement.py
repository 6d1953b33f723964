"""Stacks on nodes: placed before anything is made, kept where they are, and their room given up when they go."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hooks.lifecycle import LifecyclePlugin
from orchestrator.errors import Conflict
from orchestrator.placement.inventory import Inventory, survey
from orchestrator.placement.plugin import Placement
from orchestrator.store import tables
from orchestrator.store.machines.machines import MachineReport
from orchestrator.store.machines.reservations import Promised
from tests.operations import operations_of
from tests.scenarios.groups import TYPES as TYPES_OF_GROUPS
from tests.scenarios.placing import (
    TYPES,
    PretendedInstance,
    PretendedNodes,
    group,
    instance,
    lease,
    placement,
)
from tests.scenarios.world import World

MEMORY = "memory_mib"


def template(**resources: Any) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


class Placed:
    """A world with nodes."""

    def __init__(self, **memory_mib: int) -> None:
        self.nodes = PretendedNodes(**memory_mib)
        self.world = World(types=TYPES)
        self.world.plug(placement(self.world.store, self.world.coordinator._settings, self.nodes))

    def create(self, name: str = "s", **resources: Any) -> None:
        self.world.create(template(**resources), name)
        self.world.settle()

    def update(self, name: str = "s", **resources: Any) -> None:
        self.world.update(template(**resources), name)
        self.world.settle()

    def where(self, name: str = "s") -> dict[str, str | None]:
        """Return the node of each resource that is there and on one."""
        store = self.world.store
        stack = store.stacks.find(name, project="default")
        return {row.name: row.on_node for row in store.stacks.resources(stack.id) if row.on_node}

    def promised(self, node: str, kind: str = MEMORY) -> int:
        return self.world.store.reservations.promised([node], stack_id="").totals.get((node, kind), 0)

    def rows(self) -> int:
        """Return how many rows the ledger has."""
        with self.world.store.database.read() as connection:
            return int(connection.exec_driver_sql("SELECT count(*) FROM reservation").scalar_one())


@pytest.fixture(autouse=True)
def luck() -> Iterator[None]:
    yield
    PretendedInstance.failing.clear()


def test_a_whole_stack_is_placed_by_its_groups_and_keeps_its_room_until_it_goes() -> None:
    placed = Placed(n1=100, n2=100, n3=100)
    apart = [{"get_resource": "apart"}]
    placed.create(
        apart=group("different_host"),
        a=instance(memory=60, groups=apart),
        b=instance(memory=60, groups=apart),
        c=instance(memory=10),
    )
    assert placed.world.state() == "CREATE_COMPLETE"
    where = placed.where()
    assert len({where["a"], where["b"]}) == 2
    assert sum(placed.promised(node) for node in ("n1", "n2", "n3")) == 130
    assert placed.nodes.asked == 1
    placed.world.delete()
    placed.world.settle()
    assert placed.rows() == 0


def test_what_cannot_be_placed_is_refused_before_anything_is_made_and_says_why() -> None:
    placed = Placed(n1=100, n2=100, n3=100)
    placed.nodes.silent = {"n2"}
    placed.world.store.machines.note(
        MachineReport(name=name, incarnation="i", boot_id="b") for name in ("n3", "n4")
    )
    placed.world.store.machines.drain("n3", "new disks")
    with pytest.raises(Conflict) as refused:
        placed.create(a=instance(memory=101))
    assert str(refused.value) == (
        "refused by lifecycle plugin 'placement': a (101 MiB of memory) fits on no node: "
        "n1: 101 MiB of memory required, 100 free; n2: node 'n2' did not answer within 10 s; "
        "n3: it is drained: new disks; n4: its agent is not there; it was last heard of 0 s ago"
    )
    assert placed.world.store.stacks.all(project="default") == []
    assert placed.rows() == 0
    for wrong, words in {"n33": "did you mean 'n3'?", "n3": "it is drained: new disks"}.items():
        with pytest.raises(Conflict, match=words.replace("?", r"\?")):
            placed.create(a=instance(node=wrong))


def test_without_any_node_it_is_said_how_to_have_one() -> None:
    with pytest.raises(
        Conflict, match=r"a cannot be placed: there is no node; .* isotherm agent --node NAME"
    ):
        Placed().create(a=instance())


def test_a_stack_without_anything_to_place_is_not_asked_about() -> None:
    placed = Placed(n1=100)
    placed.create(a={"type": "Cloud::Object", "properties": {"value": "1"}}, g=group("same_host"))
    assert placed.world.state() == "CREATE_COMPLETE"
    stack = placed.world.store.stacks.find("s", project="default")
    assert operations_of(placed.world.store, stack.id) == []
    assert placed.nodes.asked == 0


def test_an_update_leaves_what_is_there_where_it_is_whatever_else_would_be_better_now() -> None:
    placed = Placed(n1=100)
    placed.create(a=instance(memory=50))
    placed.nodes.leases_now["n2"] = lease("n2", 1000)
    placed.update(a=instance(memory=60), b=instance(memory=50))
    assert placed.where() == {"a": "n1", "b": "n2"}
    assert (placed.promised("n1"), placed.promised("n2")) == (60, 50)
    placed.update(b=instance(memory=50))
    assert placed.promised("n1") == 0
    placed.update(b=instance(memory=10))
    assert placed.promised("n2") == 10


def test_an_update_that_changes_nothing_on_nodes_claims_nothing_anew() -> None:
    placed = Placed(n1=100)
    placed.create(a=instance(memory=50))
    placed.nodes.silent = {"n1"}
    placed.update(a=instance(memory=50), b={"type": "Cloud::Object", "properties": {"value": "1"}})
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert placed.promised("n1") == 50


def test_what_grows_is_refused_if_there_is_no_room_for_it() -> None:
    placed = Placed(n1=100, n2=1000)
    placed.create(a=instance(memory=50, node="n1"))
    with pytest.raises(Conflict, match="a cannot grow where it is: n1: 51 MiB of memory required, 50 free"):
        placed.update(a=instance(memory=101, node="n1"))
    assert placed.promised("n1") == 50


def test_what_grows_while_its_agent_is_away_waits_for_the_node_and_is_not_refused() -> None:
    placed = Placed(n1=100, n2=1000)
    placed.create(a=instance(memory=50))
    node = str(placed.where()["a"])
    away = placed.nodes.leases_now.pop(node)
    placed.update(a=instance(memory=60))
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert (placed.where(), placed.promised(node)) == ({"a": node}, 60)
    placed.nodes.leases_now[node] = away
    with pytest.raises(Conflict, match="a cannot grow where it is"):
        placed.update(a=instance(memory=2000))


def test_a_replacement_needs_room_beside_what_it_replaces() -> None:
    placed = Placed(n1=100)
    placed.create(a=instance(memory=60, image="one"))
    with pytest.raises(Conflict, match="60 MiB of memory required, 40 free"):
        placed.update(a=instance(memory=60, image="two"))
    placed.update(a=instance(memory=40, image="two"))
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert placed.promised("n1") == 40
    placed.nodes.leases_now["n2"] = lease("n2", 1000)
    placed.update(a=instance(memory=90, image="three"))
    assert (placed.promised("n1"), placed.promised("n2")) == (0, 90)


def test_what_failed_keeps_no_room_but_where_something_is() -> None:
    placed = Placed(n1=100, n2=100)
    PretendedInstance.failing = {"a"}
    placed.create(a=instance(memory=60), b={**instance(memory=30), "depends_on": "a"})
    assert placed.world.state() == "CREATE_FAILED"
    assert placed.promised("n1") + placed.promised("n2") == 60
    assert set(placed.where()) == {"a"}
    PretendedInstance.failing = set()
    placed.update(a=instance(memory=60), b=instance(memory=30))
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert placed.promised("n1") + placed.promised("n2") == 90


def test_what_failed_is_changed_where_it_is_if_there_is_no_room_for_another() -> None:
    placed = Placed(n1=100)
    PretendedInstance.failing = {"a"}
    placed.create(a=instance(memory=60))
    PretendedInstance.failing = set()
    placed.update(a=instance(memory=60))
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert placed.promised("n1") == 60


def test_an_instance_is_where_its_volume_is() -> None:
    placed = Placed(n1=100, n2=1000, n3=1000)
    placed.create(v=instance(disk=10, hypervisor="", node="n1"))
    placed.update(v=instance(disk=10, hypervisor="", node="n1"), a={**instance(memory=50), "depends_on": "v"})
    assert placed.where() == {"v": "n1", "a": "n1"}
    assert placed.promised("n1", "disk:default") == 10


def test_a_group_holds_between_stacks_by_its_id() -> None:
    placed = Placed(n1=100, n2=100)
    placed.create(apart=group("different_host"))
    stack = placed.world.store.stacks.find("s", project="default")
    (row,) = placed.world.store.stacks.resources(stack.id)
    for name in ("one", "two"):
        placed.create(name, a=instance(groups=[row.physical_id]))
    assert {*placed.where("one").values(), *placed.where("two").values()} == {"n1", "n2"}
    with pytest.raises(Conflict, match="another member of group 'apart' is on it"):
        placed.create("three", a=instance(groups=[row.physical_id]))
    with pytest.raises(Conflict, match="placement group 'nobody', which project 'default' does not have"):
        placed.create("four", a=instance(groups=["nobody"]))


def test_promises_that_nobody_makes_use_of_yet_count_as_used() -> None:
    """Measured memory is free as long as nobody writes to it."""
    placed = Placed(n1=100)
    placed.create(a=instance(memory=40))
    stack = placed.world.store.stacks.find("s", project="default")
    (row,) = placed.world.store.stacks.resources(stack.id)
    # Somebody else uses 20 of it.
    placed.nodes.instances["n1"] = {row.id: {"memory_mib": 40, "memory_used_mib": 10}}
    placed.nodes.free_mib["n1"] = 70
    with pytest.raises(Conflict, match="41 MiB of memory required, 40 free"):
        placed.create("t", a=instance(memory=41))
    # What was given up by its stack is still promised to by its node.
    placed.nodes.instances["n1"]["abandoned"] = {"memory_mib": 35, "memory_used_mib": 5, "vcpus": 3}
    with pytest.raises(Conflict, match="11 MiB of memory required, 10 free"):
        placed.create("t", a=instance(memory=11))
    placed.create("t", a=instance(memory=10))
    surveyed = survey(placed.nodes, placed.world.store.machines.all(), measured=True, max_age_seconds=0)
    # Of eight.
    assert Inventory(nodes=surveyed).hosts(Promised())["n1"].free["vcpus"] == 5


def test_a_rollback_brings_back_the_room_with_what_it_brings_back() -> None:
    placed = Placed(n1=100, n2=100)
    placed.create(a=instance(memory=60))
    before = placed.where()
    PretendedInstance.failing = {"b"}
    placed.world.update(
        template(a=instance(memory=30), b={**instance(memory=30), "depends_on": "a"}), rollback=True
    )
    placed.world.settle()
    assert placed.world.state() == "ROLLBACK_COMPLETE"
    assert placed.where() == before
    assert placed.promised("n1") + placed.promised("n2") == 60


def test_what_was_on_a_lost_node_is_placed_anew_also_in_stacks_in_stacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TYPES, "OS::Heat::ResourceGroup", TYPES_OF_GROUPS["OS::Heat::ResourceGroup"])
    placed = Placed(n1=100, n2=100)
    pair = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 2, "resource_def": instance(memory=60)},
    }
    placed.create(pair=pair)
    assert [placed.promised(node) for node in ("n1", "n2")] == [60, 60]
    del placed.nodes.leases_now["n1"]
    placed.nodes.leases_now["n3"] = lease("n3", 100)
    assert placed.world.store.machines.forget("n1", lost=True) == ""
    assert [placed.promised(node) for node in ("n1", "n2")] == [0, 60]
    placed.update(pair=pair)
    assert placed.world.state() == "UPDATE_COMPLETE"
    assert [placed.promised(node) for node in ("n1", "n2", "n3")] == [0, 60, 60]


def test_room_that_nobody_settled_is_settled_before_it_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = Placed(n1=100)
    ledger = placed.world.store.reservations

    def failing(*_: Any) -> None:
        raise RuntimeError("no luck")

    with monkeypatch.context() as patched:
        patched.setattr(Placement, "do_post_op", failing)
        placed.create(a=instance(memory=60))
    assert ledger.settle_left_over() == []
    # The stack may take an hour, and the claim holds one more.
    placed.world.now += 5400
    assert len(ledger.settle_left_over()) == 1
    placed.world.now += 86_400
    assert placed.promised("n1") == 60
    with monkeypatch.context() as patched:
        patched.setattr(Placement, "do_post_op", failing)
        placed.world.delete()
        placed.world.settle()
    # Nothing is there any more, so the room is free already.
    assert placed.promised("n1") == 0
    assert placed.rows() > 0
    assert len(ledger.settle_left_over()) == 1
    assert (placed.rows(), ledger.settle_left_over()) == (0, [])


def test_who_relies_on_what_an_older_operation_claimed_claims_it_too() -> None:
    placed = Placed(n1=100)
    placed.world.create(template(a=instance(memory=60)))
    stack = placed.world.store.stacks.find("s", project="default")
    with placed.world.store.database.write() as connection:
        # A worker has begun with it, and nothing that it did is on record.
        connection.execute(
            tables.resource.update().values(action="CREATE", status="IN_PROGRESS", started_at=1.0)
        )
    placed.world.update(template(a=instance(memory=60)))
    ledger = placed.world.store.reservations
    assert placed.promised("n1") == 60
    (older,) = [each.id for each in operations_of(placed.world.store, stack.id) if each.action == "CREATE"]
    with placed.world.store.database.write() as connection:
        # It failed before anything was made.
        connection.execute(tables.resource.update().values(status="FAILED"))
    ledger.settle(older, stack.id, wanted=None, began=True)
    assert placed.promised("n1") == 60


class Previewing(LifecyclePlugin):
    """Has another plugin preview each operation before it begins."""

    name = "previewing"

    def __init__(self, plugin: LifecyclePlugin) -> None:
        self.plugin = plugin
        self.warnings: list[str] = []

    def do_pre_op(self, *operation: Any) -> None:
        answer = self.plugin.do_preview(*operation)
        self.warnings += answer.warnings if answer else ()


@pytest.mark.parametrize("does", ["pre_op", "preview"])
def test_objects_that_are_adopted_may_be_where_there_is_no_room(does: str) -> None:
    placed = Placed(n1=10)
    (plugin,) = placed.world.coordinator._brackets._plugins
    previewing = Previewing(plugin)
    placed.world.plug(previewing if does == "preview" else plugin)
    stack_id = placed.world.adopt(template(a=instance(memory=60)), {"a": {"resource_id": "there"}})
    assert placed.world.state(stack_id) == "ADOPT_IN_PROGRESS"
    if does == "preview":
        (warning,) = previewing.warnings
        assert "what is not adopted is not placed" in warning
