"""The engine runc, or another OCI runtime: an unpacked root file system and a command.

The runtime keeps its own state, beside the agent's records. A small shell runs it, outlives the agent and records
the container's exit code, which the runtime itself does not keep.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from cache.stores.private_files import make_private_directory, open_private
from workers.agent.fence import check_fence
from workers.agent.hypervisors.containers.bundle import bundle_config, cpu_quota
from workers.agent.hypervisors.containers.container import Container, ContainerEngine, ContainerStatus
from workers.agent.hypervisors.hypervisor import HypervisorBusy, HypervisorFault, InstanceSpec
from workers.agent.hypervisors.kernel import BYTES_PER_MIB
from workers.agent.hypervisors.tool import last_sentence, run_tool
from workers.agent.records import write_record

#: Runs its arguments and writes their exit code into the file ``$0``, atomically.
_STAY_BESIDE: Final = '"$@"; echo $? >"$0.new" && mv "$0.new" "$0"'
_START_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.02
#: Other states, such as creating, mean that it does not run yet.
_STATUS: Final = {
    "running": ContainerStatus.RUNNING,
    "pausing": ContainerStatus.RUNNING,
    "paused": ContainerStatus.PAUSED,
    "stopped": ContainerStatus.STOPPED,
}
#: The machine's directories that the probe's container uses.
_PROGRAMS: Final = ("/bin", "/lib", "/lib64", "/usr")
_MEMORY_SWAP: Final = Path("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")


class Runc(ContainerEngine):
    """Containers by runc, or by another runtime that takes the same commands."""

    name = "runc"
    #: The programs that have run a container in this process.
    _proven: ClassVar[set[str]] = set()

    def __init__(self, program: str, directory: Path) -> None:
        self._program, self._directory = program, directory
        self._root = directory / ".runtime"

    def probe(self) -> str:
        """Run a container of the machine's own programs, read-only, that ends at once."""
        if self._program in self._proven:
            return ""
        if shutil.which(self._program) is None:
            return f"there is no program {self._program!r}"
        with tempfile.TemporaryDirectory(prefix="isotherm-probe-") as place:
            reason = self._try_in(Path(place))
        if not reason:
            self._proven.add(self._program)
        return reason

    def _try_in(self, place: Path) -> str:
        (place / "root").mkdir()
        spec = InstanceSpec(name=place.name, memory_mib=64, image=str(place / "root"), command=("/bin/true",))
        try:
            config = self._config(spec)
            for path in filter(os.path.isdir, _PROGRAMS):
                mount = {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}
                config["mounts"].append(mount)
            (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
            run_tool(
                (self._program, "--root", str(place / "state"), "run", "--bundle", str(place), place.name)
            )
        except HypervisorFault as fault:
            return f"a container does not run: {fault}"
        return ""

    def containers(self) -> Mapping[str, Container]:
        """Return the runtime's containers, and the recorded exits of those that it has forgotten."""
        listed = json.loads(self._do("list", "--format", "json") or "null") or []
        found = {
            each["id"]: Container(
                status=_STATUS.get(each["status"], ContainerStatus.CREATED),
                raw_status=each["status"],
                pid=each["pid"],
            )
            for each in listed
        }
        ended = {path.parent.name: exit_code(path) for path in self._directory.glob("*/exit")}
        for name, code in ended.items():
            if name not in found or not found[name].alive:
                before = found.get(name, Container(status=ContainerStatus.STOPPED, raw_status="stopped"))
                found[name] = replace(before, exit_code=code)
        return found

    def run(self, spec: InstanceSpec, directory: Path) -> None:
        """Write the bundle and run it, under a shell that records the exit."""
        config = self._config(spec)
        make_private_directory(directory)
        with self._left_by_shell(directory) as lock:
            write_record(directory / "config.json", config)
            (directory / "runtime.log").unlink(missing_ok=True)
            shell = self._launch(spec.name, directory, lock)
        self._wait_until_started(shell, spec.name, directory)

    def _launch(self, name: str, directory: Path, lock: int) -> "subprocess.Popen[bytes]":
        log_options = ["--log", str(directory / "runtime.log"), "--log-format", "json"]
        order = ["run", "--bundle", str(directory), "--pid-file", str(directory / "pid"), name]
        with os.fdopen(open_private(directory / "log", os.O_WRONLY | os.O_APPEND), "ab") as output:
            check_fence()
            shell = subprocess.Popen(  # noqa: S603 -- the runtime, with arguments that are lists
                [
                    "/bin/sh",
                    "-c",
                    _STAY_BESIDE,
                    str(directory / "exit"),
                    *self._command,
                    *log_options,
                    *order,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(lock,),
                start_new_session=True,
                cwd="/",
            )
        # The shell must be waited for, as long as this agent lives.
        threading.Thread(target=shell.wait, name=f"runc-{name}", daemon=True).start()
        return shell

    def signal(self, name: str, stop_signal: str) -> None:
        """Signal the first process.

        Raises:
            HypervisorFault: it still runs, and cannot be signalled.
        """
        if self.alive(name):
            try:
                self._do("kill", name, stop_signal)
            except HypervisorFault:
                # It may have ended at the same moment.
                if self.alive(name):
                    raise

    def forget(self, name: str) -> None:
        """Have the runtime delete it, and remove the record of its exit."""
        with self._left_by_shell(self._directory / name):
            pass

    def pause(self, name: str) -> None:
        """Freeze its control group."""
        self._do("pause", name)

    def unpause(self, name: str) -> None:
        """Thaw its control group."""
        self._do("resume", name)

    def resize(self, name: str, *, memory_mib: int, vcpus: int) -> None:
        """Write other limits into its control group."""
        memory = str(memory_mib * BYTES_PER_MIB)
        limits = ["--memory", memory, "--cpu-quota", str(cpu_quota(vcpus))]
        self._do("update", *limits, *(["--memory-swap", memory] if _swap_counts() else []), name)

    @property
    def _command(self) -> list[str]:
        return [self._program, "--root", str(self._root)]

    def _do(self, *arguments: str) -> str:
        return run_tool((*self._command, *arguments))

    def _config(self, spec: InstanceSpec) -> dict[str, Any]:
        # Agents that share a machine, and hypervisors that share an agent, have groups of their own.
        place = hashlib.sha256(str(self._directory.absolute()).encode()).hexdigest()[:8]
        return bundle_config(spec, cgroup=f"/isotherm/{place}-{spec.name}", limit_swap=_swap_counts())

    def _wait_until_started(self, shell: "subprocess.Popen[bytes]", name: str, directory: Path) -> None:
        """Return when the container runs, or has run."""
        deadline = time.monotonic() + _START_SECONDS
        while not self.alive(name):
            if shell.returncode is not None or (directory / "exit").exists():
                if (directory / "pid").exists():
                    return
                problem = fault_in_log(directory / "runtime.log") or "it did not start the container"
                raise HypervisorFault(f"{self._program}: {problem}")
            if time.monotonic() >= deadline:
                raise HypervisorBusy(f"{self._program} did not start the container in {_START_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)

    @contextmanager
    def _left_by_shell(self, directory: Path) -> Iterator[int]:
        """Lock a container's place: its container is deleted, and its shell has exited.

        The shell inherits the lock, whose descriptor this yields, and holds it while it may write.
        """
        if not directory.is_dir():
            yield -1
            return
        lock = open_private(directory / "lock", os.O_RDWR)
        try:
            self._end(directory.name, lock)
            for file in ("exit", "pid"):
                (directory / file).unlink(missing_ok=True)
            yield lock
        finally:
            os.close(lock)

    def _end(self, name: str, lock: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            if (self._root / name).exists():
                self.thaw(name)
                self._do("delete", "--force", name)
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise HypervisorBusy(f"what runs instance {name!r} does not end") from None
            time.sleep(_LOOK_SECONDS)


def exit_code(path: Path) -> int | None:
    """Return the exit code that the shell has recorded; negative: the signal that ended the first process."""
    try:
        code = int(path.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None
    return 128 - code if code > 128 else code


def fault_in_log(path: Path) -> str:
    """Return the runtime's last error message; empty: none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            return last_sentence(line)
        if entry.get("level") in ("error", "fatal"):
            return last_sentence(str(entry.get("msg", "")))
    return ""


def _swap_counts() -> bool:
    """Return whether a limit of memory must and can include swap."""
    return psutil.swap_memory().total > 0 and _MEMORY_SWAP.exists()
