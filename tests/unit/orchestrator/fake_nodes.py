"""Nodes that say what a test wants them to say, behind the real cache."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeTimeout
from cache.node_state.lease import Lease
from cache.node_state.memory_store import MemoryNodeStore
from cache.node_state.requests import (
    BOOTID_KEY,
    ERROR,
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    MachineStateRequest,
    Section,
    StorageSection,
)

TOTALS = {"memory_mib": 1000, "vcpus": 4}


def instance(*, state: str = "running", **more: Any) -> dict[str, Any]:
    return {"id": "7", "memory_mib": 64, "vcpus": 1, "state": state, "memory_used_mib": 10, **more}


def machine_state(lease: Lease, instances: Mapping[str, Any], *, broken: bool) -> MachineState:
    """A node with a hypervisor and a storage unit, and perhaps another hypervisor that does not tell."""
    sections = {
        BOOTID_KEY: Section(status=OK, data=lease.boot_id),
        HypervisorSection.of("process").key: Section(
            status=OK,
            data={
                NODE_DATA: {"memory_total_mib": 1000, "memory_free_mib": 700, "hv_version": None},
                INSTANCES_DATA: dict(instances),
            },
        ),
        StorageSection("file", "default").key: Section(
            status=OK,
            data={"type": "file", "name": "default", "storage_size_mib": 5000, "storage_free_mib": 4000},
        ),
    }
    if broken:
        sections[HypervisorSection.of("qemu").key] = Section(status=ERROR, message="no such program")
    return MachineState(
        node=lease.node,
        taken_at=1.0,
        incarnation=lease.incarnation,
        boot_id=lease.boot_id,
        sections=sections,
    )


@dataclass
class FakeNodes:
    """What an installation's nodes are to those who ask them: :class:`orchestrator.nodes.rpc.client.NodeClient`."""

    said: dict[str, MachineState] = field(default_factory=dict)
    held: dict[str, Lease] = field(default_factory=dict)
    #: Those that have a lease, and do not answer.
    mute: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    #: What time it is, where leases and states are kept.
    now: float = 1000.0

    def __post_init__(self) -> None:
        store = MemoryNodeStore(lambda: self.now)
        # An agent that is there renews its lease, here without a word.
        self.cache = NodeStateCache(store, self.fetch, lease_seconds=1_000_000)

    def add(
        self, name: str, instances: Mapping[str, Any] | None = None, *, broken: bool = False, **more: Any
    ) -> None:
        """Have an agent begin; one that was there before is gone."""
        self.remove(name)
        given = {"incarnation": "agent-1", "boot_id": "boot-1", "labels": {"rack": "r1"}, **more}
        lease = Lease(
            node=name,
            hypervisors=("process",),
            storage={"default": "file"},
            totals=TOTALS,
            reserved_memory_mib=100,
            **given,
        )
        self.cache.acquire(lease)
        self.held[name], self.said[name] = lease, machine_state(lease, instances or {}, broken=broken)

    def remove(self, name: str) -> None:
        """Have an agent end."""
        if name in self.held:
            self.cache.release(self.held.pop(name))

    def leases(self) -> Mapping[str, Lease]:
        return self.cache.leases()

    def ask(self, node: str, rpc: str) -> Any:
        assert rpc == "node_version"
        if node in self.mute:
            raise NodeTimeout(node, f"node {node!r} did not answer within 10 s")
        return {"version": "1.2", "bumps": {"instance_start": 4}, "flushes": {}}

    def fetch(self, node: str, request: MachineStateRequest, timeout_seconds: float, /) -> MachineState:
        assert request.everything, timeout_seconds
        self.asked.append(node)
        if node in self.mute:
            raise NodeTimeout(node, f"node {node!r} did not answer within 10 s")
        return replace(self.said[node])
