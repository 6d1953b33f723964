"""Snapshots in the shapes in which nodes were asked before there were any: one list or map for each kind of thing."""

from collections.abc import Mapping
from typing import Any

from cache.node_state.errors import SectionFailed
from cache.node_state.requests import OK, Snapshot


def ok_data(snapshot: Snapshot, key: str) -> Any:
    """Return what a section of a snapshot holds.

    Raises:
        SectionFailed: the section is not there, or not ok; with what its backend said.
    """
    section = snapshot.sections.get(key)
    if section is None or section.status != OK:
        why = section.message or section.status if section else "it said nothing of it"
        raise SectionFailed(snapshot.node, f"node {snapshot.node!r} cannot tell {key}: {why}")
    return section.data


def node_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hypervisor's node data as :meth:`NodeClient.node_info` has it.

    Memory is in MiB; what is not known is left out.
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
