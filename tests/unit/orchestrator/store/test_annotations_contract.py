"""What every store promises to what lifecycle plugins say."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.errors import ReadOnly
from orchestrator.model.purge import Purge
from orchestrator.store import tables
from tests.unit.orchestrator.store.conftest import Bench


def say(bench: Bench, said: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> None:
    """Put on record what plugins said, by stack, plugin and resource."""
    rows = [
        {
            "stack_id": stack,
            "plugin": plugin,
            "resource": resource,
            "value": bench.store.codec.pack(value, ("annotation", "value", stack, plugin, resource)),
        }
        for (stack, plugin, resource), value in said.items()
    ]
    with bench.store.database.write() as connection:
        connection.execute(tables.annotation.insert(), rows)


SAID: Mapping[tuple[str, str, str], Mapping[str, Any]] = {
    ("s1", "placement", "server"): {"host": "n1"},
    ("s1", "cost", "server"): {"euros": [1, 2]},
    ("s1", "cost", ""): {"euros": 7},
    ("s2", "cost", "server"): {"euros": 3},
}


def test_what_was_said_of_one_thing_is_read_by_plugin(bench: Bench) -> None:
    say(bench, SAID)
    of = bench.store.annotations.of
    assert of("s1", "server") == {"cost": {"euros": [1, 2]}, "placement": {"host": "n1"}}
    assert of("s1") == {"cost": {"euros": 7}}
    assert of("s2") == of("s1", "disk") == of("s3", "server") == {}
    with pytest.raises(ReadOnly):
        of("s1", "server")["cost"]["euros"].append(3)


def test_what_was_said_of_stacks_is_read_whole(bench: Bench) -> None:
    say(bench, SAID)
    assert bench.store.annotations.all(["s1", "s3"]) == {
        ("s1", "server"): {"cost": {"euros": [1, 2]}, "placement": {"host": "n1"}},
        ("s1", ""): {"cost": {"euros": 7}},
    }
    assert bench.store.annotations.all([]) == {}


def test_it_is_read_as_it_is_when_somebody_looks_and_then_stays(bench: Bench) -> None:
    looked_at = bench.store.annotations.when_looked_at("s1", "server")
    say(bench, SAID)
    assert looked_at["placement"] == {"host": "n1"}
    with bench.store.database.write() as connection:
        connection.execute(tables.annotation.delete())
    assert list(looked_at) == ["cost", "placement"]


def test_it_goes_for_good_with_its_stack(bench: Bench) -> None:
    bench.run_all(bench.begin({"a": set()}, stack="gone"))
    bench.run_all(bench.begin({"a": set()}, stack="stays"))
    say(bench, {("gone-id", "cost", "a"): {"euros": 1}, ("stays-id", "cost", "a"): {"euros": 2}})
    with bench.store.database.write() as connection:
        gone = tables.stack.c.id == "gone-id"
        deleted = {"action": "DELETE", "status": "COMPLETE", "deleted_at": bench.clock.now}
        connection.execute(tables.stack.update().where(gone).values(**deleted))
    bench.clock.pass_(1e6)
    list(bench.store.purger.purge(Purge(older_than_seconds=1, grace_seconds=1, max_events_per_stack=10)))
    assert bench.store.stacks.by_id("gone-id") is None
    assert bench.store.annotations.all(["gone-id", "stays-id"]) == {("stays-id", "a"): {"cost": {"euros": 2}}}
