"""What every store promises about what is over: pages of events, what fits a filter, traversals, deleted stacks."""

from functools import partial
from typing import Any

import pytest

from orchestrator.errors import NotFound
from orchestrator.model.event_filter import EventFilter
from orchestrator.model.operation_filter import OperationFilter
from orchestrator.store import tables
from orchestrator.store.history.events import EventRow
from orchestrator.store.nodes.claims import Ending
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, begin_update, created, order_of


def said(rows: list[EventRow]) -> list[tuple[str, str]]:
    return [(row.resource, f"{row.action}_{row.status}") for row in rows]


def ids(rows: list[EventRow]) -> list[int]:
    return [row.id for row in rows]


def test_pages_of_events_join_without_a_gap_in_both_directions(bench: Bench) -> None:
    created(bench, {"a": set(), "b": {"a"}, "c": {"b"}})
    events = bench.store.events
    whole = ids(events.read("s-id"))
    assert len(whole) == 8
    assert whole == sorted(whole)
    forwards, backwards, after, before = [], [], 0, None
    while page := ids(events.read("s-id", after=after, limit=3)):
        forwards += page
        after = page[-1]
    while page := ids(events.read("s-id", before=before, newest_first=True, limit=3)):
        backwards += page
        before = page[-1]
    assert forwards == whole
    assert backwards == whole[::-1]


def test_events_are_found_by_whatever_they_are_like(bench: Bench) -> None:
    created(bench, {"web_1": set(), "web_2": set(), "Web_3": set(), "w%b_4": set(), "db": set()})
    events = bench.store.events

    def names(**wanted: tuple[str, ...]) -> set[str]:
        return {row.resource for row in events.read("s-id", wanted=EventFilter(**wanted))}  # type: ignore[arg-type]

    assert names(resources=("web_*",)) == {"web_1", "web_2"}
    assert names(resources=("w?b_?",)) == {"web_1", "web_2", "w%b_4"}
    assert names(resources=("w%b*",)) == {"w%b_4"}
    assert names(resources=("webx1", "[dw]b", "web_1x")) == set()
    assert names(resources=("*_3", "db")) == {"Web_3", "db"}
    assert names(resources=("",)) == {""}
    assert names(types=("Test",)) == {"web_1", "web_2", "Web_3", "w%b_4", "db"}
    assert names(types=("st*",)) == {""}
    done = EventFilter(resources=("db",), actions=("CREATE", "DELETE"), statuses=("COMPLETE", "FAILED"))
    assert said(events.read("s-id", wanted=done)) == [("db", "CREATE_COMPLETE")]
    assert events.read("s-id", wanted=EventFilter(actions=("DELETE",))) == []


def test_events_are_found_by_when_and_in_which_operation_they_happened(bench: Bench) -> None:
    created(bench, {"a": set()})
    bench.clock.pass_(100)
    began = bench.clock.now
    begin_delete(bench)
    events = bench.store.events
    assert said(events.read("s-id", wanted=EventFilter(since=began))) == [("", "DELETE_IN_PROGRESS")]
    assert said(events.read("s-id", wanted=EventFilter(traversal_id="s-t2"))) == [("", "DELETE_IN_PROGRESS")]
    assert len(events.read("s-id", wanted=EventFilter(traversal_id="s-t1"))) == 4
    assert events.read("s-id", wanted=EventFilter(since=began + 1)) == []


def test_one_event_is_found_by_its_id_in_its_own_stack(bench: Bench) -> None:
    created(bench, {"a": set()})
    bench.begin({}, stack="other")
    first = bench.store.events.read("s-id")[0]
    assert bench.store.events.find("s-id", first.id) == first
    for stack_id, event_id in (("other-id", first.id), ("s-id", 10**9)):
        with pytest.raises(NotFound, match="no event"):
            bench.store.events.find(stack_id, event_id)


