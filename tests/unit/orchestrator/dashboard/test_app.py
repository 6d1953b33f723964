"""A dashboard whose database is away, or stands still: it says so, soon, and goes on."""

import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from orchestrator.config.settings import Settings
from orchestrator.dashboard import app
from orchestrator.store.store import Store
from tests.unit.orchestrator.dashboard.serving import client, served
from tests.waiting import PATIENCE_SECONDS

AWAY = "postgresql://isotherm@127.0.0.1:1/nothing"


def test_a_database_that_is_away_is_told_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "PATIENCE_SECONDS", 0.0)
    settings = Settings(broker_url="memory://", database_url=AWAY, state_directory=tmp_path)
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as ask:
        with capture_logs() as lines:
            data = ask.get("/stack/web/actions.json")
            page = ask.get("/stack/web/graph")
        # Nobody waits for it to come back.
        assert not [line for line in lines if "trying again" in line["event"]]
        assert data.status_code == page.status_code == 503
        assert data.json()["error"].startswith("the database does not answer")
        assert "sqlalche.me" not in data.text
        assert "Service Unavailable" in page.text
        assert ask.get("/healthcheck").text == "OK"


def test_a_database_that_stands_still_holds_up_no_page_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "ANSWER_SECONDS", 0.1)
    settings = Settings(broker_url="memory://", database_url=AWAY, state_directory=tmp_path)
    moves = threading.Event()
    with served(settings, Store.of(settings)) as dashboard, client(dashboard) as ask:
        monkeypatch.setattr(dashboard.observer, "head", lambda *_: moves.wait(PATIENCE_SECONDS))
        answers = [ask.get("/stack/web/head.json") for _ in range(app.READERS + 2)]
        moves.set()
    assert {answer.status_code for answer in answers} == {503}
    assert answers[0].json() == {"error": "the database has not answered within 0.1 seconds"}
