"""Batches: enough members serve, never too many change at once, and it ends with what was wanted."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.resources.core.groups.batches import AT_ONCE, Batch, Batching, Present, next_batch

NAMES = [str(number) for number in range(8)]
SPARES = [f"spare-{number}" for number in range(20)]


def carried_out(present: list[Present], batch: Batch) -> list[Present]:
    """Return who is there after a batch, all of them serving."""
    kept = [
        Present(name=each.name, is_current=each.is_current or each.name in batch.change)
        for each in present
        if each.name not in batch.drop
    ]
    return kept + [Present(name=name, is_current=True) for name in batch.make]


def batches(present: list[Present], wanted: list[str], batching: Batching) -> Iterator[Batch]:
    """Yield the batches until nothing is left to do, each carried out before the next."""
    for _ in range(100):
        there = {each.name for each in present}
        batch = next_batch(present, wanted, batching, (name for name in SPARES if name not in there))
        if batch is None:
            return
        yield batch
        present[:] = carried_out(present, batch)
    raise AssertionError("it never ends")


def old(*names: str) -> list[Present]:
    return [Present(name=name, is_current=False) for name in names]


def new(*names: str) -> list[Present]:
    return [Present(name=name, is_current=True) for name in names]


@pytest.mark.parametrize(
    ("present", "wanted", "batching", "expected"),
    [
        (new("a"), ["a"], AT_ONCE, []),
        ([], ["a", "b"], AT_ONCE, [Batch(make=("a", "b"))]),
        (old("a", "b"), ["b", "c"], AT_ONCE, [Batch(change=("b",), make=("c",), drop=("a",))]),
        ([], ["a", "b", "c"], Batching(max_size=2), [Batch(make=("a", "b")), Batch(make=("c",))]),
        (
            old("a", "b", "c"),
            ["a", "b", "c"],
            Batching(max_size=2),
            [Batch(change=("a", "b")), Batch(change=("c",))],
        ),
        # All must serve: one more serves while another cannot.
        (
            old("a", "b"),
            ["a", "b"],
            Batching(max_size=1, min_in_service=2),
            [
                Batch(make=("spare-0",)),
                Batch(change=("a",)),
                Batch(change=("b",)),
                Batch(drop=("spare-0",)),
            ],
        ),
        # More than there will be cannot serve.
        (
            old("a", "b", "c", "d"),
            ["a", "b"],
            Batching(max_size=1, min_in_service=9),
            [Batch(change=("a",), drop=("c",)), Batch(change=("b",)), Batch(drop=("d",))],
        ),
        # A name that is not wanted any more goes when another is there for it.
        (
            new("a", "b"),
            ["a", "c"],
            Batching(max_size=1, min_in_service=2),
            [Batch(make=("c",)), Batch(drop=("b",))],
        ),
    ],
)
def test_the_batches_of(
    present: list[Present], wanted: list[str], batching: Batching, expected: list[Batch]
) -> None:
    assert list(batches(present, wanted, batching)) == expected


def test_those_that_do_not_serve_come_first_and_all_at_once() -> None:
    present = [
        Present(name="a", is_current=False),
        Present(name="b", is_current=True, is_serving=False),
        Present(name="c", is_current=False, is_serving=False),
        Present(name="d", is_current=False, is_serving=False),
    ]
    batching = Batching(max_size=1, min_in_service=1)
    assert next_batch(present, ["a", "b", "c"], batching) == Batch(change=("b", "c"), drop=("d",))


members = st.lists(
    st.builds(
        Present, name=st.sampled_from(NAMES), is_current=st.booleans(), is_serving=st.integers(0, 3).map(bool)
    ),
    unique_by=lambda each: each.name,
)
batchings = st.builds(
    Batching,
    max_size=st.integers(1, 4) | st.none(),
    min_in_service=st.integers(0, 9),
    pause_seconds=st.just(0.0),
)


@given(present=members, wanted=st.lists(st.sampled_from(NAMES), unique=True), batching=batchings)
def test_enough_serve_few_change_and_it_ends_with_what_was_wanted(
    present: list[Present], wanted: list[str], batching: Batching
) -> None:
    before = list(present)
    served_at_first = sum(each.is_serving for each in present)
    for batch in batches(present, wanted, batching):
        serving = {each.name for each in before if each.is_serving}
        untouched = serving - {*batch.change, *batch.drop}
        if batching.max_size is not None:
            least = min(batching.min_in_service, len(wanted), len(serving), served_at_first)
            assert len(untouched) >= least
            assert len({*batch.change, *batch.make} & (serving | set(batch.make))) <= batching.max_size
        assert not set(batch.make) & {each.name for each in before}
        assert set(batch.change) | set(batch.drop) <= {each.name for each in before}
        before = carried_out(before, batch)
    assert {each.name for each in present} == set(wanted)
    assert all(each.is_current for each in present)


@given(present=members, wanted=st.lists(st.sampled_from(NAMES), unique=True), batching=batchings)
def test_what_is_as_wanted_stays_as_it_is(
    present: list[Present], wanted: list[str], batching: Batching
) -> None:
    right = {each.name for each in present if each.is_current and each.is_serving and each.name in wanted}
    for batch in batches(present, wanted, batching):
        assert right.isdisjoint({*batch.change, *batch.drop})
