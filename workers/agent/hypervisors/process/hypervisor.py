"""``process``: instances that are commands of this machine, each under a small supervisor, with their children."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final
from uuid import uuid4

import psutil
from pydantic import Field

from workers.agent.commands.identity import is_alive
from workers.agent.commands.process_table import ProcessTable
from workers.agent.commands.supervised import Status
from workers.agent.hypervisors.control_groups import ControlGroups, trees_of
from workers.agent.hypervisors.exits import ExitWatch
from workers.agent.hypervisors.hypervisor import (
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    NodeData,
)
from workers.agent.hypervisors.kernel import node_of_kernel
from workers.agent.hypervisors.process.instance import InstanceProcess
from workers.agent.hypervisors.process.marks import marked_instances, order_mark, recovered_spec, token_of
from workers.agent.hypervisors.process.plan import ProcessInstanceOptions, ProcessPlan
from workers.agent.hypervisors.records import InstanceRecord, RecordedHypervisor
from workers.agent.hypervisors.transfer import copy_whole
from workers.agent.names import fault_of_name
from workers.agent.records import read_record, write_record

_REBOOT_GRACE_SECONDS: Final = 10.0
#: The default working directory of a command: its own, which migrates with it.
_WORK: Final = "work"
_HANDED: Final = "process.json"


class ProcessOptions(HypervisorOptions):
    """Whether the kernel enforces the instances' sizes."""

    limits: bool = Field(
        default=False,
        description="Whether control groups limit an instance to its memory and its processors. Without "
        "them, its size is reserved, but not enforced.",
    )
    control_group: str = Field(
        default="isotherm",
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$",
        description="The control group, below the root, that contains those of the instances.",
    )


