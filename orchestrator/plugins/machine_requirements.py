"""Requirements of a resource on the node that it is placed on."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from hooks.values.dataclass import dataclass

#: The built-in agent of embedded mode.
LOCAL_NODE: Final = "local"
#: The key of a resource's private data with its node: an adopt file names the node of an object by it.
NODE_DATA: Final = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRequirements:
    """A resource's requirements on its node; by default, none."""

    #: The node that the template names; empty: any.
    node: str = ""
    #: The required hypervisor; empty: none.
    hypervisor: str = ""
    memory_mib: int = 0
    vcpus: int = 0
    #: MiB by the name of the storage unit.
    disks_mib: Mapping[str, int] = field(default_factory=dict)
    #: The required labels of the node, with their values.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The ids of placement groups that the template names directly, rather than by a reference.
    groups: tuple[str, ...] = ()
