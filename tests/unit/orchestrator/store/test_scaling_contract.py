"""What every store promises to signals that scale groups: all or nothing, and never over what it has not seen."""

from dataclasses import replace

import pytest

from orchestrator.model.nested_stack import AtRest
from orchestrator.store.nodes.claims import Ending
from orchestrator.store.stacks.scalings import Decided
from orchestrator.store.stacks.stacks import ResourceRow
from orchestrator.store.traversals.new_traversal import Fenced
from orchestrator.store.traversals.starting import TraversalStarts
from tests.unit.orchestrator.store.conftest import Bench


def row(bench: Bench, name: str) -> ResourceRow:
    return bench.store.stacks.resource("s-id", name)


def decided(bench: Bench, job_id: str = "") -> Decided:
    return Decided(
        policy=row(bench, "policy"),
        group=row(bench, "group"),
        metadata={"at": 1},
        data={"size": 4},
        traversals=("s-t1", "s-t1"),
        sentence="the size goes from 3 to 4",
        job_id=job_id,
    )


@pytest.fixture
def at_rest(bench: Bench) -> Bench:
    """A store with a policy and a group on which nobody works."""
    bench.run_all(bench.begin({"policy": set(), "group": set()}))
    return bench


def events(bench: Bench) -> list[tuple[str, str]]:
    found = bench.store.events.read("s-id", limit=100)
    return [(each.resource, each.reason) for each in found if each.action == "SIGNAL"]


def test_what_is_decided_stands_in_both_rows_the_history_and_the_job(at_rest: Bench) -> None:
    assert at_rest.store.scalings.write(decided(at_rest, "job"))
    assert row(at_rest, "policy").metadata == {"at": 1}
    assert row(at_rest, "group").data == {"size": 4}
    assert sorted(events(at_rest)) == [
        ("group", "the size goes from 3 to 4"),
        ("policy", "the size goes from 3 to 4"),
    ]
    job = at_rest.store.stacks.job("job")
    assert job is not None
    assert (job.status, job.stack_id) == ("accepted", row(at_rest, "group").id)


def test_of_two_that_decided_by_the_same_rows_one_is_too_late(at_rest: Bench) -> None:
    first, second = decided(at_rest), replace(decided(at_rest), data={"size": 9})
    assert at_rest.store.scalings.write(first)
    assert not at_rest.store.scalings.write(second)
    assert row(at_rest, "group").data == {"size": 4}
    assert len(events(at_rest)) == 2


@pytest.mark.parametrize("name", ["policy", "group"])
def test_a_row_that_changed_meanwhile_keeps_all_from_being_written(at_rest: Bench, name: str) -> None:
    late = decided(at_rest)
    assert at_rest.store.stacks.write_signal(row(at_rest, name), "s-t1", {"other": 1}, "another signal")
    assert not at_rest.store.scalings.write(late)
    assert row(at_rest, "group").data == {}
    assert "at" not in row(at_rest, "policy").metadata


def test_a_job_that_is_done_is_not_done_again(at_rest: Bench) -> None:
    assert at_rest.store.scalings.write(decided(at_rest, "job"))
    assert not at_rest.store.scalings.write(decided(at_rest, "job"))
    assert len(events(at_rest)) == 2


def test_a_group_on_which_somebody_works_is_left_alone(bench: Bench) -> None:
    orders = {order.key: order for order in bench.begin({"policy": set(), "group": set()})}
    bench.run(orders["policy"])
    claim = bench.claim(orders["group"])
    assert not bench.store.scalings.write(decided(bench))
    assert not bench.store.scalings.write_attributes(row(bench, "group"), [])
    bench.finish(claim, Ending.WAITING)
    assert not bench.store.scalings.write(decided(bench))


def test_a_step_in_between_is_not_overlooked(bench: Bench) -> None:
    orders = {order.key: order for order in bench.begin({"policy": set(), "group": set()})}
    bench.run(orders["policy"])
    before = row(bench, "group")
    bench.run(orders["group"])
    late = replace(
        decided(bench), group=replace(row(bench, "group"), metadata_version=before.metadata_version)
    )
    assert not bench.store.scalings.write(late)


def test_what_cannot_be_had_is_undone_and_the_job_has_no_answer_yet(at_rest: Bench) -> None:
    first = decided(at_rest, "job")
    assert at_rest.store.scalings.write(first)
    undone = replace(first.written(), metadata={}, data={}, sentence="undone: too many")
    assert at_rest.store.scalings.undo(undone)
    assert row(at_rest, "group").data == {}
    assert at_rest.store.stacks.job("job") is None
    assert ("group", "undone: too many") in events(at_rest)
    assert not at_rest.store.scalings.undo(undone)


def test_attributes_are_written_over_those_that_were_seen(at_rest: Bench) -> None:
    seen = row(at_rest, "group")
    assert at_rest.store.scalings.write_attributes(seen, [[["size"], 4]])
    assert list(row(at_rest, "group").attributes) == [[["size"], 4]]
    assert not at_rest.store.scalings.write_attributes(seen, [])
    assert at_rest.store.stacks.row(seen.id) == row(at_rest, "group")


def test_nothing_begins_in_the_name_of_a_resource_at_rest_once_somebody_worked_on_it(at_rest: Bench) -> None:
    seen = row(at_rest, "group")
    fence = AtRest(resource_id=seen.id, metadata_version=seen.metadata_version)
    with at_rest.store.database.transaction() as direct:
        TraversalStarts._hold(direct, fence)
    assert at_rest.store.scalings.write(decided(at_rest))
    with pytest.raises(Fenced), at_rest.store.database.transaction() as direct:
        TraversalStarts._hold(direct, fence)
