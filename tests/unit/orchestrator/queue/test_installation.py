"""What a process knows of its own installation, and of messages of others."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.queue import installation
from orchestrator.queue.celery_app import make_app
from orchestrator.queue.installation import (
    WAITED_SECONDS,
    ForeignJobs,
    LazyId,
    installations_on,
    setups_on,
)
from orchestrator.store.store import Store
from tests.migrated import migrate
from tests.waiting import PATIENCE_SECONDS


def test_a_foreign_job_goes_back_as_long_as_its_sender_waits() -> None:
    now = 0.0
    jobs = ForeignJobs(lambda: now)
    assert jobs.is_waited_for("a")
    now = WAITED_SECONDS - 1
    assert jobs.is_waited_for("a")
    assert jobs.is_waited_for("b")
    now = WAITED_SECONDS
    assert not jobs.is_waited_for("a")
    assert jobs.is_waited_for("b")


def test_the_id_is_read_once_and_again_only_if_the_database_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[str | Exception] = [Unavailable("away"), "id"]
    asked = 0

    def read() -> str:
        nonlocal asked
        asked += 1
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    own = LazyId(read)
    assert [own(), own()] == ["", ""]
    assert asked == 1, "not again so soon"
    monkeypatch.setattr(installation, "AGAIN_SECONDS", 0.0)
    own = LazyId(read)
    answers.insert(0, Unavailable("away"))
    assert [own(), own(), own()] == ["", "id", "id"]
    assert asked == 3


def test_the_id_is_made_once_and_read_once_by_a_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    migrate(url)
    first, second = (Store.of(Settings(database_url=url)) for _ in range(2))
    own = first.identity.read()
    assert own == second.identity.read()
    first.close()
    # Without a connection to the database.
    (tmp_path / "isotherm.db").unlink()
    assert first.identity.read() == own
    second.close()


def test_many_threads_that_ask_the_others_on_a_broker_do_not_wait_for_each_other() -> None:
    """Who asks may have a connection; nobody may hold one while it waits for another, as the last one is taken then."""
    asked = list[str]()
    with make_app(Settings(broker_url="memory://many-threads")) as app, ExitStack() as held:
        for _ in range(app.pool.limit - 1):
            held.enter_context(app.pool.acquire(block=True))

        def ask() -> None:
            for question in (installations_on, setups_on):
                assert question(app, timeout_seconds=0.01) == {}
                asked.append(question.__name__)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
    assert asked == ["installations_on", "setups_on"]
