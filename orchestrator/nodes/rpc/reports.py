"""Machine reports: the contents of an agent's lease as the machine's row stores them."""

from cache.node_state.lease import Lease
from orchestrator.store.machines.machines import MachineReport


def report_of(lease: Lease) -> MachineReport:
    """Return the report of a machine whose agent holds this lease."""
    return MachineReport(
        name=lease.node,
        incarnation=lease.incarnation,
        boot_id=lease.boot_id,
        report={
            "holder": lease.holder,
            "schema": lease.schema,
            "labels": dict(lease.labels),
            "hypervisors": sorted(lease.hypervisors),
            "storage": dict(lease.storage),
            "totals": dict(lease.totals),
            "reserved_memory_mib": lease.reserved_memory_mib,
            "memory_ratio": lease.memory_ratio,
            "vcpu_ratio": lease.vcpu_ratio,
        },
    )
