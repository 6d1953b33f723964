"""The presence of a machine's agent: one process of a machine at a time acts for a node.

The lease alone cannot ensure that. A process that stood still may have passed its last check of the lease, and
act once it goes on. So the agent that has the lease ends the process that had it before, where that is on the same
machine: agents survive being killed at any moment, and what was begun is found again.

A presence is an abstract Unix socket, which the kernel releases with its process, and which names that process to
others. It belongs to a network namespace: agents in containers of their own do not see each other.
"""

import errno
import hashlib
import os
import select
import signal
import socket
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from orchestrator.config.logger import get_logger
from orchestrator.errors import Conflict

log = get_logger()

#: The longest time for a killed process to be gone: one that waits for a device takes long.
_KILLED_SECONDS: Final = 30.0
_PEER: Final = struct.Struct("@iII")


class Presence:
    """The presence of one node's agent on this machine, from :meth:`claim` until :meth:`release`."""

    def __init__(self, node: str, scope: str, *, patience_seconds: float) -> None:
        """Keep the arguments; ``patience_seconds``: how long a predecessor may take to end by itself."""
        self._node, self._patience_seconds = node, patience_seconds
        self._address = f"\0isotherm-agent-{hashlib.sha256(scope.encode()).hexdigest()[:32]}"
        self._socket: socket.socket | None = None

    def claim(self) -> None:
        """Become the one process of this machine that acts for the node; the caller holds the lease.

        A predecessor is ended: it has lost the lease. A stopped one is killed at once, any other when it has not
        ended by itself in time.

        Raises:
            Conflict: the predecessor cannot be ended; the message names it and says what to do.
        """
        while not self._bind():
            if (pid := self._holder()) is not None:
                self._end(pid)

    def release(self) -> None:
        """Release it; not held is no error."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _bind(self) -> bool:
        bound = socket.socket(socket.AF_UNIX)
        try:
            bound.bind(self._address)
        except OSError as error:
            bound.close()
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        bound.listen(1)
        self._socket = bound
        return True

    def _holder(self) -> int | None:
        """Return the process that has it; None: it has just been released.

        Raises:
            Conflict: it is hidden from this process, or not of this user, or this process itself.
        """
        with socket.socket(socket.AF_UNIX) as asking:
            asking.setblocking(False)
            try:
                asking.connect(self._address)
            except BlockingIOError as error:
                raise self._conflict("has been asked for by too many others", "end them first") from error
            except ConnectionRefusedError:
                return None
            pid, uid, _ = _PEER.unpack(asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        if pid == 0:
            raise self._conflict(
                "is a process that this one cannot see, as in another container", "end it first"
            )
        if pid == os.getpid() or uid != os.geteuid():
            raise self._conflict(f"is process {pid} of user {uid}", "end it first")
        return int(pid)

    def _end(self, pid: int) -> None:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            # Only now is it certain that the number was not given to another process meanwhile.
            if self._holder() != pid:
                return
            if not _is_stopped(pid) and _ended(handle, self._patience_seconds):
                return
            log.warning("the agent before this one is killed: it has lost the lease", process=pid)
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            if not _ended(handle, _KILLED_SECONDS):
                raise self._conflict(f"is process {pid}, which does not end though it was killed", "wait")
        finally:
            os.close(handle)

    def _conflict(self, who: str, remedy: str) -> Conflict:
        return Conflict(
            f"node {self._node!r} had an agent on this machine that may still act: it {who}; {remedy}, then start "
            "this one again"
        )


def _ended(handle: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _is_stopped(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("T", "t")
