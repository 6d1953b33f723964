"""Drift is found and repaired by real processes on a real broker and a real database."""

import json
from pathlib import Path

import psutil

from orchestrator.service import Service
from tests.allowing import everything
from tests.services.engine import running
from tests.services.test_operations import TEMPLATE
from tests.services.test_update import isotherm, service, session  # noqa: F401  # fixtures
from tests.unit.docs.pages import Session
from tests.waiting import until


def test_changes_behind_the_engines_back_are_found_and_repaired(
    session: Session,  # noqa: F811
    service: Service,  # noqa: F811
) -> None:
    (session.directory / "t.yaml").write_text(TEMPLATE)
    (files := session.directory / "files").mkdir()
    session.environment |= everything(files)
    with running([session.start_quickly("isotherm agent --node host1")]):
        change_and_repair(session, service)


def change_and_repair(session: Session, service: Service) -> None:  # noqa: F811
    isotherm(session, "stack", "create", "s", "-t", "t.yaml")
    before = {view.name: view.physical_id for view in service.resources("s")}
    page, process = Path(before["page"] or ""), psutil.Process(int(before["server"] or ""))
    assert json.loads(isotherm(session, "stack", "drift", "detect", "s", "-f", "json")) == []

    page.write_text("tampered")
    process.kill()
    found = json.loads(isotherm(session, "stack", "drift", "detect", "s", "-f", "json"))
    assert [(each["resource"], each["key"], each["recorded"], each["observed"]) for each in found] == [
        ("page", "content", "hello", "tampered"),
        ("server", "", None, None),
    ]
    assert {view.state for view in service.resources("s")} == {"CREATE_COMPLETE"}

    isotherm(session, "stack", "observe", "set", "s", "--mode", "repair", "--interval", "60s")
    isotherm(session, "stack", "drift", "detect", "s")
    until(lambda: service.stack("s").state == "UPDATE_COMPLETE")
    assert page.read_text() == "hello"
    after = {view.name: view.physical_id for view in service.resources("s")}
    assert {name for name in after if after[name] != before[name]} == {"server"}
    assert psutil.Process(int(after["server"] or "")).is_running()
    # The schedule comes to it by itself, soon after a repair.
    until(lambda: not service.drift.drift("s"))
    told = [(each.resource, each.status) for each in service.events("s") if each.action == "DRIFT"]
    assert [each for each in told if each[1] == "RESOLVED"] == [("page", "RESOLVED"), ("server", "RESOLVED")]
    isotherm(session, "stack", "delete", "s", "--yes")
