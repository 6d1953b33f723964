"""``process``: instances that are commands of this machine, each under a small supervisor, with their children."""

import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final
from uuid import uuid4

from pydantic import Field

from orchestrator.plugins.resource import RetryableFailure
from workers.agent.hypervisors.control_groups import ControlGroups, trees_of
from workers.agent.hypervisors.exits import ExitWatch
from workers.agent.hypervisors.handing_over import copy_whole
from workers.agent.hypervisors.hypervisor import (
    Hypervisor,
    HypervisorBusy,
    HypervisorFault,
    HypervisorOptions,
    InstanceData,
    InstanceSpec,
    InstanceState,
    NodeData,
)
from workers.agent.hypervisors.kernel import node_of_kernel
from workers.agent.hypervisors.process_plan import ProcessPlan, signal_of
from workers.agent.hypervisors.process_state import state_of
from workers.agent.hypervisors.process_usage import Usage, usage_of
from workers.agent.hypervisors.records import InstanceRecord, InstanceRecords
from workers.agent.identity import is_alive
from workers.agent.names import fault_of_name
from workers.agent.process_table import ProcessTable
from workers.agent.records import read_record, write_record
from workers.agent.supervised import Status, SupervisedProcess

#: A process that is there so long after it was killed waits for a device, and no signal helps.
_KILL_SECONDS: Final = 30.0
#: How long a supervisor may take to write down how its command has ended.
_LAST_WORDS_SECONDS: Final = 10.0
_STAND_STILL_SECONDS: Final = 10.0
_REBOOT_GRACE_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.02
#: Where a command runs that was told nothing else: its own, and it takes it along to another node.
_WORK: Final = "work"
_HANDED: Final = "process.json"


class ProcessOptions(HypervisorOptions):
    """Whether the kernel holds instances to their size."""

    limits: bool = Field(
        default=False,
        description="Whether control groups keep an instance to its memory and its processors. Without, its size is a "
        "promise: it is counted, and nobody enforces it.",
    )
    control_group: str = Field(
        default="isotherm",
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$",
        description="The group, below the root of the control groups, in which instances have theirs.",
    )


