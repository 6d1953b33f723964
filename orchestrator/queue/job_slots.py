"""Job slots of a coordinator: how many of its processes may begin jobs at a time.

One process more than there are slots runs tasks, so that a process is always free for sweeps, ends of operations and
arriving jobs, however long jobs take.
"""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


class JobSlots:
    """Slots that the child processes of one process share: locks, which the kernel releases when a process dies."""

    def __init__(self) -> None:
        self._count = 0
        self._file: IO[bytes] | None = None

    def limit(self, count: int) -> None:
        """Set the number of slots, before child processes are made; until then there is no limit."""
        self._count, self._file = count, tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as the process

    @contextmanager
    def one(self) -> Iterator[bool]:
        """Hold a slot; yields False if none is free."""
        if self._file is None:
            yield True
            return
        for no in range(self._count):
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, no)
            except OSError:
                continue
            try:
                yield True
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, no)
            return
        yield False


#: The slots of this process and its children.
job_slots = JobSlots()
