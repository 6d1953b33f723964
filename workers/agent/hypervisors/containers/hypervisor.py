"""``oci``: containers, by runc from an unpacked root file system, or by podman from an image."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from workers.agent.commands.identity import start_mark
from workers.agent.hypervisors.cgroup_usage import cgroup_usage
from workers.agent.hypervisors.containers.container import (
    Container,
    ContainerEngine,
    ContainerNetwork,
    ContainerOptions,
    ContainerStatus,
    OciOptions,
    network_of,
    options_of,
)
from workers.agent.hypervisors.containers.podman import Podman
from workers.agent.hypervisors.containers.runc import Runc
from workers.agent.hypervisors.exits import ExitWatch
from workers.agent.hypervisors.hypervisor import (
    CannotDo,
    HypervisorBusy,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
    process_family,
)
from workers.agent.hypervisors.kernel import BYTES_PER_MIB, node_of_kernel
from workers.agent.hypervisors.records import InstanceRecord, RecordedHypervisor
from workers.agent.records import read_record, write_record

_HANDED: Final = "oci.json"
#: The engine whose containers can be migrated: they do not write to their image, and own no files but disks.
_HANDS_OVER: Final = "runc"
_LOOK_SECONDS: Final = 0.05
#: A container that survives a kill this long waits for a device, and no signal helps.
_KILL_SECONDS: Final = 30.0
_REBOOT_GRACE_SECONDS: Final = 10.0


class Oci(RecordedHypervisor):
    """Containers with limits of memory and processor time, and their control groups' usage."""

    name = "oci"
    description = "Containers: by runc from a directory, by podman from an image."
    Options = OciOptions
    InstanceOptions = ContainerOptions
    InstanceNetwork = ContainerNetwork
    abilities: ClassVar[frozenset[str]] = frozenset(
        {"pause", "reboot", "resize", "migrate", "networks", "disks"}
    )
    walled = True

    def __init__(self, options: OciOptions, directory: Path) -> None:
        super().__init__(options, directory)
        engines: dict[str, ContainerEngine] = {
            "runc": Runc(options.runtime, directory),
            "podman": Podman(options, directory),
        }
        self._engines = {name: engines[name] for name in options.engines}
        self._watch: ExitWatch | None = None

    def probe(self) -> str:
        """Probe each engine; one that works is enough."""
        reasons = {name: engine.probe() for name, engine in self._engines.items()}
        return "" if not all(reasons.values()) else "; ".join(f"{k}: {v}" for k, v in reasons.items())

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it."""
        return node_of_kernel()

    def processes_of(self, name: str) -> Sequence[psutil.Process]:
        """Return the first process and its children."""
        return process_family(self.instance(name))

    def networks_of(self, spec: InstanceSpec) -> Sequence[str]:
        """Return its network, unless it has none."""
        network = network_of(spec)
        name = network.path or network.name
        return [] if network.mode == "none" else [f"{network.mode}:{name}" if name else network.mode]

    def writes_image(self, spec: InstanceSpec) -> bool:
        """Return whether it was given leave to write into the directory that is its image."""
        return options_of(spec).writable and spec.image.startswith("/")

    def instances(self) -> Sequence[InstanceData]:
        """Return all on record, with their engine's state."""
        records = self._records.all()
        known = {name: self._engine(name).containers() for name in {_engine_of(each) for each in records}}
        return [_data(each, known[_engine_of(each)].get(each.spec.name), self._log(each)) for each in records]

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Run the container, in place of one that has ended."""
        directory = self._records.directory_of(spec.name)
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            container = None if record is None else self._container(record)
            if record is not None and container is not None and container.alive:
                if container.status is ContainerStatus.PAUSED:
                    self._engine(_engine_of(record)).unpause(spec.name)
                return self._look(spec.name)
            self._run(spec, record, directory)
            return self._hear_of(self._look(spec.name))

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Signal the first process, and kill all of it after the grace."""
        with self._records.changing(name) as record:
            self._stop(record, grace_seconds)

    def remove(self, name: str) -> None:
        """Kill it and forget it."""
        with self._records.alone(name):
            try:
                record = self._records.find(name)
            except HypervisorFault:
                # An unreadable record does not name its engine.
                record = None
                for engine in self._engines.values():
                    engine.forget(name)
            if record is not None:
                self._engine(_engine_of(record)).forget(name)
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """End it and run it as it was last started."""
        with self._records.changing(name) as record:
            self._stop(record, _REBOOT_GRACE_SECONDS)
            self._run(record.spec, record, self._records.directory_of(name))
            return self._hear_of(self._look(name))

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Write other limits into its control group."""
        with self._records.changing(name) as record:
            container = self._container(record)
            if container is not None and container.alive:
                self._engine(_engine_of(record)).resize(name, memory_mib=memory_mib, vcpus=vcpus)
            self._records.keep(replace(record.spec, memory_mib=memory_mib, vcpus=vcpus), **record.notes)
            return self._look(name)

    def pause(self, name: str) -> None:
        """Freeze it."""
        with self._records.changing(name) as record:
            if self._alive(record).status is not ContainerStatus.PAUSED:
                self._engine(_engine_of(record)).pause(name)

    def unpause(self, name: str) -> None:
        """Let it go on."""
        with self._records.changing(name) as record:
            if self._alive(record).status is ContainerStatus.PAUSED:
                self._engine(_engine_of(record)).unpause(name)

    # -- migration ---------------------------------------------------------------------------------------------

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:
        """Write its reserved capacity: its image must be on the other machine too, and its disks are not its own.

        Raises:
            HypervisorFault: it is not at rest.
            CannotDo: its engine is podman.
        """
        with self._records.changing(name) as record:
            if (container := self._container(record)) is not None and container.alive:
                raise HypervisorFault(f"instance {name!r} is not at rest")
            if _engine_of(record) != _HANDS_OVER:
                raise CannotDo("what a container has written is podman's own, and is not handed over")
            size = {"memory_mib": record.spec.memory_mib, "vcpus": record.spec.vcpus}
            write_record(directory / _HANDED, size)
            return size

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:
        """Record it, at rest.

        Raises:
            HypervisorFault: there is no export, or an instance of this name runs.
        """
        self._records.directory_of(spec.name)
        if read_record(directory / _HANDED) is None:
            raise HypervisorFault("nothing was handed over that this hypervisor can take")
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            if record is not None and (container := self._container(record)) and container.alive:
                raise HypervisorFault(f"instance {spec.name!r} runs here already")
            self._records.keep(spec, engine=_HANDS_OVER, stopped=True)

    # -- events ------------------------------------------------------------------------------------------------

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Watch for containers whose first process ends."""
        self._watch = ExitWatch(lambda name: changed(f"instance {name!r} has ended"))
        for each in self.instances():
            self._hear_of(each)
        return self._watch.close

    def _hear_of(self, found: InstanceData) -> InstanceData:
        if self._watch is not None and found.id:
            self._watch.add(found.name, int(found.id), start_mark(int(found.id)) or "")
        return found

    # -- steps -------------------------------------------------------------------------------------------------

    def _run(self, spec: InstanceSpec, before: InstanceRecord | None, directory: Path) -> None:
        options_of(spec)
        if (mode := network_of(spec).mode) not in self.options.networks:
            raise CannotDo(f"networks.0: this node allows {', '.join(self.options.networks)}, not {mode}")
        name = "runc" if spec.image.startswith("/") else "podman"
        if not spec.image:
            raise CannotDo("image: expected a directory, or a reference such as docker.io/library/alpine")
        engine = self._engine(name)
        if reason := engine.probe():
            raise CannotDo(f"{name} cannot be used here: {reason}")
        if before is not None and _engine_of(before) != name:
            self._engine(_engine_of(before)).forget(spec.name)
        # Recorded first: a container whose creation is interrupted must be found again to be removed.
        self._records.keep(spec, engine=name, stopped=False)
        engine.run(spec, directory)

    def _stop(self, record: InstanceRecord, grace_seconds: float) -> None:
        name, engine = record.spec.name, self._engine(_engine_of(record))
        container = self._container(record)
        if container is None or not container.alive:
            return
        self._records.keep(record.spec, **{**record.notes, "stopped": True})
        if grace_seconds > 0:
            if container.status is ContainerStatus.PAUSED:
                engine.unpause(name)
            engine.signal(name, options_of(record.spec).stop_signal)
        if not self._ended_within(record, grace_seconds):
            engine.kill(name)
            if not self._ended_within(record, _KILL_SECONDS):
                raise HypervisorBusy(f"instance {name!r} did not end {_KILL_SECONDS:g} s after it was killed")

    def _ended_within(self, record: InstanceRecord, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (container := self._container(record)) is not None and container.alive:
            if (left := deadline - time.monotonic()) <= 0:
                return False
            time.sleep(min(_LOOK_SECONDS, left))
        return True

    def _alive(self, record: InstanceRecord) -> Container:
        if (container := self._container(record)) is None or not container.alive:
            raise HypervisorFault(f"instance {record.spec.name!r} does not run")
        return container

    def _look(self, name: str) -> InstanceData:
        return self._data(self._records.get(name))

    def _data(self, record: InstanceRecord) -> InstanceData:
        return _data(record, self._container(record), self._log(record))

    def _container(self, record: InstanceRecord) -> Container | None:
        return self._engine(_engine_of(record)).containers().get(record.spec.name)

    def _engine(self, name: str) -> ContainerEngine:
        if name not in self._engines:
            raise CannotDo(f"engine {name!r} is not among those that the options of oci name")
        return self._engines[name]

    def _log(self, record: InstanceRecord) -> str:
        return str(self._records.directory_of(record.spec.name) / "log")


def _engine_of(record: InstanceRecord) -> str:
    return str(record.notes["engine"])


def _state(record: InstanceRecord, container: Container | None) -> InstanceState:
    match container:
        case Container(status=ContainerStatus.RUNNING):
            return InstanceState.RUNNING
        case Container(status=ContainerStatus.PAUSED):
            return InstanceState.PAUSED
        case Container(exit_code=int(code)) if code != 0 and not record.notes["stopped"]:
            return InstanceState.CRASHED
    return InstanceState.SHUTDOWN


def _data(record: InstanceRecord, container: Container | None, log: str) -> InstanceData:
    pid = container.pid if container is not None and container.alive else 0
    usage = cgroup_usage(pid) if pid else None
    details: dict[str, Any] = {"engine": _engine_of(record), "log": log}
    if container is not None and container.exit_code is not None and not pid:
        details["exit_code"] = container.exit_code
    return InstanceData(
        name=record.spec.name,
        id=str(pid) if pid else "",
        memory_mib=record.spec.memory_mib,
        vcpus=record.spec.vcpus,
        state=_state(record, container),
        raw_state=container.raw_status if container is not None else "absent",
        cpu_seconds=(usage.cpu_seconds or 0.0) if usage else 0.0,
        memory_used_mib=usage.memory_bytes // BYTES_PER_MIB
        if usage and usage.memory_bytes is not None
        else None,
        details=details,
    )
