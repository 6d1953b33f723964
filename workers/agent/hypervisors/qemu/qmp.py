"""The machine protocol of qemu: commands and events as lines of JSON, over a socket that takes one client at a time.

So a conversation is short. Its answers are matched by their order, since a client that has only one question open needs
no more.
"""

import json
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from workers.agent.hypervisors.hypervisor import HypervisorBusy, HypervisorFault

_LONGEST_LINE: Final = 16 * 1024 * 1024


class QmpSilent(HypervisorBusy):
    """Nobody answers, or not in time."""


class Qmp:
    """A conversation with one virtual machine; to be used with ``with``."""

    def __init__(self, path: Path, *, timeout_seconds: float) -> None:
        """Remember where its socket is, and how long all of the conversation may take."""
        self._path = path
        self._deadline = time.monotonic() + timeout_seconds
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._read = bytearray()

    def __enter__(self) -> Self:
        """Say who is there.

        Raises:
            QmpSilent: nobody answers.
        """
        try:
            self._connect()
            self._line()
            self.do("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the conversation."""
        self.close()

    def close(self) -> None:
        """End the conversation."""
        self._socket.close()

    def do(self, command: str, **arguments: Any) -> Any:
        """Give a command and return its answer.

        Raises:
            QmpSilent: there is no answer in time.
            HypervisorFault: the answer is that it failed.
        """
        return self.order(command, {name.replace("_", "-"): value for name, value in arguments.items()})

    def order(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Give a command with arguments as qemu spells them, and return its answer; raises as :meth:`do`."""
        self._tell({"execute": command, "arguments": dict(arguments)} if arguments else {"execute": command})
        while True:
            answer = self._line()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise HypervisorFault(f"qemu: {answer['error'].get('desc', command + ' failed')}")

    def happens(self, event: str, *, within_seconds: float) -> bool:
        """Wait for an event, and tell whether there was one.

        Raises:
            QmpSilent: the conversation has ended, or has taken too long.
        """
        until = time.monotonic() + within_seconds
        while time.monotonic() < until:
            if self._line(until).get("event") == event:
                return True
        return False

    def fileno(self) -> int:
        """Return the descriptor that can be read when there is something to hear."""
        return self._socket.fileno()

    def heard(self) -> list[str] | None:
        """Return the events that have come, once there is something to hear; None: the conversation has ended."""
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
        # The name of a socket holds some hundred characters only, and our directory's may be longer.
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

    def _tell(self, order: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise QmpSilent(f"qemu does not listen: {error.strerror or error}") from error

    def _line(self, until: float | None = None) -> dict[str, Any]:
        """Return the next line; an empty map: there is none until then."""
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
