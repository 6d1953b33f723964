"""All sinks are shown that are to be told something, or have been; those that are gone can be forgotten."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.events import EventSink
from hooks.loading.entry import Entry
from orchestrator.config.settings import Settings
from orchestrator.doctor.check import Check
from orchestrator.doctor.sinks import LONG_SECONDS, check_event_sinks, check_sink, check_sinks_of_stacks
from orchestrator.errors import Conflict, NotFound
from orchestrator.sinks.admin import forget_sink, sink_views
from orchestrator.store import tables
from orchestrator.store.store import Store
from orchestrator.views.sinks import SinkView
from tests.migrated import migrate


class Mail(EventSink):
    """At work once it is installed."""


class Quiet(EventSink):
    """Only at work where the settings say so."""

    enabled_by_default = False


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sinks are installed; one of them cannot be loaded."""
    found = {"mail": f"{__name__}:Mail", "quiet": f"{__name__}:Quiet", "broken": f"{__name__}:Gone"}
    entries = [Entry(name, value, "isotherm.event_sinks") for name, value in found.items()]
    monkeypatch.setattr("hooks.loading.entries.entry_points", lambda **_: entries)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state_directory=tmp_path, max_sink_backlog_events=100)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    migrate(settings.effective_database_url)
    store = Store.of(settings)
    yield store
    store.close()


def name_in_environment(store: Store, name: str = "id-of-web:0", kind: str = "webhook") -> None:
    values = {"name": name, "type": kind, "stack_id": name.partition(":")[0], "position": 0, "created_at": 0}
    with store.database.write() as connection:
        connection.execute(tables.sink_cursor.insert().values(values))


def test_those_to_be_told_and_those_that_were_are_shown(store: Store, settings: Settings) -> None:
    store.sink_cursors.register(["mail", "gone"])
    name_in_environment(store)
    views = sink_views(store.sink_cursors, settings)
    assert [(view.name, view.enabled, view.position) for view in views] == [
        ("gone", False, 0),
        ("mail", True, 0),
        ("id-of-web:0", False, 0),
    ]
    more = settings.with_values(
        event_sinks={"quiet": {"enabled": True}}, environment_event_sinks=("webhook",)
    )
    views = sink_views(store.sink_cursors, more)
    assert [(view.name, view.enabled, view.position) for view in views] == [
        ("gone", False, 0),
        ("mail", True, 0),
        ("quiet", True, None),
        ("id-of-web:0", True, 0),
    ]


def test_who_is_gone_is_forgotten_and_who_is_enabled_is_not(store: Store, settings: Settings) -> None:
    store.sink_cursors.register(["mail", "gone"])
    name_in_environment(store)
    with pytest.raises(Conflict, match="event sink 'mail' is enabled: say settings"):
        forget_sink(store.sink_cursors, settings, "mail")
    with pytest.raises(NotFound, match="no event sink 'gome' is known; did you mean 'gone'"):
        forget_sink(store.sink_cursors, settings, "gome")
    forget_sink(store.sink_cursors, settings, "gone")
    forget_sink(store.sink_cursors, settings, "id-of-web:0")
    assert [row.name for row in store.sink_cursors.all()] == ["mail"]
    disabled = settings.with_values(event_sinks={"mail": {"enabled": False}})
    forget_sink(store.sink_cursors, disabled, "mail")
    with pytest.raises(NotFound, match="no event sink 'mail' is known; there is none"):
        forget_sink(store.sink_cursors, disabled, "mail")


def view(**fields: object) -> SinkView:
    given = {"name": "mail", "type": "mail", "enabled": True, "position": 7, **fields}
    return SinkView(**given)  # type: ignore[arg-type]  # of as many types as there are fields


