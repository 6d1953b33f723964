"""Machine states converted to the shapes of the older queries ``node_info`` and ``instance_info``."""

from collections.abc import Mapping, Sequence
from typing import Any

from cache.node_state.errors import SectionFailed
from cache.node_state.requests import (
    BOOTID_KEY,
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    HypervisorSection,
    MachineState,
    StorageSection,
)


def as_node_info(
    machine_state: MachineState, units: Sequence[StorageSection], hypervisors: Sequence[HypervisorSection]
) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the boot id, the storage units in the order given, and the hypervisors' data of the machine.

    Raises:
        SectionFailed: one of them is missing, or not ok.
    """
    return (
        str(ok_data(machine_state, BOOTID_KEY)),
        [dict(ok_data(machine_state, unit.key)) for unit in units],
        [node_fields(ok_data(machine_state, each.key)[NODE_DATA]) for each in hypervisors],
    )


def as_instances(
    machine_state: MachineState, hypervisors: Sequence[HypervisorSection]
) -> dict[str, dict[str, Any]]:
    """Return the instances of some hypervisors, by their names.

    Raises:
        SectionFailed: a hypervisor is missing, or not ok; or two of them have an instance of the same name with
            different memory or vcpus.
    """
    found: dict[str, dict[str, Any]] = {}
    for hypervisor in hypervisors:
        for name, data in ok_data(machine_state, hypervisor.key)[INSTANCES_DATA].items():
            fields = instance_fields(data)
            other = found.setdefault(name, fields)
            if any(other[field] != fields[field] for field in ("memory", "vcpus")):
                sentence = f"node {machine_state.node!r}: two hypervisors report instance {name!r} and differ"
                raise SectionFailed(machine_state.node, sentence)
    return found


def ok_data(machine_state: MachineState, key: str) -> Any:
    """Return the data of a section of a machine state.

    Raises:
        SectionFailed: the section is missing, or not ok; with its backend's message.
    """
    section = machine_state.sections.get(key)
    if section is None or section.status != OK:
        why = section.message or section.status if section else "it was not reported"
        raise SectionFailed(machine_state.node, f"node {machine_state.node!r} cannot tell {key}: {why}")
    return section.data


def node_fields(data: Mapping[str, Any]) -> dict[str, object]:
    """Return a hypervisor's node data as :meth:`NodeClient.node_info` has it.

    Memory is in MiB; unknown values are left out.
    """
    return {name.removesuffix("_mib"): value for name, value in data.items() if value is not None}


def instance_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance as :meth:`NodeClient.instance_info` has it."""
    return {
        "memory": data["memory_mib"],
        "vcpus": data["vcpus"],
        "state": data["state"],
        "time": data["cpu_seconds"],
    }
