"""Hosts: machines as the solver sees them, with size, free capacity, labels, and why they may be unusable."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from hooks.values.dataclass import dataclass
from orchestrator.plugins.machine_requirements import MachineRequirements

#: The kinds of capacity; storage has one for each unit: ``disk:NAME``.
MEMORY: Final = "memory_mib"
VCPUS: Final = "vcpus"
DISK: Final = "disk:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine at the moment of a decision."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    #: By name: why a hypervisor cannot be used, empty if it can.
    hypervisors: Mapping[str, str] = field(default_factory=dict)
    #: By the name of the storage unit: why it cannot be used, empty if it can.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: Total capacity by kind, without kinds that the machine does not have.
    size: Mapping[str, int] = field(default_factory=dict)
    #: Capacity by kind that may still be reserved; negative if too much is.
    free: Mapping[str, int] = field(default_factory=dict)
    #: Why nothing may be placed on it; empty if it is open.
    closed: str = ""

    def objection(self, requirements: MachineRequirements) -> str:
        """Return why a resource with these requirements cannot be here, whatever is free; "" if it can."""
        if requirements.node and requirements.node != self.name:
            return f"the template names node {requirements.node!r}"
        if self.closed:
            return self.closed
        for label, value in sorted(requirements.labels.items()):
            found = self.labels.get(label)
            if found is None:
                return f"it has no label {label!r}, where {value!r} is required"
            if found != value:
                return f"its label {label!r} is {found!r}, where {value!r} is required"
        return self._lack(self.hypervisors, requirements.hypervisor, "hypervisor") or next(
            (
                lack
                for unit in sorted(requirements.disks_mib)
                if (lack := self._lack(self.storage, unit, "storage unit"))
            ),
            "",
        )

    @staticmethod
    def _lack(has: Mapping[str, str], wanted: str, noun: str) -> str:
        if not wanted:
            return ""
        if wanted not in has:
            only = ", ".join(map(repr, sorted(has)))
            return f"it has no {noun} {wanted!r}" + (f", only {only}" if only else "")
        return f"its {noun} {wanted!r} cannot be used: {has[wanted]}" if has[wanted] else ""


def demand_of(requirements: MachineRequirements) -> dict[str, int]:
    """Return the capacity that a resource requires, by kind, without zero amounts."""
    amounts = {MEMORY: requirements.memory_mib, VCPUS: requirements.vcpus}
    amounts |= {DISK + unit: size for unit, size in requirements.disks_mib.items()}
    return {kind: amount for kind, amount in amounts.items() if amount > 0}


def in_words(kind: str, amount: int) -> str:
    """Return an amount in words, for messages."""
    if kind == MEMORY:
        return f"{amount} MiB of memory"
    if kind == VCPUS:
        return f"{amount} vcpu{'' if amount == 1 else 's'}"
    return f"{amount} MiB on storage unit {kind.removeprefix(DISK)!r}"


def shortage(free: Mapping[str, int], demand: Mapping[str, int]) -> str:
    """Return the first kind of capacity that does not suffice, as a message; "" if all do."""
    for kind, amount in sorted(demand.items()):
        if amount > free.get(kind, 0):
            return f"{in_words(kind, amount)} required, {max(0, free.get(kind, 0))} free"
    return ""
