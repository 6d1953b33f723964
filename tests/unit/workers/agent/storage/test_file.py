"""Volumes that are files or directories."""

from pathlib import Path

import pytest

from tests.unit.workers.agent.storage.contract import StorageContract, room
from workers.agent.storage.file import FileStorage, FileStorageOptions
from workers.agent.storage.storage import StorageFault, StorageFull


class TestFileStorage(StorageContract):
    def make(self, directory: Path) -> FileStorage:
        return FileStorage("default", FileStorageOptions(), directory)

    def test_a_file_takes_no_room_before_it_is_written_to(self, storage: FileStorage) -> None:
        made = storage.create("data", size_mib=8, options={})
        assert Path(made.path).stat().st_size == 8 * 1024 * 1024
        assert Path(made.path).stat().st_blocks == 0

    def test_a_preallocated_one_takes_it_at_once_and_when_it_grows(self, storage: FileStorage) -> None:
        made = storage.create("data", size_mib=4, options={"preallocate": True})
        assert Path(made.path).stat().st_blocks * 512 >= 4 * 1024 * 1024
        storage.grow("data", size_mib=8)
        assert Path(made.path).stat().st_blocks * 512 >= 8 * 1024 * 1024

    def test_a_directory_keeps_what_is_in_it_when_it_grows_and_loses_all_when_it_is_removed(
        self, storage: FileStorage
    ) -> None:
        made = storage.create("data", size_mib=4, options={"format": "dir"})
        assert made.format == "dir"
        inside = Path(made.path) / "deep" / "page"
        inside.parent.mkdir()
        inside.write_text("here")
        assert storage.create("data", size_mib=4, options={"format": "dir"}) == made
        assert storage.grow("data", size_mib=8).size_mib == 8
        assert inside.read_text() == "here"
        storage.remove("data")
        assert list(Path(made.path).parent.iterdir()) == []

    def test_a_file_is_not_taken_for_a_directory(self, storage: FileStorage) -> None:
        storage.create("data", size_mib=4, options={})
        with pytest.raises(StorageFault, match="as raw, expected 4 MiB as dir"):
            storage.create("data", size_mib=4, options={"format": "dir"})

    def test_what_an_interrupted_step_has_left_is_no_volume(
        self, storage: FileStorage, directory: Path
    ) -> None:
        directory.mkdir()
        (directory / ".making-data").write_text("half")
        (directory / ".data.size").write_text('{"size_mib": 4}')
        (directory / ".leaving-data").mkdir()
        assert list(storage.volumes()) == []
        assert storage.create("data", size_mib=8, options={}).size_mib == 8
        storage.remove("data")
        assert list(directory.iterdir()) == []

    def test_a_nearly_right_option_is_hinted_at(self, storage: FileStorage) -> None:
        with pytest.raises(StorageFault, match="did you mean 'preallocate'"):
            storage.create("data", size_mib=4, options={"prealocate": True})

    def test_a_damaged_size_is_said_to_be(self, storage: FileStorage, directory: Path) -> None:
        storage.create("data", size_mib=4, options={"format": "dir"})
        (directory / ".data.size").write_text("{")
        with pytest.raises(StorageFault, match="damaged"):
            storage.volumes()
        storage.remove("data")
        assert list(storage.volumes()) == []


class TestWithALimit(StorageContract):
    @pytest.fixture
    def place(self, directory: Path) -> Path:
        return directory.parent / "place"

    def make(self, directory: Path) -> FileStorage:
        place = directory.parent / "place"
        place.mkdir(exist_ok=True)
        return FileStorage("fast", FileStorageOptions(directory=place, limit_mib=64), directory)

    def test_volumes_take_no_more(self, storage: FileStorage) -> None:
        assert room(storage) == (64, 64)
        storage.create("data", size_mib=40, options={"format": "dir"})
        assert room(storage) == (64, 24)
        with pytest.raises(StorageFull, match="'fast' has 24 MiB free, 25 MiB are needed"):
            storage.create("log", size_mib=25, options={})
        with pytest.raises(StorageFull, match="24 MiB free, 25 MiB"):
            storage.grow("data", size_mib=65)
        assert storage.grow("data", size_mib=64).size_mib == 64
        assert room(storage) == (64, 0)

    def test_a_place_that_is_missing_has_no_size_and_is_not_made(
        self, storage: FileStorage, place: Path
    ) -> None:
        place.rmdir()
        assert "no directory" in storage.probe()
        info = storage.info()
        assert (info.storage_size_mib, info.storage_free_mib) == (None, None)
        with pytest.raises(StorageFault, match="no directory"):
            storage.create("data", size_mib=4, options={})
        assert not place.exists()
