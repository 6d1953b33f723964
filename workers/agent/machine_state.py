"""The machine-state reader of an agent: all requested sections in one pass, each backend with its own time-out."""

import json
from collections.abc import Callable
from typing import Any

from cache.node_state.requests import (
    ABSENT,
    BOOTID_KEY,
    ERROR,
    INSTANCES_DATA,
    NODE_DATA,
    OK,
    TIMEOUT,
    HypervisorSection,
    MachineStateRequest,
    Section,
    StorageSection,
)
from workers.agent.backends import Backend, Backends, Unusable
from workers.agent.hypervisors.hypervisor import Hypervisor
from workers.agent.patience import PendingCall, Unanswered
from workers.agent.storage.storage import Storage


def read_sections(
    request: MachineStateRequest,
    hypervisors: Backends[Hypervisor],
    storage: Backends[Storage],
    boot_id: Callable[[], str],
) -> dict[str, Section]:
    """Return the requested sections, by key; a failed one holds the reason.

    Backends are queried concurrently: it takes as long as the slowest, and no longer than one time-out.
    """
    kinds, units = set(request.hypervisors), set(request.storage)
    if request.everything:
        kinds |= {HypervisorSection(name) for name in hypervisors}
        units |= {StorageSection(unit.kind, name) for name, unit in storage.items()}
    pending = {section.key: _query_hypervisor(section, hypervisors) for section in sorted(kinds)}
    pending |= {section.key: _query_storage(section, storage) for section in sorted(units)}
    sections = {key: _answer(each) for key, each in pending.items()}
    if request.bootid or request.everything:
        found = boot_id()
        message = "" if found else "the boot id cannot be read (setting agent.boot_id_file)"
        sections[BOOTID_KEY] = Section(status=OK if found else ERROR, data=found or None, message=message)
    return sections


def _query_hypervisor(
    section: HypervisorSection, hypervisors: Backends[Hypervisor]
) -> PendingCall[Any] | Section:
    backend = hypervisors.get(section.type)
    if backend is None:
        return Section(status=ABSENT, message=f"the node has no hypervisor {section.type!r}")
    if fault := _other_parameters(backend, section):
        return Section(status=ABSENT, message=fault)
    return _query(backend, _hypervisor_data)


def _query_storage(section: StorageSection, storage: Backends[Storage]) -> PendingCall[Any] | Section:
    backend = storage.get(section.name)
    if backend is None or backend.kind != section.type:
        described = f"{section.name!r} of type {section.type!r}"
        return Section(status=ABSENT, message=f"the node has no storage unit {described}")
    return _query(backend, lambda unit: _storage_data(unit, section))


def _other_parameters(backend: Backend[Hypervisor], section: HypervisorSection) -> str:
    """Return a fault if a hypervisor's parameters differ from the requested ones; empty: they are equal.

    They are compared and never applied: a client must not choose what programs an agent runs.
    """
    wanted = json.loads(section.parameters)
    other = sorted(name for name, value in wanted.items() if backend.options.get(name, backend) != value)
    return f"{backend.who} has other parameters here: {', '.join(other)}" if other else ""


def _query(backend: Backend[Any], look: Callable[[Any], Any]) -> PendingCall[Any] | Section:
    try:
        return backend.patience.ask(lambda: look(backend.get()))
    except Unanswered as error:
        return Section(status=TIMEOUT, message=str(error))


def _answer(pending: PendingCall[Any] | Section) -> Section:
    if isinstance(pending, Section):
        return pending
    try:
        return Section(status=OK, data=pending.answer())
    except Unanswered as error:
        return Section(status=TIMEOUT, message=str(error))
    except Unusable as error:
        return Section(status=error.status, message=str(error))
    except Exception as error:  # noqa: BLE001  # a plugin's own, of any kind: the other sections are reported
        return Section(status=ERROR, message=str(error) or type(error).__name__)


def _hypervisor_data(hypervisor: Hypervisor) -> dict[str, Any]:
    return {
        NODE_DATA: hypervisor.node().to_wire(),
        INSTANCES_DATA: {each.name: each.to_wire() for each in hypervisor.instances()},
    }


def _storage_data(storage: Storage, section: StorageSection) -> dict[str, Any]:
    data = storage.info(exclusive=section.exclusive)
    return {
        "type": section.type,
        "name": section.name,
        "storage_size": data.storage_size_mib,
        "storage_free": data.storage_free_mib,
    }
