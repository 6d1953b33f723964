"""Nodes that exist nowhere, and resources that are on them: what is needed to have stacks placed."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from cache.node_state.errors import NodeError, NodeTimeout
from cache.node_state.lease import Lease
from cache.node_state.requests import (
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    Section,
    StorageSection,
)
from hooks.lifecycle import LifecyclePlugin
from orchestrator.config.settings import Settings
from orchestrator.lifecycle.engine_plugin import Engine
from orchestrator.placement.plugin import Placement
from orchestrator.placement.rules import GROUP_TYPE
from orchestrator.plugins.machine_requirements import MachineRequirements
from orchestrator.plugins.properties import Property, PropertyType
from orchestrator.plugins.resource import Resource
from orchestrator.plugins.steps import PropertyChanges, ResourceFailure
from orchestrator.store.store import Store
from workers.resources.nodes.placement_group import PlacementGroup

#: The hypervisor and the storage unit that all these nodes have.
FAKE, UNIT = "fake", "default"


class PretendedNodes:
    """Nodes as agents would tell of them: each has so much memory, all of it free."""

    def __init__(self, **memory_mib: int) -> None:
        self.leases_now = {name: lease(name, size) for name, size in memory_mib.items()}
        self.silent: set[str] = set()
        #: How much of a node's memory is free, if not all of it.
        self.free_mib: dict[str, int] = {}
        #: By node, what its instances were promised and use.
        self.instances: dict[str, dict[str, dict[str, int]]] = {}
        #: How often nodes were asked.
        self.asked = 0
        self._lock = threading.Lock()

    def leases(self) -> Mapping[str, Lease]:
        return dict(self.leases_now)

    def machine_states(
        self, nodes: Iterable[str], request: Any, **how: Any
    ) -> Mapping[str, MachineState | NodeError]:
        with self._lock:
            self.asked += 1
        return {name: self._told(name) for name in nodes}

    def _told(self, name: str) -> MachineState | NodeError:
        if name in self.silent:
            return NodeTimeout(name, f"node {name!r} did not answer within 10 s")
        total = self.leases_now[name].totals["memory_mib"]
        node = {"memory_total_mib": total, "memory_free_mib": self.free_mib.get(name, total)}
        hypervisor = {NODE_DATA: node, INSTANCES_DATA: self.instances.get(name, {})}
        storage = {"type": "file", "name": UNIT, "storage_size": total, "storage_free": total}
        return MachineState(
            node=name,
            taken_at=0.0,
            incarnation="i",
            boot_id="b",
            sections={
                HypervisorSection(FAKE).key: Section(status=OK, data=hypervisor),
                StorageSection("file", UNIT).key: Section(status=OK, data=storage),
            },
        )


def lease(name: str, memory_mib: int, **more: Any) -> Lease:
    """Return what an agent says of a node; the last figure of its name is that of its rack."""
    values = {"labels": {"rack": f"r{name[-1]}"}, "hypervisors": (FAKE,), "storage": {UNIT: "file"}, **more}
    return Lease(
        node=name, incarnation="i", boot_id="b", totals={"memory_mib": memory_mib, "vcpus": 8}, **values
    )


class PretendedInstance(Resource):
    """An instance that takes up memory on the node that was found for it."""

    properties_schema = {
        "memory": Property(type=PropertyType.INTEGER, default=0, update_allowed=True),
        "disk": Property(type=PropertyType.INTEGER, default=0),
        "image": Property(type=PropertyType.STRING, default=""),
        "hypervisor": Property(type=PropertyType.STRING, default=FAKE),
        "node": Property(type=PropertyType.STRING, default=""),
        "groups": Property(type=PropertyType.LIST, default=[], update_allowed=True),
    }
    #: The names of those that fail.
    failing: set[str] = set()

    @classmethod
    def machine_requirements(cls, properties: Mapping[str, Any]) -> MachineRequirements | None:
        disk = int(properties.get("disk", 0))
        groups = properties.get("groups", [])
        return MachineRequirements(
            node=properties.get("node", ""),
            hypervisor=properties.get("hypervisor", FAKE),
            memory_mib=int(properties.get("memory", 0)),
            disks_mib={UNIT: disk} if disk else {},
            groups=tuple(each for each in groups if isinstance(each, str)),
        )

    def handle_create(self) -> Any:
        self.state.on_node = self.state.on_node or self.annotations["placement"]["node"]
        self.state.physical_id = f"{self.state.on_node}/{self.state.uuid}"
        if self.name in self.failing:
            raise ResourceFailure("no luck")

    def handle_update(self, changes: PropertyChanges) -> Any:
        if self.name in self.failing:
            raise ResourceFailure("no luck")


#: All that templates of these tests name.
TYPES = {"Pretended::Instance": PretendedInstance, GROUP_TYPE: PlacementGroup}


def placement(store: Store, settings: Settings, nodes: PretendedNodes) -> LifecyclePlugin:
    """Return the plugin as a process with this store has it."""
    plugin = Placement()
    plugin.join(Engine(settings=settings, store=lambda: store, types=lambda: TYPES, nodes=lambda: nodes))
    return plugin


def instance(**properties: Any) -> dict[str, Any]:
    """Return an instance for a template."""
    return {"type": "Pretended::Instance", "properties": properties}


def group(policy: str, **properties: Any) -> dict[str, Any]:
    """Return a group for a template."""
    return {"type": GROUP_TYPE, "properties": {"policy": policy, **properties}}
