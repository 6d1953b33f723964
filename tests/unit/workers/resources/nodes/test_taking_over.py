"""Files and processes that are there already, and snapshots of files."""

import stat
from pathlib import Path

import pytest

from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.unit.workers.resources.nodes.machine import Machine

FOREVER = ["sleep", "1000"]


def there(machine: Machine, name: str = "page", content: str = "here before") -> ResourceState:
    """Return the state of a row that is to adopt a file."""
    path = machine.files / name
    path.write_text(content)
    return ResourceState(uuid="row-adopting", physical_id=str(path))


# -- files -------------------------------------------------------------------------------------------------------------


def test_an_adopted_file_stays_as_it_is_and_is_then_like_any_other(machine: Machine) -> None:
    state = there(machine)
    path = machine.files / "page"
    machine.file(state, path="page", content="wanted").handle_adopt()
    assert path.read_text() == "here before"
    page = machine.file(state, path="page", content="new")
    page.handle_update(None)  # type: ignore[arg-type]  # what changed does not matter
    assert path.read_text() == "new"
    page.handle_delete()
    assert not path.exists()


def test_an_adopted_file_is_deleted_though_it_never_was_what_the_template_says(machine: Machine) -> None:
    state = there(machine)
    page = machine.file(state, path="page", content="wanted")
    page.handle_adopt()
    page.handle_adopt()
    page.handle_delete()
    assert not (machine.files / "page").exists()


def test_who_had_an_adopted_file_before_leaves_it_alone(machine: Machine) -> None:
    before = ResourceState(uuid="row-before")
    machine.file(before, path="page", content="text").handle_create()
    state = ResourceState(uuid="row-adopting", physical_id=before.physical_id)
    machine.file(state, path="page", content="text").handle_adopt()
    machine.file(before, path="page", content="text").handle_delete()
    assert (machine.files / "page").read_text() == "text"
    machine.file(state, path="page", content="text").handle_delete()
    assert not (machine.files / "page").exists()


def test_no_file_is_adopted_that_is_not_where_the_template_says(machine: Machine) -> None:
    state = there(machine, "other")
    with pytest.raises(ResourceFailure, match="the template's path"):
        machine.file(state, path="page").handle_adopt()


def test_no_file_outside_the_allowed_directories_is_adopted_or_looked_at(
    machine: Machine, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("a secret")
    state = ResourceState(uuid="row-adopting", physical_id=str(outside))
    page = machine.file(state, path=str(outside))
    with pytest.raises(ResourceFailure, match="outside the directories"):
        page.observe()
    with pytest.raises(ResourceFailure, match="outside the directories"):
        page.handle_adopt()
    assert outside.exists()


@pytest.mark.parametrize("content", [b"text", b"\xff\x00", b""])
def test_a_snapshot_of_a_file_brings_back_content_and_mode(
    machine: Machine, state: ResourceState, content: bytes
) -> None:
    page = machine.file(state, path="page", content="first")
    page.handle_create()
    path = machine.files / "page"
    path.write_bytes(content)
    path.chmod(0o600)
    entry = page.handle_snapshot()
    path.write_bytes(b"later")
    path.chmod(0o644)
    for _ in range(2):
        machine.file(state, path="page", content="first").handle_restore(entry)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    machine.file(state, path="page", content="first").handle_delete()
    assert not path.exists()


def test_what_is_not_there_or_too_large_is_not_kept(
    machine: Machine, state: ResourceState, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = machine.file(state, path="page", content="12345")
    page.handle_create()
    monkeypatch.setattr("workers.resources.nodes.file._MOST_KEPT", 4)
    with pytest.raises(ResourceFailure, match="at most 4 bytes"):
        page.handle_snapshot()
    (machine.files / "page").unlink()
    with pytest.raises(ResourceFailure, match="not there"):
        page.handle_snapshot()


# -- processes ---------------------------------------------------------------------------------------------------------


def test_an_adopted_process_runs_on_and_ends_with_its_new_resource(machine: Machine) -> None:
    before = ResourceState(uuid="11111111-1111-4111-8111-111111111111")
    machine.create(before, command=FOREVER)
    state = ResourceState(uuid="row-adopting", physical_id=before.physical_id, data=dict(before.data))
    process = machine.process(state, command=FOREVER)
    assert process.observe() is not None
    process.handle_adopt()
    assert process.attribute("state") == "running"
    assert machine.marked(before.uuid)
    machine.delete(state, command=FOREVER)
    assert not machine.marked(before.uuid)


@pytest.mark.parametrize("record", [None, "../../../etc", 7, "22222222-2222-4222-8222-222222222222"])
def test_no_process_is_adopted_that_is_not_on_record(machine: Machine, record: object) -> None:
    state = ResourceState(uuid="row-adopting", physical_id="1", data={"record": record})
    process = machine.process(state, command=FOREVER)
    assert process.observe() is None
    with pytest.raises(ResourceFailure, match="no record of a process 1"):
        process.handle_adopt()


def test_a_record_of_another_process_is_refused(machine: Machine) -> None:
    before = ResourceState(uuid="11111111-1111-4111-8111-111111111111")
    machine.create(before, command=FOREVER)
    state = ResourceState(uuid="row-adopting", physical_id="1", data=dict(before.data))
    with pytest.raises(ResourceFailure, match="no record of a process 1"):
        machine.process(state, command=FOREVER).handle_adopt()
