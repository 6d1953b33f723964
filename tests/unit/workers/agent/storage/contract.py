"""What every storage promises, as tests: a storage's own test module has a class that inherits them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from tests.unit.workers.agent.hypervisors.contract import fingerprint
from workers.agent.storage.storage import Storage, StorageFault, StorageFull, VolumeData


class StorageContract:
    """To be inherited by the tests of each storage."""

    #: What the storage may round sizes to, in MiB; sizes here are multiples of it.
    step_mib: ClassVar[int] = 4

    def make(self, directory: Path) -> Storage:
        """Return the storage; called again for the same directory, another object for the same unit."""
        raise NotImplementedError

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        """Where the storage keeps what it must; not there yet."""
        return tmp_path / "storage"

    @pytest.fixture
    def storage(self, directory: Path) -> Iterator[Storage]:
        """The storage, of which nothing is left afterwards."""
        storage = self.make(directory)
        if reason := storage.probe():
            pytest.skip(reason)
        yield storage
        for each in storage.volumes():
            storage.remove(each.name)

    def test_at_first_there_is_room_and_nothing_else(self, storage: Storage) -> None:
        assert list(storage.volumes()) == []
        assert storage.volume("data") is None
        size, free = room(storage)
        assert 0 < free <= size
        info = storage.info()
        assert (info.type, info.name) == (storage.kind, storage.name)
        json.dumps(info.to_wire())

    def test_looking_changes_nothing(self, storage: Storage, directory: Path) -> None:
        storage.create("data", size_mib=8, options={})
        before = fingerprint(directory)
        storage.info()
        storage.info(exclusive=True)
        storage.volumes()
        storage.volume("data")
        storage.probe()
        assert fingerprint(directory) == before

    def test_a_volume_is_as_large_as_it_was_asked_for(self, storage: Storage) -> None:
        made = storage.create("data", size_mib=8, options={})
        assert (made.name, made.size_mib) == ("data", 8)
        assert Path(made.path).is_absolute()
        assert storage.volume("data") == made
        assert list(storage.volumes()) == [made]

    def test_what_was_promised_is_not_free(self, storage: Storage) -> None:
        _, before = room(storage)
        storage.create("data", size_mib=16, options={})
        _, after = room(storage)
        assert after <= before - 16 + 1

    def test_made_twice_it_is_one(self, storage: Storage) -> None:
        first = storage.create("data", size_mib=8, options={})
        assert storage.create("data", size_mib=8, options={}) == first
        assert len(storage.volumes()) == 1

    def test_made_by_many_at_once_it_is_one(self, storage: Storage) -> None:
        def create(_: int) -> VolumeData:
            return storage.create("data", size_mib=8, options={})

        with ThreadPoolExecutor(4) as threads:
            assert len({each.path for each in threads.map(create, range(4))}) == 1
        assert len(storage.volumes()) == 1

    def test_one_of_another_size_is_not_taken_for_it(self, storage: Storage) -> None:
        storage.create("data", size_mib=8, options={})
        with pytest.raises(StorageFault, match="8 MiB"):
            storage.create("data", size_mib=16, options={})
        assert [each.size_mib for each in storage.volumes()] == [8]

    def test_another_object_sees_the_same_volumes(self, storage: Storage, directory: Path) -> None:
        made = storage.create("data", size_mib=8, options={})
        another = self.make(directory)
        assert list(another.volumes()) == [made]
        assert another.create("data", size_mib=8, options={}) == made

    def test_it_grows_and_never_shrinks(self, storage: Storage) -> None:
        made = storage.create("data", size_mib=8, options={})
        for _ in range(2):
            grown = storage.grow("data", size_mib=16)
            assert (grown.size_mib, grown.path) == (16, made.path)
        with pytest.raises(StorageFault, match="16 MiB"):
            storage.grow("data", size_mib=8)
        assert storage.volume("data") == grown

    def test_nothing_can_grow_that_is_not_there(self, storage: Storage) -> None:
        with pytest.raises(StorageFault, match="data"):
            storage.grow("data", size_mib=8)
        assert list(storage.volumes()) == []

    def test_more_than_is_free_is_refused_and_leaves_nothing(self, storage: Storage) -> None:
        size, free = room(storage)
        with pytest.raises(StorageFull, match="free"):
            storage.create("data", size_mib=size + self.step_mib, options={})
        assert list(storage.volumes()) == []
        storage.create("data", size_mib=8, options={})
        with pytest.raises(StorageFull, match="free"):
            storage.grow("data", size_mib=size + self.step_mib)
        assert [each.size_mib for each in storage.volumes()] == [8]
        storage.remove("data")
        assert abs(room(storage)[1] - free) <= 8

    def test_what_was_removed_is_gone(self, storage: Storage) -> None:
        storage.create("data", size_mib=8, options={})
        storage.create("log", size_mib=8, options={})
        for _ in range(2):
            storage.remove("data")
            assert storage.volume("data") is None
            assert [each.name for each in storage.volumes()] == ["log"]
        assert storage.create("data", size_mib=16, options={}).size_mib == 16

    @pytest.mark.parametrize(
        "name", ["", "..", "a/b", "-rf", "a\0b"], ids=["none", "up", "path", "option", "null"]
    )
    def test_a_name_that_leads_elsewhere_is_refused(
        self, storage: Storage, directory: Path, name: str
    ) -> None:
        before = fingerprint(directory.parent)
        with pytest.raises(StorageFault, match="name"):
            storage.create(name, size_mib=8, options={})
        assert storage.volume(name) is None
        storage.remove(name)
        assert fingerprint(directory.parent) == before

    @pytest.mark.parametrize("size_mib", [0, -8])
    def test_a_volume_of_nothing_is_refused(self, storage: Storage, size_mib: int) -> None:
        with pytest.raises(StorageFault, match="size"):
            storage.create("data", size_mib=size_mib, options={})
        assert list(storage.volumes()) == []

    def test_an_option_that_there_is_not_is_refused(self, storage: Storage) -> None:
        with pytest.raises(StorageFault, match="colour"):
            storage.create("data", size_mib=8, options={"colour": "red"})
        assert list(storage.volumes()) == []


def room(storage: Storage) -> tuple[int, int]:
    """Return size and room of a storage that is there."""
    info = storage.info()
    assert info.storage_size_mib is not None
    assert info.storage_free_mib is not None
    return info.storage_size_mib, info.storage_free_mib
