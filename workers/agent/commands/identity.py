"""Process identity: the process number and the start time, since the kernel reuses numbers.

The start is counted in clock ticks since the machine booted, together with the boot's own id, as Linux reports
them. A start in seconds since the epoch, psutil's too, moves when the clock is set and cannot be compared later.
Only the standard library is used, for the launcher.
"""

from pathlib import Path
from typing import Final

_ENDED: Final = frozenset({"Z", "X", "x"})


def start_mark(pid: int) -> str | None:
    """Return a mark that, with its number, identifies this process; None when it is gone or has ended.

    A zombie, which has ended and was not waited for by its parent, counts as gone.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in parentheses, which may hold spaces and parentheses itself.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in _ENDED else f"{boot}/{fields[18]}"


def is_alive(pid: int, mark: str) -> bool:
    """Return whether the very process that had this mark is still running."""
    return bool(mark) and start_mark(pid) == mark
