"""To teach agents more: hypervisors, storage, and calls of your own.

``node_rpc``, ``Effect``
    makes a call of a function, in a module that the entry points ``isotherm.node_rpcs`` name; what it does to its node
``NodeClient``
    makes such calls: ``Connection.node_client`` returns it
``Hypervisor``, ``HypervisorOptions``
    derive from them for what runs instances; entry points ``isotherm.hypervisors``
``InstanceSpec``, ``Disk``
    handed to its ``start``: what an instance is to be
``InstanceData``, ``InstanceState``, ``NodeData``
    what it returns: an instance, its state, and the node as it sees it
``HypervisorFault``, ``HypervisorBusy``, ``CannotDo``, ``NoInstance``
    raise them from it: it fails, may succeed later, is not able to, or there certainly is no such instance
``Storage``, ``StorageOptions``
    derive from them for where volumes are; entry points ``isotherm.storage``
``StorageData``, ``VolumeData``
    what it returns: its size and room, and a volume
``StorageFault``, ``StorageFull``
    raise them from it: it fails, or there is not so much room
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
