"""A coordinator process in a test, whose tasks have a broker in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from kombu.transport.memory import Channel

from orchestrator import tasks
from orchestrator.config.settings import Settings
from orchestrator.keys.key import JOB
from orchestrator.keys.key_file import LiveKeys, write_keys
from orchestrator.keys.rotation import OWN, created
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import make_app
from tests.migrated import migrate
from tests.unit.orchestrator.tasks.jobs import runtime_in


@pytest.fixture(autouse=True)
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """The app of the tasks, with a broker in memory."""
    with make_app(Settings(broker_url="memory://")) as app:
        monkeypatch.setattr(tasks, "default_app", lambda: app)
        monkeypatch.setattr(tasks, "_turns", tasks._Turns())
        yield app
        Channel.queues.clear()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    """This process's share of the engine, on a database of the test."""
    runtime = runtime_in(tmp_path)
    migrate(runtime.settings.effective_database_url)
    monkeypatch.setattr(tasks, "runtime", lambda: runtime)
    yield runtime
    runtime.close()


@pytest.fixture
def users(app: Celery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The users alice, an operator of acme, and rita, a reader of acme and beta, have keys."""
    keys = created([], OWN)
    keys += created(keys, [JOB], user="alice", projects="acme", role="operator")
    keys += created(keys, [JOB], user="rita", projects="acme,beta", role="reader")
    write_keys(tmp_path / "keys.json", keys)
    monkeypatch.setattr(app, "keys", LiveKeys(tmp_path / "keys.json"))
