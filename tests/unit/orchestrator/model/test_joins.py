"""Joins: every node counts in one, and few count where many finish together."""

from collections.abc import Sequence

import pytest

from orchestrator.config.settings import Settings
from orchestrator.model.messages import CONVERGE, END, JOIN
from orchestrator.model.plan import FAN_IN, JOINS, DesiredResource, PlannedNode, plan_create


def nodes_of(size: int) -> Sequence[PlannedNode]:
    """Return the nodes of a stack whose resources wait for nothing."""
    return plan_create(
        [
            DesiredResource(
                name=f"r{number:05}",
                type="OS::Heat::None",
                resource_id=f"id-{number}",
                fragment={},
                requires=frozenset(),
                wanted=frozenset(),
            )
            for number in range(size)
        ]
    ).nodes


@pytest.mark.parametrize("size", [1, FAN_IN, FAN_IN + 1, 100, 129, 1000, 1025, 10_000])
def test_each_node_counts_once_on_its_way_to_the_end(size: int) -> None:
    nodes = nodes_of(size)
    (end,) = (node for node in nodes if node.phase == END)
    joins = [node for node in nodes if node.phase == JOIN]
    resources = [node for node in nodes if node.phase == CONVERGE]
    assert len(resources) == size
    assert all(len(node.dependents) == 1 for node in resources)
    assert all(node.dependents == [end.no] for node in joins)
    assert end.remaining == (len(joins) or size)
    assert [node.remaining for node in joins] == [
        sum(node.dependents == [join.no] for node in resources) for join in joins
    ]
    assert len(joins) <= JOINS
    assert all(node.remaining > 0 for node in joins)


def test_batches_of_neighbours_that_finish_at_the_same_moment_count_in_joins_of_their_own() -> None:
    most = Settings().batch_size
    nodes = [node for node in nodes_of(10_000) if node.phase == CONVERGE]
    batches = [
        {no for node in nodes[start : start + most] for no in node.dependents}
        for start in range(0, 9_984, most)
    ]
    assert max(map(len, batches)) <= JOINS // 8
    # As many workers finish at the same moment without waiting for each other's rows.
    for place in range(len(batches) - 8):
        assert sum(map(len, batches[place : place + 8])) == len(set().union(*batches[place : place + 8]))
