"""A running virtual machine: its process, its state, its end, and its resizing."""

import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

import psutil

from workers.agent.commands.identity import is_alive, start_mark
from workers.agent.fence import check_fence
from workers.agent.hypervisors.hypervisor import CannotDo, HypervisorBusy, HypervisorFault, InstanceState
from workers.agent.hypervisors.kernel import BYTES_PER_MIB
from workers.agent.hypervisors.qemu.qmp import Qmp, QmpSilent
from workers.agent.hypervisors.qemu.virtual_machine import LOOK, PID_FILE, WORK

_LOOK_SECONDS: Final = 2.0
_WORK_SECONDS: Final = 60.0
_JOB_LOOK_SECONDS: Final = 5.0
_SAVE_SECONDS: Final = 1800.0
_QUIT_SECONDS: Final = 20.0
_PRESS_AGAIN_SECONDS: Final = 0.1
_PRESS_SELDOM_SECONDS: Final = 5.0
#: The longest time for a guest to return memory; one without a balloon driver never does.
_BALLOON_SECONDS: Final = 10.0
_BALLOON_LOOK_SECONDS: Final = 0.1

_STATES: Final = {
    "running": InstanceState.RUNNING,
    "save-vm": InstanceState.PAUSED,
    "finish-migrate": InstanceState.PAUSED,
    "restore-vm": InstanceState.PAUSED,
    "paused": InstanceState.PAUSED,
    "suspended": InstanceState.PAUSED,
    "io-error": InstanceState.PAUSED,
    "watchdog": InstanceState.PAUSED,
    "shutdown": InstanceState.SHUTDOWN,
    "guest-panicked": InstanceState.CRASHED,
    "internal-error": InstanceState.CRASHED,
}


#: A hot-plugged device: the option of qemu that adds it at the next start, and the option's value.
Plugged = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RunningMachine:
    """The process of a virtual machine; it may end at any moment."""

    directory: Path
    pid: int
    mark: str

    @classmethod
    def find(cls, directory: Path, notes: Mapping[str, Any]) -> Self | None:
        """Return the process on record, or one that was started and not recorded; None: there is none."""
        pid, mark = notes.get("pid", 0), notes.get("mark", "")
        if pid and is_alive(pid, mark):
            return cls(directory, pid, mark)
        pid_file = directory / PID_FILE
        with suppress(OSError, ValueError, psutil.Error):
            pid = int(pid_file.read_text(encoding="ascii"))
            found = start_mark(pid)
            if found is not None and str(pid_file) in psutil.Process(pid).cmdline():
                return cls(directory, pid, found)
        return None

    def look(self) -> tuple[InstanceState, str]:
        """Return its state, and qemu's own word for it."""
        try:
            with Qmp(self.directory / LOOK, timeout_seconds=_LOOK_SECONDS) as qmp:
                raw = str(qmp.do("query-status")["status"])
        except QmpSilent as silence:
            return InstanceState.UNKNOWN, str(silence)
        return _STATES.get(raw, InstanceState.UNKNOWN), raw

    def work(self, *, seconds: float = _WORK_SECONDS) -> Qmp:
        """Return a session for changes."""
        check_fence()
        return Qmp(self.directory / WORK, timeout_seconds=seconds)

    def uses(self) -> tuple[float, int | None]:
        """Return the processor time it has used, in seconds, and its resident memory, in MiB."""
        try:
            process = psutil.Process(self.pid)
            with process.oneshot():
                times = process.cpu_times()
                return times.user + times.system, process.memory_info().rss // BYTES_PER_MIB
        except psutil.Error:
            return 0.0, None

    def power_down(self, grace_seconds: float) -> None:
        """Press its power button, and wait until the guest has shut itself down or the grace is over.

        Repeated, since a guest that is still starting does not notice.
        """
        pause = _PRESS_AGAIN_SECONDS
        with suppress(QmpSilent), self.work(seconds=grace_seconds) as qmp:
            if qmp.do("query-status")["status"] == "paused":
                qmp.do("cont")
            while qmp.do("query-status")["status"] == "running":
                qmp.do("system_powerdown")
                if qmp.happens("SHUTDOWN", within_seconds=pause):
                    return
                pause = min(2 * pause, _PRESS_SELDOM_SECONDS)

    def end(self) -> None:
        """End the process at once; its disks are flushed first, unless it does not answer.

        Raises:
            HypervisorBusy: it survived the kill.
        """
        with suppress(HypervisorFault), self.work(seconds=_QUIT_SECONDS / 4) as qmp:
            qmp.do("quit")
        if not self._ended_within(_QUIT_SECONDS / 2):
            self._kill()
            if not self._ended_within(_QUIT_SECONDS):
                raise HypervisorBusy(f"qemu, process {self.pid}, does not end though it was killed")

    def _kill(self) -> None:
        check_fence()
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                # The process handle stays with one process: it is this machine's if it still is now.
                if is_alive(self.pid, self.mark):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)

    def _ended_within(self, seconds: float) -> bool:
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return not is_alive(self.pid, self.mark) or bool(poll.poll(seconds * 1000))
        finally:
            os.close(handle)

    def resize(self, *, memory_mib: int, vcpus: int) -> list[Plugged]:
        """Hot-plug processors and memory, or have the guest return memory; return what was plugged in.

        Raises:
            CannotDo: it has no slots for so much, would have to lose processors, or its guest keeps its memory.
        """
        with self.work() as qmp:
            plugged = _plug_processors(qmp, vcpus) + _plug_memory(qmp, memory_mib)
            if memory_mib * BYTES_PER_MIB != qmp.do("query-balloon")["actual"]:
                _fill_balloon(qmp, memory_mib)
            return plugged

    def keep(self, nodes: list[str], tag: str) -> None:
        """Save memory and disks; the first disk holds the memory."""
        with self.work(seconds=_SAVE_SECONDS) as qmp:
            _job(qmp, "snapshot-delete", tag=tag, devices=nodes)
            _job(qmp, "snapshot-save", tag=tag, vmstate=nodes[0], devices=nodes)

    def bring_back(self, nodes: list[str], tag: str, *, go_on: bool) -> None:
        """Restore memory and disks; the machine must be paused."""
        with self.work(seconds=_SAVE_SECONDS) as qmp:
            _job(qmp, "snapshot-load", tag=tag, vmstate=nodes[0], devices=nodes)
            if go_on:
                qmp.do("cont")

    def forget(self, nodes: list[str], tag: str) -> None:
        """Delete the state saved under a tag; a missing one is no error."""
        with self.work(seconds=_SAVE_SECONDS) as qmp:
            _job(qmp, "snapshot-delete", tag=tag, devices=nodes)


