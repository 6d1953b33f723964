"""Capacity reserved for instances on this machine: the final check before one starts.

Placement has reserved capacity in the database before; reservations that did not see each other are checked here. One
lasts until the instance is removed, running or not, and is kept on the machine's disk.
"""

import hashlib
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from orchestrator.config.nodes import AgentSettings
from orchestrator.nodes.rpc.errors import NoCapacity
from workers.agent.locks import Locks
from workers.agent.records import read_record, write_record

#: The longest wait for the lock; reading all reservations takes milliseconds.
_WAIT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The capacity of a machine, or what of it is reserved."""

    memory_mib: int
    vcpus: int

    def exceeds(self, other: "Capacity") -> bool:
        """Return whether it is more in any respect."""
        return self.memory_mib > other.memory_mib or self.vcpus > other.vcpus

    def union(self, other: "Capacity") -> "Capacity":
        """Return the larger of each."""
        return Capacity(memory_mib=max(self.memory_mib, other.memory_mib), vcpus=max(self.vcpus, other.vcpus))


class Reservations:
    """The reservations of one machine; safe for threads, and for other processes that share the directory."""

    def __init__(self, node: str, directory: Path, locks: Locks, settings: AgentSettings) -> None:
        self._node, self._directory, self._locks, self._settings = node, directory, locks, settings

    def reserve(self, hypervisor: str, name: str, wanted: Capacity, totals: Capacity) -> Capacity | None:
        """Reserve capacity for an instance in place of its earlier reservation; return that.

        An instance that needs no more than it has reserved is never refused.

        Raises:
            NoCapacity: with it, more would be reserved than is allowed.
        """
        file = self._file(hypervisor, name)
        with self._locks.hold("claims", wait_seconds=_WAIT_SECONDS):
            reservations = self._reservations()
            before = reservations.pop(file, None)
            lacking = room_lacking(self._settings, totals, list(reservations.values()), wanted)
            if lacking and (before is None or wanted.exceeds(before)):
                raise NoCapacity(self._node, f"node {self._node!r} has no room for the instance: {lacking}")
            self._write(file, hypervisor, name, wanted)
        return before

    def reservation(self, hypervisor: str, name: str) -> Capacity | None:
        """Return the reservation of an instance; None: it has none."""
        return _read(self._file(hypervisor, name))

    def set(self, hypervisor: str, name: str, reservation: Capacity | None) -> None:
        """Set the reservation of an instance, without a check: the earlier one, or less than it has."""
        if reservation is None:
            self.release(hypervisor, name)
        else:
            self._write(self._file(hypervisor, name), hypervisor, name, reservation)

    def release(self, hypervisor: str, name: str) -> None:
        """Delete the reservation of an instance; none is no error."""
        self._file(hypervisor, name).unlink(missing_ok=True)

    def total(self) -> Capacity:
        """Return the sum of all reservations."""
        reservations = self._reservations().values()
        return Capacity(
            memory_mib=sum(each.memory_mib for each in reservations),
            vcpus=sum(each.vcpus for each in reservations),
        )

    def _write(self, file: Path, hypervisor: str, name: str, reservation: Capacity) -> None:
        write_record(file, {"hypervisor": hypervisor, "name": name, **asdict(reservation)})

    def _reservations(self) -> dict[Path, Capacity]:
        read = ((path, _read(path)) for path in sorted(self._directory.glob("*.json")))
        # One that was released meanwhile is left out.
        return {path: reservation for path, reservation in read if reservation is not None}

    def _file(self, hypervisor: str, name: str) -> Path:
        digest = hashlib.sha256(f"{hypervisor}\0{name}".encode()).hexdigest()
        return self._directory / f"{digest}.json"


def _read(file: Path) -> Capacity | None:
    record = read_record(file)
    return None if record is None else Capacity(memory_mib=record["memory_mib"], vcpus=record["vcpus"])


def room_lacking(
    settings: AgentSettings, totals: Capacity, reserved: list[Capacity], wanted: Capacity
) -> str:
    """Return the capacity that is too small for one more instance, as text; empty: there is room."""
    memory = math.floor((totals.memory_mib - settings.reserved_memory_mib) * settings.memory_ratio)
    vcpus = math.floor(totals.vcpus * settings.vcpu_ratio)
    free_memory = memory - sum(each.memory_mib for each in reserved)
    free_vcpus = vcpus - sum(each.vcpus for each in reserved)
    lacking = []
    if wanted.memory_mib > free_memory:
        lacking.append(
            f"it wants {wanted.memory_mib} MiB of memory, {max(0, free_memory)} of {memory} are left"
        )
    if wanted.vcpus > free_vcpus:
        lacking.append(f"it wants {wanted.vcpus} processors, {max(0, free_vcpus)} of {vcpus} are left")
    return "; ".join(lacking)
