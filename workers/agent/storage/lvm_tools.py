"""LVM's own tools: asked for JSON in bytes, and told to change nothing that devices need where there are none."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workers.agent.storage.storage import StorageFault, StorageFull

#: Where they are on systems that keep them out of an ordinary user's PATH.
_PLACES: Final = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
#: LVM waits for its own locks as long as somebody holds them.
_SECONDS: Final = 120.0
_DEVICE_MAPPER: Final = "/dev/mapper/control"


def has_device_mapper() -> bool:
    """Whether the kernel has the device mapper: LVM makes the file that leads to it whether it has or not."""
    try:
        # A kernel that has it as a module loads that now.
        os.close(os.open(_DEVICE_MAPPER, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


class LvmTools:
    """Runs LVM's tools; safe for threads, since LVM locks its metadata itself."""

    def __init__(self) -> None:
        self._path = os.pathsep.join([*os.environ.get("PATH", os.defpath).split(os.pathsep), *_PLACES])
        self.devices = has_device_mapper()

    def fault(self) -> str:
        """Return why LVM cannot be used here; empty: it can."""
        if self._find("vgs") is None:
            return "the tools of LVM are not installed: vgs was not found"
        return "" if os.geteuid() == 0 else "only root can use LVM"

    def report(self, tool: str, fields: Sequence[str], *options: str) -> list[Mapping[str, str]]:
        """Return the rows that vgs, lvs or pvs tell, each with these fields as texts; sizes are bytes.

        Raises:
            StorageFault: LVM says something else.
        """
        said = self._run(
            tool, "--reportformat", "json", "--units", "b", "--nosuffix", "-o", ",".join(fields), *options
        )
        try:
            (report,) = json.loads(said)["report"]
            (rows,) = report.values()
        except (ValueError, KeyError, AttributeError) as error:
            raise StorageFault(f"{tool} tells something else than expected") from error
        return list(rows)

    def change(self, tool: str, *arguments: str) -> None:
        """Have LVM change something; it asks nothing back.

        Raises:
            StorageFull: there is not so much room.
            StorageFault: LVM will not.
        """
        self._run(tool, "--yes", *arguments)

    def _run(self, tool: str, *arguments: str) -> str:
        program = self._find(tool)
        if program is None:
            raise StorageFault(f"{tool} was not found")
        # Without the driver nothing is activated, and no device is waited for that will never come.
        driver = [] if self.devices else ["--driverloaded", "n"]
        env: dict[str, Any] = {"PATH": self._path, "LC_ALL": "C", "LVM_SUPPRESS_FD_WARNINGS": "1"}
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
        said = reason_of(done.stderr) or f"exit code {done.returncode}"
        raise (StorageFull if "insufficient" in said.lower() else StorageFault)(f"{tool}: {said}")

    def _find(self, tool: str) -> str | None:
        return shutil.which(tool, path=self._path)


def reason_of(said: str) -> str:
    """Return the last line that LVM prints in which it does not only warn, or send people elsewhere."""
    lines = [line.strip() for line in said.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("WARNING:", "Run `"))]
    return telling[-1] if telling else ""
