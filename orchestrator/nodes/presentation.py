"""Views of machines, made of their rows, leases and states; pure functions."""

from collections.abc import Iterator, Mapping
from typing import Any

from cache.node_state.errors import NodeError, NodeUnreachable
from cache.node_state.lease import Lease
from cache.node_state.requests import INSTANCES_DATA, NODE_DATA, OK, MachineState
from orchestrator.nodes.rpc.reports import clock_fault, heard_seconds
from orchestrator.store.machines.machines import MachineRow, Resident
from orchestrator.views.nodes import (
    FAILING,
    UNREACHABLE,
    UP,
    InstanceView,
    NodeView,
    ResidentView,
    SectionView,
)


def node_view(
    row: MachineRow,
    leases: Mapping[str, Lease],
    answer: MachineState | NodeError,
    promised: Mapping[str, int],
    *,
    booted: bool,
) -> NodeView:
    """Return the view of a machine; ``booted``: since its resources were checked last."""
    lease, heard = leases.get(row.name), heard_seconds(row, leases)
    report, totals = row.report, row.report.get("totals", {})
    state, reason = _state(row, lease, answer, heard)
    known = answer if isinstance(answer, MachineState) else None
    return NodeView.of(
        row,
        state=state,
        reason=reason,
        drained=row.is_drained,
        labels=report.get("labels", {}),
        hypervisors=tuple(report.get("hypervisors", ())),
        storage=report.get("storage", {}),
        memory_mib=totals.get("memory_mib"),
        reserved_memory_mib=report.get("reserved_memory_mib", 0),
        memory_ratio=report.get("memory_ratio", 1.0),
        vcpus=totals.get("vcpus"),
        vcpu_ratio=report.get("vcpu_ratio", 1.0),
        promised=dict(sorted(promised.items())),
        memory_free_mib=_memory_free(known) if known else None,
        instances=_count(known) if known else None,
        age_seconds=known.age_seconds if known else None,
        seen_at=row.now - heard,
        seen_seconds=heard,
        clock_ahead_seconds=lease.clock_ahead_seconds if lease else None,
        holder=report.get("holder", ""),
        boot_id=lease.boot_id if lease else row.boot_id,
        booted=booted,
    )


def _state(
    row: MachineRow, lease: Lease | None, answer: MachineState | NodeError, heard: float
) -> tuple[str, str]:
    if lease is None and not row.incarnation:
        return UNREACHABLE, "its agent came and went while nobody looked"
    if lease is None:
        return UNREACHABLE, f"its agent was last there {heard:.0f} s ago"
    if isinstance(answer, NodeUnreachable):
        return UNREACHABLE, str(answer)
    if isinstance(answer, NodeError):
        return FAILING, str(answer)
    if answer.stale:
        return UNREACHABLE, "its agent does not answer"
    failed = [
        f"{section.kind} {section.name!r}: {section.status}"
        for section in section_views(answer)
        if section.status != OK
    ]
    return UP, "; ".join(filter(None, [clock_fault(lease), *failed]))


def section_views(answer: MachineState) -> Iterator[SectionView]:
    """Yield the views of a machine's hypervisors, and then of its storage units, by name."""
    hypervisors_first = sorted(answer.sections.items(), key=lambda each: (each[0][:3] != "hv:", each[0]))
    for key, section in hypervisors_first:
        kind, _, rest = key.partition(":")
        data = _mapping(section.data)
        if kind == "hv":
            instances = data.get(INSTANCES_DATA)
            yield SectionView(
                kind="hypervisor",
                name=rest.partition(":")[0],
                status=section.status,
                message=section.message,
                data=_mapping(data.get(NODE_DATA)),
                instances=None if instances is None else len(instances),
            )
        elif kind == "disk":
            # A name may have colons; the type has none, nor has the flag behind the name.
            of_type, _, named = rest.partition(":")
            shown = {name: value for name, value in data.items() if name not in ("type", "name")}
            yield SectionView(
                kind="storage",
                name=named.rpartition(":")[0],
                type=of_type,
                status=section.status,
                message=section.message,
                data=shown,
            )


def instance_views(answer: MachineState, residents: Mapping[str, Resident]) -> Iterator[InstanceView]:
    """Yield a machine's instances, by stack, resource and name; ``residents`` are its resources, by id."""
    found = []
    for key, section in answer.sections.items():
        if key.startswith("hv:"):
            for name, data in _mapping(_mapping(section.data).get(INSTANCES_DATA)).items():
                owner = residents.get(name)
                found.append(
                    InstanceView(
                        name=name,
                        hypervisor=key.split(":")[1],
                        id=str(data.get("id", "")),
                        state=data["state"],
                        raw_state=data.get("raw_state", ""),
                        memory_mib=data["memory_mib"],
                        memory_used_mib=data.get("memory_used_mib"),
                        vcpus=data["vcpus"],
                        cpu_seconds=data.get("cpu_seconds", 0.0),
                        stack=owner.stack if owner else "",
                        resource=owner.name if owner else "",
                    )
                )
    yield from sorted(found, key=lambda each: (each.stack, each.resource, each.name, each.hypervisor))


def resident_view(row: Resident) -> ResidentView:
    """Return the view of a resource on a machine."""
    return ResidentView.of(row, resource=row.name, state=f"{row.action}_{row.status}")


def _memory_free(answer: MachineState) -> int | None:
    """Return the least free memory that a hypervisor reports: they share the machine."""
    reported = [
        section.data["memory_free_mib"]
        for section in section_views(answer)
        if section.kind == "hypervisor" and section.data.get("memory_free_mib") is not None
    ]
    return min(reported, default=None)


def _count(answer: MachineState) -> int | None:
    counts = [section.instances for section in section_views(answer) if section.kind == "hypervisor"]
    # Unknown if one hypervisor's number is.
    return None if None in counts else sum(each or 0 for each in counts)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
