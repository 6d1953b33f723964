"""``fake``: instances that are declared and never run, for tests and for trying out placement."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import Field

from workers.agent.hypervisors.hypervisor import (
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
)
from workers.agent.hypervisors.kernel import node_of_kernel
from workers.agent.hypervisors.records import InstanceRecord, RecordedHypervisor
from workers.agent.names import fault_of_name
from workers.agent.records import read_record, write_record

#: The file that one machine writes for another.
_EXPORT: Final = "fake.json"


class FakeOptions(HypervisorOptions):
    """The capacity of the pretended machine."""

    memory_mib: int | None = Field(
        default=None, ge=0, description="The simulated memory of the machine; empty: the real one."
    )
    cpus: int | None = Field(
        default=None, ge=1, description="The simulated number of processors; empty: the real one."
    )


class Fake(RecordedHypervisor):
    """Declared instances, kept on disk: they reserve capacity, have a state, and do nothing."""

    name = "fake"
    description = "Instances that are recorded, but never run."
    Options = FakeOptions
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"pause", "reboot", "resize", "migrate", "snapshot", "networks", "disks"}
    )

    def probe(self) -> str:
        """Return nothing: it can be used anywhere."""
        return ""

    def node(self) -> NodeData:
        """Return the machine, with the instances' reserved memory deducted from the free one."""
        promised = sum(each.memory_mib for each in self.instances() if each.state in _TAKES_ROOM)
        node = node_of_kernel(promised_mib=promised)
        if (total := self.options.memory_mib) is not None:
            free = max(0, total - promised)
            node = replace(node, memory_total_mib=total, memory_free_mib=free, memory_dom0_mib=total - free)
        if (cpus := self.options.cpus) is not None:
            node = replace(node, cpu_total=cpus, cpu_dom0=cpus)
        return node

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Declare the instance, unless it exists."""
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            if record is None or record.notes["state"] == InstanceState.SHUTDOWN:
                self._keep(spec, InstanceState.RUNNING, id=secrets.token_hex(4))
            elif record.notes["state"] == InstanceState.PAUSED:
                self._set_state(spec.name, InstanceState.RUNNING)
            return self._data(self._records.get(spec.name))

    def stop(self, name: str, *, grace_seconds: float) -> None:  # noqa: ARG002 -- there is nothing to wait for
        """Have it at rest."""
        with self._records.alone(name):
            self._set_state(name, InstanceState.SHUTDOWN)

    def remove(self, name: str) -> None:
        """Delete it, with its snapshots."""
        with self._records.alone(name):
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """Give it a new id, as a start does."""
        with self._records.changing(name) as record:
            self._keep(record.spec, InstanceState.RUNNING, id=secrets.token_hex(4))
            return self._data(self._records.get(name))

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Declare another size."""
        with self._records.changing(name) as record:
            self._records.keep(replace(record.spec, memory_mib=memory_mib, vcpus=vcpus), **record.notes)
            return self._data(self._records.get(name))

    def pause(self, name: str) -> None:
        """Set it paused; one at rest cannot be."""
        self._switch(name, InstanceState.PAUSED)

    def unpause(self, name: str) -> None:
        """Set it running; one at rest cannot be."""
        self._switch(name, InstanceState.RUNNING)

    def _switch(self, name: str, state: InstanceState) -> None:
        with self._records.changing(name) as record:
            if record.notes["state"] == InstanceState.SHUTDOWN:
                raise HypervisorFault(f"instance {name!r} does not run")
            self._set_state(name, state)

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:
        """Save its declaration."""
        with self._records.changing(name) as record:
            kept = {"spec": record.spec.to_wire(), "notes": dict(record.notes)}
            write_record(self._snapshot_file(name, tag), kept)
            return {"memory_mib": record.spec.memory_mib, "vcpus": record.spec.vcpus}

    def restore(self, name: str, tag: str) -> None:
        """Restore its declaration.

        Raises:
            HypervisorFault: there is no such snapshot.
        """
        with self._records.changing(name):
            if (kept := read_record(self._snapshot_file(name, tag))) is None:
                raise HypervisorFault(f"instance {name!r} has no snapshot {tag!r}")
            self._records.keep(InstanceSpec.from_wire(kept["spec"]), **kept["notes"])

    def forget_snapshot(self, name: str, tag: str) -> None:
        """Delete a saved declaration."""
        with self._records.alone(name):
            self._snapshot_file(name, tag).unlink(missing_ok=True)

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:
        """Write its declaration.

        Raises:
            HypervisorFault: it is not at rest.
        """
        record = self._records.get(name)
        if record.notes["state"] != InstanceState.SHUTDOWN:
            raise HypervisorFault(f"instance {name!r} is not at rest")
        write_record(directory / _EXPORT, {"memory_mib": record.spec.memory_mib})
        return {"memory_mib": record.spec.memory_mib}

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:
        """Declare, at rest, what another machine has written.

        Raises:
            HypervisorFault: there is no export.
        """
        if read_record(directory / _EXPORT) is None:
            raise HypervisorFault("nothing was handed over that this hypervisor can take")
        with self._records.alone(spec.name):
            self._keep(spec, InstanceState.SHUTDOWN, id="")

    def _keep(self, spec: InstanceSpec, state: InstanceState, **notes: Any) -> None:
        self._records.keep(spec, state=str(state), **notes)

    def _set_state(self, name: str, state: InstanceState) -> None:
        record = self._records.get(name)
        self._keep(record.spec, state, id=record.notes["id"])

    def _data(self, record: InstanceRecord) -> InstanceData:
        spec, state = record.spec, InstanceState(record.notes["state"])
        return InstanceData(
            name=spec.name,
            id=record.notes["id"] if state in _TAKES_ROOM else "",
            memory_mib=spec.memory_mib,
            vcpus=spec.vcpus,
            state=state,
            raw_state=str(state),
        )

    def _snapshot_file(self, name: str, tag: str) -> Path:
        if fault := fault_of_name(tag):
            raise HypervisorFault(fault)
        return self._records.directory_of(name) / f"snapshot-{tag}"


_TAKES_ROOM: Final = frozenset({InstanceState.RUNNING, InstanceState.PAUSED})
