"""Nodes for tests: what they are at each moment is known, and how often they were asked."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cache.node_state.cache import NodeStateCache
from cache.node_state.errors import NodeError
from cache.node_state.lease import Lease
from cache.node_state.requests import (
    ABSENT,
    BOOTID_KEY,
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    MachineStateRequest,
    Section,
    StorageSection,
)
from cache.node_state.store import NodeStateStore

PROCESS = HypervisorSection("process")
DISK = StorageSection("file", "default")
HV = MachineStateRequest(hypervisors=frozenset({PROCESS}))
DISKINFO = MachineStateRequest(storage=frozenset({DISK}))
BOOTID = MachineStateRequest(bootid=True)
EVERYTHING = MachineStateRequest(everything=True)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Node:
    """One node: its state is a number that changes count up."""

    name: str = "n1"
    state: int = 0
    incarnation: str = "first"
    boot_id: str = "boot"
    unsettled: bool = False
    #: Sections that fail, by key: their status.
    failing: dict[str, str] = field(default_factory=dict)
    error: NodeError | None = None
    #: What is done in the middle of an answer, after the state was read.
    meanwhile: Callable[[], None] = lambda: None
    asked: list[MachineStateRequest] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def data(self) -> dict[str, Any]:
        return {
            NODE_DATA: {"memory_total_mib": self.state},
            INSTANCES_DATA: {"web": {"memory_mib": self.state}},
        }

    def answer(self, request: MachineStateRequest) -> MachineState:
        with self.lock:
            self.asked.append(request)
        known = {
            PROCESS.key: self.data(),
            DISK.key: {"type": "file", "name": "default", "storage_free": self.state},
            BOOTID_KEY: self.boot_id,
        }
        keys = set(request.keys) | (known.keys() if request.everything else set())
        sections = {}
        for key in sorted(keys):
            if key in self.failing:
                sections[key] = Section(status=self.failing[key], message="it does not work")
            elif key in known:
                sections[key] = Section(status=OK, data=known[key])
            elif "exclusive" in key or key.endswith(":1") or key.startswith("hv:process:"):
                # The same with other parameters.
                sections[key] = Section(status=OK, data={"other": self.state})
            else:
                sections[key] = Section(status=ABSENT, message="there is none")
        machine_state = MachineState(
            node=self.name,
            taken_at=0.0,
            incarnation=self.incarnation,
            boot_id=self.boot_id,
            sections=sections,
            unsettled=self.unsettled,
        )
        self.meanwhile()
        if self.error is not None:
            raise self.error
        return machine_state

    def lease(self, **changed: Any) -> Lease:
        said: dict[str, Any] = {
            "node": self.name,
            "incarnation": self.incarnation,
            "boot_id": self.boot_id,
            "holder": f"host of {self.name}, process 1",
        }
        return Lease(**(said | changed))


class World:
    """Nodes that hold leases, and a cache over them as a process of its own would have it."""

    def __init__(self, store: NodeStateStore, *nodes: Node, **options: Any) -> None:
        self.nodes = {node.name: node for node in nodes or (Node(),)}
        self.store, self.options = store, options
        self.cache = self.another()
        for node in self.nodes.values():
            self.cache.acquire(node.lease())

    def another(self, store: NodeStateStore | None = None, **options: Any) -> NodeStateCache:
        return NodeStateCache(store or self.store, self._fetch, **(self.options | options))

    def _fetch(self, node: str, request: MachineStateRequest, timeout_seconds: float) -> MachineState:
        return self.nodes[node].answer(request)

    @property
    def node(self) -> Node:
        return next(iter(self.nodes.values()))


def state_in(machine_state: MachineState) -> int:
    """Return which state of its node a machine state shows."""
    for key, section in machine_state.sections.items():
        if key == PROCESS.key:
            return int(section.data[NODE_DATA]["memory_total_mib"])
        if key == DISK.key:
            return int(section.data["storage_free"])
    raise AssertionError(machine_state)
