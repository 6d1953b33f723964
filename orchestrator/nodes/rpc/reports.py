"""Machine reports: the contents of an agent's lease as the machine's row stores them."""

from dataclasses import asdict

from cache.node_state.lease import Lease
from orchestrator.store.machines.machines import MachineReport


def report_of(lease: Lease) -> MachineReport:
    """Return the report of a machine whose agent holds this lease."""
    facts = asdict(lease)
    name, incarnation, boot_id = (facts.pop(each) for each in ("node", "incarnation", "boot_id"))
    report = {**facts, "hypervisors": sorted(lease.hypervisors)}
    return MachineReport(name=name, incarnation=incarnation, boot_id=boot_id, report=report)
