"""Streams over HTTP: what was missed first, then what happens, and how it stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from orchestrator.config.settings import Settings
from orchestrator.dashboard.app import Dashboard
from orchestrator.dashboard.handlers.streams import StreamHandler
from orchestrator.store import tables
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.waiting import until

PROJECT = "p"


def written(store: Store, *stacks: str, project: str = PROJECT, within: str = "") -> list[int]:
    """Write an event of each stack, which is made where it is not there yet; return the events' ids.

    ``within`` is the id of the stack that they are in, which is in ``web`` or is that itself.
    """
    ids = []
    with store.database.write() as connection:
        for name in stacks:
            stack: dict[str, Any] = {
                "id": f"{name}-id",
                "name": name,
                "project": project,
                "root_id": f"{name}-id",
            }
            stack |= {"action": "CREATE", "status": "COMPLETE", "traversal_id": "t", "template_id": "d"}
            if within:
                stack |= {"parent_id": within, "root_id": "web-id", "depth": 1}
            times = {"timeout_minutes": 1.0, "created_at": 1.0, "updated_at": 1.0}
            known = connection.execute(tables.stack.select().where(tables.stack.c.id == stack["id"])).first()
            if known is None:
                connection.execute(tables.stack.insert().values(**stack, **times))
            event = {"at": 1.0, "stack_id": stack["id"], "traversal_id": "t", "resource": "port"}
            event |= {"action": "CREATE", "status": "COMPLETE"}
            done = connection.execute(tables.event.insert().values(**event))
            ids.append(int(done.inserted_primary_key[0]))  # type: ignore[index]  # it always has one
    return ids


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("streams") / "isotherm.db"
    store = Store(f"sqlite:///{path}")
    with store.database.write() as connection:
        tables.metadata.create_all(connection)
    return store


@pytest.fixture(scope="module")
def dashboard(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    settings = Settings(project=PROJECT, state_directory=Path(tmp_path_factory.mktemp("state")))
    with served(settings, store) as dashboard:
        # It hears of what happens from its first look on: what tests write before that would be the past.
        until(lambda: dashboard.hub.position is not None)
        yield dashboard


def messages(answer: httpx.Response) -> Iterator[tuple[str, int | None, Any]]:
    """Yield what a stream says: event, id, data."""
    name, number, data = "", None, None
    for line in answer.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "id":
            number = int(value)
        elif field == "data":
            data = json.loads(value)
        elif not line and name:
            yield name, number, data
            name, number, data = "", None, None


def of(said: Iterator[tuple[str, int | None, Any]], event: str) -> tuple[int | None, Any]:
    """Return the next message of a kind."""
    return next((number, data) for name, number, data in said if name == event)


def ids_up_to(answer: httpx.Response, last: int) -> list[int]:
    """Return the ids of all events that a stream tells of, up to one of them; in one message or in several."""
    ids: list[int] = []
    said = messages(answer)
    while last not in ids:
        ids += [event["id"] for event in of(said, "events")[1]]
    return ids


def test_what_was_missed_comes_first_and_what_happens_then_follows(
    store: Store, dashboard: Dashboard
) -> None:
    first, second = written(store, "web", "web")
    with client(dashboard) as http, http.stream("GET", f"/stack/web/stream?since={first}") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert (answer.headers["x-accel-buffering"], answer.headers["cache-control"]) == ("no", "no-store")
        said = messages(answer)
        number, events = of(said, "events")
        assert (number, [event["id"] for event in events]) == (second, [second])
        assert (events[0]["stack"], events[0]["resource"]) == ("web", "port")
        (third,) = written(store, "web")
        _, events = of(said, "events")
        assert [event["id"] for event in events] == [third]


def test_a_browser_that_comes_again_goes_on_where_it_was(store: Store, dashboard: Dashboard) -> None:
    first, second, third = written(store, "web", "web", "web")
    headers = {"Last-Event-ID": str(second)}
    with (
        client(dashboard) as http,
        http.stream("GET", f"/stack/web/stream?since={first}", headers=headers) as answer,
    ):
        _, events = of(messages(answer), "events")
        assert [event["id"] for event in events] == [third]


def test_a_stream_of_one_stack_tells_of_no_other_and_one_of_all_tells_of_the_project(
    store: Store, dashboard: Dashboard
) -> None:
    web, db = written(store, "web", "db")
    (foreign,) = written(store, "theirs", project="q")
    (last,) = written(store, "web")
    with client(dashboard) as http:
        with http.stream("GET", f"/stack/web/stream?since={web - 1}") as answer:
            assert ids_up_to(answer, last) == [web, last]
        with http.stream("GET", f"/stacks/stream?since={web - 1}") as answer:
            assert ids_up_to(answer, last) == [web, db, last]
    assert web < foreign < last


def test_stacks_in_a_stack_are_told_of_when_they_are_asked_for(store: Store, dashboard: Dashboard) -> None:
    (web,) = written(store, "web")
    (child,) = written(store, "child", within="web-id")
    (grandchild,) = written(store, "grandchild", within="child-id")
    (last,) = written(store, "web")
    with client(dashboard) as http:
        for path, ids in {
            "/stack/web/stream?": [web, last],
            "/stack/web/stream?nested=1&": [web, child, grandchild, last],
            "/stack/child/stream?nested=1&": [child, grandchild],
        }.items():
            with http.stream("GET", f"{path}since={web - 1}") as answer:
                assert ids_up_to(answer, ids[-1]) == ids
        # One that comes while somebody listens.
        with http.stream("GET", "/stack/web/stream?nested=1") as answer:
            said = messages(answer)
            of(said, "tick")
            (new,) = written(store, "new", within="web-id")
            _, events = of(said, "events")
            assert [event["id"] for event in events] == [new]


def test_it_is_said_that_all_is_well_and_up_to_where_though_nothing_happens(
    store: Store, dashboard: Dashboard
) -> None:
    _, newest = written(store, "web", "db")
    with client(dashboard) as http, http.stream("GET", "/stack/web/stream") as answer:
        said = messages(answer)
        number, first = of(said, "tick")
        later = first
        while number != newest or later["as_of"] <= first["as_of"]:
            number, later = of(said, "tick")


def test_who_names_an_event_that_never_was_begins_anew(dashboard: Dashboard) -> None:
    with client(dashboard) as http, http.stream("GET", "/stacks/stream?since=999999999") as answer:
        number, _ = of(messages(answer), "resync")
        assert number is not None


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/stack/wbe/stream", 404, "wbe"),
        ("/stacks/stream?since=yesterday", 400, "found 'yesterday'"),
        ("/stacks/stream?since=-1", 400, "found '-1'"),
        ("/stack/theirs/stream", 404, "theirs"),
    ],
)
def test_what_cannot_be_followed_is_told_in_a_sentence(
    store: Store, dashboard: Dashboard, path: str, status: int, words: str
) -> None:
    written(store, "theirs", project="q")
    with client(dashboard) as http:
        answer = http.get(path)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_who_takes_nothing_of_what_is_told_listens_no_more(
    store: Store, dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamHandler, "patience_seconds", 0.2)
    # More than the system keeps for somebody who does not read.
    monkeypatch.setattr("orchestrator.dashboard.handlers.streams.PING", b": " + b"x" * 8_000_000 + b"\n\n")
    monkeypatch.setattr("orchestrator.dashboard.handlers.streams.PING_SECONDS", 0.01)
    listen = Mock(wraps=dashboard.hub.listen)
    # Those of other tests may not have gone yet, and this one may go before anybody looks: so it is noted.
    monkeypatch.setattr(dashboard.hub, "listen", listen)
    with client(dashboard) as http, http.stream("GET", "/stacks/stream") as answer:
        of(messages(answer), "tick")
        listen.assert_called_once()
        until(lambda: not dashboard.hub.listeners)


def test_a_stream_ends_with_its_browser(dashboard: Dashboard) -> None:
    with client(dashboard) as http:
        with http.stream("GET", "/stacks/stream") as answer:
            of(messages(answer), "tick")
            assert dashboard.hub.listeners >= 1
        with http.stream("GET", "/stacks/stream") as answer:
            for name, _, _ in messages(answer):
                # Whoever is gone is noticed at the next word to him, at the latest.
                if name == "tick" and dashboard.hub.listeners == 1:
                    break
