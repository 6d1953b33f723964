"""The detection of KVM: proven by a virtual machine that starts; otherwise machines are emulated (TCG)."""

import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Final

#: A slower start counts as unusable: an emulated machine takes a tenth of a second.
_PROBE_SECONDS: Final = 3.0
_SECTOR: Final = 512
_DISK_BYTES: Final = 1024 * 1024
#: Powers the machine off: writes "sleep, as soft off" into the power management's register of qemu's PC.
_POWER_OFF: Final = bytes.fromhex("ba0406 b80020 ef fa f4 ebfd")

_proven: dict[str, str] = {}
_guard = threading.Lock()


def boot_disk(code: bytes) -> bytes:
    """Return a disk whose first sector is ``code``, which firmware of the PC starts."""
    sector = code.ljust(_SECTOR - 2, b"\0") + b"\x55\xaa"
    return sector.ljust(_DISK_BYTES, b"\0")


def fault_of_kvm(program: str) -> str:
    """Start a virtual machine that powers itself off, and return why KVM cannot be used; empty: it can.

    Tried once per process.
    """
    with _guard:
        if program not in _proven:
            _proven[program] = _try_kvm(program)
        return _proven[program]


def _try_kvm(program: str) -> str:
    if not Path("/dev/kvm").exists():
        return "there is no /dev/kvm"
    with tempfile.TemporaryDirectory(prefix="isotherm-kvm-") as place:
        disk = Path(place) / "disk"
        disk.write_bytes(boot_disk(_POWER_OFF))
        command = [program, "-accel", "kvm", "-cpu", "host", "-machine", "q35", "-m", "16", "-nodefaults"]
        command += ["-no-user-config", "-display", "none", "-no-reboot"]
        command += ["-drive", f"file={disk},format=raw,if=virtio,readonly=on"]
        try:
            done = subprocess.run(  # noqa: S603 -- qemu, with arguments that are lists
                command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"a machine did not power itself off within {_PROBE_SECONDS:g} s"
        except OSError as error:
            return error.strerror or str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]
