"""Objects are imported, and described as a template, by real processes on a real broker and a real database."""

import json
import threading
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import Conflict, InvalidInput, IsothermError
from orchestrator.model.messages import ImportJob
from orchestrator.service import Service
from tests.allowing import everything
from tests.services.engine import running
from tests.services.test_update import isotherm, service, session  # noqa: F401  # fixtures
from tests.unit.docs.pages import Session
from tests.waiting import until

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  greeting: {type: OS::Heat::Value, properties: {value: hello}}
"""
PAGE = """\
  page:
    type: Isotherm::Node::File
    properties: {node: host1, path: page.txt, content: welcome}
"""


def test_object_on_a_node_is_described_imported_and_changed(
    session: Session,  # noqa: F811
    service: Service,  # noqa: F811
) -> None:
    (session.directory / "web.yaml").write_text(TEMPLATE)
    (session.directory / "more.yaml").write_text(TEMPLATE + PAGE)
    (files := session.directory / "files").mkdir()
    (page := files / "page.txt").write_text("by hand")
    # The default of the type, whatever the process makes files with.
    page.chmod(0o644)
    session.environment |= everything(files)
    with running([session.start_quickly("isotherm agent --node host1")]):
        import_and_change(session, service, page)
        one_of_two_wins(session, service, files)


def import_and_change(session: Session, service: Service, page: Path) -> None:  # noqa: F811
    isotherm(session, "stack", "create", "web", "-t", "web.yaml")
    said = ("stack", "import", "web", f"page={page}", "-t", "more.yaml")
    sections = yaml.safe_load(isotherm(session, *said, "--write-template"))
    assert sections["resources"]["page"]["properties"] == {
        "path": "page.txt",
        "content": "by hand",
        "node": "host1",
    }
    isotherm(session, *said, "--comment", "ticket 4711")
    assert page.read_text() == "by hand"
    assert (service.stack("web").state, service.resource("web", "page").physical_id) == (
        "ADOPT_COMPLETE",
        str(page),
    )
    operation = service.history("web")[0]
    assert (operation.action, operation.comment) == ("ADOPT", "ticket 4711")
    plan = json.loads(isotherm(session, "stack", "plan", "web", "--existing", "-f", "json"))
    (changed,) = (each for each in plan["resources"] if each["action"] != "UNCHANGED")
    assert [(each["name"], each["before"], each["after"]) for each in changed["changes"]] == [
        ("content", "by hand", "welcome")
    ]
    isotherm(session, "stack", "update", "web", "--existing")
    assert page.read_text() == "welcome"
    with pytest.raises(InvalidInput, match="the stack has the resource already"):
        service.import_objects(job_of("web", page))


def one_of_two_wins(session: Session, service: Service, files: Path) -> None:  # noqa: F811
    """Two stacks import one object at the same moment."""
    (other := files / "page2.txt").write_text("by hand")
    names = ("one", "two")
    for name in names:
        isotherm(session, "stack", "create", name, "-t", "web.yaml")
    refused: dict[str, IsothermError] = {}
    start = threading.Barrier(len(names))

    def take(name: str) -> None:
        start.wait()
        try:
            service.import_objects(job_of(name, other))
        except (InvalidInput, Conflict) as error:
            refused[name] = error

    threads = [threading.Thread(target=take, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (loser,) = refused
    (winner,) = {*names} - {loser}
    until(lambda: service.stack(winner).status != "IN_PROGRESS")
    assert (service.stack(winner).state, service.stack(loser).state) == ("ADOPT_COMPLETE", "CREATE_COMPLETE")
    assert f"the object belongs to the stack '{winner}'" in str(refused[loser])
    assert other.read_text() == "by hand"


def job_of(name: str, path: Path) -> ImportJob:
    page = PAGE.replace("page.txt", path.name)
    return ImportJob(name=name, template=TEMPLATE + page, resources={"page": {"resource_id": str(path)}})
