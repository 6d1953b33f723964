"""LVM's command line tools: reports as JSON in bytes, and changes that need no devices where there are none."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workers.agent.fence import check_fence
from workers.agent.storage.storage import StorageFault, StorageFull

#: Directories of the tools on systems that keep them out of an ordinary user's PATH.
_PLACES: Final = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
#: The time-out: LVM waits for its own locks without end.
_SECONDS: Final = 120.0
_DEVICE_MAPPER: Final = "/dev/mapper/control"


def has_device_mapper() -> bool:
    """Return whether the kernel has the device mapper: LVM makes its control file in any case."""
    try:
        # A kernel that has it as a module loads it now.
        os.close(os.open(_DEVICE_MAPPER, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


class LvmTools:
    """Runs LVM's tools; thread-safe, since LVM locks its metadata itself."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([*os.environ.get("PATH", os.defpath).split(os.pathsep), *_PLACES])
        self.devices = has_device_mapper()

    def fault(self) -> str:
        """Return why LVM cannot be used here; empty: it can."""
        if self._find("vgs") is None:
            return "the tools of LVM are not installed: vgs was not found"
        return "" if os.geteuid() == 0 else "only root can use LVM"

    def report(self, tool: str, fields: Sequence[str], *options: str) -> list[Mapping[str, str]]:
        """Return the rows of vgs, lvs or pvs, each with these fields as texts; sizes are bytes.

        Raises:
            StorageFault: the output is not as expected.
        """
        output = self._run(
            tool, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", ",".join(fields), *options
        )
        try:
            (report,) = json.loads(output)["report"]
            (rows,) = report.values()
        except (ValueError, KeyError, AttributeError) as error:
            raise StorageFault(f"{tool} tells something else than expected") from error
        return list(rows)

    def change(self, tool: str, *arguments: str) -> None:
        """Have LVM change something, without prompts.

        Raises:
            StorageFull: the unit is full.
            StorageFault: LVM refuses.
        """
        self._run(tool, "--yes", *arguments)

    def _run(self, tool: str, *arguments: str) -> str:
        program = self._find(tool)
        if program is None:
            raise StorageFault(f"{tool} was not found")
        # Without the driver nothing is activated, and no device is waited for that will never appear.
        driver = [] if self.devices else ["--driverloaded", "n"]
        env: dict[str, Any] = {"PATH": self._path, "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"}
        check_fence()
        try:
            done = subprocess.run(  # noqa: S603 -- the program is LVM's, and names are checked
                [program, *driver, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                env=env,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StorageFault(f"{tool} did not answer within {_SECONDS:g} s") from error
        if done.returncode == 0:
            return done.stdout
        output = reason_of(done.stderr) or f"exit code {done.returncode}"
        raise (StorageFull if "insufficient" in output.lower() else StorageFault)(f"{tool}: {output}")

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)


def reason_of(output: str) -> str:
    """Return the last line of LVM's errors that is neither a warning nor a referral."""
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("WARNING:", "Run `"))]
    return telling[-1] if telling else ""
