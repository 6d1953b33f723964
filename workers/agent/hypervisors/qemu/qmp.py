"""QMP, the protocol of qemu: commands and events as lines of JSON, over a socket that takes one client at a time.

So a session is short. Answers are matched by their order, since a client has only one command under way.
"""

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from workers.agent.hypervisors.hypervisor import HypervisorBusy, HypervisorFault

_LONGEST_LINE: Final = 16 * 1024 * 1024


class QmpSilent(HypervisorBusy):
    """No answer, or none in time."""


class Qmp:
    """A session with one virtual machine; a context manager."""

    def __init__(self, path: Path, *, timeout_seconds: float) -> None:
        """Keep the path of the socket, and the time-out of the whole session."""
        self._path = path
        self._deadline = time.monotonic() + timeout_seconds
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._read = bytearray()

    def __enter__(self) -> Self:
        """Open the session.

        Raises:
            QmpSilent: there is no answer.
        """
        try:
            self._connect()
            self._line()
            self.do("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the session."""
        self._socket.close()

    def do(self, command: str, **arguments: Any) -> Any:
        """Execute a command and return its answer.

        Raises:
            QmpSilent: there is no answer in time.
            HypervisorFault: the command failed.
        """
        return self.order(command, {name.replace("_", "-"): value for name, value in arguments.items()})

    def order(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Execute a command with arguments in qemu's spelling, and return its answer.

        Raises:
            HypervisorFault: qemu refused.
            QmpSilent: it does not answer in time.
        """
        self._send({"execute": command, "arguments": dict(arguments)} if arguments else {"execute": command})
        while True:
            answer = self._line()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise HypervisorFault(f"qemu: {answer['error'].get('desc', command + ' failed')}")

    def happens(self, event: str, *, within_seconds: float) -> bool:
        """Wait for an event, and return whether it came.

        Raises:
            QmpSilent: the session has ended, or timed out.
        """
        until = time.monotonic() + within_seconds
        while time.monotonic() < until:
            if self._line(until).get("event") == event:
                return True
        return False

    def fileno(self) -> int:
        """Return the descriptor that is readable when events have come."""
        return self._socket.fileno()

    def heard(self) -> list[str] | None:
        """Return the events that have come, once the descriptor is readable; None: the session has ended."""
        try:
            more = self._socket.recv(65536)
        except OSError:
            more = b""
        if not more:
            return None
        *lines, rest = bytes(self._read + more).split(b"\n")
        self._read = bytearray(rest)
        events: list[str] = []
        for line in lines:
            with suppress(ValueError):
                events.append(str(json.loads(line).get("event", "")))
        return [event for event in events if event]

    def _connect(self) -> None:
        # A socket's name is limited to about a hundred characters, and the agent's directory may be longer.
        directory = -1
        try:
            directory = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
            self._socket.settimeout(self._left())
            self._socket.connect(f"/proc/self/fd/{directory}/{self._path.name}")
        except OSError as error:
            raise QmpSilent(f"qemu does not answer: {error.strerror or error}") from error
        finally:
            if directory >= 0:
                os.close(directory)

    def _send(self, order: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise QmpSilent(f"qemu does not listen: {error.strerror or error}") from error

    def _line(self, until: float | None = None) -> dict[str, Any]:
        """Return the next line; an empty map: none came until then."""
        while (end := self._read.find(b"\n")) < 0:
            try:
                self._socket.settimeout(self._left(until))
                more = self._socket.recv(65536)
            except TimeoutError as error:
                if until is not None and time.monotonic() >= until:
                    return {}
                raise QmpSilent("qemu did not answer in time") from error
            except OSError as error:
                raise QmpSilent("qemu does not answer") from error
            if not more or len(self._read) > _LONGEST_LINE:
                raise QmpSilent("qemu has ended the conversation")
            self._read += more
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise HypervisorFault("qemu's answer is damaged") from error
        return answer

    def _left(self, until: float | None = None) -> float:
        now = time.monotonic()
        if (left := self._deadline - now) <= 0:
            raise QmpSilent("qemu did not answer in time")
        return left if until is None else max(min(left, until - now), 0.001)
