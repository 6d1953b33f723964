"""Private files: no wider when they are made, however wide the process makes others, and narrowed where they were."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from cache.stores.file_store import FileStore
from cache.stores.private_files import (
    make_private_directory,
    narrow,
    open_private,
    private_directory,
    write_private_file,
)


@pytest.fixture(autouse=True)
def _wide_open() -> Iterator[None]:
    """Let everything be made for all users that is not made otherwise on purpose."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def _never_narrowed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that narrows what was just made: it was wider for an instant."""
    if "narrowed" not in request.node.name:
        changes = os.chmod

        def change(path: str | bytes, mode: int) -> None:
            # One kind of dbm makes its files first, and gives them their mode before it writes to them.
            assert os.fsdecode(path).endswith((".dat", ".dir")), f"{path!r} was wider before"
            assert Path(os.fsdecode(path)).stat().st_size == 0
            changes(path, mode)

        monkeypatch.setattr(os, "chmod", change)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_directory_and_the_parents_it_lacks_are_for_their_owner_alone(tmp_path: Path) -> None:
    make_private_directory(tmp_path / "a/b/c")
    assert [mode(tmp_path / each) for each in ("a", "a/b", "a/b/c")] == [0o700] * 3
    make_private_directory(tmp_path / "a/b/c")


def test_a_file_in_the_way_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(FileExistsError):
        make_private_directory(tmp_path / "a")
    with pytest.raises(NotADirectoryError):
        make_private_directory(tmp_path / "a/b")


def test_a_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    os.close(open_private(tmp_path / "log", os.O_WRONLY))
    write_private_file(tmp_path / "record", b"secret")
    assert [mode(tmp_path / each) for each in ("log", "record")] == [0o600] * 2
    assert {each.name for each in tmp_path.iterdir()} == {"log", "record"}


def test_the_file_of_a_cache_and_its_lock_are_for_their_owner_alone(tmp_path: Path) -> None:
    given = {"timeout_seconds": 1.0, "prefix": "p:", "lasting_key": "p:lasting", "max_entries": 10}
    store = FileStore({"url": str(tmp_path / "cache"), **given})
    store.keep("p:key", b"entry", b"token")
    made = list(tmp_path.iterdir())
    assert len(made) >= 2
    assert {each.name: mode(each) for each in made} == {each.name: 0o600 for each in made}


@pytest.mark.parametrize(
    ("wide", "narrowed"), [(0o755, 0o700), (0o644, 0o600), (0o2770, 0o2700), (0o711, 0o700)]
)
def test_a_wider_path_is_narrowed_with_one_warning(tmp_path: Path, wide: int, narrowed: int) -> None:
    path = tmp_path / "it"
    path.mkdir()
    path.chmod(wide)
    with capture_logs() as lines:
        private_directory(path)
        private_directory(path)
    assert mode(path) == narrowed
    (line,) = lines
    assert line["log_level"] == "warning"
    assert (line["path"], line["mode"], line["narrowed"]) == (str(path), f"{wide:04o}", f"{narrowed:04o}")


def test_what_is_narrow_or_missing_is_left_alone(tmp_path: Path) -> None:
    with capture_logs() as lines:
        narrow(tmp_path / "missing")
        write_private_file(tmp_path / "file", b"")
        narrow(tmp_path / "file")
    assert lines == []


def test_what_users_share_by_intention_is_not_narrowed_and_warned_of_once(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(0o1777)
    with capture_logs() as lines:
        narrow(path)
        narrow(path)
    assert mode(path) == 0o1777
    (line,) = lines
    assert "cannot be narrowed: its sticky bit" in line["event"]
    assert (line["path"], line["mode"]) == (str(path), "1777")


def test_what_belongs_to_another_user_cannot_be_narrowed_and_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "theirs"
    path.mkdir()
    path.chmod(0o755)
    refuses = Mock(side_effect=PermissionError(1, "Operation not permitted"))
    monkeypatch.setattr(Path, "chmod", refuses)
    with capture_logs() as lines:
        narrow(path)
        narrow(path)
    assert mode(path) == 0o755
    (line,) = lines
    assert f"Operation not permitted; it belongs to user {path.stat().st_uid}" in line["event"]
