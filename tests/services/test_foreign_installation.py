"""Processes and commands with another database than the others on a broker take no work from them, and lose none."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.model.messages import CHECKS_QUEUE, STACKS_QUEUE, CheckOrder, StackJob
from orchestrator.queue.celery_app import QueuePublisher, make_app
from orchestrator.service import Service
from orchestrator.store import migrations
from tests.services.engine import EngineProcess, running
from tests.unit.docs.pages import Session
from tests.waiting import PATIENCE_SECONDS, until

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"
ORDER = CheckOrder(stack_id="s", traversal_id="t", no=0, key="it")


class Installation:
    """A database, and those who use it on a broker."""

    def __init__(self, directory: Path, broker_url: str) -> None:
        directory.mkdir()
        self.settings = Settings(
            broker_url=broker_url,
            database_url=f"sqlite:///{directory}/isotherm.db",
            state_directory=directory / "state",
        )
        migrations.upgrade(self.settings.effective_database_url)
        self.session = Session(directory)
        self.session.environment |= {
            "ISOTHERM_BROKER_URL": broker_url,
            "ISOTHERM_DATABASE_URL": self.settings.database_url,
        }
        with Service.open(self.settings) as service:
            self.id = service._store.identity.read()

    def start(self, command: str) -> "subprocess.Popen[str]":
        """Start a process of this installation."""
        return self.session.start_quickly(command)

    def start_patiently(self, command: str) -> "subprocess.Popen[str]":
        """Start a process of this installation that gives the others on the broker more than a second to answer."""
        program = (
            "from orchestrator.queue import processes; processes.ANSWER_SECONDS = 10.0; "
            "from orchestrator.cli.start import main; main()"
        )
        _, *words = shlex.split(command)
        return subprocess.Popen(
            [sys.executable, "-c", program, *words],
            cwd=self.session.directory,
            env=self.session.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def publish(self, order: CheckOrder) -> None:
        """Send a check as a process of this installation does."""
        app = make_app(self.settings, lambda: self.id)
        with app:
            QueuePublisher(app).publish([order])


@pytest.fixture
def broker(redis_url: str) -> Iterator[redis.Redis]:
    """The broker's content."""
    client = redis.Redis.from_url(redis_url)
    yield client
    client.close()


@pytest.fixture
def ours(tmp_path: Path, redis_url: str) -> Installation:
    return Installation(tmp_path / "ours", redis_url)


@pytest.fixture
def theirs(tmp_path: Path, redis_url: str) -> Installation:
    return Installation(tmp_path / "theirs", redis_url)


@contextmanager
def ending(process: "subprocess.Popen[str]") -> Iterator[EngineProcess]:
    """Give a process that is to end by itself."""
    engine = EngineProcess(process)
    try:
        yield engine
    finally:
        engine.process.terminate()
        engine.wait()


@pytest.mark.parametrize("kind", ["worker", "coordinator"])
def test_a_process_with_another_database_than_the_others_does_not_start(
    ours: Installation, theirs: Installation, kind: str
) -> None:
    process = f"isotherm {kind}"
    with running([ours.start("isotherm worker")]), ending(theirs.start_patiently(process)) as engine:
        assert engine.process.wait(PATIENCE_SECONDS) == 2
        assert f"works for the installation {ours.id}" in engine.log
        assert f"this database is that of the installation {theirs.id}" in engine.log
        assert "set ISOTHERM_DATABASE_URL" in engine.log


def test_one_with_the_same_database_starts(ours: Installation) -> None:
    with running([ours.start("isotherm worker")]), running([ours.start("isotherm worker --name w2")]):
        pass


@pytest.mark.parametrize("command", ["worker", "coordinator", "stack list", "dashboard --port=0"])
def test_no_process_and_no_command_takes_a_file_of_its_own_for_the_shared_database(
    ours: Installation, command: str
) -> None:
    del ours.session.environment["ISOTHERM_DATABASE_URL"]
    with ending(ours.start(f"isotherm {command}")) as engine:
        assert engine.process.wait(PATIENCE_SECONDS) == 2
        assert "settings.database_url: there is a broker, and no database" in engine.log
        assert "set ISOTHERM_DATABASE_URL" in engine.log


def test_a_worker_gives_a_foreign_check_back_and_ends(
    ours: Installation, theirs: Installation, broker: redis.Redis
) -> None:
    theirs.publish(ORDER)
    with ending(ours.start("isotherm worker")) as engine:
        assert engine.process.wait(PATIENCE_SECONDS) == 2
        assert f"a message of the installation {theirs.id} came by this broker" in engine.log
    assert broker.llen(CHECKS_QUEUE) == 1


def test_a_check_from_before_there_were_ids_is_taken(ours: Installation, broker: redis.Redis) -> None:
    app = make_app(ours.settings)
    with app:
        QueuePublisher(app).publish([ORDER])
    with running([ours.start("isotherm worker")]):
        until(lambda: broker.llen(CHECKS_QUEUE) == 0)


def test_a_command_with_another_database_says_so_and_its_job_is_not_carried_out(
    ours: Installation, theirs: Installation, broker: redis.Redis
) -> None:
    with running([ours.start("isotherm coordinator")]):
        with Service.open(theirs.settings) as service, pytest.raises(Unavailable) as error:
            service.create(StackJob(name="s", template=TEMPLATE))
        assert f"works for the installation {ours.id}" in str(error.value)
        assert "set ISOTHERM_DATABASE_URL" in str(error.value)
        # The coordinator goes on.
        with Service.open(ours.settings) as service:
            assert service.create(StackJob(name="s", template=TEMPLATE)).name == "s"
            assert [stack.name for stack in service.stacks()] == ["s"]
        until(lambda: broker.llen(STACKS_QUEUE) == 0 and not broker.hlen("unacked"))
