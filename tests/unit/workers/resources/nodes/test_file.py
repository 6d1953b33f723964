"""``Isotherm::Node::File``: what it promises while nothing is interrupted."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.settings import Settings
from orchestrator.definition import UNKNOWN
from orchestrator.plugins.properties import PropertyError, check_properties
from orchestrator.plugins.steps import ResourceFailure, ResourceState
from tests.unit.workers.resources.nodes.machine import Machine, changes
from workers.resources.nodes.file import NodeFile


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def everything_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def test_created_file_has_content_mode_reference_and_attributes(
    machine: Machine, state: ResourceState
) -> None:
    page = machine.file(state, path="a/b/page.html", content="grüß", mode="0640")
    page.handle_create()
    path = machine.files / "a/b/page.html"
    assert path.read_text(encoding="utf-8") == "grüß"
    assert mode_of(path) == 0o640
    assert page.reference_id() == str(path)
    assert page.attribute("path") == str(path)
    assert page.attribute("size") == 6
    assert page.attribute("sha256") == hashlib.sha256("grüß".encode()).hexdigest()
    assert everything_in(machine.files) == {"a", "a/b", "a/b/page.html"}


def test_deleting_removes_the_file_and_only_the_directories_made_for_it(machine: Machine) -> None:
    (machine.files / "old").mkdir()
    rows = [ResourceState(uuid="row-1"), ResourceState(uuid="row-2")]
    for row in rows:
        machine.file(row, path=f"old/new/{row.uuid}").handle_create()
    for row in rows:
        machine.file(row, path=f"old/new/{row.uuid}").handle_delete()
    assert everything_in(machine.files) == {"old"}


def test_directory_with_a_strangers_file_stays(machine: Machine, state: ResourceState) -> None:
    machine.file(state, path="new/page").handle_create()
    (machine.files / "new/stranger").write_text("kept")
    machine.file(state, path="new/page").handle_delete()
    assert everything_in(machine.files) == {"new", "new/stranger"}


@pytest.mark.parametrize("kind", ["file", "same content", "directory", "dangling link"])
def test_what_was_at_the_path_is_kept_and_create_refused(
    machine: Machine, state: ResourceState, kind: str
) -> None:
    path = machine.files / "page"
    match kind:
        case "directory":
            path.mkdir()
        case "dangling link":
            path.symlink_to(machine.files / "nowhere")
        case _:
            path.write_text("ours" if kind == "same content" else "theirs")
    before = path.lstat().st_ino
    page = machine.file(state, path="page", content="ours")
    assert page.find() is None
    with pytest.raises(ResourceFailure, match="exists and is not ours"):
        page.handle_create()
    page.handle_delete()
    assert path.lstat().st_ino == before
    assert everything_in(machine.files) == {"page"}
    assert kind != "file" or path.read_text() == "theirs"


def test_two_resources_cannot_have_one_path(machine: Machine) -> None:
    machine.file(ResourceState(uuid="row-1"), name="page", path="page", content="first").handle_create()
    with pytest.raises(ResourceFailure, match="belongs to the resource 'page'"):
        machine.file(ResourceState(uuid="row-2"), name="other", path="page").handle_create()
    assert (machine.files / "page").read_text() == "first"


def test_replacement_takes_the_path_over_and_the_replaced_row_leaves_it_alone(machine: Machine) -> None:
    old, new = ResourceState(uuid="row-1"), ResourceState(uuid="row-2")
    machine.file(old, path="page", content="same").handle_create()
    machine.file(new, path="page", content="same").handle_create()
    for _ in range(2):  # a deletion that is run again must not find the file by its content either
        machine.file(old, path="page", content="same").handle_delete()
        assert (machine.files / "page").read_text() == "same"
    machine.file(new, path="page", content="same").handle_delete()
    assert everything_in(machine.files) == set()


def test_replaced_row_that_serves_again_takes_the_path_back(machine: Machine) -> None:
    old, new = ResourceState(uuid="row-1"), ResourceState(uuid="row-2")
    machine.file(old, path="page", content="same").handle_create()
    machine.file(new, path="page", content="same").handle_create()
    machine.file(old, path="page", content="same").handle_update(changes({}, {}))
    machine.file(new, path="page", content="same").handle_delete()
    assert (machine.files / "page").read_text() == "same"


def test_update_replaces_content_and_mode_in_one_step(machine: Machine, state: ResourceState) -> None:
    machine.file(state, path="page", content="old").handle_create()
    with (machine.files / "page").open() as reader:
        page = machine.file(state, path="page", content="new", mode="0600")
        page.handle_update(changes({"content": "old"}, {"content": "new"}))
        assert reader.read() == "old"  # who has the old file open reads it to its end
    assert (machine.files / "page").read_text() == "new"
    assert mode_of(machine.files / "page") == 0o600
    assert everything_in(machine.files) == {"page"}


def test_update_writes_a_file_again_that_was_edited_or_removed(
    machine: Machine, state: ResourceState
) -> None:
    page = machine.file(state, path="new/page", content="ours")
    page.handle_create()
    (machine.files / "new/page").write_text("edited")
    page.handle_update(changes({}, {}))
    assert (machine.files / "new/page").read_text() == "ours"
    (machine.files / "new/page").unlink()
    (machine.files / "new").rmdir()
    page.handle_update(changes({}, {}))
    assert (machine.files / "new/page").read_text() == "ours"


def test_update_refuses_a_link_put_in_the_files_place(machine: Machine, state: ResourceState) -> None:
    page = machine.file(state, path="page", content="ours")
    page.handle_create()
    (machine.files / "page").unlink()
    (machine.files / "page").symlink_to("elsewhere")
    with pytest.raises(ResourceFailure, match="no regular file any more"):
        page.handle_update(changes({}, {}))
    assert (machine.files / "page").is_symlink()


def test_delete_removes_what_was_edited_and_keeps_what_took_its_place(machine: Machine) -> None:
    edited, replaced = ResourceState(uuid="row-1"), ResourceState(uuid="row-2")
    machine.file(edited, path="edited", content="ours").handle_create()
    machine.file(replaced, path="replaced", content="ours").handle_create()
    (machine.files / "edited").write_text("edited in place")
    (machine.files / "theirs").write_text("theirs")
    (machine.files / "theirs").replace(machine.files / "replaced")
    machine.file(edited, path="edited", content="ours").handle_delete()
    machine.file(replaced, path="replaced", content="ours").handle_delete()
    assert everything_in(machine.files) == {"replaced"}
    assert (machine.files / "replaced").read_text() == "theirs"


def test_deleting_what_never_was_or_is_gone_is_no_error(machine: Machine, state: ResourceState) -> None:
    machine.file(ResourceState(uuid="row-never"), path="page").handle_delete()
    machine.file(state, path="page").handle_create()
    (machine.files / "page").unlink()
    for _ in range(2):
        machine.file(state, path="page").handle_delete()
    assert everything_in(machine.records) == set()


def test_a_directory_swapped_for_a_link_leads_delete_nowhere(machine: Machine, state: ResourceState) -> None:
    machine.file(state, path="new/page", content="same").handle_create()
    (machine.files / "new").rename(machine.files / "moved")
    elsewhere = machine.settings.state_directory / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "page").write_text("same")
    (machine.files / "new").symlink_to(elsewhere)
    machine.file(state, path="new/page", content="same").handle_delete()
    assert (elsewhere / "page").read_text() == "same"


def test_file_of_a_row_whose_records_are_lost_is_still_removed(
    machine: Machine, state: ResourceState
) -> None:
    machine.file(state, path="page", content="ours").handle_create()
    (machine.records / state.uuid / "file.json").unlink()
    machine.file(state, path="page", content="ours").handle_delete()
    assert everything_in(machine.files) == set()


def test_observe_tells_what_is_really_there(machine: Machine, state: ResourceState) -> None:
    given = {"path": "page", "content": "ours", "mode": "0644", "node": ""}
    page = machine.file(state, **given)
    assert page.observe() is None
    page.handle_create()
    assert page.observe() == given
    (machine.files / "page").write_bytes(b"edited \xff")
    (machine.files / "page").chmod(0o600)
    assert page.observe() == {**given, "content": "edited \ufffd", "mode": "0600"}
    (machine.files / "page").unlink()
    assert page.observe() is None
    assert page.attribute("sha256") is None


def test_default_directory_is_made_when_it_is_missing(tmp_path: Path, state: ResourceState) -> None:
    machine = Machine(Settings(state_directory=tmp_path / "state"))
    machine.file(state, path="page").handle_create()
    assert (tmp_path / "state/files/page").exists()


def test_configured_directory_that_is_missing_is_not_made(tmp_path: Path, state: ResourceState) -> None:
    settings = Settings(state_directory=tmp_path / "state", node_directories=(tmp_path / "unmounted",))
    with pytest.raises(ResourceFailure, match="unmounted does not exist"):
        Machine(settings).file(state, path="page").handle_create()
    assert not (tmp_path / "unmounted").exists()


@pytest.mark.parametrize("path", ["/etc/isotherm-test", "link/page", "files", "a/../../b", "new/"])
def test_paths_that_leave_the_allowed_directories_are_refused(
    machine: Machine, state: ResourceState, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside").mkdir()
    (machine.files / "link").symlink_to(tmp_path / "outside")
    given = str(machine.files) if path == "files" else path
    with pytest.raises((ResourceFailure, PropertyError)):
        machine.file(state, path=given).handle_create()
    assert everything_in(tmp_path / "outside") == set()
    assert state.physical_id is None


def test_a_file_in_the_way_of_a_directory_is_named(machine: Machine, state: ResourceState) -> None:
    (machine.files / "way").write_text("theirs")
    with pytest.raises(ResourceFailure, match="way/page"):
        machine.file(state, path="way/page").handle_create()
    machine.file(state, path="way/page").handle_delete()
    assert everything_in(machine.files) == {"way"}


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        ({"path": ""}, ("path",), "a path is required"),
        ({"path": "a/../b"}, ("path",), "must not hold"),
        ({"path": "a/"}, ("path",), "names a directory"),
        ({"path": "a", "node_labels": {"rack": []}}, ("node_labels", "rack"), "expected a text or a number"),
        ({"path": "a", "content": "\ud800"}, ("content",), "offset 0 cannot be stored"),
    ],
)
def test_bad_properties_are_refused_before_anything_is_touched(
    given: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    with pytest.raises(PropertyError, match=message) as refused:
        NodeFile.validate(given)
    assert refused.value.path == path


def test_what_is_not_known_yet_passes_validation() -> None:
    unknown = dict.fromkeys(("path", "content", "node", "groups", "node_labels"), UNKNOWN)
    NodeFile.validate(unknown)
    NodeFile.validate({**unknown, "groups": [UNKNOWN], "node_labels": {"rack": UNKNOWN}})


def test_a_mode_that_yaml_read_as_a_number_is_explained() -> None:
    [error] = check_properties(NodeFile.properties_schema, {"path": "a", "mode": 0o640})
    assert error.path == ("mode",)
    assert 'quotes, such as "0640"' in error.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named(machine: Machine, state: ResourceState) -> None:
    machine.files.chmod(0o500)
    with pytest.raises(ResourceFailure, match="Permission denied"):
        machine.file(state, path="page").handle_create()
