"""The command of one instance, by its last order: started, inspected, ended."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from orchestrator.plugins.steps import RetryableFailure
from workers.agent.commands.process_table import ProcessTable
from workers.agent.commands.supervised import Status, SupervisedProcess
from workers.agent.hypervisors.control_groups import ControlGroups
from workers.agent.hypervisors.hypervisor import (
    CommandLimits,
    HypervisorBusy,
    HypervisorFault,
    InstanceData,
    InstanceSpec,
    InstanceState,
)
from workers.agent.hypervisors.process.marks import ORDER_MARK, order_mark
from workers.agent.hypervisors.process.plan import ProcessPlan, signal_of
from workers.agent.hypervisors.process.state import state_of
from workers.agent.hypervisors.process.usage import Usage, usage_of
from workers.agent.hypervisors.records import InstanceRecord

#: A process that survives a kill this long waits for a device, and no signal helps.
_KILL_SECONDS: Final = 30.0
#: The longest time for a supervisor to record its command's exit.
_LAST_WORDS_SECONDS: Final = 10.0
#: The longest time for a command's processes to react to a signal, and for a launcher to start it.
_HEED_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.02


class InstanceProcess:
    """The record of an instance, and the processes that carry its token.

    Processes carry the token, not the name: another agent of the machine may have an instance of this name.
    """

    def __init__(self, record: InstanceRecord, directory: Path, groups: ControlGroups | None) -> None:
        """Take the record, the instance's directory, and the control groups that hold it to its size, if any do."""
        self.record, self.spec = record, record.spec
        self._token, self._run, self._resting = (record.notes[each] for each in ("token", "run", "resting"))
        self._process = SupervisedProcess(directory, uuid=self._token)
        self._groups = groups

    @property
    def status(self) -> Status | None:
        """The record of the last started run."""
        return self._process.status()

    @property
    def runs(self) -> bool:
        """Whether any run of it is under way."""
        status = self.status
        return status is not None and status.running

    @property
    def runs_as_ordered(self) -> bool:
        """Whether the last ordered run is the one that runs, and no end was requested."""
        return self.runs and self._begun() and not self._resting

    def was_interrupted(self, spec: InstanceSpec) -> bool:
        """Whether a start with this specification was interrupted before its run was on record: it can be continued.

        It may be under way still, by a launcher that has outlived the agent; a run starts at most once.
        """
        return not self._resting and not self._begun() and _in_text(self.spec) == _in_text(spec)

    def recover(self) -> Status | None:
        """Record the command again that runs without a record; return its status."""
        return self._process.find()

    def launch(self, plan: ProcessPlan, work: Path, limits: CommandLimits | None) -> Status | None:
        """Start the ordered run, at most once and within the machine's limits; return its record.

        Raises:
            HypervisorBusy: it is not started yet.
            HypervisorFault: it cannot be started.
        """
        spec = self.spec
        joined: list[Path] = []
        if self._groups is not None:
            joined = self._groups.make(self._token, memory_mib=spec.memory_mib, vcpus=spec.vcpus)
        cwd, env = plan.prepare(work), plan.environment(spec)
        program = ""
        if limits is not None:
            program = limits.command(plan.argv, env=env, cwd=cwd if spec.cwd else None)
        try:
            self._process.start(
                self._run,
                argv=plan.argv,
                cwd=cwd,
                env={**env, ORDER_MARK: order_mark(spec)},
                now=time.time(),
                account=plan.account,
                control_groups=joined,
                program=program,
                confined=limits is not None and limits.confines,
            )
        except RetryableFailure as error:
            raise HypervisorBusy(str(error)) from error
        # Another launcher of the same run may be at work; of another run, processes may be left.
        _until(self._begun, lambda: None, f"instance {spec.name!r} is not started yet")
        status = self.status
        if status is not None and status.error:
            raise HypervisorFault(f"cannot run {plan.argv[0]!r}: {status.error}")
        return status

    def end(self, *, grace_seconds: float) -> None:
        """Request the command to end, kill what is left after the grace, and wait until all is gone.

        Raises:
            HypervisorBusy: a process is left.
        """
        process, asked_until = self._process, time.monotonic() + grace_seconds
        # A dead agent may have left a launcher behind, which must not start the command later.
        process.call_off()
        if grace_seconds > 0:
            process.ask_to_end(signal_of(self.spec))

        def insist() -> None:
            late = time.monotonic() - asked_until
            if late >= _LAST_WORDS_SECONDS:
                process.kill()
            elif late >= 0:
                process.stop(signal.SIGKILL)

        fault = f"instance {self.spec.name!r} does not end"
        _until(
            lambda: process.gone() and process.quiet(), insist, fault, seconds=grace_seconds + _KILL_SECONDS
        )
        if self._groups is not None:
            self._groups.remove(self._token)

    def stand_still(self) -> None:
        """Stop the command and all its processes.

        Raises:
            HypervisorBusy: one of them runs on.
        """
        fault = f"instance {self.spec.name!r} does not stand still"
        _until(self._process.stands_still, lambda: self._process.stop(signal.SIGSTOP), fault)

    def go_on(self) -> None:
        """Continue them.

        Raises:
            HypervisorBusy: one of them stays stopped.
        """
        fault = f"instance {self.spec.name!r} does not go on"
        _until(self._process.is_moving, lambda: self._process.stop(signal.SIGCONT), fault)

    def limit(self, *, memory_mib: int, vcpus: int) -> None:
        """Change the kernel's limits of a running instance, where they are enforced.

        Raises:
            HypervisorFault: it uses more than that.
        """
        if self._groups is not None and self._process.members():
            self._groups.limit(self._token, memory_mib=memory_mib, vcpus=vcpus)

    def members(self) -> Sequence[psutil.Process]:
        """Return the command and all its children."""
        return self._process.members()

    def look(self, table: ProcessTable | None = None) -> InstanceData:
        """Return its present state; ``table``: the processes at that moment."""
        status = self.status
        running = status is not None and status.running
        if not running:
            # The exit may have been recorded between reading the record and looking at the process.
            status = self.status
        usage = usage_of(self._process.members(table)) if running else Usage(0, 0, 0.0, still=False)
        state, raw_state = state_of(
            status, running=running, run=self._run, resting=self._resting, still=usage.still
        )
        details: dict[str, Any] = {"log": str(self._process.log), "processes": usage.processes}
        if status is not None:
            details |= {"pid": status.pid, "exit_code": status.exit_code, "started_at": status.started_at}
        if self._groups is not None:
            killed = details["killed_for_memory"] = self._groups.killed_for_memory(self._token)
            if killed and state is InstanceState.CRASHED:
                raw_state = f"{raw_state}, more memory was wanted than {self.spec.memory_mib} MiB"
        return InstanceData(
            name=self.spec.name,
            id=str(status.pid) if status is not None and running else "",
            memory_mib=self.spec.memory_mib,
            vcpus=self.spec.vcpus,
            state=state,
            raw_state=raw_state,
            cpu_seconds=usage.cpu_seconds,
            memory_used_mib=usage.memory_mib,
            details=details,
        )

    def _begun(self) -> bool:
        status = self.status
        return status is not None and status.run == self._run


def _in_text(spec: InstanceSpec) -> str:
    return json.dumps(spec.to_wire(), sort_keys=True)


def _until(
    done: Callable[[], bool], again: Callable[[], None], fault: str, *, seconds: float = _HEED_SECONDS
) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= deadline:
            raise HypervisorBusy(fault)
        again()
        time.sleep(_LOOK_AGAIN_SECONDS)
