"""The records of virtual machines, and the start, discovery and end of their processes."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from cache.stores.private_files import write_private_file
from workers.agent.hypervisors.disk_image import DiskImages, ImageFile
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorFault, InstanceSpec, InstanceState
from workers.agent.hypervisors.qemu.running_machine import RunningMachine
from workers.agent.hypervisors.qemu.virtual_machine import (
    LOOK,
    PID_FILE,
    WATCH,
    WORK,
    QemuOptions,
    machine_command,
    machine_options,
)
from workers.agent.hypervisors.records import InstanceRecord, InstanceRecords
from workers.agent.hypervisors.tool import run_tool

_ROOT: Final = "root.qcow2"
_START_SECONDS: Final = 60.0


class MachineRoom:
    """The virtual machines of one hypervisor; each is changed by one thread at a time."""

    def __init__(
        self, records: InstanceRecords, images: DiskImages, emulator: Callable[[], QemuOptions]
    ) -> None:
        """Keep the arguments; ``emulator`` is called when a machine is started, since it may take a while."""
        self._records, self._images, self._emulator = records, images, emulator

    def run(
        self, spec: InstanceSpec, before: InstanceRecord | None, *, like: Mapping[str, Any] | None = None
    ) -> InstanceRecord:
        """Start the process of an instance that has none, and return its notes.

        With ``like``, the notes of a saved state, it is built as it was then, and paused: a state fits
        only the same machine.

        Raises:
            HypervisorFault: qemu ended as soon as it had started.
        """
        machine_options(spec)
        directory = self._records.directory_of(spec.name)
        notes = dict(before.notes) if before is not None else notes_at_rest(image="", below=None)
        built = like or {"base": [spec.memory_mib, spec.vcpus], "plugged": []}
        notes |= {"stopped": False, "resizing": False, "pid": 0, "mark": "", **built}
        image = self._images.examine(spec.image) if self._needs_layer(spec, notes, directory) else None
        if image is not None:
            notes |= {"below": [image.path, image.format], "snapshots": {}}
        command = self._command(spec, notes, directory)
        if image is not None:
            # The record lists no layer until the new one exists: the old one is upon another image.
            self._records.keep(spec, **{**notes, "image": ""})
            self._images.put_layer(directory / _ROOT, image, size_mib=machine_options(spec).root_size_mib)
        notes["image"] = spec.image
        self._records.keep(spec, **notes)
        self._launch([*command, "-S"] if like else command, spec, directory)
        machine = RunningMachine.find(directory, {})
        if machine is None:
            raise HypervisorFault("qemu ended as soon as it had started")
        self._records.keep(spec, **{**notes, "pid": machine.pid, "mark": machine.mark})
        return self._records.get(spec.name)

    def _needs_layer(self, spec: InstanceSpec, notes: Mapping[str, Any], directory: Path) -> bool:
        """Return whether its own disk must be made upon the image: the first time, and for another image."""
        return bool(spec.image) and (notes["image"] != spec.image or not (directory / _ROOT).exists())

    def _command(self, spec: InstanceSpec, notes: Mapping[str, Any], directory: Path) -> list[str]:
        root = ImageFile(path=str(directory / _ROOT), format="qcow2") if spec.image else None
        below = ImageFile(path=notes["below"][0], format=notes["below"][1]) if notes["below"] else None
        memory_mib, vcpus = notes["base"]
        built = replace(spec, memory_mib=memory_mib, vcpus=vcpus)
        command = machine_command(
            built, emulator=self._emulator(), directory=directory, root=root, below=below
        )
        return [
            *command,
            *(text for option, device in notes["plugged"] for text in (option, json.dumps(device))),
        ]

    def _launch(self, command: list[str], spec: InstanceSpec, directory: Path) -> None:
        for name in (LOOK, WORK, WATCH, PID_FILE):
            (directory / name).unlink(missing_ok=True)
        if spec.env:
            write_private_file(directory / "env", json.dumps(dict(spec.env)).encode())
        run_tool(command, timeout_seconds=_START_SECONDS, directory=directory)

    def stop(self, record: InstanceRecord, grace_seconds: float) -> None:
        """Press the power button, and end it after the grace; one at rest stays so."""
        machine = self.machine(record)
        if machine is None:
            return
        self._records.keep(record.spec, **{**record.notes, "stopped": True})
        if grace_seconds > 0:
            machine.power_down(grace_seconds)
        machine.end()

    def end(self, record: InstanceRecord | None) -> None:
        """End its process at once, if there is one."""
        if (machine := self.machine(record)) is not None:
            machine.end()

    def machine(self, record: InstanceRecord | None) -> RunningMachine | None:
        """Return its process; None: it has none."""
        if record is None:
            return None
        return RunningMachine.find(self._records.directory_of(record.spec.name), record.notes)

    def alive(self, record: InstanceRecord) -> RunningMachine:
        """Return its process, which accepts commands.

        Raises:
            HypervisorFault: it does not run.
        """
        machine = self.machine(record)
        if machine is None or machine.look()[0] not in (InstanceState.RUNNING, InstanceState.PAUSED):
            raise HypervisorFault(f"instance {record.spec.name!r} does not run")
        return machine

    def disks(self, record: InstanceRecord) -> dict[str, ImageFile]:
        """Return all its disks, as :meth:`targets` does."""
        return self.targets(record.spec, self._records.directory_of(record.spec.name))

    def targets(self, spec: InstanceSpec, directory: Path) -> dict[str, ImageFile]:
        """Return all disks by their names in qemu.

        Raises:
            CannotDo: one is a directory.
        """
        root = {"root": ImageFile(path=str(directory / _ROOT), format="qcow2")} if spec.image else {}
        for number, disk in enumerate(spec.disks):
            if disk.format == "dir":
                raise CannotDo(f"disk {number} is a directory: only disks that are images can be copied")
        disks = {f"disk{n}": ImageFile(path=d.path, format=d.format) for n, d in enumerate(spec.disks)}
        return root | disks

    def keeping(self, record: InstanceRecord) -> dict[str, ImageFile]:
        """Return the disks in which a state is saved.

        Raises:
            CannotDo: a written disk cannot hold it, or there is none.
        """
        written = {f"disk{n}" for n, disk in enumerate(record.spec.disks) if not disk.readonly} | {"root"}
        disks = {node: image for node, image in self.disks(record).items() if node in written}
        for node, image in disks.items():
            if image.format != "qcow2":
                raise CannotDo(f"{node} is {image.format}: only disks that are qcow2 keep what they were")
        if not disks:
            raise CannotDo("it has no disk that is written to, in which its state could be kept")
        return disks


def notes_at_rest(*, image: str, below: list[str] | None) -> dict[str, Any]:
    """Return the notes of an instance that does not run."""
    return {
        "stopped": True,
        "resizing": False,
        "base": [],
        "plugged": [],
        "image": image,
        "below": below,
        "snapshots": {},
        "pid": 0,
        "mark": "",
    }
