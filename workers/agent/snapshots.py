"""How an agent tells what its node is and what runs on it: all in one look, each backend with its own time limit."""

import json
from collections.abc import Callable
from dataclasses import dataclass
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
    Section,
    SnapshotRequest,
    StorageSection,
)
from workers.agent.backends import Backend, Backends, Unusable
from workers.agent.hypervisors.hypervisor import Hypervisor
from workers.agent.patience import Asked, Unanswered
from workers.agent.storage.storage import Storage


@dataclass(frozen=True)
class SnapshotTaker:
    """Looks at all that a node has."""

    hypervisors: Backends[Hypervisor]
    storage: Backends[Storage]
    boot_id: Callable[[], str]

    def take(self, request: SnapshotRequest) -> dict[str, Section]:
        """Return the sections that are asked for, by key; one that cannot be told says why.

        All backends are asked at once: it takes as long as the slowest, and no longer than one may take.
        """
        hypervisors, storage = set(request.hypervisors), set(request.storage)
        if request.everything:
            hypervisors |= {HypervisorSection(name) for name in self.hypervisors}
            storage |= {StorageSection(unit.kind, name) for name, unit in self.storage.items()}
        asked = {section.key: self._ask_hypervisor(section) for section in sorted(hypervisors)}
        asked |= {section.key: self._ask_storage(section) for section in sorted(storage)}
        sections = {key: _answer(each) for key, each in asked.items()}
        if request.bootid or request.everything:
            sections[BOOTID_KEY] = self._boot_id()
        return sections

    def _ask_hypervisor(self, section: HypervisorSection) -> Asked[Any] | Section:
        if section.type not in self.hypervisors:
            return Section(status=ABSENT, message=f"the node has no hypervisor {section.type!r}")
        backend = self.hypervisors[section.type]
        if fault := _other_parameters(backend, section):
            return Section(status=ABSENT, message=fault)
        return _ask(backend, _hypervisor_data)

    def _ask_storage(self, section: StorageSection) -> Asked[Any] | Section:
        backend = self.storage.get(section.name)
        if backend is None or backend.kind != section.type:
            described = f"{section.name!r} of type {section.type!r}"
            return Section(status=ABSENT, message=f"the node has no storage unit {described}")
        return _ask(backend, lambda storage: _storage_data(storage, section))

    def _boot_id(self) -> Section:
        boot_id = self.boot_id()
        if boot_id:
            return Section(status=OK, data=boot_id)
        return Section(status=ERROR, message="the boot id cannot be read (setting agent.boot_id_file)")


def _other_parameters(backend: Backend[Hypervisor], section: HypervisorSection) -> str:
    """Return that a hypervisor has other parameters than those asked for; empty: it has these.

    They are compared and never applied: whoever asks must not choose what programs an agent runs.
    """
    wanted = json.loads(section.parameters)
    other = sorted(name for name, value in wanted.items() if backend.options.get(name, backend) != value)
    return f"{backend.who} has other parameters here: {', '.join(other)}" if other else ""


def _ask(backend: Backend[Any], look: Callable[[Any], Any]) -> Asked[Any] | Section:
    try:
        return backend.patience.ask(lambda: look(backend.get()))
    except Unanswered as error:
        return Section(status=TIMEOUT, message=str(error))


def _answer(asked: Asked[Any] | Section) -> Section:
    if isinstance(asked, Section):
        return asked
    try:
        return Section(status=OK, data=asked.answer())
    except Unanswered as error:
        return Section(status=TIMEOUT, message=str(error))
    except Unusable as error:
        return Section(status=error.status, message=str(error))
    except Exception as error:  # noqa: BLE001  # a plugin's own, whatever it is: the other sections are told
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