class ProcessHypervisor(Hypervisor):
    """Commands of this machine: they outlive the agent, and whatever they start belongs to them."""

    name = "process"
    description = "Commands of this machine, with what they start."
    Options = ProcessOptions
    abilities: ClassVar[frozenset[str]] = frozenset({"pause", "reboot", "resize", "migrate", "disks"})

    def __init__(self, options: ProcessOptions, directory: Path) -> None:
        super().__init__(options, directory)
        self._records = InstanceRecords(directory)
        self._groups: ControlGroups | None = None
        if options.limits:
            mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
            self._groups = ControlGroups(options.control_group, trees_of(mounts))
        self._watch: ExitWatch | None = None

    def probe(self) -> str:
        """It can be used on any Linux; limits only where control groups can be made."""
        return self._groups.fault() if self._groups is not None else ""

    # -- looking -----------------------------------------------------------------------------------------------

    def node(self) -> NodeData:
        """Return the machine as its kernel sees it: instances are ordinary processes of it."""
        return node_of_kernel()

    def instances(self) -> Sequence[InstanceData]:
        """Return every instance, also those that have ended."""
        found = [self._records.find(name) for name in self._records.names()]
        table = ProcessTable.read() if found else None
        # One that was removed in the meantime is left out.
        return [self._look(record, table) for record in found if record is not None]

    def instance(self, name: str) -> InstanceData | None:
        """Return one."""
        record = self._records.find(name)
        return None if record is None else self._look(record)

    # -- changing ----------------------------------------------------------------------------------------------

    def start(self, spec: InstanceSpec) -> InstanceData:
        """Start the command, unless it runs; what an earlier run has left behind is ended first.

        Raises:
            HypervisorBusy: what it ran before does not end.
            HypervisorFault: the specification is wrong, or the command cannot be started.
        """
        if fault := fault_of_name(spec.name):
            raise HypervisorFault(fault)
        plan = ProcessPlan.of(spec)
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            if record is None or not self._as_ordered(record):
                record = self._start_anew(spec, plan, record)
            else:
                self._go_on(record)
            return self._look(record)

    def stop(self, name: str, *, grace_seconds: float) -> None:
        """Send the signal that asks the command to end, and kill what is left of it after the grace."""
        with self._records.alone(name):
            record = self._records.get(name)
            self._records.keep(record.spec, **{**record.notes, "resting": True})
            self._end(record, grace_seconds=grace_seconds)

    def remove(self, name: str) -> None:
        """Kill the command with all it started, and forget it with all that it wrote in its own directory."""
        with self._records.alone(name):
            if (record := self._records.find(name)) is not None:
                self._end(record, grace_seconds=0.0)
            self._records.forget(name)

    def reboot(self, name: str) -> InstanceData:
        """End the command and start it again, as it was last started."""
        with self._records.alone(name):
            record = self._records.get(name)
            plan = ProcessPlan.of(record.spec)
            self._end(record, grace_seconds=_REBOOT_GRACE_SECONDS)
            return self._look(self._start_anew(record.spec, plan, record))

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> InstanceData:
        """Promise it another size, and have the kernel hold it to that, where it does."""
        with self._records.alone(name):
            record = self._records.get(name)
            if self._groups is not None and self._process(record).members():
                self._groups.limit(record.notes["token"], memory_mib=memory_mib, vcpus=vcpus)
            self._records.keep(replace(record.spec, memory_mib=memory_mib, vcpus=vcpus), **record.notes)
            return self._look(self._records.get(name))

    def pause(self, name: str) -> None:
        """Stop the command and all it started where they stand."""
        with self._records.alone(name):
            process = self._running(name)
            _until(
                process.stands_still,
                lambda: process.stop(signal.SIGSTOP),
                f"instance {name!r} does not stand still",
            )

    def unpause(self, name: str) -> None:
        """Let them go on."""
        with self._records.alone(name):
            self._running(name)
            self._go_on(self._records.get(name))

    # -- handing over ------------------------------------------------------------------------------------------

    def export(self, name: str, directory: Path) -> Mapping[str, Any]:
        """Write what is in the instance's own directory; its disks are not its own."""
        with self._records.alone(name):
            record = self._records.get(name)
            if (status := self._process(record).status()) is not None and status.running:
                raise HypervisorFault(f"instance {name!r} is not at rest")
            work = self._work(name)
            work.mkdir(exist_ok=True, mode=0o700)
            copy_whole(work, directory / _WORK)
            said = {"memory_mib": record.spec.memory_mib, "vcpus": record.spec.vcpus}
            write_record(directory / _HANDED, said)
            return said

    def take_in(self, spec: InstanceSpec, directory: Path) -> None:
        """Make an instance, at rest, with what is in that directory."""
        if fault := fault_of_name(spec.name):
            raise HypervisorFault(fault)
        if read_record(directory / _HANDED) is None:
            raise HypervisorFault("nothing was handed over that this hypervisor can take")
        with self._records.alone(spec.name):
            record = self._records.find(spec.name)
            if record is not None and (status := self._process(record).status()) and status.running:
                raise HypervisorFault(f"instance {spec.name!r} runs here already")
            copy_whole(directory / _WORK, self._work(spec.name))
            token = uuid4().hex if record is None else record.notes["token"]
            self._records.keep(spec, token=token, run="", resting=True)

    # -- events ------------------------------------------------------------------------------------------------

    def watch(self, changed: Callable[[str], None]) -> Callable[[], None]:
        """Tell of each command that ends without having been asked to."""
        watch = self._watch = ExitWatch(lambda name: changed(f"instance {name!r} has ended"))
        for name in self._records.names():
            if (record := self._records.find(name)) is not None:
                self._hear_of(name, self._process(record).status())
        return watch.close

    def close(self) -> None:
        """Watch no more; instances go on."""
        if self._watch is not None:
            self._watch.close()

    # -- the steps themselves ----------------------------------------------------------------------------------

    def _start_anew(
        self, spec: InstanceSpec, plan: ProcessPlan, before: InstanceRecord | None
    ) -> InstanceRecord:
        record = None if before is None else self._interrupted(before, spec)
        if record is None:
            if before is not None:
                self._end(before, grace_seconds=0.0)
            token = uuid4().hex if before is None else before.notes["token"]
            self._records.keep(spec, token=token, run=uuid4().hex, resting=False)
            record = self._records.get(spec.name)
        self._launch(record, plan)
        return record

    def _interrupted(self, record: InstanceRecord, spec: InstanceSpec) -> InstanceRecord | None:
        """Return a start that was interrupted before its run was on record, if it was for the same: it is gone on with.

        It may be under way still, by a launcher that has outlived the agent; a run starts at most once.
        """
        status = self._process(record).status()
        begun = status is not None and status.run == record.notes["run"]
        same = json.dumps(record.spec.to_wire(), sort_keys=True) == json.dumps(spec.to_wire(), sort_keys=True)
        return record if same and not begun and not record.notes["resting"] else None

    def _launch(self, record: InstanceRecord, plan: ProcessPlan) -> None:
        spec, token, run = record.spec, record.notes["token"], record.notes["run"]
        joined: list[Path] = []
        if self._groups is not None:
            joined = self._groups.make(token, memory_mib=spec.memory_mib, vcpus=spec.vcpus)
        process, cwd = self._process(record), plan.prepare(self._work(spec.name))
        try:
            process.start(
                run,
                argv=plan.argv,
                cwd=cwd,
                env=plan.environment(spec),
                now=time.time(),
                account=plan.account,
                control_groups=joined,
            )
        except RetryableFailure as error:
            raise HypervisorBusy(str(error)) from error

        def begun() -> bool:
            status = process.status()
            return status is not None and status.run == run

        _until(
            begun, lambda: None, f"instance {spec.name!r} is being started by another, or has not ended yet"
        )
        status = process.status()
        if status is not None and status.error:
            raise HypervisorFault(f"cannot run {plan.argv[0]!r}: {status.error}")
        self._hear_of(spec.name, status)

    def _as_ordered(self, record: InstanceRecord) -> bool:
        """Whether the run that was ordered last is the one that runs, and nobody wanted it to end."""
        status = self._process(record).status()
        return (
            status is not None
            and status.running
            and status.run == record.notes["run"]
            and not record.notes["resting"]
        )

    def _end(self, record: InstanceRecord, *, grace_seconds: float) -> None:
        process, name = self._process(record), record.spec.name
        if self._watch is not None:
            self._watch.expect(name)
        asked_until = time.monotonic() + grace_seconds
        if grace_seconds > 0:
            process.ask_to_end(signal_of(record.spec))

        def insist() -> None:
            late = time.monotonic() - asked_until
            if late >= _LAST_WORDS_SECONDS:
                process.kill()
            elif late >= 0:
                process.stop(signal.SIGKILL)

        _until(process.gone, insist, f"instance {name!r} does not end", seconds=grace_seconds + _KILL_SECONDS)
        if self._groups is not None:
            self._groups.remove(record.notes["token"])

    def _go_on(self, record: InstanceRecord) -> None:
        process = self._process(record)
        _until(
            process.is_moving,
            lambda: process.stop(signal.SIGCONT),
            f"instance {record.spec.name!r} does not go on",
        )

    def _running(self, name: str) -> SupervisedProcess:
        process = self._process(self._records.get(name))
        if (status := process.status()) is None or not status.running:
            raise HypervisorFault(f"instance {name!r} does not run")
        return process

    def _process(self, record: InstanceRecord) -> SupervisedProcess:
        # The token, and not the name, is what its processes carry: another agent may have one of the same name.
        return SupervisedProcess(self._records.directory_of(record.spec.name), uuid=record.notes["token"])

    def _work(self, name: str) -> Path:
        return self._records.directory_of(name) / _WORK

    def _hear_of(self, name: str, status: Status | None) -> None:
        if self._watch is not None and status is not None and status.running:
            # Of the two the supervisor ends last, with the exit code on record; without one there is the command.
            beside = (status.supervisor, status.supervisor_mark)
            self._watch.add(name, *(beside if is_alive(*beside) else (status.pid, status.mark)))

    def _look(self, record: InstanceRecord, table: ProcessTable | None = None) -> InstanceData:
        process, spec = self._process(record), record.spec
        status = process.status()
        running = status is not None and status.running
        usage = usage_of(process.members(table)) if running else Usage(0, 0, 0.0, still=False)
        state, raw_state = state_of(
            status, run=record.notes["run"], resting=record.notes["resting"], still=usage.still
        )
        details: dict[str, Any] = {"log": str(process.log), "processes": usage.processes}
        if status is not None:
            details |= {"pid": status.pid, "exit_code": status.exit_code, "started_at": status.started_at}
        if self._groups is not None:
            killed = details["killed_for_memory"] = self._groups.killed_for_memory(record.notes["token"])
            if killed and state is InstanceState.CRASHED:
                raw_state = f"{raw_state}, more memory was wanted than {spec.memory_mib} MiB"
        return InstanceData(
            name=spec.name,
            id=str(status.pid) if status is not None and running else "",
            memory_mib=spec.memory_mib,
            vcpus=spec.vcpus,
            state=state,
            raw_state=raw_state,
            cpu_seconds=usage.cpu_seconds,
            memory_used_mib=usage.memory_mib,
            details=details,
        )


def _until(
    done: Callable[[], bool], again: Callable[[], None], fault: str, *, seconds: float = _STAND_STILL_SECONDS
) -> None:
    """Do something until it has worked.

    Raises:
        HypervisorBusy: it does not.
    """
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= deadline:
            raise HypervisorBusy(fault)
        again()
        time.sleep(_LOOK_AGAIN_SECONDS)
