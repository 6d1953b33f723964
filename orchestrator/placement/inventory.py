"""Inventory: the states of all machines at one moment, queried once per decision, and the capacity they leave."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cache.node_state.errors import NodeError, StateStoreFailed
from cache.node_state.lease import Lease
from cache.node_state.requests import (
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    MachineStateRequest,
    StorageSection,
)
from orchestrator.errors import Unavailable
from orchestrator.lifecycle.engine_plugin import Nodes
from orchestrator.nodes.rpc.reports import heard_seconds
from orchestrator.placement.host import DISK, MEMORY, VCPUS, Host
from orchestrator.store.machines.machines import MachineRow
from orchestrator.store.machines.reservations import Promised

#: The request for the whole state of a machine.
_EVERYTHING: Final = MachineStateRequest(everything=True, bootid=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryNode:
    """One machine in an inventory."""

    #: None if no agent runs now.
    lease: Lease | None
    labels: Mapping[str, str]
    #: Its state; None if it was not queried, because free capacity does not matter.
    machine_state: MachineState | None = None
    #: Why nothing may be placed on it; empty if it answers.
    closed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All machines at one moment, without reservations, which change."""

    nodes: Mapping[str, InventoryNode]
    #: The names of instances that belong to rows: their capacity is reserved.
    ours: frozenset[str] = field(default_factory=frozenset)

    def hosts(self, promised: Promised) -> dict[str, Host]:
        """Return the machines as hosts for the solver, under these reservations."""
        return {name: self._host(name, node, promised) for name, node in self.nodes.items()}

    def _host(self, name: str, node: InventoryNode, promised: Promised) -> Host:
        closed = promised.drained.get(name) or node.closed
        if node.lease is None:
            return Host(name=name, labels=node.labels, closed=closed)
        storage = {unit: self._storage_of(node, unit) for unit in node.lease.storage}
        size, free = self._room(name, node, node.lease, promised)
        for unit, (data, _) in storage.items():
            if data is not None:
                kind = DISK + unit
                size[kind] = data["storage_size"]
                in_ledger = data["storage_size"] - promised.totals.get((name, kind), 0)
                measured = data["storage_free"] - promised.pending.get((name, kind), 0)
                free[kind] = min(in_ledger, measured)
        return Host(
            name=name,
            labels=node.labels,
            hypervisors={each: _fault(node, HypervisorSection(each).key) for each in node.lease.hypervisors},
            storage={unit: fault for unit, (_, fault) in storage.items()},
            size=size,
            free=free,
            closed=closed,
        )

    def _room(
        self, name: str, node: InventoryNode, lease: Lease, promised: Promised
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return the total memory and vcpus that may be reserved, and how much of them is free.

        Measured free memory does not include reservations that are not used yet, so those are subtracted; their used
        part is missing from it already.
        """
        memory = math.floor((lease.totals.get(MEMORY, 0) - lease.reserved_memory_mib) * lease.memory_ratio)
        vcpus = math.floor(lease.totals.get(VCPUS, 0) * lease.vcpu_ratio)
        in_use = promised.totals.get((name, MEMORY), 0)
        free_memory = memory - in_use
        free_vcpus = vcpus - promised.totals.get((name, VCPUS), 0)
        if node.machine_state is not None:
            kinds = [HypervisorSection(each).key for each in lease.hypervisors]
            measured = [node.machine_state.sections[key].data for key in kinds if not _fault(node, key)]
            least = min((each[NODE_DATA]["memory_free_mib"] for each in measured), default=0)
            ours, strangers = self._unused(measured, in_use)
            unused = ours + strangers
            free_memory = min(free_memory, math.floor(least * lease.memory_ratio) - unused)
            free_vcpus -= self._vcpus_of_others(measured)
        free = {MEMORY: free_memory, VCPUS: free_vcpus}
        return {MEMORY: memory, VCPUS: vcpus}, free

    def _unused(self, measured: Iterable[Mapping[str, Any]], promised: int) -> tuple[int, int]:
        """Return the unused memory of reservations (``promised``), and that of instances without a reservation.

        An instance of unknown usage counts as using all of its memory. Instances without a reservation belong to no
        stack; they may use all of their memory later.
        """
        used = others = 0
        for each in measured:
            for name, data in each[INSTANCES_DATA].items():
                known = data.get("memory_used_mib")
                its = data["memory_mib"] if known is None else min(known, data["memory_mib"])
                if name in self.ours:
                    used += its
                else:
                    others += data["memory_mib"] - its
        return max(0, promised - used), others

    def _vcpus_of_others(self, measured: Iterable[Mapping[str, Any]]) -> int:
        """Return the vcpus of instances without a reservation."""
        return sum(
            data.get("vcpus") or 0
            for each in measured
            for name, data in each[INSTANCES_DATA].items()
            if name not in self.ours
        )

    @staticmethod
    def _storage_of(node: InventoryNode, unit: str) -> tuple[Mapping[str, Any] | None, str]:
        """Return the data of a storage unit, and why it cannot be used."""
        if node.lease is None or node.machine_state is None:
            return None, ""
        key = StorageSection(node.lease.storage[unit], unit).key
        if fault := _fault(node, key):
            return None, fault
        data = node.machine_state.sections[key].data
        if data["storage_size"] is None or data["storage_free"] is None:
            return None, "it is missing"
        return data, ""


def _fault(node: InventoryNode, key: str) -> str:
    """Return why a section is not ok; "" if it is, or the machine was not queried."""
    if node.machine_state is None:
        return ""
    section = node.machine_state.sections.get(key)
    if section is None:
        return "the node does not report it"
    return "" if section.status == OK else section.message or section.status


def survey(
    nodes: Nodes, machines: Iterable[MachineRow], *, measured: bool, max_age_seconds: float
) -> dict[str, InventoryNode]:
    """Return all machines with a lease or a row, in alphabetical order; with their states if ``measured``.

    Raises:
        Unavailable: the machine-state store does not answer.
    """
    try:
        leases = nodes.leases()
        states = (
            nodes.machine_states(leases, _EVERYTHING, max_age_seconds=max_age_seconds) if measured else {}
        )
    except StateStoreFailed as error:
        raise Unavailable(f"the leases of nodes cannot be read: {error}") from error
    known = {row.name: row for row in machines}
    return {
        name: _node_of(leases, name, known.get(name), states.get(name)) for name in sorted({*leases, *known})
    }


def _node_of(
    leases: Mapping[str, Lease],
    name: str,
    row: MachineRow | None,
    state: MachineState | NodeError | None,
) -> InventoryNode:
    lease = leases.get(name)
    if lease is None:
        since = "" if row is None else f"; it was last heard of {heard_seconds(row, leases):.0f} s ago"
        labels = {} if row is None else row.report.get("labels", {})
        return InventoryNode(lease=None, labels=labels, closed=f"its agent is not there{since}")
    if isinstance(state, NodeError):
        return InventoryNode(lease=lease, labels=lease.labels, closed=str(state))
    return InventoryNode(lease=lease, labels=lease.labels, machine_state=state)
