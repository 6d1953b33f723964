"""What the service says when the rest of the engine does not answer."""

from pathlib import Path

import pytest

from orchestrator import service
from orchestrator.errors import Unavailable
from orchestrator.messages import StackJob
from orchestrator.service import Service
from orchestrator.settings import Settings
from orchestrator.store import migrations

TEMPLATE = "heat_template_version: 2021-04-16\nresources: {it: {type: OS::Heat::None}}"


def test_a_sender_waits_longer_for_a_coordinator_that_has_taken_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ACCEPT_SECONDS", 0.01)
    monkeypatch.setattr(service, "ANSWER_SECONDS", 0.5)
    settings = Settings(state_directory=tmp_path, broker_url="memory://")
    migrations.upgrade(settings.effective_database_url)
    with Service.open(settings) as distributed:
        job = StackJob(name="s", template=TEMPLATE)
        distributed._store.taken_jobs.take(job.job_id)
        with pytest.raises(Unavailable, match=r"took the job and has not answered within 0\.5 seconds"):
            distributed.create(job)


def test_a_sender_whom_nobody_answers_is_not_promised_what_only_the_broker_can_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ACCEPT_SECONDS", 0.01)
    settings = Settings(state_directory=tmp_path, broker_url="memory://")
    migrations.upgrade(settings.effective_database_url)
    with Service.open(settings) as distributed, pytest.raises(Unavailable) as error:
        distributed.create(StackJob(name="s", template=TEMPLATE))
    assert str(error.value).endswith(
        "is 'isotherm coordinator' running? If the broker keeps the job, it is done when one starts"
    )
