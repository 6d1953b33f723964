"""What the service says when the rest of the engine does not answer."""

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.config.settings import Settings
from orchestrator.errors import Unavailable
from orchestrator.model.messages import StackJob
from orchestrator.processes import job_client
from orchestrator.processes.runtime import Runtime
from orchestrator.service import Service
from orchestrator.tracing.tracer import Tracing
from tests.migrated import migrate
from tests.unit.orchestrator.tasks.jobs import Silent

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


def distributed_in(directory: Path) -> Settings:
    """Return settings with a broker, and a database of the test."""
    return Settings(
        state_directory=directory, broker_url="memory://", database_url=f"sqlite:///{directory}/isotherm.db"
    )


def test_a_sender_waits_longer_for_a_coordinator_that_has_taken_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_client, "ACCEPT_SECONDS", 0.01)
    monkeypatch.setattr(job_client, "ANSWER_SECONDS", 0.5)
    settings = distributed_in(tmp_path)
    migrate(settings.effective_database_url)
    with Service.open(settings) as distributed:
        job = StackJob(name="s", template=TEMPLATE)
        distributed._store.taken_jobs.add(job.job_id, {}, project="default", task=job.task)
        with pytest.raises(Unavailable, match=r"took the job and has not answered within 0\.5 seconds"):
            distributed.create(job)


def test_a_sender_whom_nobody_answers_is_not_promised_what_only_the_broker_can_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_client, "ACCEPT_SECONDS", 0.01)
    settings = distributed_in(tmp_path)
    migrate(settings.effective_database_url)
    with Service.open(settings) as distributed, pytest.raises(Unavailable) as error:
        distributed.create(StackJob(name="s", template=TEMPLATE))
    assert str(error.value).endswith(
        "is 'isotherm coordinator' running? If the broker keeps the job, it is done when one starts"
    )


def test_operation_that_a_coordinator_began_is_made_known_to_the_tracer(tmp_path: Path) -> None:
    settings = distributed_in(tmp_path)
    migrate(settings.effective_database_url)
    job = StackJob(name="s", template=TEMPLATE)
    known: list[str] = []

    class Recorder(Tracing):
        def began(self, traversal_id: str) -> None:
            known.append(traversal_id)

    Runtime(settings, Silent(), kind="coordinator").coordinator.begin(job)
    with Service.open(settings) as distributed:
        client = job_client.JobClient(settings, distributed._store, tracing=Recorder())
        stack_id = client._answer(job.job_id, "")
        assert known == [distributed.stack(stack_id).traversal_id]


def test_a_failed_stack_whose_rollback_began_just_now_is_not_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = distributed_in(tmp_path)
    migrate(settings.effective_database_url)
    coordinator = Runtime(settings, Silent(), kind="coordinator").coordinator
    coordinator.create(StackJob(name="s", template=TEMPLATE))
    with Service.open(settings) as distributed:
        now = distributed._find("s")
        rows = [replace(now, status="FAILED", traversal_id="before"), now]
        monkeypatch.setattr(distributed._store.stacks, "find", lambda *_, **__: rows.pop(0))
        assert not distributed.progress("s").finished
        rows = [replace(now, status="FAILED")] * 2
        assert distributed.progress("s").finished


def test_so_it_is_where_the_command_does_the_work_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last words about what failed are said once the rollback has begun."""
    with Service.open(Settings(state_directory=tmp_path)) as embedded:
        stack = embedded.create(StackJob(name="s", template=TEMPLATE))
        assert list(embedded.watch(stack.id, interval_seconds=0.01))[-1].finished
        now = embedded._find("s")
        rows = [replace(now, status="FAILED"), replace(now, traversal_id="rollback")]
        monkeypatch.setattr(embedded._store.stacks, "find", lambda *_, **__: rows.pop(0))
        assert not embedded.progress("s").finished
