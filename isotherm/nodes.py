"""Contracts of hypervisors, storage and node RPCs of agents.

``node_rpc``, ``Effect``
    decorator of node RPCs, in modules named by the entry points ``isotherm.node_rpcs``; the effect on the node
``NodeClient``
    calls node RPCs; returned by ``Connection.node_client``
``Hypervisor``, ``HypervisorOptions``
    bases of hypervisors, which run instances, and of their options; entry points ``isotherm.hypervisors``
``InstanceSpec``, ``Disk``
    passed to its ``start``: the definition of an instance
``InstanceData``, ``InstanceState``, ``NodeData``
    returned by it: an instance, its state, and the node's capacity
``HypervisorFault``, ``HypervisorBusy``, ``CannotDo``, ``NoInstance``
    raised by it: it failed, may succeed later, cannot do it, or there certainly is no such instance
``Storage``, ``StorageOptions``
    bases of storage, which holds volumes, and of its options; entry points ``isotherm.storage``
``StorageData``, ``VolumeData``
    returned by it: its size and free space, and a volume
``StorageFault``, ``StorageFull``
    raised by it: it failed, or has not enough space
"""

from orchestrator.nodes.rpc.client import NodeClient
from orchestrator.nodes.rpc.registry import Effect, node_rpc
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    Disk,
    Hypervisor,
    HypervisorBusy,
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
    NoInstance,
)
from workers.agent.storage.storage import (
    Storage,
    StorageData,
    StorageFault,
    StorageFull,
    StorageOptions,
    VolumeData,
)

__all__ = [
    "CannotDo",
    "Disk",
    "Effect",
    "Hypervisor",
    "HypervisorBusy",
    "HypervisorFault",
    "HypervisorOptions",
    "InstanceData",
    "InstanceSpec",
    "InstanceState",
    "NoInstance",
    "NodeClient",
    "NodeData",
    "Storage",
    "StorageData",
    "StorageFault",
    "StorageFull",
    "StorageOptions",
    "VolumeData",
    "node_rpc",
]
