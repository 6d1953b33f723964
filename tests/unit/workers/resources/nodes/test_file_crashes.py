"""``Isotherm::Node::File`` when its worker is killed at any line: nothing is lost, nothing is left behind."""

from pathlib import Path

import pytest

from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.thoroughness import some_of
from tests.unit.workers.agent.killing import in_a_small_process, killed_after
from tests.unit.workers.resources.nodes.machine import Machine, changes

pytestmark = pytest.mark.slow  # many killed processes

#: More lines than any step has; a test ends when a step was not killed any more.
LINES = 1000


def create_again(machine: Machine, state: ResourceState, content: str) -> None:
    """Do what the engine does when an earlier attempt may have got anywhere."""
    page = machine.file(state, path="new/page", content=content)
    state.physical_id = page.find()
    if state.physical_id is None:
        page.handle_create()
    else:
        page.resume_create()


@in_a_small_process
def test_create_killed_at_any_line_is_found_or_done_again(tmp_path: Path) -> None:
    for lines in some_of(range(LINES)):
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid="row")
        killed = killed_after(lines, machine.file(state, path="new/page", content="ours").handle_create)
        create_again(machine, state, "ours")
        assert (machine.files / "new/page").read_text() == "ours"
        assert [path.name for path in (machine.files / "new").iterdir()] == ["page"]
        machine.file(state, path="new/page", content="ours").handle_delete()
        assert list(machine.files.iterdir()) == []
        if not killed:
            break
    assert 50 < lines < LINES - 1


@in_a_small_process
def test_create_killed_at_any_line_and_then_deleted_leaves_nothing(tmp_path: Path) -> None:
    for lines in some_of(range(LINES)):
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid="row")
        killed = killed_after(lines, machine.file(state, path="new/page", content="ours").handle_create)
        machine.file(state, path="new/page", content="ours").handle_delete()
        assert list(machine.files.iterdir()) == []
        assert not (machine.records / "row").exists()
        if not killed:
            break
    assert 50 < lines < LINES - 1


@in_a_small_process
def test_refusal_killed_at_any_line_never_touches_the_strangers_file(tmp_path: Path) -> None:
    for lines in some_of(range(LINES)):
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid="row")
        (machine.files / "new").mkdir()
        (machine.files / "new/page").write_text("ours")  # even when it happens to say the same
        inode = (machine.files / "new/page").stat().st_ino
        killed = killed_after(lines, machine.file(state, path="new/page", content="ours").handle_create)
        with pytest.raises(ResourceFailure, match="is not ours"):
            create_again(machine, state, "ours")
        machine.file(state, path="new/page", content="ours").handle_delete()
        assert [path.stat().st_ino for path in (machine.files / "new").iterdir()] == [inode]
        if not killed:
            break
    assert 50 < lines < LINES - 1


@in_a_small_process
def test_update_killed_at_any_line_leaves_the_old_or_the_new_file_and_can_be_deleted(tmp_path: Path) -> None:
    seen = set()
    for lines in some_of(range(LINES)):
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid="row")
        machine.file(state, path="new/page", content="old").handle_create()
        update = machine.file(state, path="new/page", content="new")
        killed = killed_after(lines, lambda update=update: update.handle_update(changes({}, {})))  # type: ignore[misc]
        seen.add((machine.files / "new/page").read_text())
        if lines % 2:
            update.handle_update(changes({}, {}))
            assert (machine.files / "new/page").read_text() == "new"
        machine.file(state, path="new/page", content="old").handle_delete()
        assert list(machine.files.iterdir()) == []
        if not killed:
            break
    assert seen == {"old", "new"}
    assert 30 < lines < LINES - 1


@in_a_small_process
def test_takeover_killed_at_any_line_ends_with_one_owner(tmp_path: Path) -> None:
    for lines in some_of(range(LINES)):
        machine = Machine.at(tmp_path / str(lines))
        old, new = ResourceState(uuid="row-1"), ResourceState(uuid="row-2")
        machine.file(old, path="new/page", content="same").handle_create()
        killed = killed_after(lines, machine.file(new, path="new/page", content="same").handle_create)
        create_again(machine, new, "same")
        machine.file(old, path="new/page", content="same").handle_delete()
        assert (machine.files / "new/page").read_text() == "same"
        machine.file(new, path="new/page", content="same").handle_delete()
        assert list(machine.files.iterdir()) == []
        if not killed:
            break
    assert 50 < lines < LINES - 1


@in_a_small_process
def test_delete_killed_at_any_line_can_be_done_again(tmp_path: Path) -> None:
    for lines in some_of(range(LINES)):
        machine, state = Machine.at(tmp_path / str(lines)), ResourceState(uuid="row")
        page = machine.file(state, path="new/page", content="ours")
        page.handle_create()
        killed = killed_after(lines, page.handle_delete)
        page.handle_delete()
        assert list(machine.files.iterdir()) == []
        assert not (machine.records / "row").exists()
        if not killed:
            break
    assert 20 < lines < LINES - 1
