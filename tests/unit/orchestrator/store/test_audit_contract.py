"""What every store promises about the audit log: a chain without a gap, in which no change goes unnoticed."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from orchestrator.model.audit import NO_HASH, AuditEntry
from orchestrator.model.identity import Caller, Identity
from orchestrator.store import tables
from orchestrator.store.installation.audit_log import PACE_SECONDS, AuditLog
from orchestrator.store.store import Store
from tests.migrated import migrate

RECORDS = tables.audit_record
ANN = Caller(identity=Identity.administrator("ann"), origin="test, here")


def entry(target: str = "it", refused: str = "") -> AuditEntry:
    return AuditEntry.of(ANN, "node.change", project="p", target=target, refused=refused)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An address of a database with the schema as migrations make it."""
    found: str = (
        f"sqlite:///{tmp_path}/isotherm.db"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres_url")
    )
    migrate(found)
    return found


@pytest.fixture
def open_store(url: str) -> Iterator[Callable[[], Store]]:
    made: list[Store] = []

    def open_one() -> Store:
        made.append(Store(url))
        return made[-1]

    yield open_one
    for each in made:
        each.close()


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def let_changes_pass(store: Store) -> None:
    """Take the triggers away, as one may who owns the database."""
    with store.database.write() as connection:
        if store.database.postgres:
            connection.execute(sa.text("ALTER TABLE audit_record DISABLE TRIGGER ALL"))
            return
        for event in ("update", "delete"):
            connection.execute(sa.text(f"DROP TRIGGER audit_record_stays_{event}"))


def test_records_follow_each_other_and_are_as_they_were_given(store: Store) -> None:
    log = store.audit_log
    odd = AuditEntry.of(ANN, "login", target="\0 \ud800 é" + "x" * 5000, refused="no")
    log.append(entry())
    log.append(odd)
    second, first = log.newest(9)
    assert (first.seq, second.seq) == (1, 2)
    assert (first.entry, second.entry) == (entry(), odd)
    assert (second.entry.outcome, second.entry.detail, len(second.entry.target)) == ("refused", "no", 1000)
    assert first.hash != second.hash != NO_HASH
    found = log.verify()
    assert (found.records, found.last_hash, found.broken_at) == (2, second.hash, None)
    assert log.newest(1) == [second]


def test_empty_log_is_in_order_but_has_no_hash_that_is_expected(store: Store) -> None:
    assert store.audit_log.verify().broken_at is None
    assert store.audit_log.verify("f" * 64).broken_at == 1


def test_chain_is_whole_after_many_have_written_at_once(open_store: Callable[[], Store]) -> None:
    stores = [open_store() for _ in range(4)]

    def write(store: Store) -> None:
        for number in range(15):
            store.audit_log.append(entry(f"{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, stores))
    found = stores[0].audit_log.verify()
    assert (found.records, found.broken_at) == (60, None)


@pytest.mark.parametrize(
    "column", ["user_name", "project", "action", "target", "origin", "outcome", "detail", "hash"]
)
def test_change_of_any_text_is_noticed_at_its_record(store: Store, column: str) -> None:
    for number in range(5):
        store.audit_log.append(entry(f"{number}"))
    let_changes_pass(store)
    changed = RECORDS.update().where(RECORDS.c.seq == 3).values({column: RECORDS.c[column] + "x"})
    assert store.database.change(changed) == 1
    found = store.audit_log.verify()
    assert (found.records, found.broken_at) == (2, 3)


def test_change_of_a_time_or_of_the_order_is_noticed(store: Store) -> None:
    for number in range(5):
        store.audit_log.append(entry(f"{number}"))
    let_changes_pass(store)
    store.database.change(RECORDS.update().where(RECORDS.c.seq == 4).values(at=RECORDS.c.at + 1))
    assert store.audit_log.verify().broken_at == 4
    for before, after in ((2, 20), (3, 2), (20, 3)):
        store.database.change(RECORDS.update().where(RECORDS.c.seq == before).values(seq=after))
    assert store.audit_log.verify().broken_at == 2


def test_record_that_is_missing_is_noticed_and_the_newest_by_a_hash_that_was_noted(store: Store) -> None:
    for number in range(5):
        store.audit_log.append(entry(f"{number}"))
    noted = store.audit_log.verify().last_hash
    store.audit_log.append(entry("later"))
    assert store.audit_log.verify(noted).broken_at is None
    let_changes_pass(store)
    store.database.change(RECORDS.delete().where(RECORDS.c.seq >= 5))
    assert store.audit_log.verify().broken_at is None
    cut_off = store.audit_log.verify(noted)
    assert (cut_off.records, cut_off.broken_at) == (4, 5)
    store.database.change(RECORDS.delete().where(RECORDS.c.seq == 2))
    missing = store.audit_log.verify()
    assert (missing.broken_at, missing.why) == (2, "records 2 to 2 are missing")


@pytest.mark.parametrize("sql", ["UPDATE audit_record SET detail = 'x'", "DELETE FROM audit_record"])
def test_database_refuses_to_change_or_remove_records(store: Store, sql: str) -> None:
    store.audit_log.append(entry())
    with pytest.raises(DBAPIError, match="neither changed nor removed"), store.database.write() as connection:
        connection.execute(sa.text(sql))
    assert store.audit_log.verify().records == 1


def test_postgres_refuses_to_truncate_records(store: Store) -> None:
    if not store.database.postgres:
        return
    store.audit_log.append(entry())
    with pytest.raises(DBAPIError, match="neither changed nor removed"), store.database.write() as connection:
        connection.execute(sa.text("TRUNCATE audit_record"))


def test_refusals_of_a_user_leave_one_record_in_a_while_with_their_number(store: Store) -> None:
    now = [0.0]
    log = AuditLog(store.database, store.codec, store.timings, clock=lambda: now[0])
    for _ in range(1000):
        log.append_refusal(entry(refused="no"))
    assert log.verify().records == 1
    log.append_refusal(AuditEntry.of(ANN, "stack.create", refused="no"))
    now[0] += PACE_SECONDS
    log.append_refusal(entry(refused="no"))
    last, other, first = log.newest(9)
    assert (first.entry.detail, other.entry.action) == ("no", "stack.create")
    assert last.entry.detail == "no (999 more since the last record)"


def test_event_sinks_of_the_settings_receive_records_and_those_of_environments_do_not(store: Store) -> None:
    store.sink_cursors.register(["log"])
    store.audit_log.append(entry("before"))
    store.audit_log.has_events = True
    store.audit_log.append(entry("one"))
    store.audit_log.append(entry("two", refused="no"))
    cursors = store.sink_cursors
    claim = cursors.claim("log", owner="me", lease_seconds=60)
    assert claim is not None
    events = cursors.read(claim, up_to=cursors.horizon.look())
    assert [(each.type, each.action, each.status, each.resource, each.user) for each in events] == [
        ("audit", "node.change", "ALLOWED", "one", "ann"),
        ("audit", "node.change", "REFUSED", "two", "ann"),
    ]
    records = [each.to_dict() for each in store.audit_log.newest(2)]
    assert [json.loads(each.reason) for each in events] == records[::-1]
    assert {each.stack_id for each in events} == {""}
    assert store.observations.events_after(0, 100) == []
    # What all sinks have received is removed with the next record.
    cursors.advance(claim, events[-1].id, state=b"", lease_seconds=60)
    store.audit_log.append(entry("three"))
    left = store.database.column(sa.select(tables.event.c.resource))
    assert list(left) == ["three"]
