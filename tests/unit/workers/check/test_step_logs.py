"""The log lines of steps: kept with the resource by the check, and without what is hidden."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from orchestrator.cli.logs import configure_logs
from orchestrator.config.settings import Settings
from orchestrator.model.messages import StackJob
from orchestrator.processes.runtime import Runtime
from orchestrator.store import migrations, tables
from orchestrator.store.nodes.step_logs import StepLogs
from tests.unit.workers.check.test_remembered import Kept
from workers.resources.core.test_resource import TestResource

HIDDEN = "quince-8822"
TEMPLATE = f"""
heat_template_version: 2021-04-16
parameters:
  password: {{type: string, hidden: true, default: {HIDDEN}}}
resources:
  talks: {{type: OS::Heat::TestResource, properties: {{value: {{get_param: password}}}}}}
  also: {{type: OS::Heat::TestResource, properties: {{value: talk}}}}
  b: {{type: OS::Heat::TestResource, properties: {{value: talk}}}}
  c: {{type: OS::Heat::TestResource, properties: {{value: talk}}}}
  fails: {{type: OS::Heat::TestResource, properties: {{fail: true, value: talk}}}}
  quiet: {{type: OS::Heat::TestResource}}
"""


@pytest.fixture
def talking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the type log what it stores, but for the default."""
    made = TestResource.handle_create

    def handle_create(self: TestResource) -> object:
        if self.properties["value"] != "test_string":
            structlog.get_logger().info("stored", value=self.properties["value"], where="here")
        return made(self)

    monkeypatch.setattr(TestResource, "handle_create", handle_create)
    config, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure_logs(Settings())
    yield
    structlog.configure(**config)
    root.handlers[:] = handlers
    root.setLevel(level)


def ran(tmp_path: Path, *, at_once: bool, **settings: Any) -> dict[str, list[tuple[str, str]]]:
    """Create a stack, its resources together or one by one; return the lines of each resource that has any."""
    url = f"sqlite:///{tmp_path / 'isotherm.db'}"
    migrations.upgrade(url)
    kept = Kept()
    runtime = Runtime(
        Settings(state_directory=tmp_path, database_url=url, quick_step_seconds=1.0, **settings),
        kept,
        kind="test",
    )
    runtime.coordinator.create(StackJob(name="s", template=TEMPLATE))
    # A failure ends the operation.
    orders = sorted(kept.checks(), key=lambda order: order.key == "fails")
    for some in (orders,) if at_once else [[order] for order in orders]:
        runtime.checker.check(some)
    store = runtime.store
    stack = store.stacks.find("s", project="default")
    states = {row.name: row.status for row in store.stacks.resources(stack.id)}
    done = dict.fromkeys(("also", "b", "c", "quiet", "talks"), "COMPLETE")
    assert states == {**done, "fails": "FAILED"}
    found = {
        name: [
            (line.level, line.message)
            for row in store.step_logs.of(stack.id, name, limit=99, seconds=9999.0)
            for line in row.log.lines
        ]
        for name in states
    }
    rows = len(store.database.rows(tables.step_log.select()))
    assert rows == sum(1 for each in found.values() if each)
    runtime.close()
    return {name: lines for name, lines in found.items() if lines}


@pytest.mark.usefixtures("talking")
@pytest.mark.parametrize("at_once", [True, False])
def test_a_step_keeps_its_lines_without_hidden_values_and_a_silent_one_has_no_row(
    tmp_path: Path, at_once: bool
) -> None:
    assert ran(tmp_path, at_once=at_once) == {
        "talks": [("info", "stored value=****** where=here")],
        **{name: [("info", "stored value=talk where=here")] for name in ("also", "b", "c", "fails")},
    }


@pytest.mark.usefixtures("talking")
def test_no_lines_are_kept_where_the_setting_says_so(tmp_path: Path) -> None:
    assert ran(tmp_path, at_once=True, max_log_lines_per_resource=0) == {}


@pytest.mark.usefixtures("talking")
def test_a_step_is_recorded_also_where_its_lines_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(StepLogs, "add", fail)
    assert ran(tmp_path, at_once=True) == {}
