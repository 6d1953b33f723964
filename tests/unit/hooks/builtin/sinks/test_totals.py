"""Every event is counted once, under labels of which there are only so many."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.builtin.sinks import totals
from hooks.builtin.sinks.totals import BUCKETS, Totals
from hooks.events import Event
from tests.unit.hooks.builtin.sinks.histories import event, stack_event


def some_event(number: int, what: tuple[bool, str, str]) -> Event:
    of_stack, operation, status = what
    make = stack_event if of_stack else event
    return make(number, operation_id=operation, status=status)


HISTORIES = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["x", "y"]), st.sampled_from(["IN_PROGRESS", "COMPLETE"])),
    max_size=30,
).map(lambda drawn: [some_event(number, what) for number, what in enumerate(drawn, 1)])


@given(history=HISTORIES, cuts=st.sets(st.integers(0, 30)), data=st.data())
@settings(max_examples=300)
def test_totals_are_the_same_however_the_history_is_cut_and_repeated(
    history: list[Event], cuts: set[int], data: st.DataObject
) -> None:
    once, counted = Totals(), Totals()
    once.count(history)
    edges = sorted({0, len(history), *(cut for cut in cuts if cut < len(history))})
    for start, end in itertools.pairwise(edges):
        kept = counted.to_bytes()
        counted.count(history[start:end])
        if data.draw(st.booleans(), label="dies before it is on record"):
            counted = Totals.from_bytes(kept)
            counted.count(history[start:end])
        if data.draw(st.booleans(), label="is handed the same again"):
            counted.count(history[:end])
    assert counted == once
    assert Totals.from_bytes(counted.to_bytes()) == once


def test_events_are_counted_by_what_they_say() -> None:
    counted = Totals()
    counted.count([stack_event(1, status="IN_PROGRESS"), event(2), event(3), event(4, status="FAILED")])
    assert counted.resources == {
        ("CREATE", "COMPLETE", "OS::Heat::Value"): 2,
        ("CREATE", "FAILED", "OS::Heat::Value"): 1,
    }
    assert counted.stacks == {("CREATE", "IN_PROGRESS"): 1}
    assert (counted.last_id, counted.last_at) == (4, 1_700_000_004.5)


def test_an_action_that_is_tried_again_is_counted_once() -> None:
    counted = Totals()
    again = [
        event(number, status="IN_PROGRESS", cause=cause) for number, cause in ((2, "retry"), (3, "lost"))
    ]
    counted.count([event(1, status="IN_PROGRESS"), *again, event(4)])
    assert counted.resources == {
        ("CREATE", "IN_PROGRESS", "OS::Heat::Value"): 1,
        ("CREATE", "COMPLETE", "OS::Heat::Value"): 1,
    }
    assert counted.last_id == 4


def test_an_operation_is_timed_from_its_beginning_to_its_end() -> None:
    counted = Totals()
    begun, ended = stack_event(1, status="IN_PROGRESS", at=100.0), stack_event(9, status="COMPLETE", at=103.0)
    counted.count([begun, event(2, status="FAILED", at=101.0), ended])
    (taken,) = counted.durations.values()
    assert list(counted.durations) == [("CREATE", "COMPLETE")]
    assert taken.seconds == 3.0
    assert taken.counts[BUCKETS.index(5.0)] == sum(taken.counts) == 1


def test_warnings_of_lifecycle_plugins_are_no_further_operations() -> None:
    counted = Totals()
    begun = stack_event(1, status="IN_PROGRESS", at=100.0)
    warning = stack_event(2, status="IN_PROGRESS", reason="Warning of lifecycle plugin 'a': nearly full")
    counted.count([begun, warning, stack_event(3, at=102.0)])
    assert counted.stacks == {("CREATE", "IN_PROGRESS"): 1, ("CREATE", "COMPLETE"): 1}
    (taken,) = counted.durations.values()
    assert (taken.seconds, counted.last_id) == (2.0, 3)


def test_an_operation_that_began_unseen_is_not_timed() -> None:
    counted = Totals()
    counted.count([stack_event(1, status="COMPLETE")])
    assert counted.stacks == {("CREATE", "COMPLETE"): 1}
    assert counted.durations == {}


def test_templates_used_as_types_are_one_label() -> None:
    counted = Totals()
    counted.count([event(1, type="server.yaml"), event(2, type="https://example.org/x.template")])
    assert counted.resources == {("CREATE", "COMPLETE", "template"): 2}


def test_types_beyond_the_limit_are_one_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "MAX_TYPES", 2)
    counted = Totals()
    counted.count([event(number, type=f"Acme::Thing{number}") for number in range(1, 5)])
    restored = Totals.from_bytes(counted.to_bytes())
    restored.count([event(5, type="Acme::Thing1"), event(6, type="Acme::Thing9")])
    assert {kind: count for (_, _, kind), count in restored.resources.items()} == {
        "Acme::Thing1": 2,
        "Acme::Thing2": 1,
        "other": 3,
    }


def test_operations_that_never_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "MAX_UNDER_WAY", 2)
    counted = Totals()
    counted.count([stack_event(n, operation_id=str(n), status="IN_PROGRESS") for n in range(1, 4)])
    assert list(counted.under_way) == ["2", "3"]


@pytest.mark.parametrize("packed", [b"", b"\xc1", b"\x01", b"\x80", b"\x81\xa6schema\x02", b"\x92\x01"])
def test_what_is_no_total_of_this_version_is_refused(packed: bytes) -> None:
    with pytest.raises(ValueError, match="totals"):
        Totals.from_bytes(packed)