class ProcessHypervisor(RecordedHypervisor):
    """Commands of this machine: they outlive the agent, with all processes that they start."""

    name = "process"
    description = "Commands of this machine, with their child processes."
    Options = ProcessOptions
    InstanceOptions = ProcessInstanceOptions
    abilities: ClassVar[frozenset[str]] = frozenset({"pause", "reboot", "resize", "migrate", "disks"})

    def __init__(self, options: ProcessOptions, directory: Path) -> None:
        super().__init__(options, directory)
        self._groups: ControlGroups | None = None
        if options.limits:
            mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
            self._groups = ControlGroups(options.control_group, trees_of(mounts))
        self._watch: ExitWatch | None = None

    def probe(self) -> str:
        """Return why the required limits cannot be enforced; empty: it can be used, as on any Linux."""
        return self._groups.fault() if self._groups is not None else ""

    def recover(self) -> Sequence[str]:
        """Record again the commands of this agent that run without a record."""
        found = []
        for name in sorted(marked_instances(ProcessTable.read(), self._scope)):
            with self._records.alone(name):
                if self._records.find(name) is None and self._recover(name) is not None:
                    found.append(name)
        return found

    # -- reads -------------------------------------------------------------------------------------------------

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it: instances are ordinary processes of it."""
        return node_of_kernel()

    def instances(self) -> Sequence[InstanceData]:
        """Return every instance, also those that have ended."""
        found = self._records.all()
        table = ProcessTable.read() if found else None
        return [self._of(record).look(table) for record in found]

    def processes_of(self, name: str) -> Sequence[psutil.Process]:
        """Return the command and all that it has started."""
        record = self._records.find(name)
        return () if record is None else self._of(record).members()

    # -- changes -----------------------------------------------------------------------------------------------

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Start the command, unless it runs; the remains of an earlier run are ended first.

        Raises:
            HypervisorBusy: the earlier run does not end.
            HypervisorFault: the specification is wrong, or the command cannot be started.
        """
        if fault := fault_of_name(spec.name):
            raise HypervisorFault(fault)
        plan = ProcessPlan.of(spec)
        with self._records.alone(spec.name):
            record = self._records.find(spec.name) or self._recover(spec.name)
            if record is not None and record.notes.get("order") == order_mark(spec):
                self._records.keep(spec, **{**record.notes, "order": ""})
                record = self._records.get(spec.name)
            instance = None if record is None else self._of(record)
            # One that was found without a record, and is not what is ordered now.
            differs = record is not None and bool(record.notes.get("order"))
            if instance is not None and instance.runs_as_ordered and not differs:
                instance.go_on()
            elif instance is not None and instance.was_interrupted(spec) and not differs:
                self._launch(instance, plan)
            else:
                instance = self._start_anew(spec, plan, instance)
            return instance.look()

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Send the signal that requests an end, and kill what is left of it after the grace."""
        with self._records.changing(name) as record:
            self._records.keep(record.spec, **{**record.notes, "resting": True})
            self._end(self._of(record), grace_seconds=grace_seconds)

    def remove(self, name: str) -> None:
        """Kill the command with all its processes, and delete it with its own directory."""
        with self._records.alone(name):
            if (record := self._records.find(name) or self._recover(name)) is not None:
                self._end(self._of(record), grace_seconds=0.0)
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """End the command and start it again, as it was last started.

        Raises:
            HypervisorFault: how it was started is not known, or it cannot be started.
        """
        with self._records.changing(name) as record:
            if record.notes.get("order"):
                raise HypervisorFault(
                    f"instance {name!r} was found without a record, and its variables are not known: stop and start it"
                )
            instance = self._of(record)
            spec = instance.spec
            if self.limits is not None:
                # They may have been narrowed since it was started.
                spec = self.limits.instance(spec, walled=False)
            plan = ProcessPlan.of(spec)
            self._end(instance, grace_seconds=_REBOOT_GRACE_SECONDS)
            return self._start_anew(spec, plan, instance).look()

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Change its reserved size, and the kernel's limits where they are enforced."""
        with self._records.changing(name) as record:
            self._of(record).limit(memory_mib=memory_mib, vcpus=vcpus)
            self._records.keep(replace(record.spec, memory_mib=memory_mib, vcpus=vcpus), **record.notes)
            return self._of(self._records.get(name)).look()

    def pause(self, name: str) -> None:
        """Stop the command and all its processes."""
        with self._records.alone(name):
            self._running(name).stand_still()

    def unpause(self, name: str) -> None:
        """Continue them."""
        with self._records.alone(name):
            self._running(name).go_on()

    # -- migration ---------------------------------------------------------------------------------------------

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:
        """Write the content of the instance's own directory; its disks are not its own.

        Raises:
            HypervisorFault: it is not at rest.
        """
        with self._records.changing(name) as record:
            if self._of(record).runs:
                raise HypervisorFault(f"instance {name!r} is not at rest")
            work = self._work(name)
            work.mkdir(exist_ok=True, mode=0o700)
            copy_whole(work, directory / _WORK)
            size = {"memory_mib": record.spec.memory_mib, "vcpus": record.spec.vcpus}
            write_record(directory / _HANDED, size)
            return size

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:
        """Make an instance, at rest, with the content of that directory.

        Raises:
            HypervisorFault: there is no valid export, or an instance of this name runs.
        """
        if fault := fault_of_name(spec.name):
            raise HypervisorFault(fault)
        if read_record(directory / _HANDED) is None:
            raise HypervisorFault("nothing was handed over that this hypervisor can take")
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            if record is not None and self._of(record).runs:
                raise HypervisorFault(f"instance {spec.name!r} runs here already")
            copy_whole(directory / _WORK, self._work(spec.name))
            token = self._token(spec.name) if record is None else record.notes["token"]
            self._records.keep(spec, token=token, run="", resting=True)

    # -- events ------------------------------------------------------------------------------------------------

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Report each command that ends unrequested."""
        watch = self._watch = ExitWatch(lambda name: changed(f"instance {name!r} has ended"))
        for record in self._records.all():
            self._hear_of(record.spec.name, self._of(record).status)
        return watch.close

    # -- steps -------------------------------------------------------------------------------------------------

    def _start_anew(
        self, spec: InstanceSpec, plan: ProcessPlan, before: InstanceProcess | None
    ) -> InstanceProcess:
        if before is not None:
            self._end(before, grace_seconds=0.0)
        token = self._token(spec.name) if before is None else before.record.notes["token"]
        self._records.keep(spec, token=token, run=uuid4().hex, resting=False)
        instance = self._of(self._records.get(spec.name))
        self._launch(instance, plan)
        return instance

    @property
    def _scope(self) -> str:
        return self.scope or str(self.directory.absolute())

    def _token(self, name: str) -> str:
        return token_of(self._scope, name)

    def _recover(self, name: str) -> InstanceRecord | None:
        """Record an instance again that runs without a record; None: none does."""
        if fault_of_name(name):
            return None
        token = self._token(name)
        recovered = recovered_spec(name, token, ProcessTable.read(), self._work(name))
        if recovered is None:
            return None
        spec, run, order = recovered
        self._records.keep(spec, token=token, run=run, resting=False, order=order)
        record = self._records.get(name)
        self._of(record).recover()
        return record

    def _launch(self, instance: InstanceProcess, plan: ProcessPlan) -> None:
        name = instance.spec.name
        self._hear_of(name, instance.launch(plan, self._work(name), self.limits))

    def _end(self, instance: InstanceProcess, *, grace_seconds: float) -> None:
        if self._watch is not None:
            self._watch.expect(instance.spec.name)
        instance.end(grace_seconds=grace_seconds)

    def _running(self, name: str) -> InstanceProcess:
        instance = self._of(self._records.get(name))
        if not instance.runs:
            raise HypervisorFault(f"instance {name!r} does not run")
        return instance

    def _data(self, record: InstanceRecord) -> InstanceData:
        return self._of(record).look()

    def _of(self, record: InstanceRecord) -> InstanceProcess:
        return InstanceProcess(record, self._records.directory_of(record.spec.name), self._groups)

    def _work(self, name: str) -> Path:
        return self._records.directory_of(name) / _WORK

    def _hear_of(self, name: str, status: Status | None) -> None:
        if self._watch is not None and status is not None and status.running:
            # Of the two the supervisor ends last, with the exit code on record; without one, the command is watched.
            beside = (status.supervisor, status.supervisor_mark)
            self._watch.add(name, *(beside if is_alive(*beside) else (status.pid, status.mark)))
