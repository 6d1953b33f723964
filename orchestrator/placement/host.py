"""Nodes as the solver sees them: what they have, what of it is free, and what keeps anything from being put there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.plugins.asks import Asks

#: The kinds of amounts that nodes have and resources ask for; of storage, one for each unit: ``disk:NAME``.
MEMORY: Final = "memory_mib"
VCPUS: Final = "vcpus"
DISK: Final = "disk:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node at the moment of a decision."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    #: By name: why a hypervisor cannot be used, empty if it can.
    hypervisors: Mapping[str, str] = field(default_factory=dict)
    #: By the name of the storage unit: why it cannot be used, empty if it can.
    storage: Mapping[str, str] = field(default_factory=dict)
    #: By kind, how much there is in all; what a node does not have is not there.
    size: Mapping[str, int] = field(default_factory=dict)
    #: By kind, how much may still be promised; less than nothing if too much was.
    free: Mapping[str, int] = field(default_factory=dict)
    #: Why nothing more is put there, whatever it is; empty: it is open.
    closed: str = ""

    def objection(self, asks: Asks) -> str:
        """Return why a resource that asks for this cannot be here, however much is free; empty if it can."""
        if asks.node and asks.node != self.name:
            return f"the template names node {asks.node!r}"
        if self.closed:
            return self.closed
        for label, value in sorted(asks.labels.items()):
            found = self.labels.get(label)
            if found is None:
                return f"it has no label {label!r}, where {value!r} is asked for"
            if found != value:
                return f"its label {label!r} is {found!r}, where {value!r} is asked for"
        return self._lack(self.hypervisors, asks.hypervisor, "hypervisor") or next(
            (
                lack
                for unit in sorted(asks.disks_mib)
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


def demand_of(asks: Asks) -> dict[str, int]:
    """Return the amounts that a resource asks for, by kind, without those of nothing."""
    amounts = {MEMORY: asks.memory_mib, VCPUS: asks.vcpus}
    amounts |= {DISK + unit: size for unit, size in asks.disks_mib.items()}
    return {kind: amount for kind, amount in amounts.items() if amount > 0}


def in_words(kind: str, amount: int) -> str:
    """Return an amount as people read it."""
    if kind == MEMORY:
        return f"{amount} MiB of memory"
    if kind == VCPUS:
        return f"{amount} vcpu{'' if amount == 1 else 's'}"
    return f"{amount} MiB on storage unit {kind.removeprefix(DISK)!r}"


def shortage(free: Mapping[str, int], demand: Mapping[str, int]) -> str:
    """Return what there is too little of; empty if there is enough of everything."""
    for kind, amount in sorted(demand.items()):
        if amount > free.get(kind, 0):
            return f"{in_words(kind, amount)} asked for, {max(0, free.get(kind, 0))} free"
    return ""