def _plug_processors(qmp: Qmp, vcpus: int) -> list[Plugged]:
    present = len(qmp.do("query-cpus-fast"))
    if vcpus < present:
        raise CannotDo(f"it has {present} processors, and can lose one only while it is at rest")
    free = [each for each in reversed(qmp.do("query-hotpluggable-cpus")) if "qom-path" not in each]
    if vcpus - present > len(free):
        raise CannotDo(
            f"it was started with room for {present + len(free)} processors, {vcpus} were asked for"
        )
    devices = [
        {"driver": each["type"], "id": f"cpu-{uuid4().hex}", **each["props"]}
        for each in free[: vcpus - present]
    ]
    for device in devices:
        qmp.order("device_add", device)
    return [("-device", device) for device in devices]


def _plug_memory(qmp: Qmp, memory_mib: int) -> list[Plugged]:
    size = qmp.do("query-memory-size-summary")
    more = memory_mib * BYTES_PER_MIB - size["base-memory"] - size.get("plugged-memory", 0)
    if more <= 0:
        return []
    name = f"memory-{uuid4().hex}"
    backend = {"qom-type": "memory-backend-ram", "id": name, "size": more}
    device = {"driver": "pc-dimm", "id": f"dimm-{name}", "memdev": name}
    qmp.order("object-add", backend)
    try:
        qmp.order("device_add", device)
    except HypervisorFault as fault:
        qmp.do("object-del", id=name)
        raise CannotDo(f"it has no place for more memory: {fault}") from fault
    return [("-object", backend), ("-device", device)]


def _fill_balloon(qmp: Qmp, memory_mib: int) -> None:
    before = qmp.do("query-balloon")["actual"]
    qmp.do("balloon", value=memory_mib * BYTES_PER_MIB)
    deadline = time.monotonic() + _BALLOON_SECONDS
    while qmp.do("query-balloon")["actual"] != memory_mib * BYTES_PER_MIB:
        if time.monotonic() >= deadline:
            qmp.do("balloon", value=before)
            raise CannotDo("the guest does not hand memory back: has it a driver for its balloon?")
        time.sleep(_BALLOON_LOOK_SECONDS)


def _job(qmp: Qmp, command: str, **arguments: Any) -> None:
    name = f"isotherm-{uuid4().hex}"
    qmp.do(command, job_id=name, **arguments)
    while True:
        (job,) = [each for each in qmp.do("query-jobs") if each["id"] == name]
        if job["status"] == "concluded":
            break
        qmp.happens("JOB_STATUS_CHANGE", within_seconds=_JOB_LOOK_SECONDS)
    qmp.do("job-dismiss", id=name)
    if "error" in job:
        raise HypervisorFault(f"qemu: {job['error']}")
