"""What `isotherm cache` shows of constraint caches, and how it ends."""

import json

import pytest

from cache.constraints.counters import Counts
from orchestrator.views.caches import CacheView, FlushView
from orchestrator.views.times import iso
from tests.unit.orchestrator.cli.fake_service import NOON, FakeService, Terminal


@pytest.fixture(autouse=True)
def caches(service: FakeService) -> None:
    """One cache that served, and one that nobody asked yet."""
    service.caches_held = [
        CacheView(
            client="http",
            state="ok",
            backend="redis",
            url="redis://***@cache:6379/0",
            detail="all processes share it",
            expiration_seconds=60.0,
            max_entries=10_000,
            entries=3,
            since=NOON,
            counters=Counts(hits=1997, misses=3, generated=3, errors=1),
        ),
        CacheView(client="nova", state="disabled", detail="nothing is remembered of this client"),
    ]
    service.flushes_held = [
        FlushView(client="http", state="flushed", detail="for all processes"),
        FlushView(client="nova", state="ordered", detail="soon"),
    ]


def test_caches_and_what_they_counted_are_two_tables(terminal: Terminal) -> None:
    result = terminal.run("cache", "stats")
    assert result.exit_code == 0
    described, counted = result.stdout.split("\n\n")
    assert described.splitlines()[1].split() == (
        [
            "http",
            "ok",
            "redis",
            "60.0",
            "10000",
            "3",
            "redis://***@cache:6379/0",
            "(all",
            "processes",
            "share",
            "it)",
        ]
    )
    assert counted.splitlines()[1].split() == [
        *("http", "1997", "3", "3", "0", "1", "0", "0"),
        *("99.9%", "2024-03-01T12:00:00Z"),
    ]
    assert counted.splitlines()[2].split() == ["nova", *"0000000"]


def test_programs_get_all_of_it(terminal: Terminal) -> None:
    http, nova = json.loads(terminal.run("cache", "stats", "-f", "json").stdout)
    assert http["counters"] == {
        "hits": 1997,
        "misses": 3,
        "generated": 3,
        "refused": 0,
        "errors": 1,
        "garbage": 0,
        "evicted": 0,
    }
    assert http["hit_rate"] == 0.9985
    assert (http["entries"], http["since"]) == (3, iso(NOON))
    assert (http["enabled"], http["reachable"]) == (True, True)
    assert (nova["enabled"], nova["reachable"]) == (False, None)
    assert (nova["entries"], nova["since"], nova["hit_rate"]) == (None, None, None)


def test_one_client_and_a_reset_are_asked_for(terminal: Terminal, service: FakeService) -> None:
    assert len(json.loads(terminal.run("cache", "stats", "--client", "nova", "-f", "json").stdout)) == 1
    assert service.resets == []
    terminal.run("cache", "stats", "--client", "nova", "--reset")
    terminal.run("cache", "stats", "--reset")
    assert service.resets == ["nova", None]


def test_a_flush_says_what_became_of_it(terminal: Terminal) -> None:
    result = terminal.run("cache", "flush")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["CLIENT", "STATE", "DETAIL"],
        ["http", "flushed", "for", "all", "processes"],
        ["nova", "ordered", "soon"],
    ]
    shown = json.loads(terminal.run("cache", "flush", "--client", "nova", "-f", "json").stdout)
    assert shown == [{"client": "nova", "state": "ordered", "detail": "soon"}]


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("flushed", "disabled"), 0),
        (("wrong", "flushed"), 2),
        (("flushed", "unreachable"), 3),
        (("unreachable", "wrong"), 3),
        ((), 0),
    ],
    ids=["well", "wrong", "unreachable", "both", "none"],
)
def test_the_exit_code_is_that_of_the_worst(
    states: tuple[str, ...], code: int, terminal: Terminal, service: FakeService
) -> None:
    service.flushes_held = [FlushView(client=state, state=state, detail="") for state in states]
    assert terminal.run("cache", "flush").exit_code == code
