"""What every store promises of the sinks that a stack's environment names."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.store import tables
from orchestrator.store.installation.sink_cursors import CursorClaim
from orchestrator.store.purging.unneeded import SINK_PATIENCE_SECONDS
from orchestrator.store.stacks.sinks import write_stack_sinks
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, created, order_of

MAIL = {"type": "mail", "target": "me", "list": [1, {"a": None}]}
HOOK = {"type": "hook", "target": "http://a/"}
OTHER = {"type": "hook", "target": "http://b/"}


def name_sinks(
    bench: Bench, *wanted: Mapping[str, Any], stack_id: str = "s-id", is_new: bool = False
) -> None:
    with bench.store.database.write() as connection:
        write_stack_sinks(
            connection, bench.store.codec, bench.clock.now, stack_id=stack_id, wanted=wanted, is_new=is_new
        )


def positions(bench: Bench) -> dict[str, tuple[str, int]]:
    return {row.name: (row.type, row.position) for row in bench.store.sink_cursors.all()}


def claim(bench: Bench, name: str) -> CursorClaim:
    claim = bench.store.sink_cursors.claim(name, owner="me", lease_seconds=60)
    assert claim is not None
    return claim


def tell(bench: Bench, name: str, position: int) -> None:
    taken = claim(bench, name)
    assert bench.store.sink_cursors.advance(taken, position, state=b"", lease_seconds=60)
    assert bench.store.sink_cursors.release(name, owner=taken.owner, attempt=taken.attempt)


def due(bench: Bench, types: Sequence[str] = ("mail", "hook"), limit: int = 99) -> list[str]:
    cursors = bench.store.sink_cursors
    return [each.name for each in cursors.due(types, up_to=cursors.horizon.look(), limit=limit)]


def test_those_of_a_new_stack_are_told_everything(bench: Bench) -> None:
    bench.begin({"a": set()}, stack="earlier")
    name_sinks(bench, MAIL, HOOK, is_new=True)
    bench.run_all(bench.begin({"a": set()}))
    assert positions(bench) == {"s-id:0": ("mail", 0), "s-id:1": ("hook", 0)}
    taken = claim(bench, "s-id:0")
    assert (taken.stack_id, taken.options) == ("s-id", {"target": "me", "list": [1, {"a": None}]})
    told = bench.store.sink_cursors.read(taken, up_to=99)
    assert {event.stack_id for event in told} == {"s-id"}
    assert len(told) == 4


def test_with_a_new_definition_those_that_stay_go_on_where_they_are(bench: Bench) -> None:
    name_sinks(bench, MAIL, HOOK, is_new=True)
    bench.run_all(bench.begin({"a": set()}))
    tell(bench, "s-id:1", 3)
    tell(bench, "s-id:0", 4)
    # In another order, with another.
    name_sinks(bench, HOOK, OTHER)
    assert positions(bench) == {"s-id:1": ("hook", 3), "s-id:2": ("hook", 4)}
    assert claim(bench, "s-id:2").options == {"target": "http://b/"}
    tell(bench, "s-id:1", 4)
    name_sinks(bench)
    assert positions(bench) == {}


def test_one_that_is_named_no_more_is_told_what_happened_until_then(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    name_sinks(bench, MAIL, HOOK, is_new=True)
    created(bench, {"a": set()})
    tell(bench, "s-id:0", 2)
    before = claim(bench, "s-id:0")
    name_sinks(bench)
    name_sinks(bench, OTHER)
    assert begin_delete(bench)
    assert [event.id for event in cursors.read(before, up_to=99)] == [3, 4]
    assert cursors.release("s-id:0", owner=before.owner, attempt=before.attempt)
    assert sorted(positions(bench)) == ["s-id:0", "s-id:1", "s-id:2"]
    assert {row.name: row.backlog for row in cursors.all()} == {"s-id:0": 2, "s-id:1": 4, "s-id:2": 1}
    assert due(bench) == ["s-id:1", "s-id:0", "s-id:2"]
    assert [event.id for event in cursors.read(claim(bench, "s-id:0"), up_to=99)] == [3, 4]
    cursors.remove_done()
    assert len(positions(bench)) == 3
    tell(bench, "s-id:0", 4)
    assert due(bench) == ["s-id:1", "s-id:2"]
    cursors.remove_done()
    assert sorted(positions(bench)) == ["s-id:1", "s-id:2"]
    # One that does not listen is not waited for for ever.
    bench.clock.pass_(SINK_PATIENCE_SECONDS + 1)
    cursors.remove_done()
    assert sorted(positions(bench)) == ["s-id:2"]


def test_one_that_is_named_again_goes_on_where_it_is(bench: Bench) -> None:
    name_sinks(bench, MAIL, is_new=True)
    created(bench, {"a": set()})
    tell(bench, "s-id:0", 2)
    name_sinks(bench, HOOK)
    assert begin_delete(bench)
    name_sinks(bench, MAIL)
    assert [event.id for event in bench.store.sink_cursors.read(claim(bench, "s-id:0"), up_to=99)] == [
        3,
        4,
        5,
    ]
    assert {row.name: row.backlog for row in bench.store.sink_cursors.all()} == {"s-id:0": 3, "s-id:1": 1}


def test_one_that_was_told_everything_and_is_named_again_begins_anew(bench: Bench) -> None:
    name_sinks(bench, MAIL, is_new=True)
    created(bench, {"a": set()})
    name_sinks(bench, HOOK)
    tell(bench, "s-id:0", 4)
    assert begin_delete(bench)
    name_sinks(bench, MAIL, HOOK)
    assert positions(bench) == {"s-id:1": ("hook", 4), "s-id:2": ("mail", 5)}


def test_what_is_lost_to_one_that_is_named_no_more_is_what_it_was_to_be_told(bench: Bench) -> None:
    name_sinks(bench, MAIL, is_new=True)
    created(bench, {"a": set()})
    name_sinks(bench)
    assert begin_delete(bench)
    bench.store.sink_cursors.bound(3)
    (row,) = bench.store.sink_cursors.all()
    assert (row.lost, row.backlog) == (1, 3)


def test_one_that_is_named_no_more_and_was_told_holds_up_nothing(bench: Bench) -> None:
    name_sinks(bench, MAIL, is_new=True)
    created(bench, {"a": set(), "b": set()})
    name_sinks(bench)
    assert bench.store.purger.trim_events("s-id", most=1) == 0
    tell(bench, "s-id:0", 6)
    assert bench.store.purger.trim_events("s-id", most=1) == 5


def test_one_that_is_named_twice_is_told_twice(bench: Bench) -> None:
    name_sinks(bench, HOOK, HOOK, is_new=True)
    assert positions(bench) == {"s-id:0": ("hook", 0), "s-id:1": ("hook", 0)}
    name_sinks(bench, HOOK)
    assert list(positions(bench)) == ["s-id:0"]


def test_sinks_of_other_stacks_stay(bench: Bench) -> None:
    bench.store.sink_cursors.register(["log"])
    name_sinks(bench, MAIL, is_new=True)
    name_sinks(bench, MAIL, stack_id="other", is_new=True)
    name_sinks(bench)
    assert sorted(positions(bench)) == ["log", "other:0"]


def test_options_are_as_secret_as_all_values(bench: Bench) -> None:
    name_sinks(bench, HOOK, is_new=True)
    with bench.store.database.read() as connection:
        stored = connection.execute(sa.select(tables.sink_cursor.c.options)).scalar_one()
    encrypted = bench.store.codec.prefix != b"\x00"
    assert (b"http://a/" in stored) is not encrypted


def test_those_are_due_for_whom_something_waits(bench: Bench) -> None:
    bench.store.sink_cursors.register(["log"])
    name_sinks(bench, MAIL, HOOK, is_new=True)
    assert due(bench) == []
    bench.run_all(bench.begin({"a": set()}))
    name_sinks(bench, MAIL, stack_id="other", is_new=True)
    assert due(bench) == ["s-id:0", "s-id:1"]
    assert due(bench, limit=1) == ["s-id:0"]
    assert due(bench, types=["hook"]) == ["s-id:1"]
    assert due(bench, types=[]) == []
    tell(bench, "s-id:0", 4)
    assert due(bench) == ["s-id:1"]


def test_who_waited_longest_comes_first_and_who_is_told_already_last(bench: Bench) -> None:
    name_sinks(bench, MAIL, HOOK, OTHER, is_new=True)
    bench.run_all(bench.begin({"a": set()}))
    tell(bench, "s-id:0", 2)
    tell(bench, "s-id:2", 1)
    claim(bench, "s-id:1")
    assert due(bench) == ["s-id:2", "s-id:0", "s-id:1"]
    cursors = bench.store.sink_cursors
    found = cursors.due(["mail", "hook"], up_to=4, limit=9)
    assert [each.owner for each in found] == [None, None, "me"]
    bench.clock.pass_(61)
    assert [each.owner for each in cursors.due(["hook"], up_to=4, limit=9)] == [None, None]


def test_one_that_failed_is_due_when_its_pause_is_over(bench: Bench) -> None:
    name_sinks(bench, MAIL, is_new=True)
    bench.run_all(bench.begin({"a": set()}))
    bench.store.sink_cursors.fail(claim(bench, "s-id:0"), "no", pause_seconds=5)
    assert due(bench) == []
    bench.clock.pass_(5)
    # There is a word of its own for those.
    assert due(bench) == []
    cursors = bench.store.sink_cursors
    assert [each.name for each in cursors.due(["mail"], up_to=99, limit=9, failing=True)] == ["s-id:0"]
    tell(bench, "s-id:0", 1)
    assert cursors.due(["mail"], up_to=99, limit=9, failing=True) == []
    assert due(bench) == ["s-id:0"]


def test_the_last_word_of_a_deleted_stack_is_told_and_its_cursors_go(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["log"])
    name_sinks(bench, MAIL, HOOK, is_new=True)
    created(bench, {"a": set()})
    tell(bench, "s-id:0", 4)
    cursors.remove_done()
    assert begin_delete(bench)
    bench.run_all([order_of(bench, 0)])
    cursors.remove_done()
    assert len(positions(bench)) == 3
    newest = cursors.horizon.look()
    tell(bench, "s-id:0", newest)
    cursors.remove_done()
    assert sorted(positions(bench)) == ["log", "s-id:1"]
    bench.clock.pass_(SINK_PATIENCE_SECONDS + 1)
    cursors.remove_done()
    assert sorted(positions(bench)) == ["log"]
