"""The machine as its kernel reports it, in the project's units."""

from typing import Final

import psutil

from workers.agent.hypervisors.hypervisor import NodeData

BYTES_PER_MIB: Final = 1024 * 1024


def node_of_kernel(*, promised_mib: int = 0) -> NodeData:
    """Return the machine as its kernel sees it; reserved memory that is not really used is not free.

    The host's memory includes that of guests which are ordinary processes to the kernel.
    """
    memory = psutil.virtual_memory()
    total, available = memory.total // BYTES_PER_MIB, memory.available // BYTES_PER_MIB
    cpus = psutil.cpu_count() or 1
    return NodeData(
        memory_total_mib=total,
        memory_free_mib=max(0, available - promised_mib),
        memory_dom0_mib=total - available,
        cpu_total=cpus,
        cpu_dom0=cpus,
    )
