"""What every store promises of events that sinks were not told yet: kept, up to a bound, and counted beyond it."""

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.model.purge import Purge
from orchestrator.store import tables
from orchestrator.store.installation.sink_cursors import CursorRow
from orchestrator.store.purging.unneeded import SINK_PATIENCE_SECONDS
from tests.unit.orchestrator.store.conftest import Bench
from tests.unit.orchestrator.store.updating import begin_delete, created, order_of

DAY = 86400.0


def cursor_of(bench: Bench, name: str) -> CursorRow:
    return next(each for each in bench.store.sink_cursors.all() if each.name == name)


def tell(bench: Bench, name: str, position: int) -> None:
    """Tell a sink everything up to an event."""
    claim = bench.store.sink_cursors.claim(name, owner="me", lease_seconds=60)
    assert claim is not None
    assert bench.store.sink_cursors.advance(claim, position, state=b"", lease_seconds=60)


def ids(bench: Bench) -> list[int]:
    with bench.store.database.read() as connection:
        return list(connection.execute(sa.select(tables.event.c.id).order_by(tables.event.c.id)).scalars())


def purge(bench: Bench, **more: Any) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for removed in bench.store.purger.purge(Purge(older_than_seconds=DAY, max_events_per_stack=1, **more)):
        counts[removed.kind] += removed.count
    return dict(+counts)


def of_stack(bench: Bench, name: str, stack_id: str) -> None:
    """Make a cursor of a sink that a stack's environment names."""
    values = {"name": name, "type": "webhook", "stack_id": stack_id, "position": 0, "created_at": 0}
    with bench.store.database.write() as connection:
        connection.execute(tables.sink_cursor.insert().values(values))


def test_no_event_is_trimmed_that_some_sink_was_not_told(bench: Bench) -> None:
    bench.store.sink_cursors.register(["dead", "quick"])
    bench.run_all(bench.begin({"a": set(), "b": set()}))
    tell(bench, "quick", 6)
    tell(bench, "dead", 2)
    assert bench.store.purger.trim_events("s-id", most=1) == 2
    assert ids(bench) == [3, 4, 5, 6]
    assert purge(bench).get("events", 0) == 0
    tell(bench, "dead", 5)
    assert bench.store.purger.trim_events("s-id", most=1) == 3
    assert ids(bench) == [6]


def test_no_event_goes_with_its_stack_that_some_sink_was_not_told(bench: Bench) -> None:
    bench.store.sink_cursors.register(["dead"])
    created(bench, {"a": set()})
    assert begin_delete(bench)
    bench.run_all([order_of(bench, 0)])
    newest = ids(bench)[-1]
    bench.clock.pass_(30 * DAY)
    tell(bench, "dead", newest - 1)
    assert "stacks" not in purge(bench, dry_run=True)
    assert "stacks" not in purge(bench)
    # What is told names stack and project still.
    claim = bench.store.sink_cursors.claim("dead", owner="me", lease_seconds=60)
    assert claim is not None
    (last,) = bench.store.sink_cursors.read(claim, up_to=newest)
    assert (last.stack_name, last.project, last.action, last.status) == ("s", "p", "DELETE", "COMPLETE")
    tell(bench, "dead", newest)
    assert purge(bench)["stacks"] == 1


def test_what_a_sink_of_one_stack_was_not_told_is_kept_of_that_stack(bench: Bench) -> None:
    for stack in ("s", "other"):
        bench.run_all(bench.begin({"a": set()}, stack=stack))
    of_stack(bench, "s-id:0", "s-id")
    assert bench.store.purger.trim_events("other-id", most=1) == 3
    assert bench.store.purger.trim_events("s-id", most=1) == 0
    assert cursor_of(bench, "s-id:0").backlog == 4


def test_a_deleted_stack_does_not_wait_for_ever_for_whom_its_environment_named(bench: Bench) -> None:
    created(bench, {"a": set()})
    assert begin_delete(bench)
    bench.run_all([order_of(bench, 0)])
    of_stack(bench, "s-id:0", "s-id")
    bench.clock.pass_(SINK_PATIENCE_SECONDS - 1)
    assert "stacks" not in purge(bench)
    bench.clock.pass_(2)
    assert purge(bench)["stacks"] == 1
    assert bench.store.sink_cursors.all() == []


def test_beyond_the_bound_a_cursor_is_moved_on_and_what_it_missed_is_counted(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["dead"])
    bench.run_all(bench.begin({"a": set(), "b": set()}))
    cursors.bound(6)
    assert (cursor_of(bench, "dead").position, cursor_of(bench, "dead").lost) == (0, 0)
    cursors.bound(4)
    found = cursor_of(bench, "dead")
    assert (found.position, found.backlog, found.lost) == (2, 4, 2)
    assert bench.store.purger.trim_events("s-id", most=1) == 2
    cursors.bound(4)
    cursors.bound(1)
    found = cursor_of(bench, "dead")
    assert (found.position, found.backlog, found.lost) == (5, 1, 5)


def test_who_is_telling_a_sink_whose_cursor_is_moved_on_notices(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["slow"])
    bench.run_all(bench.begin({"a": set(), "b": set()}))
    claim = cursors.claim("slow", owner="me", lease_seconds=60)
    assert claim is not None
    cursors.bound(1)
    assert not cursors.advance(claim, 3, state=b"", lease_seconds=60)
    again = cursors.claim("slow", owner="me", lease_seconds=60)
    assert again is not None
    assert [event.id for event in cursors.read(again, up_to=6)] == [6]


def test_when_one_stack_is_trimmed_cursors_of_others_stay_where_they_are(bench: Bench) -> None:
    for stack in ("s", "other"):
        bench.run_all(bench.begin({"a": set()}, stack=stack))
        of_stack(bench, f"{stack}-id:0", f"{stack}-id")
    bench.store.sink_cursors.register(["log"])
    bench.store.sink_cursors.bound(1, stack_id="s-id")
    assert [cursor_of(bench, f"{stack}-id:0").lost for stack in ("s", "other")] == [3, 0]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_a_sink_of_one_stack_loses_events_of_that_one_alone(bench: Bench, most: int) -> None:
    cursors = bench.store.sink_cursors
    for stack in ("s", "other"):
        bench.run_all(bench.begin({"a": set()}, stack=stack))
    of_stack(bench, "s-id:0", "s-id")
    cursors.bound(most)
    found = cursor_of(bench, "s-id:0")
    assert (found.backlog, found.lost) == (min(most, 4), max(0, 4 - most))
