"""What every store promises about the cursors of event sinks."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import sqlalchemy as sa
from cryptography.fernet import Fernet

from hooks.events import Event
from orchestrator.model.codec import Codec
from orchestrator.store import tables
from orchestrator.store.installation.sink_cursors import CursorClaim, CursorRow, SinkCursors
from tests.unit.orchestrator.store.conftest import Bench

LEASE = 45.0


def taken(cursors: SinkCursors, name: str = "mail", owner: str = "me") -> CursorClaim:
    claim = cursors.claim(name, owner=owner, lease_seconds=LEASE)
    assert claim is not None
    return claim


def row(cursors: SinkCursors, name: str = "mail") -> CursorRow:
    return next(each for each in cursors.all() if each.name == name)


def all_behind(cursors: SinkCursors, claim: CursorClaim) -> list[Event]:
    return cursors.read(claim, up_to=cursors.horizon.look())


def said(events: Sequence[Event]) -> list[str]:
    return [f"{event.resource or event.stack_name} {event.action}_{event.status}" for event in events]


def test_a_new_sink_is_told_what_happens_from_now_on(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    orders = bench.begin({"a": set()})
    cursors.register(["mail"])
    bench.run_all(orders)
    claim = taken(cursors)
    told = all_behind(cursors, claim)
    assert said(told) == ["a CREATE_IN_PROGRESS", "a CREATE_COMPLETE", "s CREATE_COMPLETE"]
    assert told[0] == Event(
        id=2,
        at=bench.clock.now,
        stack_id="s-id",
        stack_name="s",
        project="p",
        operation_id="s-t1",
        resource="a",
        resource_id="s-a",
        type="Test",
        action="CREATE",
        status="IN_PROGRESS",
        worker="w",
    )


def test_a_sink_that_is_known_stays_where_it_is(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    bench.begin({"a": set()})
    cursors.register(["mail", "other"])
    assert row(cursors).backlog == 1
    assert row(cursors, "other").backlog == 0


def test_many_processes_register_at_once(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(cursors.register, [["a", "b", "c"], ["c", "b", "a"]] * 8))
    assert [each.name for each in cursors.all()] == ["a", "b", "c"]


def test_one_of_many_gets_a_cursor(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])

    def claim(number: int) -> CursorClaim | None:
        return cursors.claim("mail", owner=f"process {number}", lease_seconds=LEASE)

    with ThreadPoolExecutor(8) as pool:
        assert sum(each is not None for each in pool.map(claim, range(16))) == 1


def test_nobody_gets_a_cursor_that_is_not_there(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    assert cursors.claim("mail", owner="me", lease_seconds=LEASE) is None
    assert cursors.holder("mail") is None
    assert not cursors.exists("mail")


def test_what_was_told_and_saved_is_noted_together(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    bench.run_all(bench.begin({"a": set()}))
    claim = taken(cursors)
    assert (claim.position, claim.state) == (0, b"")
    assert cursors.advance(claim, 2, state=b"\x00totals", lease_seconds=LEASE)
    assert [event.id for event in all_behind(cursors, replace(claim, position=2))] == [3, 4]
    assert cursors.release("mail", owner=claim.owner, attempt=claim.attempt)
    again = taken(cursors, owner="another")
    assert (again.position, again.state) == (2, b"\x00totals")
    assert again.attempt > claim.attempt


def test_no_more_events_are_read_than_asked_for_nor_further(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    bench.run_all(bench.begin({"a": set()}))
    claim = taken(cursors)
    assert [event.id for event in cursors.read(claim, up_to=3)] == [1, 2, 3]
    assert [event.id for event in cursors.read(claim, up_to=4, limit=2)] == [1, 2]


def test_whoever_was_followed_by_another_changes_nothing_any_more(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    first = taken(cursors)
    bench.clock.pass_(LEASE - 1)
    assert cursors.claim("mail", owner="another", lease_seconds=LEASE) is None
    bench.clock.pass_(1)
    second = taken(cursors, owner="another")
    before = cursors.all()
    assert not cursors.advance(first, 7, state=b"x", lease_seconds=LEASE)
    assert not cursors.renew(first, lease_seconds=LEASE)
    assert not cursors.fail(first, "too late", pause_seconds=1)
    assert not cursors.release(first.name, owner=first.owner, attempt=first.attempt)
    assert cursors.all() == before
    assert cursors.holder("mail") == ("another", second.attempt)


def test_a_renewed_lease_lasts_longer(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    claim = taken(cursors)
    bench.clock.pass_(LEASE - 1)
    assert cursors.renew(claim, lease_seconds=LEASE)
    bench.clock.pass_(LEASE - 1)
    assert cursors.claim("mail", owner="another", lease_seconds=LEASE) is None


def test_a_process_gets_back_what_it_forgot_that_it_has(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    first, second = taken(cursors), taken(cursors)
    assert second.attempt > first.attempt
    assert not cursors.renew(first, lease_seconds=LEASE)


def test_a_failure_is_on_record_until_the_sink_takes_something(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    bench.begin({"a": set()})
    began = bench.clock.now
    assert cursors.fail(taken(cursors), "connection refused", pause_seconds=5)
    assert cursors.claim("mail", owner="another", lease_seconds=LEASE) is None
    bench.clock.pass_(5)
    again = taken(cursors, owner="another")
    assert again.failures == 1
    assert cursors.fail(again, "too slow", pause_seconds=5)
    found = row(cursors)
    assert (found.failing_since, found.failures, found.error, found.owner) == (began, 2, "too slow", None)
    bench.clock.pass_(5)
    assert cursors.advance(taken(cursors), 1, state=b"", lease_seconds=LEASE)
    found = row(cursors)
    assert (found.failing_since, found.failures, found.error) == (None, 0, "")


def test_a_cursor_says_how_much_waits_and_since_when(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    began = bench.clock.now
    orders = bench.begin({"a": set()})
    bench.clock.pass_(60)
    bench.run_all(orders)
    assert (row(cursors).backlog, row(cursors).waiting_since) == (4, began)
    cursors.advance(taken(cursors), 1, state=b"", lease_seconds=LEASE)
    assert (row(cursors).backlog, row(cursors).waiting_since) == (3, began + 60)
    cursors.advance(taken(cursors), 4, state=b"", lease_seconds=LEASE)
    assert (row(cursors).backlog, row(cursors).waiting_since) == (0, None)


def test_a_forgotten_cursor_is_gone_also_for_whoever_has_it(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    claim = taken(cursors)
    assert cursors.forget("mail")
    assert not cursors.forget("mail")
    assert not cursors.advance(claim, 1, state=b"", lease_seconds=LEASE)
    assert cursors.all() == []


def test_whoever_has_a_cursor_that_was_forgotten_leaves_the_next_of_that_name_alone(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    bench.begin({"a": set()})
    first = taken(cursors)
    cursors.forget("mail")
    cursors.register(["mail"])
    second = taken(cursors, owner="another")
    assert second.attempt == first.attempt
    before = cursors.all()
    assert not cursors.advance(first, 0, state=b"of the first", lease_seconds=LEASE)
    assert not cursors.renew(first, lease_seconds=LEASE)
    assert not cursors.fail(first, "too late", pause_seconds=1)
    assert not cursors.release("mail", owner=first.owner, attempt=first.attempt)
    assert cursors.all() == before
    assert cursors.advance(second, 1, state=b"", lease_seconds=LEASE)


def test_what_a_sink_saves_is_as_secret_as_all_values(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    cursors.advance(taken(cursors), 0, state=b"customers", lease_seconds=LEASE)
    with bench.store.database.read() as connection:
        stored = connection.execute(sa.select(tables.sink_cursor.c.state)).scalar_one()
    encrypted = bench.store.codec.prefix != b"\x00"
    assert (b"customers" in stored) is not encrypted


def test_a_cursor_that_no_key_opens_failed(bench: Bench) -> None:
    cursors = bench.store.sink_cursors
    cursors.register(["mail"])
    cursors.advance(taken(cursors), 0, state=b"customers", lease_seconds=LEASE)
    cursors.release("mail", owner="me", attempt=1)
    keyless = SinkCursors(bench.store.database, Codec([Fernet.generate_key().decode()]), cursors.horizon)
    if bench.store.codec.prefix == b"\x00":
        # What is not locked needs no key.
        assert taken(keyless).state == b"customers"
        return
    assert keyless.claim("mail", owner="me", lease_seconds=LEASE) is None
    found = row(cursors)
    assert (found.owner, found.failures, found.error) == (
        None,
        1,
        "no configured encryption key opens a stored value",
    )
    # Not again at once, nor for ever.
    assert cursors.claim("mail", owner="another", lease_seconds=LEASE) is None
    bench.clock.pass_(60)
    assert taken(cursors, owner="another").state == b"customers"
