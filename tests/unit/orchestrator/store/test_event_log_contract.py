"""What every store promises to whoever follows the events of all stacks."""

import pytest

from orchestrator.errors import Unavailable
from orchestrator.store import tables
from orchestrator.store.store import Store
from tests.counting import statements
from tests.unit.orchestrator.store.conftest import Bench


def test_nothing_has_happened_yet(bench: Bench) -> None:
    log = bench.store.event_log
    assert (log.look(), log.oldest(), log.extent().newest) == (0, None, 0)
    assert log.extent().now == bench.clock.now


def test_events_are_read_on_with_the_stack_that_they_are_of(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    log = bench.store.event_log
    bench.clock.pass_(5)
    rows = log.read(0, up_to=log.look(), limit=10)
    assert {(row.stack, row.project, row.parent_id) for row in rows} == {("s", "p", None)}
    assert rows[-1].read_at - rows[-1].at == 5
    assert [row.id for row in log.read(rows[0].id, up_to=rows[1].id, limit=10)] == [rows[1].id]
    assert (log.look(), log.extent().newest) == (rows[-1].id, rows[-1].id)
    assert (log.oldest(), log.oldest("s-id"), log.oldest("other")) == (rows[0].id, rows[0].id, None)


def test_it_is_known_where_a_stack_lacks_its_beginning(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()}, stack="one")
    (b,) = bench.begin({"b": set()}, stack="two")
    bench.run(a)
    bench.run(b)
    log = bench.store.event_log
    last, event = log.look(), tables.event
    assert not any(log.lacks(after, up_to=last, limit=100) for after in range(last + 1))
    ids = [row.id for row in log.read(0, up_to=last, limit=100) if row.stack == "two"]
    with bench.store.database.write() as connection:
        connection.execute(event.delete().where(event.c.id == ids[0]))
    assert [log.lacks(after, up_to=last, limit=100) for after in (0, ids[0], ids[1])] == [True, True, False]
    assert not log.lacks(0, up_to=ids[1] - 1, limit=100)


def test_ids_stay_given_when_their_events_are_removed(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    newest = bench.store.event_log.extent().newest
    with bench.store.database.write() as connection:
        connection.execute(tables.event.delete())
    assert bench.store.event_log.extent().newest == newest > 0
    assert bench.store.event_log.oldest() is None


def test_a_history_that_is_another_one_is_read_from_where_it_is(bench: Bench) -> None:
    (a,) = bench.begin({"a": set()})
    bench.run(a)
    log = bench.store.event_log
    assert log.look() > 1
    with bench.store.database.write() as connection:
        connection.execute(tables.event.delete().where(tables.event.c.id > 1))
    log.begin_again()
    assert log.look() == 1


def test_a_schema_that_is_missing_is_told_with_what_makes_it() -> None:
    log = Store("sqlite://").event_log
    with pytest.raises(Unavailable, match="isotherm db upgrade"):
        log.look()


def test_how_far_the_history_goes_is_one_statement(bench: Bench) -> None:
    with statements() as sent:
        bench.store.event_log.extent()
    assert len(sent) == 1
