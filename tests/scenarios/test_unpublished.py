"""Orders that cannot be published: one stops no other, and one that never fits fails its resource."""

from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.engine.publisher import Unfit
from orchestrator.model.messages import END, CheckOrder
from orchestrator.plugins.resource import Resource
from orchestrator.store.nodes.orders import MESSAGE_BYTES
from tests.scenarios.telling import patched, reason, states
from tests.scenarios.test_updates import template, value
from tests.scenarios.world import World


class Narrow(World):
    """A world whose messages hold no order of some resources, or of no end."""

    refused: Sequence[str] = ()

    def publish(self, orders: Sequence[CheckOrder]) -> list[Unfit]:  # type: ignore[override]  # as a queue may
        fit = [order for order in orders if (order.key or order.phase) not in self.refused]
        super().publish(fit)
        return [(order, "it is too odd") for order in orders if order not in fit]


def test_an_order_that_never_fits_fails_its_resource_and_nothing_else() -> None:
    world = Narrow()
    world.refused = ("a",)
    stack_id = world.create(template({"a": value("1"), "b": "depends_on: a", "c": value("c")}))
    world.create(template({"d": value("d")}), "t")
    world.settle()
    assert (world.state(), world.state("t")) == ("CREATE_FAILED", "CREATE_COMPLETE")
    expected = "Resource CREATE failed: resources.a: its check cannot be published: it is too odd"
    assert reason(world) == expected
    assert states(world, stack_id)["c"] == ["CREATE_COMPLETE"]
    world.refused = ()
    world.delete()
    world.settle()
    assert world.state(stack_id) == "DELETE_COMPLETE"
    assert [name for _, name in world.cloud.objects.values()] == ["d"]


def test_an_end_that_never_fits_is_carried_out_by_the_coordinator_that_finds_it() -> None:
    world = Narrow()
    world.refused = (END,)
    world.create(template({"a": value("1")}))
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert world.store.sweeper.next_due() is None


@pytest.mark.parametrize(("size", "travels"), [(MESSAGE_BYTES // 2, True), (MESSAGE_BYTES, False)])
def test_data_of_requirements_travel_as_far_as_they_fit(size: int, *, travels: bool) -> None:
    world = World()

    def attribute(self: Resource, name: str) -> Any:
        return "x" * size if self.name == "a" else "y"

    patched(world, attribute=attribute)
    world.create(template({"a": value("1"), "b": value("{get_attr: [a, value]}")}))
    orders = world.checker.step(world.messages.pop(0))
    assert [order.key for order in orders] == ["b"]
    assert (orders[0].node_data is not None) == travels
    assert sum(map(len, orders[0].node_data or ())) <= MESSAGE_BYTES
    world.publish(orders)
    world.settle()
    assert world.state() == "CREATE_COMPLETE"
    assert {len(it) for _, it in world.cloud.objects.values()} == {1, size}
