"""``qemu``: virtual machines, one process each, that outlive the agent and are controlled over a socket."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from cache.stores.private_files import make_private_directory
from workers.agent.hypervisors.acceleration import fault_of_kvm
from workers.agent.hypervisors.disk_image import DiskImages, ImageFile
from workers.agent.hypervisors.hypervisor import (
    HypervisorBusy,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
    process_family,
)
from workers.agent.hypervisors.kernel import node_of_kernel
from workers.agent.hypervisors.qemu.machine_room import MachineRoom, notes_at_rest
from workers.agent.hypervisors.qemu.machine_watch import MachineWatch
from workers.agent.hypervisors.qemu.running_machine import RunningMachine
from workers.agent.hypervisors.qemu.virtual_machine import (
    WATCH,
    MachineNetwork,
    MachineOptions,
    QemuOptions,
    machine_networks,
    machine_options,
)
from workers.agent.hypervisors.records import InstanceRecord, RecordedHypervisor
from workers.agent.hypervisors.tool import run_tool
from workers.agent.names import fault_of_name
from workers.agent.records import read_record, write_record

_EXPORT: Final = "qemu.json"
_VERSION: Final = re.compile(r"version (\d+)\.(\d+)\.(\d+)")
#: States of a machine whose start or restore was interrupted.
_UNFINISHED: Final = ("prelaunch", "inmigrate")
_REBOOT_GRACE_SECONDS: Final = 60.0


class Qemu(RecordedHypervisor):
    """Virtual machines, each with a disk of its own upon the image, and the volumes of the instance."""

    name = "qemu"
    description = "Virtual machines, with KVM or emulated."
    Options = QemuOptions
    InstanceOptions = MachineOptions
    InstanceNetwork = MachineNetwork
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"pause", "reboot", "resize", "migrate", "snapshot", "networks", "disks"}
    )
    walled = True

    def __init__(self, options: QemuOptions, directory: Path) -> None:
        super().__init__(options, directory.absolute())
        self._images = DiskImages(options.image_program)
        self._room = MachineRoom(self._records, self._images, self._emulator)
        self._version: tuple[int, ...] = ()
        self._watch: MachineWatch | None = None

    def probe(self) -> str:
        """Find its programs, and prove KVM where it is required."""
        for program in (self.options.program, self.options.image_program):
            if shutil.which(program) is None:
                return f"there is no program {program!r}"
        if self.options.accelerator == "kvm" and (fault := fault_of_kvm(self.options.program)):
            return f"KVM cannot be used: {fault}"
        return ""

    def files_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return the kernel and its initial RAM disk."""
        return [str(spec.options[option]) for option in ("kernel", "initrd") if spec.options.get(option)]

    def processes_of(self, name: str) -> Sequence[psutil.Process]:
        """Return the first process and its children."""
        return process_family(self.instance(name))

    def networks_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return its cards' networks; of mode user each forwarded port is one, too."""
        cards = machine_networks(spec)
        named = [f"{card.mode}:{card.device}" if card.device else card.mode for card in cards]
        return [*named, *(f"{card.mode}:{port}" for card in cards for port in card.forward)]

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it, and qemu's version."""
        if not self._version:
            found = _VERSION.search(run_tool((self.options.program, "--version")))
            self._version = tuple(map(int, found.groups())) if found else ()
        return replace(node_of_kernel(), hv_version=self._version or None)

    # -- running -----------------------------------------------------------------------------------------------

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Run the virtual machine, unless it runs.

        Raises:
            HypervisorBusy: it may be saving its state.
        """
        self._records.directory_of(spec.name)
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            machine = self._room.machine(record)
            if record is not None and machine is not None:
                state, raw = machine.look()
                if state is InstanceState.PAUSED:
                    with machine.work() as qmp:
                        qmp.do("cont")
                if state in (InstanceState.RUNNING, InstanceState.PAUSED):
                    return self._data(record)
                if state is InstanceState.UNKNOWN and raw not in _UNFINISHED:
                    # It may be writing its state, and is not killed for that.
                    raise HypervisorBusy(raw)
                machine.end()
            return self._begun(self._room.run(spec, record))

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Press the power button, and end it after the grace."""
        with self._records.changing(name) as record:
            self._room.stop(record, grace_seconds)

    def remove(self, name: str) -> None:
        """End it, and remove its own disk with all snapshots; volumes stay."""
        if fault_of_name(name):
            return
        with self._records.alone(name):
            try:
                record = self._records.find(name)
            except HypervisorFault:
                record = None
            # If the record is damaged, the file with the process number identifies it.
            machine = RunningMachine.find(self.directory / name, record.notes if record is not None else {})
            if machine is not None:
                machine.end()
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """End it, with the power button first, and run it as it was last started."""
        with self._records.changing(name) as before:
            self._room.stop(before, _REBOOT_GRACE_SECONDS)
            record = self._records.get(name)
            return self._begun(self._room.run(record.spec, record))

    def pause(self, name: str) -> None:
        """Stop its processors."""
        with self._records.changing(name) as record, self._room.alive(record).work() as qmp:
            qmp.do("stop")

    def unpause(self, name: str) -> None:
        """Resume its processors."""
        with self._records.changing(name) as record, self._room.alive(record).work() as qmp:
            qmp.do("cont")

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Hot-plug what is added, or have the guest return memory; at rest only the record is changed."""
        with self._records.changing(name) as record:
            resized = replace(record.spec, memory_mib=memory_mib, vcpus=vcpus)
            if (memory_mib, vcpus) == (record.spec.memory_mib, record.spec.vcpus):
                return self._data(record)
            machine = self._room.machine(record)
            if machine is not None and machine.look()[0] is not InstanceState.SHUTDOWN:
                # Recorded first: with unrecorded hot-plugged parts, no state could be saved.
                self._records.keep(record.spec, **{**record.notes, "resizing": True})
                plugged = machine.resize(memory_mib=memory_mib, vcpus=vcpus)
                notes = {**record.notes, "plugged": [*record.notes["plugged"], *plugged]}
                self._records.keep(resized, **notes)
            else:
                self._records.keep(resized, **record.notes)
            return self._data(self._records.get(name))

    # -- snapshots and migration -------------------------------------------------------------------------------

    def snapshot(self, name: str, tag: str) -> Mapping[str, Any]:
        """Save its disks, and its memory if it runs.

        Raises:
            HypervisorFault: an earlier resize was not completed.
        """
        if fault := fault_of_name(tag):
            raise HypervisorFault(f"the tag of a snapshot: {fault}")
        with self._records.changing(name) as record:
            disks = self._room.keeping(record)
            machine, state = self._room.machine(record), self._data(record).state
            if machine is not None and state in (InstanceState.RUNNING, InstanceState.PAUSED):
                if record.notes["resizing"]:
                    raise HypervisorFault(
                        f"the size of instance {name!r} was not changed to its end: start it anew first"
                    )
                machine.keep(list(disks), tag)
            else:
                if machine is not None:
                    machine.end()
                state = InstanceState.SHUTDOWN
                for image in disks.values():
                    self._images.keep(image.path, tag)
            like = {key: record.notes[key] for key in ("base", "plugged")}
            kept = {"state": str(state), "spec": record.spec.to_wire(), "like": like}
            snapshots = {**record.notes["snapshots"], tag: kept}
            self._records.keep(record.spec, **{**record.notes, "snapshots": snapshots})
            return {"state": str(state), "disks": list(disks)}

    def restore(self, name: str, tag: str) -> None:
        """Restore its disks, and run it from its memory if that was saved.

        Raises:
            HypervisorFault: there is no such snapshot, or qemu ended before it was restored.
        """
        with self._records.changing(name) as record:
            if (kept := record.notes["snapshots"].get(tag)) is None:
                raise HypervisorFault(f"instance {name!r} has no snapshot {tag!r}")
            self._room.end(record)
            spec, state = InstanceSpec.from_wire(kept["spec"]), InstanceState(kept["state"])
            disks = self._room.keeping(record)
            if state is InstanceState.SHUTDOWN:
                for image in disks.values():
                    self._images.bring_back(image.path, tag)
                self._records.keep(spec, **{**record.notes, "stopped": True})
                return
            machine = self._room.machine(self._room.run(spec, record, like=kept["like"]))
            if machine is None:
                raise HypervisorFault("qemu ended before its state was brought back")
            self._hear_of(name)
            machine.bring_back(list(disks), tag, go_on=state is InstanceState.RUNNING)

    def forget_snapshot(self, name: str, tag: str) -> None:
        """Delete a saved state."""
        with self._records.alone(name):
            record = self._records.find(name)
            if record is None or tag not in record.notes["snapshots"]:
                return
            disks, machine = self._room.keeping(record), self._room.machine(record)
            if machine is not None:
                machine.forget(list(disks), tag)
            else:
                for image in disks.values():
                    self._images.forget(image.path, tag)
            snapshots = {key: kept for key, kept in record.notes["snapshots"].items() if key != tag}
            self._records.keep(record.spec, **{**record.notes, "snapshots": snapshots})

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:
        """Write its disks, each whole, without backing files and snapshots.

        Raises:
            HypervisorFault: it is not at rest.
        """
        with self._records.changing(name) as record:
            if self._data(record).state not in (InstanceState.SHUTDOWN, InstanceState.CRASHED):
                raise HypervisorFault(f"instance {name!r} is not at rest")
            self._room.end(record)
            make_private_directory(directory)
            written = {}
            for node, image in self._room.disks(record).items():
                handed = ImageFile(path=str(directory / f"{node}.{image.format}"), format=image.format)
                self._images.copy(image, handed, into_existing=False)
                written[node] = image.format
            handover = {"disks": written, "memory_mib": record.spec.memory_mib, "vcpus": record.spec.vcpus}
            # Written last, so that it exists only with all the disks.
            write_record(directory / _EXPORT, handover)
            return handover

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:
        """Read another machine's export: its own disk beside the record, the others into the volumes.

        Raises:
            HypervisorFault: there is no complete export.
        """
        own = self._records.directory_of(spec.name)
        machine_options(spec)
        with self._records.alone(spec.name):
            if (handover := read_record(directory / _EXPORT)) is None:
                raise HypervisorFault("nothing was handed over that this hypervisor can take")
            self._room.end(self._records.find(spec.name))
            make_private_directory(own)
            # Whole from now on: without a backing file.
            notes = notes_at_rest(image=spec.image if "root" in handover["disks"] else "", below=None)
            for node, target in self._room.targets(spec, own).items():
                if (form := handover["disks"].get(node)) is None:
                    raise HypervisorFault(f"no disk {node!r} was handed over")
                source = self._images.handed_over(str(directory / f"{node}.{form}"), str(form))
                self._images.copy(source, target, into_existing=node != "root" and Path(target.path).exists())
            self._records.keep(spec, **notes)

    # -- events ------------------------------------------------------------------------------------------------

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Watch for guests that power off, pause or resume, and for processes that end."""
        self._watch = MachineWatch(changed)
        for name in self._records.names():
            self._hear_of(name)
        return self._watch.close

    def _hear_of(self, name: str) -> None:
        if self._watch is not None:
            self._watch.add(name, self.directory / name / WATCH)

    # -- state -------------------------------------------------------------------------------------------------

    def _begun(self, record: InstanceRecord) -> InstanceData:
        self._hear_of(record.spec.name)
        return self._data(record)

    def _emulator(self) -> QemuOptions:
        options: QemuOptions = self.options
        if options.accelerator != "auto":
            return options
        return options.model_copy(update={"accelerator": "tcg" if fault_of_kvm(options.program) else "kvm"})

    def _data(self, record: InstanceRecord) -> InstanceData:
        spec, machine = record.spec, self._room.machine(record)
        state, raw = machine.look() if machine is not None else _at_rest(record.notes)
        if state is InstanceState.UNKNOWN and (machine := self._room.machine(record)) is None:
            # It has ended during the query.
            state, raw = _at_rest(record.notes)
        cpu_seconds, memory = machine.uses() if machine is not None else (0.0, None)
        return InstanceData(
            name=spec.name,
            id=str(machine.pid) if machine is not None and state is not InstanceState.SHUTDOWN else "",
            memory_mib=spec.memory_mib,
            vcpus=spec.vcpus,
            state=state,
            raw_state=raw,
            cpu_seconds=cpu_seconds,
            memory_used_mib=memory,
            details={
                "log": str(self._records.directory_of(spec.name) / "log"),
                "snapshots": sorted(record.notes["snapshots"]),
            },
        )


def _at_rest(notes: Mapping[str, Any]) -> tuple[InstanceState, str]:
    """Return the state of an instance without a process: ended on purpose or by a reboot, or else crashed."""
    if notes["stopped"] or not notes["pid"]:
        return InstanceState.SHUTDOWN, "stopped"
    boot = notes["mark"].partition("/")[0]
    if boot != Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip():
        return InstanceState.SHUTDOWN, "gone with the machine's last boot"
    return InstanceState.CRASHED, "gone"
