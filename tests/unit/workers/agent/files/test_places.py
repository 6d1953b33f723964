"""Nothing is written, read or removed by a link that is put in place of a directory after the path was checked."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.plugins.steps import ResourceFailure
from tests.waiting import PATIENCE_SECONDS
from workers.agent.files import directories, owned_file
from workers.agent.files.owned_file import OwnedFile
from workers.agent.files.places import held, opened

#: More than there are instants before an effect in any of the steps.
INSTANTS = 12


def web(tmp_path: Path) -> OwnedFile:
    return OwnedFile(tmp_path / "records", uuid="row", stack="s", resource="web")


def exchange(directory: Path, outside: Path) -> None:
    """Do what a template's process may do in a directory that it can write to."""
    if directory.is_symlink() or not directory.exists():
        return
    directory.rename(directory.with_name("moved"))
    directory.symlink_to(outside)


STEPS: dict[str, Callable[[OwnedFile, Path, Path], object]] = {
    "create": lambda file, path, root: file.create(path, b"x", 0o600, root=root),
    "create deep": lambda file, path, root: file.create(path.parent / "d" / "e", b"x", 0o600, root=root),
    "replace": lambda file, path, root: file.replace(path, b"y", 0o600, root=root),
    "remove": lambda file, path, root: file.remove(),
}


@pytest.mark.parametrize("instant", range(INSTANTS))
@pytest.mark.parametrize("step", STEPS)
def test_directory_that_becomes_a_link_at_any_instant_leads_nowhere(
    tmp_path: Path, step: str, instant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = tmp_path / "files", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "page").write_text("theirs")
    page = root / "sub" / "page"
    if not step.startswith("create"):
        web(tmp_path).create(page, b"x", 0o600, root=root)
    left = instant

    def act() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            exchange(root / "sub", outside)

    # It precedes every effect on a file; directories are made without one, and made lasting one after the other.
    monkeypatch.setattr(owned_file, "check_fence", act)
    monkeypatch.setattr(directories, "sync_directory", lambda _directory: act())
    with suppress(ResourceFailure):
        STEPS[step](web(tmp_path), page, root)
    assert [each.name for each in outside.iterdir()] == ["page"]
    assert (outside / "page").read_text() == "theirs"


def test_no_step_of_a_path_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "page").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b" / "page")
    with opened(tmp_path / "a" / "b" / "page") as file:
        assert file.read() == b"x"
    for path in ("link/b/page", "a/link", "a/none", "a/b/../b/page", "a/b"):
        with pytest.raises(OSError), opened(tmp_path / path):
            pass
    with pytest.raises(OSError, match="real path"), held(Path("page")):
        pass


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    raised: list[BaseException] = []

    def look() -> None:
        try:
            with opened(tmp_path / "pipe"):
                pass
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert "no regular file" in str(raised)


def test_descriptors_are_closed(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in (tmp_path / "page", tmp_path / "none" / "page"):
        for _ in range(3):
            with pytest.raises(OSError), opened(path):
                pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
