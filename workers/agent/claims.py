"""Capacity reserved for instances on this machine: the final check before one starts.

Placement has reserved capacity in the database before; reservations that did not see each other are checked here. One
lasts until the instance is removed, running or not, and is kept on the machine's disk.
"""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.config.nodes import AgentSettings
from orchestrator.nodes.rpc.errors import NoCapacity
from workers.agent.locks import Locks
from workers.agent.records import read_record, write_record

#: The longest wait for the lock; reading all reservations takes milliseconds.
_WAIT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The capacity of a machine."""

    memory_mib: int
    vcpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The capacity reserved for an instance."""

    memory_mib: int
    vcpus: int

    def exceeds(self, other: "Promise") -> bool:
        """Return whether it is more in any respect."""
        return self.memory_mib > other.memory_mib or self.vcpus > other.vcpus

    def union(self, other: "Promise") -> "Promise":
        """Return the larger of each."""
        return Promise(memory_mib=max(self.memory_mib, other.memory_mib), vcpus=max(self.vcpus, other.vcpus))


class Claims:
    """The reservations of one machine; safe for threads, and for other processes that share the directory."""

    def __init__(self, node: str, directory: Path, locks: Locks, settings: AgentSettings) -> None:
        self._node, self._directory, self._locks, self._settings = node, directory, locks, settings

    def claim(self, hypervisor: str, name: str, wanted: Promise, totals: Totals) -> Promise | None:
        """Reserve capacity for an instance in place of its earlier reservation; return that.

        An instance that needs no more than it has reserved is never refused.

        Raises:
            NoCapacity: with it, more would be reserved than is allowed.
        """
        file = self._file(hypervisor, name)
        with self._locks.hold("claims", wait_seconds=_WAIT_SECONDS):
            promises = self._promises()
            before = promises.pop(file, None)
            lacking = room_lacking(self._settings, totals, list(promises.values()), wanted)
            if lacking and (before is None or wanted.exceeds(before)):
                raise NoCapacity(self._node, f"node {self._node!r} has no room for the instance: {lacking}")
            self._write(file, hypervisor, name, wanted)
        return before

    def promise(self, hypervisor: str, name: str) -> Promise | None:
        """Return the reservation of an instance; None: it has none."""
        return _read(self._file(hypervisor, name))

    def set(self, hypervisor: str, name: str, promise: Promise | None) -> None:
        """Set the reservation of an instance, without a check: the earlier one, or less than it has."""
        if promise is None:
            self.release(hypervisor, name)
        else:
            self._write(self._file(hypervisor, name), hypervisor, name, promise)

    def release(self, hypervisor: str, name: str) -> None:
        """Delete the reservation of an instance; none is no error."""
        self._file(hypervisor, name).unlink(missing_ok=True)

    def promised(self) -> Promise:
        """Return the sum of all reservations."""
        promises = self._promises().values()
        return Promise(
            memory_mib=sum(each.memory_mib for each in promises), vcpus=sum(each.vcpus for each in promises)
        )

    def _write(self, file: Path, hypervisor: str, name: str, promise: Promise) -> None:
        write_record(
            file,
            {
                "hypervisor": hypervisor,
                "name": name,
                "memory_mib": promise.memory_mib,
                "vcpus": promise.vcpus,
            },
        )

    def _promises(self) -> dict[Path, Promise]:
        read = ((path, _read(path)) for path in sorted(self._directory.glob("*.json")))
        # One that was released meanwhile is left out.
        return {path: promise for path, promise in read if promise is not None}

    def _file(self, hypervisor: str, name: str) -> Path:
        digest = hashlib.sha256(f"{hypervisor}\0{name}".encode()).hexdigest()
        return self._directory / f"{digest}.json"


def _read(file: Path) -> Promise | None:
    record = read_record(file)
    return None if record is None else Promise(memory_mib=record["memory_mib"], vcpus=record["vcpus"])


def room_lacking(settings: AgentSettings, totals: Totals, promised: list[Promise], wanted: Promise) -> str:
    """Return the capacity that is too small for one more instance, as text; empty: there is room."""
    memory = math.floor((totals.memory_mib - settings.reserved_memory_mib) * settings.memory_ratio)
    vcpus = math.floor(totals.vcpus * settings.vcpu_ratio)
    free_memory = memory - sum(each.memory_mib for each in promised)
    free_vcpus = vcpus - sum(each.vcpus for each in promised)
    lacking = []
    if wanted.memory_mib > free_memory:
        lacking.append(
            f"it wants {wanted.memory_mib} MiB of memory, {max(0, free_memory)} of {memory} are left"
        )
    if wanted.vcpus > free_vcpus:
        lacking.append(f"it wants {wanted.vcpus} processors, {max(0, free_vcpus)} of {vcpus} are left")
    return "; ".join(lacking)
