"""A check returns the resources that failed for good, by which a task is shown as failed."""

from pathlib import Path
from typing import Any

import pytest

import workers.tasks
from orchestrator.config.settings import Settings
from orchestrator.model.messages import CHECK_TASK, StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.queue.celery_app import default_app
from orchestrator.store import migrations
from tests.unit.workers.check.test_remembered import Kept

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  good: {type: OS::Heat::TestResource}
  bad: {type: OS::Heat::TestResource, properties: {fail: true}}
"""


def test_a_check_names_what_failed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    migrations.upgrade(url)
    kept = Kept()
    runtime = Runtime(Settings(state_directory=tmp_path, database_url=url), kept, kind="test")
    runtime.coordinator.create(StackJob(name="s", template=TEMPLATE))
    failed = {order.key: runtime.checker.check((order,)) for order in tuple(kept.checks())}
    assert failed == {"good": (), "bad": ("bad",)}
    runtime.close()


def test_a_task_with_a_failed_resource_fails_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        @property
        def checker(self) -> Any:
            return self

        def check(self, _orders: Any) -> tuple[str, ...]:
            return ("bad", "worse")

    monkeypatch.setattr(workers.tasks, "runtime", Failing)
    with pytest.raises(workers.tasks.ResourcesFailed, match="bad, worse"):
        workers.tasks.check_resources(["s", "t", "web", []])
    task = default_app().tasks[CHECK_TASK]
    assert task.throws == (workers.tasks.ResourcesFailed,)
