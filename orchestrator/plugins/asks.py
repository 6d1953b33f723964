"""What a resource asks of the node that it is to be on, in the terms in which nodes are compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

#: The built-in agent of embedded mode.
LOCAL_NODE: Final = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """What a resource asks of its node; nothing, as long as nothing is said."""

    #: The node that the template names; empty: any.
    node: str = ""
    #: The hypervisor that it must have; empty: none.
    hypervisor: str = ""
    memory_mib: int = 0
    vcpus: int = 0
    #: MiB by the name of the storage unit.
    disks_mib: Mapping[str, int] = field(default_factory=dict)
    #: What must be said of the node, by label.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The ids of placement groups that the template names by their ids, rather than by a reference.
    groups: tuple[str, ...] = ()