def test_traversals_are_told_newest_first_with_what_they_did(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    bench.clock.pass_(10)
    (order,) = begin_update(bench, {"a": set(), "b": set()}, clean=["b"])
    bench.clock.pass_(5)
    bench.finish(bench.claim(order), Ending.FAILED, reason="no luck")
    bench.clock.pass_(50)
    assert begin_delete(bench, number=3)
    bench.run_all(order_of(bench, no, number=3) for no in (0, 1))
    third, second, first = bench.store.past.traversals("s-id", limit=10)
    assert (third.id, third.action, third.status) == ("s-t3", "DELETE", "COMPLETE")
    assert (second.id, second.action, second.status) == ("s-t2", "UPDATE", "FAILED")
    assert second.reason.endswith("no luck")
    # That another followed is not what ended it.
    assert (second.created_at, second.ended_at) == (1_000_010, 1_000_015)
    assert (first.id, first.action, first.status) == ("s-t1", "CREATE", "COMPLETE")
    assert first.counts["CREATE_COMPLETE"] == 2
    assert (second.counts["UPDATE_FAILED"], second.counts["UPDATE_COMPLETE"]) == (1, 0)
    assert third.counts["DELETE_COMPLETE"] == 2
    assert bench.store.past.traversals("s-id", limit=1) == [third]
    assert bench.store.past.traversals("s-id", before=third, limit=1) == [second]
    assert bench.store.past.traversals("s-id", before=second, limit=5) == [first]
    assert bench.store.past.traversal("s-id", "s-t2") == second

    def found(**wanted: Any) -> list[str]:
        rows = bench.store.past.traversals("s-id", wanted=OperationFilter(**wanted), limit=10)
        return [row.id for row in rows]

    assert found(actions=("UPDATE", "DELETE")) == ["s-t3", "s-t2"]
    # One that failed and was then superseded is shown, and found, as failed.
    assert found(statuses=("FAILED",)) == ["s-t2"]
    assert found(statuses=("SUPERSEDED",)) == []
    assert found(actions=("CREATE",), statuses=("COMPLETE",)) == ["s-t1"]
    assert found(user="ann") == []
    change = tables.traversal.update().where(tables.traversal.c.id == "s-t2").values(user_name="Ann%")
    with bench.store.database.write() as connection:
        connection.execute(change)
    assert found(user="ann") == found(user="%") == ["s-t2"]
    assert bench.store.past.traversals("s-id", before=second, wanted=OperationFilter(user="a"), limit=5) == []
    with pytest.raises(NotFound, match="no traversal 's-t9'"):
        bench.store.past.traversal("s-id", "s-t9")


def test_a_traversal_that_another_took_over_is_told_as_superseded(bench: Bench) -> None:
    bench.begin({"a": set()})
    assert begin_delete(bench)
    assert bench.store.past.traversal("s-id", "s-t1").status == "SUPERSEDED"


def test_a_deleted_stack_is_found_by_name_and_by_id(bench: Bench) -> None:
    past = bench.store.past
    with pytest.raises(NotFound, match="no stack 's'"):
        past.stack("s", project="p")
    bench.begin({})
    bench.store.traversals.complete("s-t1")
    assert begin_delete(bench)
    bench.store.traversals.complete("s-t2")
    assert past.stack("s", project="p").id == "s-id"
    assert past.stack("s-id", project="p").deleted_at is not None
    with pytest.raises(NotFound):
        past.stack("s", project="other")


def test_projects_of_a_stack_are_known_by_its_name_and_its_id_also_after_its_deletion(bench: Bench) -> None:
    created(bench, {"a": set()})
    projects_of = bench.store.past.projects_of
    assert projects_of("s") == projects_of("s-id") == {"p"}
    assert projects_of("other") == frozenset()
    with bench.store.database.write() as connection:
        connection.execute(tables.stack.update().values(deleted_at=1.0))
    assert projects_of("s") == {"p"}


def test_how_long_operations_took_is_told_of_those_that_succeeded_newest_first(bench: Bench) -> None:
    created(bench, {"a": set()})
    for number, seconds in ((2, 5), (3, 7)):
        orders = begin_update(bench, {"a": set()}, number=number)
        bench.clock.pass_(seconds)
        bench.run_all(orders)
    begin_update(bench, {"a": set()}, number=4)
    past = bench.store.past
    assert past.durations({"s-id": "UPDATE"}, limit=20) == {"s-id": [7, 5]}
    assert past.durations({"s-id": "UPDATE"}, limit=1) == {"s-id": [7]}
    assert past.durations({"s-id": "DELETE", "other": "UPDATE"}, limit=20) == {"s-id": [], "other": []}
    assert past.durations({}, limit=20) == {}


def test_how_long_an_action_on_a_resource_took_is_told_of_operations_that_completed_it(bench: Bench) -> None:
    created(bench, {"a": set(), "b": set()})
    for number, seconds in ((2, 5), (3, 7), (4, 9)):
        for order in begin_update(bench, {"a": set(), "b": set()}, number=number):
            claim = bench.claim(order)
            bench.clock.pass_(seconds)
            fails = number == 3 and order.key == "b"
            bench.run_all(bench.finish(claim, Ending.FAILED if fails else Ending.DONE).ready)
    durations = partial(bench.store.past.resource_durations, "s-id", but="s-t9", limit=20)
    assert durations("a", "UPDATE") == [9, 7, 5]
    # It failed in one of them.
    assert durations("b", "UPDATE") == [9, 5]
    assert durations("a", "UPDATE", but="s-t4") == [7, 5]
    assert durations("a", "UPDATE", limit=1) == [9]
    assert durations("a", "DELETE") == durations("c", "UPDATE") == []
