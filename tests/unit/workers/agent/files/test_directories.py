"""Directories made on the way to a file."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from workers.agent.files.directories import MadeDirectories


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An allowed directory."""
    root = tmp_path / "root"
    root.mkdir()
    return root


def test_directories_are_made_and_released_as_far_as_they_are_ours(root: Path, tmp_path: Path) -> None:
    made = MadeDirectories(tmp_path / "records")
    (root / "old").mkdir()
    made.make(root / "old/new/newer", root=root)
    assert (root / "old/new/newer").is_dir()
    made.release(root / "old/new/newer")
    assert list(root.rglob("*")) == [root / "old"]


def test_the_root_itself_is_neither_made_nor_removed(root: Path, tmp_path: Path) -> None:
    made = MadeDirectories(tmp_path / "records")
    made.make(root, root=root)
    made.release(root)
    assert root.is_dir()


def test_a_file_in_the_way_is_an_error_that_leaves_no_claim(root: Path, tmp_path: Path) -> None:
    made = MadeDirectories(tmp_path / "records")
    (root / "way").write_text("theirs")
    with pytest.raises(OSError, match="File exists"):
        made.make(root / "way/new", root=root)
    (root / "way").unlink()
    (root / "way").mkdir()
    made.release(root / "way")
    assert (root / "way").is_dir()


def test_a_directory_that_was_removed_by_hand_is_released_with_its_parents(
    root: Path, tmp_path: Path
) -> None:
    made = MadeDirectories(tmp_path / "records")
    made.make(root / "new/newer", root=root)
    (root / "new/newer").rmdir()
    made.release(root / "new/newer")
    assert list(root.iterdir()) == []


def test_workers_that_need_the_same_directory_at_once_leave_none_behind(root: Path, tmp_path: Path) -> None:
    workers = 8
    together = Barrier(workers)

    def work(round_: int) -> None:
        made = MadeDirectories(tmp_path / "records")
        together.wait()
        made.make(root / f"{round_}/shared/deep", root=root)
        together.wait()
        made.release(root / f"{round_}/shared/deep")

    with ThreadPoolExecutor(workers) as pool:
        for round_ in range(20):
            for done in [pool.submit(work, round_) for _ in range(workers)]:
                done.result()
    assert list(root.iterdir()) == []
