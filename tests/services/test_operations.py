"""A stack is checked, suspended, resumed and repaired by real processes on a real broker and a real database."""

from pathlib import Path

import psutil

from orchestrator.service import Service
from tests.allowing import everything
from tests.services.engine import running
from tests.services.test_update import isotherm, service, session  # noqa: F401  # fixtures
from tests.unit.docs.pages import Session

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  page: {type: Isotherm::Node::File, properties: {path: page.txt, content: hello}}
  server: {type: Isotherm::Node::Process, depends_on: page, properties: {command: [sleep, '1000']}}
  random: {type: OS::Heat::RandomString}
"""


def physical_ids(service: Service) -> dict[str, str | None]:  # noqa: F811
    return {view.name: view.physical_id for view in service.resources("s")}


def test_a_stack_is_checked_suspended_resumed_and_repaired(
    session: Session,  # noqa: F811
    service: Service,  # noqa: F811
) -> None:
    (session.directory / "t.yaml").write_text(TEMPLATE)
    (files := session.directory / "files").mkdir()
    session.environment |= everything(files)
    with running([session.start_quickly("isotherm agent --node host1")]):
        operate(session, service)


def operate(session: Session, service: Service) -> None:  # noqa: F811
    isotherm(session, "stack", "create", "s", "-t", "t.yaml")
    before = physical_ids(service)
    page, process = Path(before["page"] or ""), psutil.Process(int(before["server"] or ""))
    assert isotherm(session, "stack", "check", "s").startswith("s CHECK_COMPLETE")

    assert isotherm(session, "stack", "suspend", "s").startswith("s SUSPEND_COMPLETE")
    assert process.status() == psutil.STATUS_STOPPED
    assert isotherm(session, "stack", "resume", "s").startswith("s RESUME_COMPLETE")
    assert process.status() != psutil.STATUS_STOPPED
    assert physical_ids(service) == before

    page.write_text("tampered")
    written = isotherm(session, "stack", "check", "s", code=1)
    assert written.startswith("s CHECK_FAILED")
    assert "changed by others: content" in written
    isotherm(session, "stack", "resource", "mark-unhealthy", "s", "random", "--reason", "it leaked")
    isotherm(session, "stack", "update", "s", "--existing")
    assert page.read_text() == "hello"
    after = physical_ids(service)
    assert {name for name in after if after[name] != before[name]} == {"random"}
    isotherm(session, "stack", "delete", "s", "--yes")
    assert not process.is_running()
