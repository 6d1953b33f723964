"""Parent side of a sandbox: evaluates expressions of unpredictable cost in a child process that can be killed.

A regular expression, or an expression of a query language, may take years or all memory, and a thread that evaluates it
cannot be interrupted. Therefore a child process evaluates it, within a memory limit that it sets itself and a time
limit that its parent enforces. It inherits no environment.
"""

import atexit
import contextlib
import os
import select
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Final

import msgpack

import orchestrator
from orchestrator.errors import Unavailable
from orchestrator.sandbox.budget import outside, seconds_left, take
from orchestrator.sandbox.child import (
    ANSWER_HEADER,
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    QUESTION_HEADER,
    TOO_LONG,
    TOO_MUCH_MEMORY,
    Fault,
)

#: Further kinds of faults, found by the parent: the time limit was exceeded, or that of the evaluation under way; the
#: child ended without an answer; the question cannot be packed.
TOO_LATE: Final = "late"
USED_UP: Final = "used up"
DIED: Final = "died"
UNFIT: Final = "unfit"

#: The limit of a child's start, which takes a fraction of this on a machine that is not overloaded.
_START_SECONDS: Final = 60.0
#: An answer with the pair that contains it.
_LONGEST_MESSAGE: Final = LONGEST_ANSWER + 1024
#: The environment variables that an interpreter needs to start on some machines; they hold no secrets.
_INHERITED: Final = ("LD_LIBRARY_PATH", "PYTHONHOME")

#: All sandboxes of this process.
_SANDBOXES: "Final[weakref.WeakSet[Sandbox]]" = weakref.WeakSet()


class Sandbox:
    """A child process that answers questions of one kind: started by the first question, kept for later ones.

    Safe for threads, which take turns. They share one child, since an answer takes milliseconds, while a child takes
    memory and a good part of a second to start. Time is counted from the beginning of a question's turn, also for the
    evaluation under way: neither the turns of others nor the start of a child take any of it. After a fork the copy
    starts a child of its own.
    """

    def __init__(self, module: str) -> None:
        """Keep the child's module, which calls ``serve`` with its argument, the memory limit in MiB."""
        self._module = module
        self._lock = threading.Lock()
        self._child: _Child | None = None
        _SANDBOXES.add(self)

    def ask(self, question: object, *, seconds: float, memory_mib: int) -> Any:
        """Return the answer to a question, both plain data.

        Raises:
            Fault: there is no answer within ``seconds``, the time of the evaluation under way, and ``memory_mib``.
            Unavailable: the child cannot be started.
        """
        packed = _packed(question)
        with contextlib.ExitStack() as held:
            with outside():
                held.enter_context(self._lock)
                child = self._child_with(memory_mib)
            left = seconds_left()
            if left <= 0:
                raise Fault(USED_UP)
            began = time.monotonic()
            try:
                message = child.ask(packed, min(seconds, left))
            except TimeoutError:
                self._end()
                raise Fault(TOO_LATE if seconds <= left else USED_UP) from None
            except (OSError, EOFError):
                self._end()
                raise Fault(DIED) from None
            except BaseException:
                # Interrupted: the pending answer would be read as that to the next question.
                self._end()
                raise
            finally:
                take(time.monotonic() - began)
            kind, answer = msgpack.unpackb(message)
            if kind == TOO_MUCH_MEMORY:
                # The child may be in an inconsistent state.
                self._end()
        if kind is not None:
            raise Fault(kind, msgpack.unpackb(answer))
        return msgpack.unpackb(answer, strict_map_key=False)

    def close(self) -> None:
        """End the child, if there is one; a later question starts a new one."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """Drop the child and the lock after a fork: both belong to the original process."""
        self._lock = threading.Lock()
        child, self._child = self._child, None
        if child:
            child.let_go()

    def _child_with(self, memory_mib: int) -> "_Child":
        if self._child and (self._child.memory_mib != memory_mib or not self._child.is_alive()):
            self._end()
        if self._child is None:
            self._child = _Child(self._module, memory_mib)
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child:
            child.end()


class _Child:
    def __init__(self, module: str, memory_mib: int) -> None:
        """Start the process, and wait until it is ready.

        Raises:
            Unavailable: it cannot be started.
        """
        # Most processes have no child.
        import subprocess

        self.memory_mib = memory_mib
        # Only our environment variables, no site or user directories: the parent's path contains them.
        command = [sys.executable, "-s", "-S", "-P", "-m", module, str(memory_mib)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 (this interpreter and a module of this package)
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd="/",
                env=_environment(),
            )
        except OSError as error:
            raise Unavailable(f"the process {module} cannot be started: {error.strerror}") from error
        assert self._process.stdin  # noqa: S101
        assert self._process.stdout  # noqa: S101
        self._pipes = self._process.stdin, self._process.stdout
        self._questions, self._answers = (pipe.fileno() for pipe in self._pipes)
        for descriptor in (self._questions, self._answers):
            os.set_blocking(descriptor, False)
        try:
            self._receive(time.monotonic() + _START_SECONDS)
        except (OSError, EOFError) as error:
            self.end()
            reason = "in time" if isinstance(error, TimeoutError) else "and wrote why to the standard error"
            raise Unavailable(f"the process {module} did not become ready {reason}") from error
        except BaseException:
            self.end()
            raise

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, packed: bytes, seconds: float) -> bytes:
        """Return the answer's message.

        Raises:
            TimeoutError: there was none within ``seconds``.
            OSError, EOFError: the process ended.
        """
        deadline = time.monotonic() + seconds
        self._send(QUESTION_HEADER.pack(len(packed), seconds) + packed, deadline)
        return self._receive(deadline)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def let_go(self) -> None:
        """Close the pipes to another process's child, which would otherwise outlive its parent."""
        self._close()
        # Marks the Popen object as finished, for it is not our child.
        self._process.poll()

    def _close(self) -> None:
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()

    def _send(self, message: bytes, deadline: float) -> None:
        left = memoryview(message)
        while left:
            _wait(self._questions, select.POLLOUT, deadline)
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(self._questions, left) :]

    def _receive(self, deadline: float) -> bytes:
        (length,) = ANSWER_HEADER.unpack(self._read(ANSWER_HEADER.size, deadline))
        if length > _LONGEST_MESSAGE:
            raise EOFError("the process sent a message of an impossible length")
        return self._read(length, deadline)

    def _read(self, length: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < length:
            _wait(self._answers, select.POLLIN, deadline)
            with contextlib.suppress(BlockingIOError):
                part = os.read(self._answers, length - len(found))
                if not part:
                    raise EOFError("the process ended")
                found += part
        return bytes(found)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError


def _packed(question: object) -> bytes:
    try:
        packed: bytes = msgpack.packb(question)
    except (TypeError, ValueError, OverflowError):
        raise Fault(UNFIT) from None
    if len(packed) > LONGEST_QUESTION:
        raise Fault(TOO_LONG)
    return packed


def _environment() -> dict[str, str]:
    """Return the environment in which the child finds the same modules as its parent."""
    root = Path(orchestrator.__file__).parents[1]
    paths = [str(Path(path).absolute()) for path in [*sys.path, str(root)]]
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    # Sets have the same order in every child, so that the same question always has the same answer.
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONHASHSEED": "0"}


def _forget_all() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.forget()


def _close_all() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.close()


os.register_at_fork(after_in_child=_forget_all)
atexit.register(_close_all)
