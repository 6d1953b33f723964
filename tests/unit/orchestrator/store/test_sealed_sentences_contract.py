"""Reasons in every table: encrypted once there is a key, read as they were written, and compared as before."""

import sqlalchemy as sa

from orchestrator.store.nodes.claims import Ending, Outcome
from orchestrator.store.tables import metadata
from orchestrator.store.tables.schema import Sentence
from tests.unit.orchestrator.store.conftest import KEY, Bench

OTHER = "bXktb3RoZXIta2V5LW9mLTMyLWJ5dGVzLWhlcmUhISE="
WHY = "the marker of a reason"


def stored(bench: Bench) -> list[str]:
    """Return all sentences as they are in the database."""
    found: list[str] = []
    with bench.store.database.read() as connection:
        for table in metadata.sorted_tables:
            for column in table.c:
                if isinstance(column.type, Sentence):
                    sql = sa.text(f"SELECT {column.name} FROM {table.name} WHERE {column.name} <> ''")
                    found += connection.execute(sql).scalars()
    return found


def fail(bench: Bench, stack: str, why: str = WHY) -> None:
    """Try a resource twice in vain."""
    (order,) = bench.begin({"a": set()}, stack=stack)
    bench.finish(bench.claim(order), Ending.RETRY, seconds=1, reason=why)
    bench.clock.pass_(1000)
    again = next(each for each in bench.sweep() if (each.stack, each.key) == (stack, "a"))
    bench.finish(bench.claim(again), Ending.FAILED, reason=why)


def read(bench: Bench, stack: str) -> list[str]:
    """Return the reasons of a stack, its resource and its events as they are shown."""
    row = bench.store.stacks.by_id(f"{stack}-id")
    assert row is not None
    events = bench.store.events.read(row.id, limit=100)
    return [
        row.reason,
        *(each.reason for each in bench.store.stacks.resources(row.id)),
        *(e.reason for e in events),
    ]


def test_reasons_are_encrypted_in_every_table_and_read_as_they_were(bench: Bench) -> None:
    bench.store.database.seal_sentences([KEY])
    fail(bench, "s")
    assert stored(bench)
    assert [each for each in stored(bench) if not each.startswith("\x01sealed:")] == []
    shown = read(bench, "s")
    assert f"Resource CREATE failed: resources.a: {WHY}" in shown
    assert shown.count(WHY) == 3, "of the resource, of its retry and of its failure"


def test_reasons_from_before_the_key_and_of_an_old_key_are_read(bench: Bench) -> None:
    bench.store.database.seal_sentences(())
    fail(bench, "plain")
    assert WHY in stored(bench)
    bench.store.database.seal_sentences([OTHER])
    fail(bench, "old")
    bench.store.database.seal_sentences([KEY, OTHER])
    fail(bench, "new")
    for stack in ("plain", "old", "new"):
        assert WHY in read(bench, stack)


def test_unlimited_retries_record_one_event_for_each_new_reason_though_it_is_encrypted(bench: Bench) -> None:
    bench.store.database.seal_sentences([KEY])
    (order,) = bench.begin({"a": set()})
    whys = ["first", "first", "second", "second", "first"]
    for why in whys:
        claim = bench.claim(order)
        outcome = Outcome(ending=Ending.RETRY, reason=why, seconds=1, counts=False)
        bench.store.nodes.finish(claim, outcome)
        bench.clock.pass_(20)
        (order,) = bench.sweep()
    reasons = [each.reason for each in bench.store.events.read("s-id", limit=100) if each.reason]
    assert reasons == ["first", "second", "first"]
