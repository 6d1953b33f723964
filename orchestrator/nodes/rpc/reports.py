"""Machine reports: the contents of an agent's lease as the machine's row stores them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from cache.node_state.lease import Lease, Leases
from orchestrator.store.machines.machines import MachineReport, MachineRow

#: A clock that differs by more is reported.
CLOCK_SECONDS: Final = 5.0


def report_of(lease: Lease) -> MachineReport:
    """Return the report of a machine whose agent holds this lease."""
    facts = asdict(lease)
    name, incarnation, boot_id = (facts.pop(each) for each in ("node", "incarnation", "boot_id"))
    report = {**facts, "hypervisors": sorted(lease.hypervisors)}
    return MachineReport(name=name, incarnation=incarnation, boot_id=boot_id, report=report)


def heard_seconds(row: MachineRow, leases: Mapping[str, Lease]) -> float:
    """Return how long ago a machine's agent was last heard: by its lease, else by its row, which is older."""
    heard = leases.heard_seconds.get(row.name) if isinstance(leases, Leases) else None
    return max(0.0, row.now - row.seen_at) if heard is None else heard


def clock_fault(lease: Lease) -> str:
    """Return how far the clock of an agent's machine is off, as a sentence; empty: it is right, or not measured."""
    ahead = lease.clock_ahead_seconds or 0.0
    if abs(ahead) < CLOCK_SECONDS:
        return ""
    return f"its clock is {abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}"