@pytest.mark.parametrize(
    ("fields", "detail", "hint"),
    [
        ({}, "everything has been delivered", ""),
        ({"position": None}, "nothing has been delivered yet", ""),
        (
            {"backlog": 3, "behind_seconds": 2.4, "lost": 8},
            "3 events wait for it, the first for 2 s; 8 were lost",
            "",
        ),
        (
            {"backlog": 3, "behind_seconds": LONG_SECONDS + 1},
            "3 events wait for it, the first for 61 s",
            "isotherm coordinator",
        ),
        ({"backlog": 51}, "51 events wait for it, the first for 0 s", "it is too slow"),
        (
            {"backlog": 3, "failing_since": 5.0, "failing_seconds": 90.0, "error": "connection refused"},
            "3 events wait for it, the first for 0 s; failing for 90 s: connection refused",
            "correct the error",
        ),
        (
            {"enabled": False, "failing_since": 5.0, "failing_seconds": 9.0, "error": "gone"},
            "not enabled here; everything has been delivered; failing for 9 s: gone",
            "isotherm event-sink forget mail",
        ),
        (
            {"enabled": False},
            "not enabled here; everything has been delivered",
            "isotherm event-sink forget mail",
        ),
    ],
)
def test_the_doctor_says_how_far_behind_a_sink_is_and_why(
    settings: Settings, fields: dict[str, object], detail: str, hint: str
) -> None:
    distributed = settings.with_values(broker_url="redis://localhost")
    check = check_sink(view(**fields), distributed)
    assert (check.name, check.ok, check.detail) == ("event sink mail", not hint, detail)
    assert hint in check.hint
    assert check.is_service is ("failing_since" in fields and "enabled" not in fields)


def test_between_two_commands_of_embedded_mode_events_may_wait(settings: Settings) -> None:
    assert check_sink(view(backlog=3, behind_seconds=86400.0), settings).ok


def test_the_doctor_tells_of_all_sinks_of_environments_at_once(settings: Settings) -> None:
    said = {"stack_id": "x", "enabled": True}
    fine, slow = view(stack="web", **said), view(stack="db", backlog=4, behind_seconds=12.0, **said)
    assert check_sinks_of_stacks([fine, slow], settings) == Check(
        name="event sinks of environments",
        ok=True,
        detail="2 sinks; 4 events wait, of stack db for 12 s",
    )
    dead = view(stack="shop", failing_since=1.0, failing_seconds=99.0, error="gone", **said)
    check = check_sinks_of_stacks([fine, slow, dead], settings)
    assert not check.ok
    assert check.detail.endswith("; 1 failing, that of stack shop for 99 s: gone")
    assert check.hint == "see their errors with: isotherm event-sink list"


def test_the_doctor_tells_of_sinks_of_environments_that_nobody_tells(settings: Settings) -> None:
    old = view(stack="web", stack_id="x", backlog=2, behind_seconds=LONG_SECONDS + 1)
    forbidden = view(stack="web", stack_id="x", backlog=2, behind_seconds=1.0, enabled=False)
    quiet = view(stack="web", stack_id="x", enabled=False)
    distributed = settings.with_values(broker_url="redis://localhost")
    # Between two commands of embedded mode events may wait.
    assert check_sinks_of_stacks([old, quiet], settings).ok
    late = check_sinks_of_stacks([old, quiet], distributed)
    assert not late.ok
    assert "is a coordinator running" in late.hint
    unheard = check_sinks_of_stacks([old, forbidden], settings)
    assert not unheard.ok
    assert unheard.detail.endswith("; 1 of them are not enabled here")
    assert "environment_event_sinks does not have mail" in unheard.hint


def test_the_doctor_looks_into_the_database(store: Store, settings: Settings) -> None:
    store.sink_cursors.register(["gone"])
    name_in_environment(store)
    found = {check.name: check for check in check_event_sinks(settings)}
    assert list(found) == ["event sink gone", "event sink mail", "event sinks of environments"]
    assert not found["event sink gone"].ok


def test_of_a_sink_that_was_never_made_the_doctor_says_here_nothing(store: Store, settings: Settings) -> None:
    wrong = settings.with_values(event_sinks={"mail": {"enabled": True, "adress": "x"}})
    assert list(check_event_sinks(wrong)) == []
    store.sink_cursors.register(["mail"])
    assert [check.name for check in check_event_sinks(wrong)] == ["event sink mail"]
