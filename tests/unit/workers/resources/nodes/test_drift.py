"""Files and processes that somebody changes behind a stack's back: found by a check, repaired by an update."""

import json
from pathlib import Path

import psutil
import pytest

from orchestrator.plugins.steps import Wait
from tests.unit.orchestrator.cli.commands import run
from tests.unit.workers.resources.nodes.machine import Machine, has_ended

TEMPLATE = """\
heat_template_version: 2021-04-16
resources:
  page:
    type: Isotherm::Node::File
    properties: {path: page.txt, content: hello, mode: '0640'}
  server:
    type: Isotherm::Node::Process
    depends_on: page
    properties: {command: [sleep, '1000']}
"""


@pytest.fixture
def stack(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a stack on it."""
    monkeypatch.setenv("ISOTHERM_STATE_DIRECTORY", str(machine.settings.state_directory))
    monkeypatch.setenv("ISOTHERM_NODE_DIRECTORIES", json.dumps([str(machine.files)]))
    monkeypatch.setenv("ISOTHERM_BROKER_URL", "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(TEMPLATE)
    assert run("stack", "create", "s", "-t", "t.yaml").exit_code == 0
    return machine


def physical_id(name: str) -> str:
    result = run("stack", "resource", "show", "s", name, "-f", "json")
    return str(json.loads(result.stdout)["physical_id"])


def checked() -> dict[str, str]:
    """Check the stack; return the reasons of what is wrong."""
    run("stack", "check", "s")
    listed = json.loads(run("stack", "resource", "list", "s", "-f", "json").stdout)
    return {each["name"]: each["reason"] for each in listed if each["status"] == "FAILED"}


def test_what_is_as_it_was_made_is_in_order(stack: Machine) -> None:
    assert checked() == {}


@pytest.mark.parametrize("refresh", [False, True])
def test_an_edited_file_is_put_right_in_place(stack: Machine, refresh: bool) -> None:
    page = stack.files / "page.txt"
    page.write_text("hello, I was here")
    page.chmod(0o666)
    if not refresh:
        told = (
            "content: recorded 'hello', observed 'hello, I was here'; mode: recorded '0640', observed '0666'"
        )
        assert checked() == {"page": f"changed by others: {told}"}
    more = ["--refresh"] if refresh else []
    assert run("stack", "update", "s", "--existing", *more).exit_code == 0
    assert page.read_text() == "hello"
    assert page.stat().st_mode & 0o777 == 0o640
    assert checked() == {}


def test_a_file_of_any_size_may_be_in_its_place(stack: Machine) -> None:
    with (stack.files / "page.txt").open("wb") as file:
        file.truncate(2**34)
    told = checked()["page"]
    assert told.startswith("changed by others: content: recorded 'hello', observed '")
    assert len(told) < 200


@pytest.mark.parametrize("refresh", [False, True])
def test_a_file_that_is_gone_and_a_process_that_died_are_there_again(stack: Machine, refresh: bool) -> None:
    process = psutil.Process(int(physical_id("server")))
    supervisor = process.parent()
    assert supervisor is not None
    process.kill()
    (stack.files / "page.txt").unlink()
    # It leaves once it has written down how the process ended.
    stack.poll(lambda: has_ended(supervisor) or Wait(0.05))
    if not refresh:
        gone = "it is not there any more"
        assert checked() == {"page": gone, "server": gone}
    more = ["--refresh"] if refresh else []
    assert run("stack", "update", "s", "--existing", *more).exit_code == 0
    assert (stack.files / "page.txt").read_text() == "hello"
    assert psutil.Process(int(physical_id("server"))).status() != psutil.STATUS_ZOMBIE
    assert checked() == {}
    assert run("stack", "delete", "s", "--yes").exit_code == 0
    assert not (stack.files / "page.txt").exists()


def test_a_new_definition_comes_with_the_repair(stack: Machine, tmp_path: Path) -> None:
    (stack.files / "page.txt").chmod(0o600)
    changed = TEMPLATE.replace("content: hello", "content: bye").replace("'1000'", "'2000'")
    (tmp_path / "t.yaml").write_text(changed)
    assert run("stack", "update", "s", "-t", "t.yaml", "--refresh").exit_code == 0
    assert (stack.files / "page.txt").read_text() == "bye"
    assert psutil.Process(int(physical_id("server"))).cmdline() == ["sleep", "2000"]
    assert checked() == {}


def test_a_stack_with_a_process_is_suspended_resumed_and_deleted(stack: Machine) -> None:
    process = psutil.Process(int(physical_id("server")))
    assert run("stack", "suspend", "s").exit_code == 0
    assert process.status() == psutil.STATUS_STOPPED
    assert run("stack", "resume", "s").exit_code == 0
    assert process.status() != psutil.STATUS_STOPPED
    assert run("stack", "suspend", "s").exit_code == 0
    assert run("stack", "delete", "s", "--yes").exit_code == 0
    assert has_ended(process)
