"""The instance records of hypervisors whose own tools keep none, and the base of such hypervisors.

Each instance has a directory, named after it, for the agent's user alone: a specification holds variables that may
be secret, and is kept because an instance is started again as it was last started.
"""

import shutil
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakValueDictionary

from workers.agent.fence import check_fence
from workers.agent.hypervisors.hypervisor import (
    Hypervisor,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    NoInstance,
)
from workers.agent.names import fault_of_name
from workers.agent.records import read_record, write_record

_RECORD: Final = "instance.json"


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """The last order of an instance, and its hypervisor's notes, in plain types."""

    spec: InstanceSpec
    notes: Mapping[str, Any]


class InstanceRecords:
    """The records of one hypervisor, on the machine's disk; thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
        self._guard = threading.Lock()

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Lock an instance against changes by other threads."""
        with self._guard:
            lock = self._locks.setdefault(name, _Lock())
        with lock.lock:
            yield

    @contextmanager
    def changing(self, name: str) -> Iterator[InstanceRecord]:
        """Lock an instance, and yield its record.

        Raises:
            NoInstance: there is none.
        """
        with self.alone(name):
            yield self.get(name)

    def directory_of(self, name: str) -> Path:
        """Return the directory of an instance, which need not exist.

        Raises:
            HypervisorFault: the name is invalid.
        """
        if fault := fault_of_name(name):
            raise HypervisorFault(fault)
        return self._directory / name

    def names(self) -> list[str]:
        """Return the names of all instances, sorted."""
        return sorted(path.parent.name for path in self._directory.glob(f"*/{_RECORD}"))

    def all(self) -> list[InstanceRecord]:
        """Return the records of all instances, by name; those that are removed meanwhile are left out."""
        found = map(self.find, self.names())
        return [record for record in found if record is not None]

    def find(self, name: str) -> InstanceRecord | None:
        """Return the record of an instance; None: there is none.

        Raises:
            HypervisorFault: the record is damaged.
        """
        if fault_of_name(name):
            return None
        try:
            data = read_record(self.directory_of(name) / _RECORD)
            return (
                None if data is None else InstanceRecord(InstanceSpec.from_wire(data["spec"]), data["notes"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise HypervisorFault(f"the record of instance {name!r} is damaged") from error

    def get(self, name: str) -> InstanceRecord:
        """Return the record of an instance.

        Raises:
            NoInstance: there is none.
        """
        if (record := self.find(name)) is None:
            raise NoInstance(f"there is no instance {name!r}")
        return record

    def keep(self, spec: InstanceSpec, **notes: Any) -> None:
        """Replace the record of an instance; on return, it survives a power cut."""
        check_fence()
        write_record(self.directory_of(spec.name) / _RECORD, {"spec": spec.to_wire(), "notes": notes})

    def forget(self, name: str) -> None:
        """Remove an instance's directory; the record goes first, so that no half instance remains."""
        if fault_of_name(name):
            return
        check_fence()
        (self.directory_of(name) / _RECORD).unlink(missing_ok=True)
        shutil.rmtree(self.directory_of(name), ignore_errors=True)


class _Lock:
    """A lock that can be referred to weakly."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class RecordedHypervisor(Hypervisor):
    """Base of hypervisors whose instances are those on record."""

    def __init__(self, options: Any, directory: Path) -> None:
        super().__init__(options, directory)
        self._records = InstanceRecords(directory)
        #: Watches for unrequested changes, and has a method close; None: nothing does.
        self._watch: Any = None

    @abstractmethod
    def _data(self, record: InstanceRecord) -> InstanceData: ...

    def instances(self) -> Sequence[InstanceData]:
        """Return all on record."""
        return [self._data(record) for record in self._records.all()]

    def instance(self, name: str) -> InstanceData | None:
        """Return one on record."""
        record = self._records.find(name)
        return None if record is None else self._data(record)

    def close(self) -> None:
        """Stop watching; instances go on."""
        if self._watch is not None:
            self._watch.close()
